"""Real and whole numbers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.errors import AlgorithmError
from pacopt.space.base import AbstractSpace, check_ends


@dataclass(frozen=True, slots=True)
class Interval(AbstractSpace):
    """Real numbers. A search looks for good ones between low and high; values outside are allowed.

    `log` searches on a log scale, as for step sizes.
    """

    low: float
    high: float
    log: bool = False

    kind: ClassVar = "interval"

    def __post_init__(self) -> None:
        """Refuse an empty interval, and a logarithmic one that reaches zero."""
        check_ends(self.low, self.high, self.log)

    def at(self, position: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """The values at these positions, from 0 (low) to 1 (high) in the scale of the interval.

        >>> Interval(1e-4, 1.0, log=True).at(np.array([0.0, 0.5, 1.0]))
        array([1.e-04, 1.e-02, 1.e+00])
        """
        if self.log:
            ends = np.log10([self.low, self.high])
            values: np.ndarray = 10 ** (ends[0] + position * (ends[1] - ends[0]))
        else:
            values = self.low + position * (self.high - self.low)
        # The ends are hit exactly, whatever the logarithm rounds to.
        clipped: np.ndarray = np.clip(values, self.low, self.high)
        return clipped

    def position(self, value: float) -> float:
        """The position of a value: 0 at low, 1 at high, in the scale of the interval; beyond if it lies outside.

        >>> Interval(1e-4, 1.0, log=True).position(1e-2)
        0.5
        """
        # A logarithmic scale has no place for zero and below: they stand as far below as the interval is wide.
        if self.log:
            low, high = np.log10([self.low, self.high])
            return float((np.log10(value) - low) / (high - low)) if value > 0 else -1.0
        return float((value - self.low) / (self.high - self.low))

    def holds(self, values: np.ndarray) -> bool:
        """Whether these are real numbers."""
        return values.dtype.kind in "fiu" and values.ndim == 1

    @property
    def words(self) -> str:
        """Its ends."""
        return f"in [{self.low:g}, {self.high:g}]{', in decades' if self.log else ''}"

    @property
    def example(self) -> str:
        """Its ends are to be filled in."""
        return "Interval(low, high)"

    def to_json(self) -> list[Any]:
        """Its ends, and whether decades count."""
        return [self.low, self.high, self.log]


@dataclass(frozen=True, slots=True)
class Whole(AbstractSpace):
    """Whole numbers from low to high, both included: a restart period, a memory, a number of inner steps.

    >>> Whole(1, 4).at(np.array([0.0, 0.3, 1.0]))
    array([1, 2, 4])
    """

    low: int
    high: int
    log: bool = False

    kind: ClassVar = "whole"

    def __post_init__(self) -> None:
        """Refuse ends that are not whole, an empty range, and a logarithmic one that reaches zero."""
        whole = all(isinstance(end, int | np.integer) and not isinstance(end, bool) for end in (self.low, self.high))
        check_ends(self.low, self.high, self.log, "whole numbers, " if not whole else "")
        if not whole or max(abs(self.low), abs(self.high)) >= 2**53:
            raise AlgorithmError(
                f"The domain is the whole numbers from {self.low!r} to {self.high!r}.",
                "Both ends are whole numbers, below 2^53.",
                "",
                "Use pacopt.Interval for real numbers.",
            )
        for name in ("low", "high"):
            object.__setattr__(self, name, int(getattr(self, name)))

    def at(self, position: Float[np.ndarray, " hyper"]) -> np.ndarray:
        """Each number has an equal part of the scale around it."""
        inner = self._widened().at(np.asarray(position, dtype=np.float64))
        values: np.ndarray = np.clip(np.rint(inner), self.low, self.high).astype(np.int64)
        return values

    def position(self, value: float) -> float:
        """The middle of the part that belongs to this number."""
        return self._widened().position(value)

    def _widened(self) -> Interval:
        return Interval(self.low - 0.5, self.high + 0.5, self.log)

    def holds(self, values: np.ndarray) -> bool:
        """Whether these are whole numbers."""
        return values.dtype.kind in "iu" and values.ndim == 1

    @property
    def words(self) -> str:
        """Its ends."""
        return f"whole, from {self.low} to {self.high}{', in decades' if self.log else ''}"

    @property
    def example(self) -> str:
        """Its ends are to be filled in."""
        return "Whole(low, high)"

    def to_json(self) -> dict[str, Any]:
        """Its ends, and whether decades count."""
        return {"kind": self.kind, "low": self.low, "high": self.high, "log": self.log}
