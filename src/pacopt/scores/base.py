"""A score: z in [0, 1] of a run, and how its mean is said."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.support.rounding import up

if TYPE_CHECKING:
    from pacopt.engines.base import AbstractEngine, Metric

#: Units of what a clock measures.
TIMES = ("seconds", "s", "milliseconds", "ms", "microseconds", "us", "minutes", "min", "hours", "h")


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
    #: Whether it depends on how many steps a run has.
    counts_steps: ClassVar[bool] = False
    #: More than z can be off by the rounding of logarithms; a bound on its mean is larger by that.
    rounding: ClassVar[float] = 0.0

    #: What losses are called: "loss", or the name of a metric.
    quantity: str = "loss"

    @property
    def aside(self) -> str:
        """What is said behind a comparison with the start if that is not one of losses."""
        return "" if self.quantity == "loss" else f" in {self.quantity}"

    @property
    def safeguard(self) -> str:
        """How a sentence on what is relative to the start begins."""
        return f"Falling back to the start if the {self.quantity} did not decrease"

    def measuring(self, metric: "Metric") -> "AbstractScore":
        """This score of a metric in place of the loss."""
        if metric.largest is not None:
            raise DesignError(
                f"The score is {self!r}, and {metric.name} has a largest value, {metric.largest:g}.",
                "What has a known range is averaged as it is.",
                "",
                "Leave the score out, or the largest value of the metric.",
            )
        found: AbstractScore = replace(self, quantity=metric.name)  # type: ignore[type-var]
        return found

    @property
    @abstractmethod
    def noun(self) -> str:
        """What is averaged: "final-to-initial loss ratio", say."""

    @property
    def unit(self) -> str:
        """What stands behind a number, "iterations" say; nothing for a pure number."""
        return ""

    @property
    def timed(self) -> bool:
        """Whether it is a time that a clock measured: then nothing is the same again."""
        return self.unit in TIMES

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
    def event(self) -> str:
        """What a run does that succeeds, where losses have no start."""
        return "does not fail"

    @property
    def wins(self) -> str:
        """What a run does that is better than another one."""
        return "ends below"

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

    def told(self, mean: float) -> str:
        """A mean that was measured, in its unit, as people read it."""
        return f"{mean:.3g} {self.unit}".rstrip()

    def begun(self, steps: int | None) -> "AbstractScore":
        """This score for runs of so many steps, if anybody counts them."""
        return self

    def most(self, table: LossTable) -> Any:
        """Losses above this are as bad as it, for each run of a table: the start, if there is one."""
        return np.inf if table.start is None else table.starts

    def floor(self, table: LossTable) -> Any:
        """Losses below this are as good as it, for each run of a table."""
        return 0.0

    @property
    def open(self) -> bool:
        """Whether something of it is left to `learn`; a design needs to know all of it."""
        return False

    def fixed(self, favourite: LossTable | None, steps: int | None) -> "AbstractScore":
        """This score with what was left open fixed by the runs of a favourite on the prior split, if there are any.

        `steps` is how many a run has, if anybody counts them.
        """
        return self

    def running(self, steps: int) -> str:
        """How a run of so many steps goes."""
        return f"run for {steps} steps from the start"

    def runs(self, engine: "AbstractEngine") -> "AbstractEngine":
        """The engine whose tables it scores."""
        return engine

    def check(self, table: LossTable) -> None:
        """Refuse a table that it cannot score."""
        return

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON value from which the score can be made again: its name and its settings."""


def quantity_of(score: AbstractScore) -> dict[str, Any]:
    """What is stored of the quantity of a score: nothing for a loss."""
    return {} if score.quantity == "loss" else {"quantity": score.quantity}
