"""Relative loss conditional on success by betting, with no probability to be known."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.aliases import with_earlier_methods
from pacopt.assumptions import FIXED_BEFORE, IID, Assumption, Status
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.grids import Grid
from pacopt.bounds.mixture import MixtureBetting, padding
from pacopt.bounds.sums import log_products
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure


@with_earlier_methods
@dataclass(frozen=True, eq=False)
class ConditionalBetting(AbstractBound):
    """Upper bounds on E[l / l0 | l <= r l0] for every candidate, and for E_Q.

    **Theorem** (L2 of docs/theory.md). With rho_c = E[(l/l0)/r | C], each factor of prod_C (1 - t z_j/r) / (1 - t
    rho_c) has mean (1 - p) + p = 1. So E[l/l0 | C] <= r (1/t)[1 - exp((G_C - log(1/(eps w pi)))/N_c)], and r if
    nothing succeeded.
    **Needs** nothing but l <= r l0 on success (proved); never report it without the success probability.
    """

    grid: Grid
    target_ratio: float = 1.0

    theorem: ClassVar = "L2, betting on the successes"
    assumptions: ClassVar = (IID, FIXED_BEFORE, Assumption("0 <= l / l0 <= r where l <= r l0", Status.PROVED))

    def wealth(self, table: LossTable) -> tuple[Float[np.ndarray, "hyper grid"], Float[np.ndarray, " hyper"]]:
        """G_C(alpha, t) and N_c."""
        success = table.reached(self.target_ratio)
        # A factor of one where the run failed; min(., 1) since l/l0 can round above r.
        scaled = np.where(success, np.minimum(table.ratios() / self.target_ratio, 1.0), 0.0)
        return log_products(scaled, self.grid.points), success.sum(axis=1)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound for every candidate, all at once: the smallest over the grid."""
        wealth, count = self.wealth(table)
        price = self.grid.prices(epsilon) - prior.log_weights[:, None] + padding(wealth, count)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = -np.expm1((wealth - price) / count[:, None]) / self.grid.points
        best = np.where(count > 0, np.minimum(values.min(axis=1), 1.0), 1.0)
        return self.target_ratio * best

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The bound for E_Q, by the convex programme with N_c(alpha) in place of N."""
        wealth, count = self.wealth(table)
        return self.target_ratio * MixtureBetting(self.grid).posterior_upper(wealth, count, prior, posterior, epsilon)
