"""By how much the mean score of a candidate is smaller than that of a baseline."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.baselines import BASELINE, ROUNDING, baseline_table
from pacopt.bounds.grids import Grid
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.sums import by_rows, log_products
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio


@dataclass(frozen=True)
class Difference(AbstractBound):
    """Upper bounds on E (z_alpha - z_b), for scores whose means are compared by their difference.

    **Theorem** L4 on y = (1 + z_alpha - z_b) / 2, which lies in [0, 1].
    """

    grid: Grid
    baseline: str
    score: AbstractScore = field(default_factory=Ratio)

    theorem: ClassVar = "L4 on (1 + z - z_b) / 2, mixture over t"
    assumptions: ClassVar = (IID, FIXED_BEFORE, BASELINE)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound on the difference for every candidate; between -1 and 1."""
        betting = MixtureBetting(self.grid, self.score)
        return 2 * betting.upper(self.wealth(table), table.shape[1], prior.log_weights, epsilon) - 1

    def wealth(self, table: LossTable) -> Float[np.ndarray, "hyper grid"]:
        """sum_j log(1 - t y_j) for all t of the grid."""
        other = self.score.of(baseline_table(table, self.baseline))[0]

        def sums(rows: slice) -> np.ndarray:
            y = (1 + self.score.of(table, rows) - other) / 2
            return log_products(np.minimum(1.0, y + ROUNDING), self.grid.points)

        return by_rows(table, sums)

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> Any:
        """None."""
        return None
