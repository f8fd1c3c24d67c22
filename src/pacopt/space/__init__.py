"""What a hyperparameter may be, and where good values of it are looked for."""

from collections.abc import Mapping
from typing import Any

from pacopt.space.arrays import Array, Tree
from pacopt.space.base import AbstractSpace
from pacopt.space.choice import Choice
from pacopt.space.numbers import Interval, Whole

__all__ = ["AbstractSpace", "Array", "Choice", "Domain", "Interval", "Tree", "Whole", "space_from_json"]

#: What is known of each hyperparameter, by its name.
Domain = Mapping[str, AbstractSpace]

_KINDS: dict[str, Any] = {
    Whole.kind: lambda low, high, log: Whole(low, high, log),
    Choice.kind: lambda values: Choice(*values),
    Array.kind: lambda size, low, high, log: Array(tuple(size), low, high, log),
}


def space_from_json(stored: Any) -> AbstractSpace:
    """The space that `to_json` described."""
    if isinstance(stored, Mapping):
        settings = dict(stored)
        made: AbstractSpace = _KINDS[settings.pop("kind")](**settings)
        return made
    return Interval(*stored)
