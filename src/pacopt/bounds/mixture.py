"""Betting with a mixture over t: one event for every candidate and for every posterior."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.grids import Grid
from pacopt.bounds.sums import log_wealth
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio

#: Halvings of [0, 1] after which a bisection is exact to the last bit.
HALVINGS = 60
#: Enough where only the value at a maximum counts: it is flat there, and what is lost stays far below the padding.
FLAT_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class MixtureBetting(AbstractBound):
    """Upper bounds on mu(alpha) = E min(l / l0, 1) for all candidates, and on E_Q mu for all Q, at once.

    **Theorem** (docs/theory.md, the default certificate). e_alpha(m) = sum_k w_k exp(G(alpha, t_k) - n log(1 - t_k m))
    has E_pi E e_alpha(mu) = 1. So with probability 1 - eps, E_Q log e_alpha(mu(alpha)) <= KL(Q || pi) + log(1/eps) for
    all Q. One candidate: mu <= sup {m : e_alpha(m) < 1 / (eps pi(alpha))}. A posterior: max E_Q m under that
    constraint, reported by its dual value, which is valid for every multiplier.
    **Needs** z in [0, 1] (proved); t, w and pi fixed in advance. `n` may differ between candidates.
    """

    grid: Grid
    score: AbstractScore = field(default_factory=Ratio)

    theorem: ClassVar = "L4, mixture over t"
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def wealth(self, table: LossTable) -> Float[np.ndarray, "hyper grid"]:
        """G(alpha, t) for all t of the grid."""
        return log_wealth(table, self.grid.points, self.score)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound on mu for every candidate."""
        return self.upper(self.wealth(table), table.shape[1], prior.log_weights, epsilon)

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The bound on E_Q mu."""
        return self.posterior_upper(self.wealth(table), table.shape[1], prior, posterior, epsilon)

    def log_e(self, wealth: np.ndarray, n: Any, m: np.ndarray) -> np.ndarray:
        """log e_alpha(m) for one m for each candidate; increasing and convex in m."""
        terms = (
            np.log(self.grid.weights)
            + wealth
            - np.reshape(n, (-1, 1)) * np.log1p(-np.multiply.outer(m, self.grid.points))
        )
        return np.asarray(logsumexp(terms, axis=1))

    def upper(
        self, wealth: Float[np.ndarray, "hyper grid"], n: Any, log_prior: Float[np.ndarray, " hyper"], epsilon: float
    ) -> Float[np.ndarray, " hyper"]:
        """The bound for every candidate, all at once; 1 for a candidate without weight."""
        threshold = -np.log(epsilon) - log_prior + padding(wealth, n)
        low, high = np.zeros(len(wealth)), np.ones(len(wealth))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            inside = ~(self.log_e(wealth, n, middle) >= threshold)  # what is no number excludes nothing
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return high

    def posterior_upper(
        self,
        wealth: Float[np.ndarray, "hyper grid"],
        n: Any,
        prior: DiscreteMeasure,
        posterior: DiscreteMeasure,
        epsilon: float,
    ) -> float:
        """The dual value of the convex programme for E_Q mu."""
        q = posterior.weights
        n = np.broadcast_to(n, q.shape)
        price = posterior.kl(prior) - np.log(epsilon) + float(q @ padding(wealth, n))
        if not np.isfinite(price):
            return 1.0
        # Candidates of hardly any weight are bounded by m <= 1 and log e(m) >= log e(0), and not maximised over.
        least = 1e-12 / len(q)
        heavy, light = q > least, (q <= least) & (q > 0)
        rest = float(q[light].sum())
        rest_log_e = float(q[light] @ self.log_e(wealth[light], n[light], np.zeros(int(light.sum()))))
        q, wealth, n = q[heavy], wealth[heavy], n[heavy]

        def dual(log_nu: float) -> float:
            nu = float(np.exp(log_nu))
            m = self._maximiser(wealth, n, nu)
            return float(q @ (m - nu * self.log_e(wealth, n, m)) + nu * price + rest - nu * rest_log_e)

        # The multiplier is the slope of the bound in the price; the dual is convex in it, so unimodal in its logarithm.
        largest = 2.0 - np.log(self.grid.points.min())
        found = minimize_scalar(dual, bounds=(-30.0, largest), method="bounded", options={"xatol": 1e-7})
        return min(1.0, float(found.fun))

    def _maximiser(self, wealth: np.ndarray, n: np.ndarray, nu: float) -> np.ndarray:
        """argmax over m in [0, 1] of m - nu log e(m), by bisection on its decreasing derivative."""
        low, high = np.zeros(len(wealth)), np.ones(len(wealth))
        t, log_w = self.grid.points, np.log(self.grid.weights)
        for _ in range(FLAT_HALVINGS):
            m = (low + high) / 2
            room = 1 - np.multiply.outer(m, t)
            terms = log_w + wealth - n[:, None] * np.log(room)
            shares = np.exp(terms - terms.max(axis=1, keepdims=True))
            slope = (shares * (n[:, None] * t / room)).sum(axis=1) / shares.sum(axis=1)
            rising = nu * slope < 1
            low, high = np.where(rising, m, low), np.where(rising, high, m)
        return np.where(high == 1.0, 1.0, low)


def padding(wealth: Float[np.ndarray, "hyper grid"], n: Any) -> Float[np.ndarray, " hyper"]:
    """More than the rounding of G, which could put an inverse on the wrong side: relative, and for each factor."""
    padded: np.ndarray = 1e-12 * (1 + np.abs(wealth).max(axis=1)) + 4e-16 * np.asarray(n)
    return padded
