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
    """A number in [0, 1] for each run: smaller is better, and a failed or missing run has 1.

    The bounds on a mean use only that z lies in [0, 1]. `scale` turns z into the unit in which people
    read it.
    """

    #: Its stored name.
    name: ClassVar[str]
    #: Whether it is relative to the loss at the start, rather than a loss in its own unit.
    relative: ClassVar[bool]
    #: Whether it is in the unit of final losses: a ratio, or a loss in its own unit. Else it is a function of that.
    on_outcomes: ClassVar[bool] = True
    #: Whether it depends on the number of steps.
    counts_steps: ClassVar[bool] = False
    #: More than the rounding error of logarithms in z; a bound on its mean is larger by that.
    rounding: ClassVar[float] = 0.0

    #: The word for losses: "loss", or the name of a metric.
    quantity: str = "loss"

    @property
    def aside(self) -> str:
        """The words after a comparison with the start, if it is not a comparison of losses."""
        return "" if self.quantity == "loss" else f" in {self.quantity}"

    @property
    def safeguard(self) -> str:
        """The beginning of a sentence on something relative to the start."""
        return f"Falling back to the start if the {self.quantity} did not decrease"

    def measuring(self, metric: "Metric") -> "AbstractScore":
        """This score of a metric instead of the loss."""
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
        """What is averaged, for example "final-to-initial loss ratio"."""

    @property
    def unit(self) -> str:
        """The unit after a number, for example "iterations"; empty for a pure number."""
        return ""

    @property
    def timed(self) -> bool:
        """Whether it is a measured time, which is never exactly the same twice."""
        return self.unit in TIMES

    @property
    def spoken_unit(self) -> str:
        """The unit after a number whose noun was already given: a number of iterations has none."""
        return "" if self.unit in self.noun else self.unit

    @property
    def scale(self) -> float:
        """The largest value of the score in its unit; 1 for z itself."""
        return 1.0

    @property
    def proviso(self) -> str:
        """What a sentence on its mean must add, as a clause after a comma; empty if nothing."""
        return ""

    @property
    def event(self) -> str:
        """What a successful run does, if losses have no start."""
        return "does not fail"

    @property
    def wins(self) -> str:
        """What a run does that is better than another."""
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
        """z of one run, from its final loss and its start loss."""

    @abstractmethod
    def on_success(self, target_ratio: float) -> float:
        """The largest z of a successful run, one that ends at or below this fraction of its start."""

    @abstractmethod
    def sentence(self, value: float) -> str:
        """What a bound on its mean says, in its unit."""

    def highlight(self, value: float) -> tuple[str, str]:
        """A label and a text for a bound on its mean, on the first screen of a report."""
        return f"mean {self.noun}", f"≤ {up(value)}" + (f" {self.spoken_unit}" if self.spoken_unit else "")

    def told(self, mean: float) -> str:
        """A measured mean, in its unit, as people read it."""
        return f"{mean:.3g} {self.unit}".rstrip()

    def begun(self, steps: int | None) -> "AbstractScore":
        """This score for runs with this number of steps, if steps are counted."""
        return self

    def most(self, table: LossTable) -> Any:
        """For each run of a table, the loss above which all losses count the same: the start, if there is one."""
        return np.inf if table.start is None else table.starts

    def floor(self, table: LossTable) -> Any:
        """For each run of a table, the loss below which all losses count the same."""
        return 0.0

    @property
    def open(self) -> bool:
        """Whether `learn` still has to fix something; a design needs a complete score."""
        return False

    def fixed(self, favourite: LossTable | None, steps: int | None) -> "AbstractScore":
        """This score with open settings fixed by the favourite's runs on the prior split, if there are any.

        `steps` is the number of steps of a run, if they are counted.
        """
        return self

    def running(self, steps: int) -> str:
        """How a run with this number of steps works."""
        return f"run for {steps} steps from the start"

    def runs(self, engine: "AbstractEngine") -> "AbstractEngine":
        """The engine whose tables it scores."""
        return engine

    def check(self, table: LossTable) -> None:
        """Reject a table that it cannot score."""
        return

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON value from which the score can be made again: its name and its settings."""


def quantity_of(score: AbstractScore) -> dict[str, Any]:
    """What is stored of the quantity of a score: nothing for a loss."""
    return {} if score.quantity == "loss" else {"quantity": score.quantity}
