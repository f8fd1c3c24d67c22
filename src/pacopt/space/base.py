"""A space: the values that one hyperparameter may have, and their places in a unit cube."""

from abc import ABC, abstractmethod
from math import prod
from typing import Any, ClassVar

import numpy as np

from pacopt.errors import AlgorithmError
from pacopt.support.numbers import is_real


class AbstractSpace(ABC):
    """The values of one hyperparameter, as positions in the unit cube of `dimension` coordinates, where a search moves.

    `shape` is that of one value: () for a number, a string or a boolean. A value of a `static` space is known while an
    algorithm is traced, so the algorithm may branch with `if`; a table is compiled once for each value.
    """

    #: Its stored name.
    kind: ClassVar[str]
    static: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return ()

    @property
    def dimension(self) -> int:
        """The number of coordinates of a value."""
        return prod(self.shape)

    @abstractmethod
    def at(self, position: np.ndarray) -> np.ndarray:
        """The values at these positions: one for each leading index, from 0 to 1 along each coordinate."""

    @abstractmethod
    def position(self, value: Any) -> Any:
        """The position of a value: 0 at the low end, 1 at the high end, beyond if it lies outside."""

    @abstractmethod
    def holds(self, values: np.ndarray) -> bool:
        """Whether these are values of its type, one for each candidate."""

    @property
    @abstractmethod
    def words(self) -> str:
        """A description of its values, to follow a name."""

    @property
    @abstractmethod
    def example(self) -> str:
        """How to write one like it."""

    @abstractmethod
    def to_json(self) -> Any:
        """A JSON value from which `space_from_json` makes it again."""


def check_ends(low: Any, high: Any, log: Any, also: str = "") -> None:
    """Refuse an empty range, and a logarithmic one that reaches zero."""
    if not (is_real(low) and is_real(high)) or not -np.inf < low < high < np.inf or (log and low <= 0):
        raise AlgorithmError(
            f"The domain is [{low}, {high}]{' in logarithmic scale' if log else ''}.",
            f"low < high is needed, both {also}finite, and low > 0 in logarithmic scale.",
            "A search needs room.",
            "Correct the bounds.",
        )
