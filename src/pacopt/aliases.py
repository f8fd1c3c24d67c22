"""Names of earlier versions that README and documents showed: they go on working, from wherever they live now."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

#: Where a name of a module is defined today.
MOVED = {
    "pacopt.priors": {"IterativeBox": "pacopt.papers.sucker_ochs_2023.iterative_box"},
}


def earlier_names(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that had names which are defined elsewhere now."""
    moved = MOVED[module]

    def found(name: str) -> Any:
        if name not in moved:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(moved[name]), name)

    return found
