"""All candidates with what is known about each, as the charts of posterior and frontier need them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pacopt.certificate import CandidateBounds, candidate_bounds
from pacopt.report.figures import Axis
from pacopt.report.source import Reportable
from pacopt.report.words import standard_row
from pacopt.statement import down

#: Decades are drawn from this ratio on where the domain is in decades, and from that one on where it is not known.
SPREAD, UNKNOWN_SPREAD = 8.0, 100.0
#: Shown are all candidates between these quantiles, and all that are heavier than this.
MIDDLE, HEAVY = (0.05, 0.95), 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Values and weights, certified bounds, the deployed one, and the textbook's hyperparameters if there are any.

    `level` is the success that was asked for and attained, or else that of the deployed candidate.
    """

    values: Mapping[str, np.ndarray]
    prior: np.ndarray
    posterior: np.ndarray
    bounds: CandidateBounds
    deployed: int
    standard: dict[str, float] | None
    level: float
    level_text: str
    decades: Mapping[str, bool]

    @staticmethod
    def of(learned: Reportable) -> "Candidates":
        """The candidates of a certificate; their bounds are recomputed, as a certificate stores one of them."""
        c, standard = learned.certificate, standard_row(learned.comparison)
        asked = c.min_success if c.attained else None
        return Candidates(
            values=learned.table.candidates,
            prior=c.design.prior.weights,
            posterior=np.asarray(c.posterior.weights),
            bounds=candidate_bounds(learned.table, c.design, confidence=c.confidence),
            deployed=c.deployed.index,
            standard=None if standard is None else standard.hyper,
            level=c.deployed.success if asked is None else asked,
            level_text=down(c.deployed.success) if asked is None else f"{asked!r}",
            decades={name: bool(log) for name, (_, _, log) in learned.provenance.get("domain", {}).items()},
        )

    def __len__(self) -> int:
        return len(self.prior)

    def frontier(self) -> list[int]:
        """Those with weight that no other one beats in both certified risk and certified success, by increasing risk.

        The fastest of them, and each that is safer than all that are faster.
        """
        found: list[int] = []
        best = -1.0
        for i in np.lexsort((-self.bounds.success, self.bounds.risk)).tolist():
            if self.prior[i] > 0 and self.bounds.success[i] > best:
                found.append(i)
                best = float(self.bounds.success[i])
        return found

    def axis(self, name: str) -> Axis:
        """An axis for one hyperparameter, in decades where its domain is or where its values ask for it.

        It holds those with weight, the textbook's, and the middle of the others; a few that were tried far away would
        leave no room for the rest.
        """
        values = self.values[name]
        ends = [*np.quantile(values, MIDDLE, method="inverted_cdf"), *values[self.posterior > HEAVY]]
        ends += [values[self.deployed]] + ([] if self.standard is None else [self.standard[name]])
        spread = SPREAD if self.decades.get(name) else np.inf if name in self.decades else UNKNOWN_SPREAD
        return Axis.around(ends, log=bool(min(ends) > 0 and max(ends) > spread * min(ends)))
