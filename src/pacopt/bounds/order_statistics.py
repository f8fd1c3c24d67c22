"""Quantiles of the final-to-initial ratio, or of the loss where there is no start, by order statistics."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import betainc

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.success import PADDING
from pacopt.bounds.sums import by_rows
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure


@dataclass(frozen=True)
class OrderStatistics(AbstractBound):
    """Upper bounds on the q-quantile of l / l0, for all candidates at once, and for a posterior over its support.

    **Theorem** (order statistics). The q-quantile is at most the k-th smallest ratio, k the smallest with
    P(Bin(N, q) >= k) <= eps pi(alpha); there is none (infinity) if no k <= N will do.
    **Needs** nothing; in a table without start losses it speaks of the loss itself.
    """

    level: float = 0.9

    theorem: ClassVar = "order statistics"
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound for every candidate."""
        n = table.shape[1]
        # P(Bin >= k) for k = 1..N, decreasing.
        k = np.arange(1.0, n + 1)
        tails = betainc(k, n - k + 1, self.level)
        order = np.searchsorted(-tails, -epsilon * np.exp(prior.log_weights) * PADDING)

        def kth(rows: slice) -> np.ndarray:
            ratios, wanted = np.sort(table.outcomes(rows), axis=1), order[rows]
            found = np.take_along_axis(ratios, np.minimum(wanted, n - 1)[:, None], axis=1)[:, 0]
            return np.where(wanted < n, found, np.inf)

        return by_rows(table, kth)

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The largest of the candidates' bounds over the support: it holds whichever of them is drawn."""
        return float(np.max(self.for_candidates(table, prior, epsilon)[posterior.log_weights > -np.inf]))
