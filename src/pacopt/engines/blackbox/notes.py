"""What a solver of a package runs with, in plain text: for people, beside the hash by which runs are recognised."""

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from pacopt.engines.blackbox.engine import BlackBox

#: By the function of the solver: the version of its package, and the settings that are fixed for all runs.
_NOTES: WeakKeyDictionary[Callable[..., Any], dict[str, dict[str, str]]] = WeakKeyDictionary()


def noted(engine: BlackBox, package: str, version: str, fixed: Mapping[str, Any]) -> BlackBox:
    """The same engine, whose package and fixed settings are remembered; no hash depends on these notes."""
    settings = {name: f"{value}" for name, value in sorted(fixed.items())}
    _NOTES[engine.function] = {"versions": {package: f"{version}"}, "settings": settings}
    return engine


def notes_on(engine: Any) -> dict[str, dict[str, str]]:
    """What is known of the package of an engine: `versions` and `settings`, empty where nothing is.

    >>> notes_on(BlackBox(len, {}))
    {'versions': {}, 'settings': {}}
    """
    nothing: dict[str, dict[str, str]] = {"versions": {}, "settings": {}}
    try:
        return _NOTES.get(getattr(engine, "function", None), nothing)  # type: ignore[arg-type]
    except TypeError:  # a function of a kind to which nobody can refer weakly, such as `len` or None
        return nothing
