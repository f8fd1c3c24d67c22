"""Risk conditional on success: P Thm 6.7."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import FIXED_BEFORE, IID, SECOND_MOMENT, Assumption, Status
from pacopt.bounds.exponential_family import AbstractLinearBound
from pacopt.loss_table import LossTable


@dataclass(frozen=True, eq=False)
class ConditionalOnSuccess(AbstractLinearBound):
    """Upper bound on E_Q E[l | success], absolute losses.

    **Theorem** (Sucker & Ochs 2023, Thm 6.7). With C = {l <= r l0} and p = P(C): for all Q E_Q R_c <= E_Q (1/p)(1/N)
    sum_C l + lambda/2 r^2 E[l0^2]/N E_Q 1/p^2 + (KL + log(1/eps))/lambda.
    **In code** T = (-(1/p) mean(1_C l), 1/p^2), eta = (lambda, -lambda^2/2 r^2 S2 / N).
    **Needs** S2 >= E l0^2 (declared) and p_lo <= p for all candidates at once (`ClopperPearson`; its eps adds to this
    one).
    **Departs from the paper**, whose implementation puts training frequencies in place of p: each term falls with p,
    so a lower bound is on the safe side and a frequency is not. A candidate with p_lo = 0 gets no weight.
    """

    p_lo: Float[np.ndarray, " hyper"]
    second_moment: float
    target_ratio: float = 1.0

    theorem: ClassVar = "Sucker & Ochs 2023, Thm 6.7"
    assumptions: ClassVar = (
        IID,
        FIXED_BEFORE,
        SECOND_MOMENT,
        Assumption("p_lo are simultaneous lower bounds, paid for with their own share of eps", Status.PROVED),
    )

    def statistics(self, table: LossTable) -> np.ndarray:
        """(-(1/p) mean over all instances of 1_C l, 1/p^2)."""
        kept = np.where(table.reached(self.target_ratio), table.leads.losses, 0.0).mean(axis=1)
        p = np.asarray(self.p_lo, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.stack([np.where(p > 0, -kept / p, 0.0), 1 / p**2], axis=1)

    def natural_parameters(self, lam: float, n: int) -> Float[np.ndarray, " stat"]:
        """(lambda, -lambda^2/2 r^2 S2 / N)."""
        return np.array([lam, -(lam**2) / 2 * self.target_ratio**2 * self.second_moment / n])
