"""Fields that are not numbers but can be written down: spaces by name, and optax functions."""

from functools import partial
from inspect import isfunction
from typing import Any

from pacopt.space import AbstractSpace, space_from_json

#: The key they are stored under, where a stored algorithm has its class.
SPACES, FUNCTION = "spaces", "function"
#: The modules in which users find optax functions.
MODULES = ("optax", "optax.contrib")


def named(content: Any) -> dict[str, Any] | None:
    """A JSON value for a tuple of named spaces or an optax function; None for anything else."""
    if isinstance(content, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], AbstractSpace) for pair in content
    ):
        return {"class": SPACES, SPACES: [[name, space.to_json()] for name, space in content]}
    if callable(content):
        for module in MODULES:
            for name, function in _functions(module).items():
                if function is content:
                    return {"class": FUNCTION, FUNCTION: f"{module}:{name}"}
    return None


def renamed(stored: dict[str, Any]) -> Any:
    """What `named` wrote down, or None.

    Only optax's own functions are found: a stored name must not lead to other code.
    """
    if stored["class"] == SPACES:
        return tuple((name, space_from_json(each)) for name, each in stored[SPACES])
    if stored["class"] == FUNCTION:
        module, _, name = stored[FUNCTION].partition(":")
        return _functions(module).get(name) if module in MODULES else None
    return None


def _functions(module: str) -> dict[str, Any]:
    """The optax functions by public name; some are others with arguments filled in."""
    import optax  # type: ignore[import-untyped]
    import optax.contrib  # type: ignore[import-untyped]

    place = {"optax": optax, "optax.contrib": optax.contrib}[module]
    found = {name: (each, each.func if isinstance(each, partial) else each) for name, each in vars(place).items()}
    return {
        name: each
        for name, (each, inner) in found.items()
        if isfunction(inner) and inner.__module__.startswith("optax.")
    }
