"""A score: z in [0, 1] of a run, and how its mean is said."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption
from pacopt.loss_table import LossTable


class AbstractScore(ABC):
    """A number in [0, 1] for each run, smaller for a better one, and 1 for a run that failed or is missing.

    The bounds on a mean use nothing of z but that it lies in [0, 1]. `scale` turns z into the unit in which people
    read it.
    """

    #: Under which it is stored.
    name: ClassVar[str]
    #: Whether it is relative to the loss at the start, or a loss in a unit of its own.
    relative: ClassVar[bool]

    @property
    @abstractmethod
    def noun(self) -> str:
        """What is averaged: "final-to-initial loss ratio", say."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """What stands behind a number, "iterations" say; nothing for a pure number."""

    @property
    def spoken_unit(self) -> str:
        """What is said behind a number whose noun was said: a number of iterations has no unit."""
        return "" if self.unit in self.noun else self.unit

    @property
    @abstractmethod
    def scale(self) -> float:
        """The largest value of the score in its unit."""

    @property
    @abstractmethod
    def proviso(self) -> str:
        """What a sentence on its mean has to say besides, as a clause behind a comma; nothing if it says it all."""

    @property
    @abstractmethod
    def range(self) -> Assumption:
        """Why z lies in [0, 1]."""

    @abstractmethod
    def of(self, table: LossTable, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """z for some candidates on all instances."""

    @abstractmethod
    def of_run(self, loss: float, start: float) -> float:
        """z of one run, by its final loss and that at its start."""

    @abstractmethod
    def on_success(self, target_ratio: float) -> float:
        """The largest z of a run that succeeded, meaning that it ended at or below this part of its start."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON value from which the score can be made again: its name and its settings."""
