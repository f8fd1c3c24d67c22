"""The log-betting PAC-Bayes bound."""

from dataclasses import dataclass, field
from math import expm1
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.exponential_family import AbstractExponentialBound
from pacopt.bounds.sums import log_wealth
from pacopt.loss_table import LossTable
from pacopt.scores import AbstractScore, Ratio


@dataclass(frozen=True, eq=False)
class Betting(AbstractExponentialBound):
    """Upper bound on E_Q mu, mu = E min(l / l0, 1).

    **Theorem** (L4 of docs/theory.md). For t in (0, 1) and G = sum_j log(1 - t z_j): E exp(G - N log(1 - t mu)) = 1, so
    E_Q mu <= (1/t) [1 - exp((E_Q G - KL - log(1/eps)) / N)].
    **In code** exponents G(., t); lambda is t, one of the points given.
    **Needs** z in [0, 1] (proved).
    """

    t: Float[np.ndarray, " grid"]
    score: AbstractScore = field(default_factory=Ratio)

    theorem: ClassVar = "L4, log-betting PAC-Bayes"
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def statistics(self, table: LossTable) -> np.ndarray:
        """G(alpha, t) for all t."""
        return log_wealth(table, np.asarray(self.t, dtype=np.float64), self.score)

    def exponents(self, statistics: np.ndarray, lam: float, n: int) -> Float[np.ndarray, " hyper"]:
        """The column of t = lambda."""
        column: np.ndarray = statistics[:, int(np.flatnonzero(np.asarray(self.t) == lam)[0])]
        return column

    def link(self, value: float, lam: float, n: int) -> float:
        """(1 - exp(-value / N)) / t, at most 1."""
        return min(1.0, -expm1(-value / n) / lam)
