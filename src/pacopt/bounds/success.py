"""The probability of success: for every candidate (Clopper & Pearson), and under a posterior (kl on indicators)."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv

from pacopt.bounds.common import FIXED_BEFORE, IID
from pacopt.bounds.exponential_family import AbstractBound
from pacopt.bounds.kl import kl_lower, kl_price
from pacopt.measure import DiscreteMeasure

#: Tails are computed at a level smaller by this much, since their inverses may round to the wrong side.
PADDING = 1 - 1e-9


class ClopperPearson(AbstractBound):
    """Lower bounds on p(alpha), the probability of success, for every candidate at once.

    **Theorem** (Clopper & Pearson 1934). p >= BetaInv(eps pi(alpha); N_c, N - N_c + 1), and 0 if N_c = 0.
    **Needs** a success that is a function of the run; any user predicate will do.
    """

    theorem: ClassVar = "Clopper & Pearson 1934"
    posterior: ClassVar = False
    single: ClassVar = True
    assumptions: ClassVar = (IID, FIXED_BEFORE)

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


class PosteriorSuccess(AbstractBound):
    """Lower bound on E_Q p.

    **Theorem** (Seeger 2002; Maurer 2004, on indicators). kl(E_Q phat, E_Q p) <= (KL + log(2 sqrt(N) / eps)) / N.
    """

    theorem: ClassVar = "Seeger 2002; Maurer 2004"
    posterior: ClassVar = True
    single: ClassVar = False
    assumptions: ClassVar = (IID, FIXED_BEFORE)

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
