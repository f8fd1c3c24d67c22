"""A score: z in [0, 1] of a run, and how its mean is said."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption
from pacopt.loss_table import LossTable
from pacopt.support.rounding import up

#: How sentences on relative scores begin.
SAFEGUARD = "Returning the start unless the run ended at or below it"


class AbstractScore(ABC):
    """A number in [0, 1] for each run, smaller for a better one, and 1 for a run that failed or is missing.

    The bounds on a mean use nothing of z but that it lies in [0, 1]. `scale` turns z into the unit in which people
    read it.
    """

    #: Under which it is stored.
    name: ClassVar[str]
    #: Whether it is relative to the loss at the start, or a loss in a unit of its own.
    relative: ClassVar[bool]
    #: Whether it is in the unit in which runs end: a ratio, or a loss of its own. Else it is a function of that.
    on_outcomes: ClassVar[bool] = True
    #: More than z can be off by the rounding of logarithms; a bound on its mean is larger by that.
    rounding: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def noun(self) -> str:
        """What is averaged: "final-to-initial loss ratio", say."""

    @property
    def unit(self) -> str:
        """What stands behind a number, "iterations" say; nothing for a pure number."""
        return ""

    @property
    def spoken_unit(self) -> str:
        """What is said behind a number whose noun was said: a number of iterations has no unit."""
        return "" if self.unit in self.noun else self.unit

    @property
    def scale(self) -> float:
        """The largest value of the score in its unit; 1 for z itself."""
        return 1.0

    @property
    def proviso(self) -> str:
        """What a sentence on its mean has to say besides, as a clause behind a comma; nothing if it says it all."""
        return ""

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
    def sentence(self, value: float) -> str:
        """What a bound on its mean says, in its unit."""

    def highlight(self, value: float) -> tuple[str, str]:
        """A label and a text for a bound on its mean, on the first screen of a report."""
        return f"mean {self.noun}", f"≤ {up(value)}" + (f" {self.spoken_unit}" if self.spoken_unit else "")

    def begun(self, steps: int | None) -> "AbstractScore":
        """This score for runs of so many steps, if anybody counts them."""
        return self

    def floor(self, table: LossTable) -> Any:
        """Losses below this are as good as it, for each run of a table."""
        return 0.0

    @property
    def open(self) -> bool:
        """Whether something of it is left to `learn`; a design needs to know all of it."""
        return False

    def fixed(self, favourite: LossTable | None) -> "AbstractScore":
        """This score with what was left open fixed by the runs of a favourite on the prior split, if there are any."""
        return self

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON value from which the score can be made again: its name and its settings."""
