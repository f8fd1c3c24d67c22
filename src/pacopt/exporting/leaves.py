"""The arrays of a point: names, shapes and order are those of the problem's start. Nothing here needs JAX."""

import warnings
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from pacopt.errors import ExportError


class Leaf(NamedTuple):
    """One array of a point; if the point itself is an array, it has no name."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of its entries."""
        return prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name or 'an array'} of the shape {list(self.shape)}"


def listed(leaves: Sequence[Leaf]) -> str:
    """The arrays in their order, as words."""
    return ", ".join(map(str, leaves)) or "no array"


def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """All numbers as one vector."""
    return np.concatenate([np.ravel(each) for each in arrays])


def parted(x: np.ndarray, leaves: Sequence[Leaf]) -> tuple[np.ndarray, ...]:
    """The arrays whose numbers this vector holds."""
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    return tuple(part.reshape(leaf.shape) for part, leaf in zip(np.split(x, ends), leaves, strict=True))


def warn_of_precision(found: Iterable[str], certified: str) -> None:
    """Warn the caller's caller if parameters have another type than the certified runs."""
    others = sorted({each.removeprefix("torch.") for each in found} - {certified})
    if others:
        text = f"Parameters are {', '.join(others)}, and the certificate speaks of {certified}"
        warnings.warn(f"{text}: it does not cover this run.", stacklevel=3)


def misfit(found: str, needed: str) -> ExportError:
    """The error for parameters that are not a point of the problem."""
    return ExportError(
        found,
        needed,
        "The certificate speaks of that problem and of no other, and a rule may treat each array by itself.",
        "Bring them into this form, or learn it for this problem.",
    )
