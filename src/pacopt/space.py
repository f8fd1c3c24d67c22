"""Where good hyperparameters are looked for."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from pacopt.errors import AlgorithmError


@dataclass(frozen=True, slots=True)
class Interval:
    """Where good values of a hyperparameter are looked for; values outside are allowed.

    `log` says that decades count alike, as for step sizes.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        """Refuse an empty interval, and a logarithmic one that reaches zero."""
        if not -np.inf < self.low < self.high < np.inf or (self.log and self.low <= 0):
            raise AlgorithmError(
                f"The domain is [{self.low}, {self.high}]{' in logarithmic scale' if self.log else ''}.",
                "low < high is needed, both finite, and low > 0 in logarithmic scale.",
                "A search needs room.",
                "Correct the bounds.",
            )

    def at(self, position: Float[np.ndarray, " hyper"]) -> Float[np.ndarray, " hyper"]:
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
        """Where a value stands: 0 at low, 1 at high, in the scale of the interval; beyond if it lies outside.

        >>> Interval(1e-4, 1.0, log=True).position(1e-2)
        0.5
        """
        # A logarithmic scale has no place for zero and below: they stand as far below as the interval is wide.
        if self.log:
            low, high = np.log10([self.low, self.high])
            return float((np.log10(value) - low) / (high - low)) if value > 0 else -1.0
        return float((value - self.low) / (self.high - self.low))


#: One interval for each hyperparameter.
Domain = Mapping[str, Interval]
