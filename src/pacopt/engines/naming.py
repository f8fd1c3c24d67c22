"""Fields that are no numbers but can be written down: spaces by name, and functions of optax."""

from inspect import isfunction
from typing import Any

from pacopt.space import AbstractSpace, space_from_json

#: Under which they stand where a stored algorithm has its class.
SPACES, FUNCTION = "spaces", "function"
#: The modules in which users find functions of optax.
MODULES = ("optax", "optax.contrib")


def named(content: Any) -> dict[str, Any] | None:
    """A JSON value for a tuple of named spaces or for a function of optax; None for everything else."""
    if isinstance(content, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], AbstractSpace) for pair in content
    ):
        return {"class": SPACES, SPACES: [[name, space.to_json()] for name, space in content]}
    if isfunction(content):
        for module in MODULES:
            if _function(module, content.__name__) is content:
                return {"class": FUNCTION, FUNCTION: f"{module}:{content.__name__}"}
    return None


def renamed(stored: dict[str, Any]) -> Any:
    """What `named` wrote down, or None.

    Only functions that are optax's own are found: a stored name must not lead to code that does something else.
    """
    if stored["class"] == SPACES:
        return tuple((name, space_from_json(each)) for name, each in stored[SPACES])
    if stored["class"] == FUNCTION:
        module, _, name = stored[FUNCTION].partition(":")
        return _function(module, name) if module in MODULES else None
    return None


def _function(module: str, name: str) -> Any:
    import optax  # type: ignore[import-untyped]
    import optax.contrib  # type: ignore[import-untyped]

    found = getattr({"optax": optax, "optax.contrib": optax.contrib}[module], name, None)
    return found if isfunction(found) and found.__module__.startswith("optax.") else None
