"""Arrays of a fixed shape, and pytrees of them."""

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.errors import AlgorithmError
from pacopt.space.base import AbstractSpace, check_ends
from pacopt.space.numbers import Interval
from pacopt.support.numbers import is_whole


@dataclass(frozen=True, slots=True)
class Array(AbstractSpace):
    """An array of real numbers whose shape is fixed at construction: a schedule, a matrix, a preconditioner.

    Good entries are searched for between low and high; values outside are allowed.

    >>> Array((50,), 1e-4, 1.0, log=True).dimension
    50
    """

    size: int | tuple[int, ...]
    low: float = -1.0
    high: float = 1.0
    log: bool = False

    kind: ClassVar = "array"

    def __post_init__(self) -> None:
        """Refuse a shape that is none."""
        check_ends(self.low, self.high, self.log)
        shape = self.size if isinstance(self.size, tuple | list) else (self.size,)
        if not shape or not all(is_whole(length, 1) for length in shape):
            raise AlgorithmError(
                f"An array of the shape {self.size!r} is asked for.",
                "A shape is made of whole numbers, at least 1, that are known when the algorithm is made.",
                "Candidates are stored side by side, so the shape cannot depend on the instance.",
                "Use pacopt.Array((50,)), for example; for one number use pacopt.Interval.",
            )
        object.__setattr__(self, "size", tuple(int(length) for length in shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return tuple(self.size) if isinstance(self.size, tuple) else (self.size,)

    @property
    def dimension(self) -> int:
        """The number of entries."""
        return prod(self.shape)

    def at(self, position: Float[np.ndarray, "hyper d"]) -> np.ndarray:
        """One array for each row of coordinates."""
        return Interval(self.low, self.high, self.log).at(position).reshape(len(position), *self.shape)

    def position(self, value: Any) -> np.ndarray:
        """The position of each entry."""
        inner = Interval(self.low, self.high, self.log)
        return np.array([inner.position(entry) for entry in np.ravel(value)])

    def holds(self, values: np.ndarray) -> bool:
        """Whether these are arrays of that shape."""
        return values.dtype.kind in "fiu" and values.shape[1:] == self.shape

    @property
    def words(self) -> str:
        """Shape and ends."""
        return f"of shape {list(self.shape)}, {Interval(self.low, self.high, self.log).words}"

    @property
    def example(self) -> str:
        """With its shape."""
        return f"Array({self.shape}, low, high)"

    def to_json(self) -> dict[str, Any]:
        """Shape and ends."""
        return {"kind": self.kind, "size": list(self.shape), "low": self.low, "high": self.high, "log": self.log}


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A pytree of arrays with the structure and the shapes of `like`, such as the weights of a network.

    The algorithm sees the pytree. A table of candidates holds each of its arrays under its own name
    (`weights.hidden.0`), with a leading axis. Entries are searched for between low and high.
    """

    like: Any
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        check_ends(self.low, self.high, False)
