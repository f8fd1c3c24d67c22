"""The probability of success: for every candidate (Clopper & Pearson), and under a posterior (kl on indicators)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.kl import kl_lower, kl_price
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure

#: Tails are computed at a level smaller by this much, since their inverses may round to the wrong side.
PADDING = 1 - 1e-9


@dataclass(frozen=True)
class ClopperPearson(AbstractBound):
    """Lower bounds on p(alpha), the probability of success, for every candidate at once.

    **Theorem** (Clopper & Pearson 1934). p >= BetaInv(eps pi(alpha); N_c, N - N_c + 1), and 0 if N_c = 0.
    E_Q p is at least the mean of these bounds under Q, on the same event: nothing more is paid for a posterior.
    **Needs** a success that is a function of the run; any user predicate will do.
    """

    target_ratio: float = 1.0

    theorem: ClassVar = "Clopper & Pearson 1934"
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bounds for every candidate."""
        return self.lower(success_counts(table, self.target_ratio), table.shape[1], prior.log_weights, epsilon)

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The mean of the bounds."""
        return posterior.expectation(self.for_candidates(table, prior, epsilon))

    def lower(
        self, successes: Float[np.ndarray, " hyper"], n: int, log_prior: Float[np.ndarray, " hyper"], epsilon: float
    ) -> Float[np.ndarray, " hyper"]:
        """The bounds from the numbers of successes; 0 for a candidate without weight."""
        level = epsilon * np.exp(log_prior) * PADDING
        # At levels that only absurd weights reach, the padding drowns in subnormal numbers.
        usable = (successes > 0) & (level > 1e-290)
        k = np.where(usable, successes, 1)
        # Where the inverse cannot be computed nothing is promised.
        return np.nan_to_num(np.where(usable, betaincinv(k, n - k + 1.0, np.where(usable, level, 0.5)), 0.0), nan=0.0)


def success_counts(table: LossTable, target_ratio: float) -> Float[np.ndarray, " hyper"]:
    """On how many instances each candidate succeeded."""
    counts: np.ndarray = table.succeeded(target_ratio).sum(axis=1).astype(np.float64)
    return counts


@dataclass(frozen=True)
class PosteriorSuccess(AbstractBound):
    """Lower bound on E_Q p.

    **Theorem** (Seeger 2002; Maurer 2004, on indicators). kl(E_Q phat, E_Q p) <= (KL + log(2 sqrt(N) / eps)) / N.
    """

    target_ratio: float = 1.0

    theorem: ClassVar = "Seeger 2002; Maurer 2004"
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound of a posterior on one candidate, for each of them."""
        counts, n = success_counts(table, self.target_ratio), table.shape[1]
        diracs = [prior.dirac(i) for i in range(len(prior))]
        return np.array([self.lower(counts, n, prior, q, epsilon) if q.kl(prior) < np.inf else 0.0 for q in diracs])

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The bound for a posterior."""
        counts = success_counts(table, self.target_ratio)
        return self.lower(counts, table.shape[1], prior, posterior, epsilon)

    def lower(
        self,
        successes: Float[np.ndarray, " hyper"],
        n: int,
        prior: DiscreteMeasure,
        posterior: DiscreteMeasure,
        epsilon: float,
    ) -> float:
        """The bound from the numbers of successes."""
        frequency = min(1.0, posterior.expectation(successes / n))
        return kl_lower(frequency, kl_price(posterior.kl(prior), n, epsilon))
