"""Quantiles of the final-to-initial ratio, by order statistics."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import betainc

from pacopt.bounds.common import FIXED_BEFORE, IID
from pacopt.bounds.exponential_family import AbstractBound
from pacopt.bounds.success import PADDING
from pacopt.bounds.sums import by_rows
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure


class Quantile(AbstractBound):
    """Upper bounds on the q-quantile of l / l0, for all candidates at once, and for a posterior over its support.

    **Theorem** (order statistics). The q-quantile is at most the k-th smallest ratio, k the smallest with
    P(Bin(N, q) >= k) <= eps pi(alpha); there is none (infinity) if no k <= N will do.
    """

    theorem: ClassVar = "order statistics"
    posterior: ClassVar = True
    single: ClassVar = True
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def upper(
        self, table: LossTable, log_prior: Float[np.ndarray, " hyper"], level: float, epsilon: float
    ) -> Float[np.ndarray, " hyper"]:
        """The bound for every candidate."""
        n = table.shape[1]
        # P(Bin >= k) for k = 1..N, decreasing.
        k = np.arange(1.0, n + 1)
        tails = betainc(k, n - k + 1, level)
        order = np.searchsorted(-tails, -epsilon * np.exp(log_prior) * PADDING)

        def kth(rows: slice) -> np.ndarray:
            ratios, wanted = np.sort(table.ratios(rows), axis=1), order[rows]
            found = np.take_along_axis(ratios, np.minimum(wanted, n - 1)[:, None], axis=1)[:, 0]
            return np.where(wanted < n, found, np.inf)

        return by_rows(table, kth)

    def posterior_upper(self, bounds: Float[np.ndarray, " hyper"], posterior: DiscreteMeasure) -> float:
        """The largest of the candidates' bounds over the support: it holds whichever of them is drawn."""
        return float(np.max(np.asarray(bounds)[posterior.log_weights > -np.inf]))
