"""Names of earlier versions that README and documents showed: they go on working, from wherever they live now."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Kind = TypeVar("Kind")

#: Where a name of a module is defined today.
MOVED = {
    "pacopt.bounds": {"Quantile": "pacopt.bounds.order_statistics:OrderStatistics"},
    "pacopt.priors": {"IterativeBox": "pacopt.papers.sucker_ochs_2023.iterative_box:IterativeBox"},
}
#: What methods of a class are called today.
RENAMED = {
    "AbsoluteLoss": {"upper": "for_candidates", "posterior_upper": "for_posterior"},
    "ConditionalBetting": {"upper": "for_candidates", "posterior_upper": "for_posterior"},
    "SmallKL": {"upper": "for_posterior"},
}
#: What was an attribute of its own, read from the claims of today.
ATTRIBUTES: dict[str, dict[str, Callable[[Any], Any]]] = {
    "Certificate": {"min_success": lambda certificate: certificate.required.get("success")},
    "Design": {
        "quantile_level": lambda design: _setting(design, "quantile", "level"),
        "truncation": lambda design: _setting(design, "absolute", "truncation"),
        "shares": lambda design: _shares(design),
    },
}
#: Numbers of a certificate that were None where they were not claimed.
OPTIONAL = frozenset({"absolute"})


def earlier_names(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that had names which are defined elsewhere now."""
    moved = MOVED[module]

    def found(name: str) -> Any:
        if name not in moved:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, _, today = moved[name].partition(":")
        return getattr(import_module(place), today)

    return found


def with_earlier_methods(kind: type[Kind]) -> type[Kind]:
    """The class, whose methods answer to their earlier names as well."""
    for earlier, today in RENAMED[kind.__name__].items():
        setattr(kind, earlier, getattr(kind, today))
    return kind


def with_earlier_attributes(kind: type[Kind]) -> type[Kind]:
    """The class, with the attributes that it had before there were claims."""
    for name, read in ATTRIBUTES[kind.__name__].items():
        setattr(kind, name, property(read))
    return kind


def _setting(design: Any, claim: str, name: str) -> Any:
    return getattr(design[claim], name) if claim in design else None


def _shares(design: Any) -> Any:
    kind = import_module("pacopt.claims.standard").Shares
    names = ("risk", "success", "quantile", "absolute")
    return kind(**{name: design[name].share if name in design else 0.0 for name in names})
