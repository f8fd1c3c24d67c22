"""The mean score of a new instance is at most so much."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float

from pacopt.assumptions import Assumption
from pacopt.bounds.exponential_family import gibbs_posterior
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.sums import by_rows
from pacopt.claims.base import AbstractClaim, Highlight, Learnt, Watched
from pacopt.claims.subject import Subject
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio
from pacopt.support.intervals import mean_interval
from pacopt.support.rounding import percent, up

if TYPE_CHECKING:
    from pacopt.design import Design


@dataclass(frozen=True, slots=True)
class Risk(AbstractClaim):
    """E z <= U for the score z of the design, by betting with a mixture over t; in the unit of the score."""

    share: float = 0.6

    name: ClassVar = "risk"
    explaining: ClassVar = ("confidence_cost", "empirical_risk", "selection_cost", "t", "t_at_edge")
    scored: ClassVar = True
    safeguards: ClassVar = True

    def bound(self, design: "Design") -> MixtureBetting:
        """L4, mixture over t."""
        return MixtureBetting(design.t_grid, design.score)

    def for_candidates(self, table: LossTable, design: "Design", epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound on the mean score of every candidate, in its unit."""
        bounds = self.bound(design).for_candidates(table, design.prior, self.share * epsilon)
        return design.score.scale * np.minimum(1.0, bounds + design.score.rounding)

    def for_posterior(self, table: LossTable, design: "Design", posterior: DiscreteMeasure, epsilon: float) -> float:
        """The bound on the mean score under the posterior, in its unit."""
        found = self.bound(design).for_posterior(table, design.prior, posterior, self.share * epsilon)
        return design.score.scale * min(1.0, found + design.score.rounding)

    def details(self, table: LossTable, design: "Design", index: int, value: float, epsilon: float) -> dict[str, float]:
        """The bound = mean on the training instances + cost of the confidence + cost of the choice."""
        bound, scale = self.bound(design), design.score.scale
        wealth, n, level = bound.wealth(table)[index : index + 1], table.shape[1], self.share * epsilon
        mean = float(self.measured(table, design)[index])
        free = scale * float(bound.upper(wealth, n, np.zeros(1), level)[0])
        return {"empirical_risk": mean, "confidence_cost": free - mean, "selection_cost": value - free}

    def learn(self, table: LossTable, design: "Design", eligible: Bool[np.ndarray, " hyper"], epsilon: float) -> Learnt:
        """The Gibbs posterior of the best single t; all of this is free to depend on the table."""
        wealth, n = self.bound(design).wealth(table), table.shape[1]
        kept = np.where(eligible, design.prior.log_weights, -np.inf)
        prices = design.t_grid.prices(self.share * epsilon)
        value = -np.expm1((np.logaddexp.reduce(kept[:, None] + wealth, axis=0) - prices) / n) / design.t_grid.points
        best = int(np.argmin(value))
        posterior = gibbs_posterior(design.prior, np.where(eligible, wealth[:, best], -np.inf))
        details = {
            "empirical_risk": posterior.expectation(self.measured(table, design)),
            "t": float(design.t_grid.points[best]),
            "t_at_edge": best in (0, len(prices) - 1),
        }
        return Learnt(posterior, details)

    def measured(self, table: LossTable, design: "Design") -> Float[np.ndarray, " hyper"]:
        """Means of the score."""
        return design.score.scale * by_rows(table, lambda rows: design.score.of(table, rows).mean(axis=1))

    def interval(self, table: LossTable, design: "Design") -> tuple[float, float]:
        """Of the mean score, in its unit."""
        low, high = mean_interval(design.score.of(table, slice(0, 1))[0])
        return design.score.scale * low, design.score.scale * high

    def watched(self, value: float, design: "Design") -> Watched:
        """By the score of the design."""
        return Watched(value / design.score.scale, design.score.of_run)

    def ledger(self, design: "Design") -> tuple[Assumption, ...]:
        """What betting needs, and why the score lies in [0, 1]."""
        return (*self.bound(design).assumptions, design.score.range)

    def sentence(self, value: float | None, subject: Subject) -> str:
        """The mean is at most so much."""
        return subject.score.sentence(np.inf if value is None else value)

    def parts(self, values: Mapping[str, Any]) -> tuple[float, float, float] | None:
        """The mean on the training instances, the cost of the confidence, and the cost of the choice."""
        if "selection_cost" not in values:
            return None
        return values["empirical_risk"], values["confidence_cost"], values["selection_cost"]

    def explained(self, values: Mapping[str, Any], drawn: Mapping[str, Any], design: "Design") -> list[str]:
        """The three parts, and what led to the posterior."""
        found, unit = [], design.score.spoken_unit and f" {design.score.spoken_unit}"
        if (parts := self.parts(values)) is not None:
            found.append(
                f"Where {self.with_unit(values[self.name], design)} comes from: {parts[0]:.4g} on the training "
                f"instances + {parts[1]:.4g} for the confidence + {parts[2]:.4g} for the choice among "
                f"{len(design.prior)} candidates (weight {values['weight']:.3g})."
            )
        if "t" in drawn:
            edge = " (at the edge of its grid: with new training instances another grid might be tighter)"
            found.append(
                f"Posterior: training mean {drawn['empirical_risk']:.4g}{unit}, KL {drawn['kl']:.4g} nats, "
                f"t = {drawn['t']:.4g}{edge if drawn['t_at_edge'] else ''}."
            )
        return found

    def facts(self, values: Mapping[str, Any], drawn: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """The mean on the training instances, and the betting fraction."""
        found = []
        if "empirical_risk" in values:
            mean = f"{drawn['empirical_risk']:.4g}" if "empirical_risk" in drawn else ""
            found.append(("training mean", f"{values['empirical_risk']:.4g}", mean))
        if "t" in drawn:
            edge = ", at the edge of its grid" if drawn["t_at_edge"] else ""
            found.append(("betting fraction t", "", f"{drawn['t']:.4g}{edge}"))
        return found

    def heading(self, design: "Design") -> str:
        """What the mean is of."""
        return f"mean {_short(design.score)} at most"

    def highlight(self, value: float | None, subject: Subject, design: "Design") -> Highlight:
        """The mean, and for a ratio what part of the start is left."""
        if value is None or not isinstance(design.score, Ratio):
            label, text = design.score.highlight(np.inf if value is None else value)
            return Highlight(label, text, self.sentence(value, subject))
        left = percent(up(value))
        caption = f"On average the {subject.loss} ends at no more than {left} of its start. With the safeguard."
        return Highlight("mean ratio", f"≤ {self.shown(value)}", caption)


def _short(score: AbstractScore) -> str:
    return "ratio" if isinstance(score, Ratio) else score.noun
