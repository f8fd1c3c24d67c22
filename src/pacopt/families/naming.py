"""Families by name: those that come with pacopt, and your own as module:name."""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from pacopt.errors import FamilyError, suggest

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
    except (ImportError, AttributeError) as error:
        raise FamilyError(
            f"{name!r} could not be imported: {type(error).__name__}: {error}.",
            "Your own family is named by its module and its name in that module.",
            "",
            "If my_families.py in this folder defines ridge = pacopt.families.Family(...), use my_families:ridge.",
        ) from error
    return _checked(name, found if not callable(found) else found())


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
