"""The contraction factor of a step: by what a run shrinks the loss, taken evenly over its steps."""

from dataclasses import dataclass, replace
from math import exp, isfinite, log
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption, Status
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.scores.base import AbstractScore, quantity_of
from pacopt.scores.logarithms import log_ratios
from pacopt.support.numbers import is_whole
from pacopt.support.rounding import up


@dataclass(frozen=True, slots=True)
class Rate(AbstractScore):
    """z = min(l / l0, 1)^(1 / K): the mean contraction factor per step of a run of K steps, with the safeguard.

    A bound U on its mean says that the geometric mean of the ratio over instances is at most U^K (Jensen); it says
    nothing about the mean ratio. `learn` knows the number of steps; for your own table, pass it.

    >>> round(Rate(50).of_run(1e-5, 1.0), 4)
    0.7943
    """

    steps: int | None = None
    quantity: str = "loss"

    name: ClassVar = "rate"
    counts_steps: ClassVar = True
    relative: ClassVar = True
    on_outcomes: ClassVar = False
    rounding: ClassVar = 1e-12

    def __post_init__(self) -> None:
        """Refuse what is no number of steps."""
        if self.steps is not None and not (is_whole(self.steps, 1) and self.steps <= 2**53):
            raise DesignError(
                f"A rate over {self.steps!r} steps is asked for.", "It is a whole number.", "", "Use pacopt.Rate(50)."
            )

    @property
    def noun(self) -> str:
        """A factor."""
        return "contraction factor per step"

    @property
    def range(self) -> Assumption:
        """By construction."""
        return Assumption("0 <= min(l / l0, 1)^(1/K) <= 1 for every run, whatever happens in it", Status.PROVED)

    def of(self, table: LossTable, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """exp((log l - log l0) / K), which neither overflows nor underflows."""
        return table.averaged(np.exp(np.minimum(log_ratios(table, rows), 0.0) / self._steps))

    def of_run(self, loss: float, start: float) -> float:
        """The same for one run."""
        if not isfinite(loss) or loss > start:
            return 1.0
        return 0.0 if loss == 0 else exp((log(loss) - log(start)) / self._steps)

    def on_success(self, target_ratio: float) -> float:
        """The target ratio, over all steps."""
        return float(target_ratio ** (1 / self._steps))

    def sentence(self, value: float) -> str:
        """The mean contraction factor is at most so much."""
        return (
            f"{self.safeguard}, its mean contraction factor per step, the ratio of final to initial {self.quantity} to "
            f"the power of 1/{self._steps}, is at most {up(value, 6)}."
        )

    def begun(self, steps: int | None) -> "Rate":
        """With the steps of the engine."""
        if self.steps is None and steps is not None:
            return replace(self, steps=steps)
        if self.steps is None or steps not in (None, self.steps):
            raise DesignError(
                f"The score is {self!r}, and the engine makes {steps} steps.",
                "A rate is the ratio to the power of 1 over the number of steps.",
                "",
                "Leave the number out where the engine knows it; else give it: pacopt.Rate(50).",
            )
        return self

    @property
    def open(self) -> bool:
        """Whether no number of steps was given."""
        return self.steps is None

    def to_dict(self) -> dict[str, Any]:
        """Its name and the number of steps."""
        return {"name": self.name, "steps": self._steps} | quantity_of(self)

    @property
    def _steps(self) -> int:
        return 1 if self.steps is None else int(self.steps)
