"""How many times smaller the mean score of a candidate is than that of a baseline."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from scipy.optimize import elementwise
from scipy.special import logsumexp

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.baselines import BASELINE, ROUNDING, baseline_table
from pacopt.bounds.grids import Grid
from pacopt.bounds.sums import by_rows, log_products
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio


@dataclass(frozen=True)
class GainBetting(AbstractBound):
    """Upper bounds on E z_alpha / E z_b, the mean score of a candidate relative to that of a baseline.

    **Theorem** e(r) = sum_k w_k prod_j (1 - t_k (z_alpha(j) - r z_b(j))) increases in r >= 0, and at the true ratio
    every factor has mean 1. So with probability 1 - eps, for every alpha, e(rho) < 1 / (eps pi(alpha)) (Markov).
    **In code** the end of {r : e(r) < 1 / (eps pi)} in [0, 1], from above; infinite where it lies beyond 1: then no
    gain is shown. Scores are rounded against the candidate.
    **Needs** z in [0, 1] (proved), a baseline that was fixed in advance and run on every column.
    **Kind** for candidates only: log e is not convex in r, so there is no form for a posterior.
    """

    grid: Grid
    baseline: str
    score: AbstractScore = field(default_factory=Ratio)

    theorem: ClassVar = "L4 on z - r z_b, mixture over t"
    assumptions: ClassVar = (IID, FIXED_BEFORE, BASELINE)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound on the relative mean for every candidate; infinite without a gain."""
        other = np.maximum(0.0, self.score.of(baseline_table(table, self.baseline))[0] - ROUNDING)
        return by_rows(
            table,
            lambda rows: self.upper(
                np.minimum(1.0, self.score.of(table, rows) + ROUNDING), other, prior.log_weights[rows], epsilon
            ),
        )

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> Any:
        """None."""
        return None

    def log_e(
        self, z: Float[np.ndarray, "hyper n"], other: Float[np.ndarray, " n"], r: Float[np.ndarray, " hyper"]
    ) -> Float[np.ndarray, " hyper"]:
        """log e(r), for one r of each candidate."""
        sums = log_products(z - np.multiply.outer(r, other), self.grid.points)
        return np.asarray(logsumexp(sums + np.log(self.grid.weights), axis=1))

    def upper(
        self,
        z: Float[np.ndarray, "hyper n"],
        other: Float[np.ndarray, " n"],
        log_prior: Float[np.ndarray, " hyper"],
        epsilon: float,
    ) -> Float[np.ndarray, " hyper"]:
        """The largest r that cannot be excluded, for every candidate."""
        spent = log_products(z, self.grid.points).min(axis=1) - float(np.log1p(self.grid.points.max() * other).sum())
        threshold = -np.log(epsilon) - log_prior + ROUNDING * (1 - spent) + 4e-16 * z.shape[1]
        found = np.full(len(z), np.inf)
        able = np.flatnonzero(self.log_e(z, other, np.ones(len(z))) >= threshold)
        if len(able):
            find_root: Any = elementwise.find_root
            result = find_root(
                lambda r, rows: self.log_e(z[rows], other, r) - threshold[rows],
                (np.zeros(len(able)), np.ones(len(able))),
                args=(able,),
                tolerances={"xatol": 1e-15, "xrtol": 1e-12, "fatol": 0.0, "frtol": 0.0},
            )
            ends = np.maximum(*result.bracket)
            excluded = self.log_e(z[able], other, ends) >= threshold[able]  # whatever the search has done
            found[able] = np.where(excluded, ends, np.inf)
        return found
