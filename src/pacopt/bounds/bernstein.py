"""An empirical Bernstein bound with the second moment around a fixed centre."""

from dataclasses import dataclass, field
from math import log1p
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.exponential_family import AbstractLinearBound
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.scores import AbstractScore, Ratio


@dataclass(frozen=True, eq=False)
class Bernstein(AbstractLinearBound):
    """Upper bound on E_Q mu, mu = E min(l / l0, 1).

    **Theorem** (Fan, Grama & Liu 2015; PAC-Bayes form). For 0 < b < 1 and centres c(alpha) in [0, 1] fixed in advance
    E_Q mu <= E_Q zbar + (psi(b)/b) E_Q mean (z - c)^2 + (KL + log(1/eps)) / (b N), psi(b) = -log(1 - b) - b.
    **In code** T' = mean (z - c)^2, eta = (b N, -psi(b) N); lambda is b.
    **Needs** z in [0, 1] (proved); the centres come from the design.
    """

    centre: Float[np.ndarray, " hyper"] | float = 0.0
    score: AbstractScore = field(default_factory=Ratio)

    theorem: ClassVar = "Fan, Grama & Liu 2015"
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def statistics(self, table: LossTable) -> np.ndarray:
        """(-zbar, mean (z - c)^2)."""
        z, centre = self.score.of(table), np.asarray(self.centre, dtype=np.float64)
        if not np.all((centre >= 0) & (centre <= 1)):
            raise DesignError("A centre lies outside [0, 1].", "0 <= c <= 1.", "z - c must lie in [-1, 1].", "Clip it.")
        return np.stack([-z.mean(axis=1), ((z - centre.reshape(-1, 1)) ** 2).mean(axis=1)], axis=1)

    def natural_parameters(self, lam: float, n: int) -> Float[np.ndarray, " stat"]:
        """(b N, -psi(b) N)."""
        if not 0 < lam < 1:
            raise DesignError(f"b is {lam}.", "0 < b < 1.", "psi(b) is infinite from 1 on.", "Choose another grid.")
        return np.array([lam * n, (log1p(-lam) + lam) * n])

    def link(self, value: float, lam: float, n: int) -> float:
        """Value / (b N), at most 1."""
        return min(1.0, value / (lam * n))
