"""Catoni's bound."""

from dataclasses import dataclass, field
from math import expm1
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.exponential_family import AbstractExponentialBound
from pacopt.loss_table import LossTable
from pacopt.scores import AbstractScore, Ratio


@dataclass(frozen=True, eq=False)
class Catoni(AbstractExponentialBound):
    """Upper bound on E_Q mu, mu = E min(l / l0, 1).

    **Theorem** (Catoni 2007, Thm 1.2.6). For a > 0: E_Q mu <= [1 - exp(-a E_Q zbar - (KL + log(1/eps))/N)] / (1 -
    e^-a).
    **In code** exponents -a N zbar; lambda is a.
    **Needs** z in [0, 1] (proved). **Kind** never better than `Betting` with t = 1 - e^-a.
    """

    score: AbstractScore = field(default_factory=Ratio)

    theorem: ClassVar = "Catoni 2007, Thm 1.2.6"
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def statistics(self, table: LossTable) -> np.ndarray:
        """The means zbar."""
        means: np.ndarray = self.score.of(table).mean(axis=1)
        return means

    def exponents(self, statistics: np.ndarray, lam: float, n: int) -> Float[np.ndarray, " hyper"]:
        """-a N zbar."""
        return -lam * n * statistics

    def link(self, value: float, lam: float, n: int) -> float:
        """(1 - exp(-value / N)) / (1 - e^-a), at most 1."""
        return min(1.0, expm1(-value / n) / expm1(-lam))
