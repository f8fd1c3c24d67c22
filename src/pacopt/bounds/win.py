"""How often a candidate ends below a baseline."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.baselines import BASELINE, wins
from pacopt.bounds.success import ClopperPearson
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio


@dataclass(frozen=True)
class WinProbability(AbstractBound):
    """Lower bounds on the probability that a candidate ends below the baseline.

    **Theorem** (Clopper & Pearson 1934) on the columns where min(l, l0) < min(l_b, l0), counted on losses.
    """

    baseline: str
    score: AbstractScore = field(default_factory=Ratio)

    theorem: ClassVar = "Clopper & Pearson 1934"
    assumptions: ClassVar = (IID, FIXED_BEFORE, BASELINE)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bounds for every candidate."""
        counts = wins(table, self.baseline, self.score).sum(axis=1).astype(np.float64)
        return ClopperPearson().lower(counts, table.shape[1], prior.log_weights, epsilon)

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The mean of the bounds."""
        return posterior.expectation(self.for_candidates(table, prior, epsilon))
