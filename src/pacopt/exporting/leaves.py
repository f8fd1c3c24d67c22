"""The arrays of a point: names, shapes and order are those of the problem's start. Nothing here needs JAX."""

import warnings
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from pacopt.errors import ExportError


class Leaf(NamedTuple):
    """One array of a point; a point that is an array itself has no name for it."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name or 'an array'} of the shape {list(self.shape)}"


def listed(leaves: Sequence[Leaf]) -> str:
    """The arrays in their order, as words."""
    return ", ".join(map(str, leaves)) or "no array"


def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """One vector of all numbers."""
    return np.concatenate([np.ravel(each) for each in arrays])


def parted(x: np.ndarray, leaves: Sequence[Leaf]) -> tuple[np.ndarray, ...]:
    """The arrays of which this vector has the numbers."""
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    return tuple(part.reshape(leaf.shape) for part, leaf in zip(np.split(x, ends), leaves, strict=True))


def warn_of_precision(found: Iterable[str], certified: str) -> None:
    """Warn whoever calls the caller if parameters have another type than the runs that were certified."""
    others = sorted({each.removeprefix("torch.") for each in found} - {certified})
    if others:
        text = f"Parameters are {', '.join(others)}, and the certificate speaks of {certified}"
        warnings.warn(f"{text}: it does not cover this run.", stacklevel=3)


def misfit(found: str, needed: str) -> ExportError:
    """What is said of parameters that are no point of the problem."""
    return ExportError(
        found,
        needed,
        "The certificate speaks of that problem and of no other, and a rule may treat each array by itself.",
        "Bring them into this form, or learn it for this problem.",
    )
