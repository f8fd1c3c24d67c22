"""A run succeeds with probability at least so much."""

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.bounds.success import ClopperPearson, success_counts
from pacopt.claims.base import AbstractClaim, Ending, Highlight, Watched
from pacopt.claims.subject import Subject
from pacopt.loss_table import LossTable
from pacopt.support.intervals import share_interval
from pacopt.support.rounding import down, percent

if TYPE_CHECKING:
    from pacopt.design import Design


@dataclass(frozen=True, slots=True)
class Success(AbstractClaim):
    """P(success) >= p_lo for every candidate at once, and for a posterior the mean of p_lo, on the same event.

    Success is defined by the target ratio of the design, or by the user's own criterion.
    """

    share: float = 0.2

    name: ClassVar = "success"
    explaining: ClassVar = ("empirical_success",)
    at_least: ClassVar = True
    probability: ClassVar = True
    safeguards: ClassVar = False

    def bound(self, design: "Design") -> ClopperPearson:
        """Clopper & Pearson."""
        return ClopperPearson(design.target_ratio)

    def details(self, table: LossTable, design: "Design", index: int, value: float, epsilon: float) -> dict[str, float]:
        """How often it succeeded on the training instances."""
        return {"empirical_success": float(success_counts(table, design.target_ratio)[index] / table.shape[1])}

    def measured(self, table: LossTable, design: "Design") -> Float[np.ndarray, " hyper"]:
        """Frequencies of success."""
        return success_counts(table, design.target_ratio) / table.shape[1]

    def interval(self, table: LossTable, design: "Design") -> tuple[float, float]:
        """Of the probability of success."""
        return share_interval(int(success_counts(table, design.target_ratio)[0]), table.shape[1])

    def ending(self, value: float, design: "Design") -> Ending | None:
        """So many end at or below the target ratio, where there is a start."""
        return Ending(design.target_ratio, value, by_verdict=True) if design.score.relative else None

    def watched(self, value: float, design: "Design") -> Watched:
        """By 1 for a run that does not succeed."""
        relative, target = design.score.relative, design.target_ratio

        def failed(run_loss: float, start_loss: float) -> float:
            return float(not (isfinite(run_loss) and (not relative or run_loss <= target * start_loss)))

        return Watched(1 - value, failed, by_verdict=True, binary=True)

    def needs_safeguard(self, design: "Design") -> bool:
        """No: it counts how runs go, whatever is returned."""
        return False

    def sentence(self, value: float | None, subject: Subject) -> str:
        """It succeeds with probability at least so much."""
        lead = "Without that safeguard it" if subject.relative and subject.safeguarded else "It"
        return f"{lead} {subject.event} with probability at least {self.shown(value)}."

    def highlight(self, value: float | None, subject: Subject, design: "Design") -> Highlight:
        """In per cent."""
        without = ", without the safeguard" if subject.relative else ""
        caption = f"The probability that a run {subject.event}{without}."
        return Highlight("success", "none" if value is None else f"≥ {percent(down(value))}", caption)
