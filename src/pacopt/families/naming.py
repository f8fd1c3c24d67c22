"""Families by name: those that come with pacopt, and your own as module:name."""

import importlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pacopt.errors import FamilyError, PacoptError, suggest

if TYPE_CHECKING:
    from pacopt.families.base import Family

#: Where to find the families that come with pacopt.
NAMES = {
    "quadratics": "pacopt.families.random_quadratics:quadratics",
    "lasso": "pacopt.families.sparse_regression:lasso",
    "sparse_coding": "pacopt.families.sparse_regression:sparse_coding",
    "breast_cancer": "pacopt.families.resamples:on_breast_cancer",
    "digits": "pacopt.families.resamples:on_digits",
    "wine": "pacopt.families.resamples:on_wine",
    "deblurring": "pacopt.families.patches:deblurring",
    "networks": "pacopt.families.polynomial_tasks:networks",
    "stochastic_networks": "pacopt.families.polynomial_tasks:stochastic_networks",
    "quadcopter": "pacopt.families.control:quadcopter",
}


def family_named(name: str) -> "Family":
    """One of pacopt's families, or `module:name`: a Family, or a function that returns one.

    Modules are also looked up in the current directory.
    """
    if ":" not in name and name not in NAMES:
        raise FamilyError(
            f"There is no family {name!r}; {suggest(name, NAMES)}",
            "",
            "",
            'Name your own as "module:name".',
        )
    module, _, attribute = NAMES.get(name, name).partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
    except PacoptError:
        raise
    except Exception as error:  # a module of the user's, which may raise anything
        raise FamilyError(
            f"{name!r} could not be imported: {type(error).__name__}: {error}.",
            "Your own family is named by its module and its name in that module.",
            "",
            "If my_families.py in this folder defines ridge = pacopt.families.Family(...), use my_families:ridge.",
        ) from error
    return _checked(name, _called(name, found) if callable(found) else found)


def families_named(names: Iterable[str]) -> "list[Family]":
    """Families by name, in order; two that are called the same are refused, before anything runs."""
    asked = Counter(names)
    found = {name: family_named(name) for name in asked}
    for name, times in asked.items():
        if times > 1:
            raise _twice(f"{name!r} was given {times} times.")
    known: dict[str, str] = {}
    for name, family in found.items():
        other = known.setdefault(family.name.casefold(), name)  # some file systems ignore case
        if other != name:
            raise _twice(f"The families {other!r} and {name!r} are called {found[other].name!r} and {family.name!r}.")
    return list(found.values())


def _twice(told: str) -> FamilyError:
    return FamilyError(
        told,
        "Each family needs a name of its own, and is given once.",
        "Runs and pictures are stored under the names of the families.",
        'Rename one: dataclasses.replace(family, name="another_name").',
    )


def _called(name: str, function: Callable[..., Any]) -> Any:
    """What a function of the user's returns; errors say that it was this function that raised them."""
    from pacopt.families.checks import takes

    if not takes(function, 0):
        raise FamilyError(
            f"{name!r} is a function that needs arguments.",
            "A family must be a pacopt.families.Family, or a function without arguments that returns one.",
            "",
            "Give its arguments defaults, or define ridge = make_ridge(5) in the module, and pass that name.",
        )
    try:
        return function()
    except PacoptError:
        raise
    except Exception as error:
        raise FamilyError(
            f"{name!r} is a function that raised {type(error).__name__}: {error}.",
            "It must return a pacopt.families.Family.",
            "",
            "Call it in Python to see where that happens, and correct it.",
        ) from error


def _checked(name: str, found: Any) -> "Family":
    from pacopt.families.base import Family

    if not isinstance(found, Family):
        raise FamilyError(
            f"{name!r} is a {type(found).__name__}.",
            "A family must be a pacopt.families.Family, or a function without arguments that returns one.",
            "",
            "Define ridge = pacopt.families.Family(...), and pass that name.",
        )
    return found
