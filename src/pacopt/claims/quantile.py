"""At least so large a part of the instances ends at or below so much."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.bounds.order_statistics import OrderStatistics
from pacopt.claims.base import AbstractClaim, Ending, Highlight, Watched
from pacopt.claims.subject import Subject
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.support.intervals import quantile_interval
from pacopt.support.numbers import is_real
from pacopt.support.rounding import percentage

if TYPE_CHECKING:
    from pacopt.design import Design


@dataclass(frozen=True, slots=True)
class Quantile(AbstractClaim):
    """This quantile of the final losses, without any safeguard, is at most X; for the deployed candidate."""

    share: float = 0.2
    level: float = 0.9

    name: ClassVar = "quantile"
    scored: ClassVar = True

    def __post_init__(self) -> None:
        """Refuse what is no level."""
        if not is_real(self.level) or not 0 < self.level < 1:
            raise DesignError(
                f"quantile_level is {self.level!r}.",
                "It lies strictly between 0 and 1.",
                "No sample says anything about all of the instances to come.",
                "Use 0.9 for 'at least 90 % of instances'.",
            )
        object.__setattr__(self, "level", float(self.level))

    def bound(self, design: "Design") -> OrderStatistics:
        """Order statistics."""
        return OrderStatistics(self.level)

    def for_posterior(self, table: LossTable, design: "Design", posterior: DiscreteMeasure, epsilon: float) -> None:
        """None: it would be the largest over all candidates with any weight."""
        return

    def measured(self, table: LossTable, design: "Design") -> Float[np.ndarray, " hyper"]:
        """The quantile of the instances at hand; an order statistic, since between two of them one may be infinite."""
        return np.asarray(np.quantile(table.outcomes(), self.level, axis=1, method="inverted_cdf"))

    def interval(self, table: LossTable, design: "Design") -> tuple[float, float]:
        """Of the quantile; no run ends below zero."""
        low, high = quantile_interval(table.outcomes(slice(0, 1))[0], self.level)
        return max(low, 0.0), high

    def ending(self, value: float, design: "Design") -> Ending:
        """So many end at or below the quantile."""
        return Ending(value, self.level)

    def watched(self, value: float, design: "Design") -> Watched:
        """By 1 for a run that ends beyond the quantile."""
        relative = design.score.relative

        def beyond(run_loss: float, start_loss: float) -> float:
            if not isfinite(run_loss):
                return 1.0
            if relative:
                outcome = run_loss / start_loss if start_loss > 0 else 0.0 if run_loss == 0 else inf
            else:
                outcome = run_loss
            return float(not outcome <= value)

        return Watched(1 - self.level, beyond, binary=True)

    def needs_safeguard(self, design: "Design") -> bool:
        """No: it counts how runs go, whatever is returned."""
        return False

    def sentence(self, value: float | None, subject: Subject) -> str:
        """So many per cent of instances end at or below so much."""
        part = f"{percentage(self.level)} %"
        if value is None:
            return f"No finite bound on the {part} quantile can be given with these instances and weights."
        if subject.relative:
            return (
                f"At least {part} of {subject.drawn} end, without the safeguard, at a ratio{subject.score.aside} of at "
                f"most {self.shown(value)}."
            )
        unit = subject.unit and f" {subject.unit}"
        return f"On at least {part} of {subject.drawn} its {subject.loss} is at most {self.shown(value)}{unit}."

    def in_scores(self, design: "Design") -> bool:
        """If the score is in the unit in which runs end."""
        return design.score.on_outcomes

    def heading(self, design: "Design") -> str:
        """Which quantile."""
        return f"{percentage(self.level)} % quantile at most"

    def highlight(self, value: float | None, subject: Subject, design: "Design") -> Highlight:
        """Which part of the instances."""
        part = f"{percentage(self.level)} %"
        if value is None:
            return Highlight(f"{part} quantile", "none", self.sentence(value, subject))
        if subject.relative:
            caption = f"At least {part} of new {subject.drawn} end at or below this ratio, without the safeguard."
            return Highlight(f"{part} of {subject.drawn}", f"≤ {self.shown(value)}", caption)
        unit = subject.unit and f" {subject.unit}"
        return Highlight(f"{part} of {subject.drawn}", f"≤ {self.shown(value)}{unit}", self.sentence(value, subject))
