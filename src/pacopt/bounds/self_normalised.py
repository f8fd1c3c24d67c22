"""The self-normalised form of P Thm 6.7: divided by the number of successes, not by their probability."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import FIXED_BEFORE, IID, Assumption, Status
from pacopt.bounds.exponential_family import AbstractLinearBound
from pacopt.errors import AssumptionError
from pacopt.loss_table import LossTable


@dataclass(frozen=True, eq=False)
class SelfNormalised(AbstractLinearBound):
    """Upper bound on E_Q E[l / l0 | success], or on E_Q E[l | success] if a second moment and p_lo are given.

    **Theorem** (L3 of docs/theory.md). Given which columns succeeded, the losses there are i.i.d. from the
    conditional law, so E_Q R_c <= E_Q (1/N_c) sum_C l + lambda/2 E_Q T2 + (KL + log(1/eps))/lambda, T2 =
    r^2 / (4 N_c) for relative losses, which lie in [0, r] (Hoeffding), r^2 S2 / (p_lo N_c) for absolute ones.
    **In code** T = (-(1/N_c) sum_C l, T2), eta = (lambda, -lambda^2/2); no weight where N_c = 0.
    **Needs** nothing for relative losses; S2 (declared) and p_lo (its eps adds) for absolute ones.
    """

    target_ratio: float = 1.0
    second_moment: float | None = None
    p_lo: Float[np.ndarray, " hyper"] | None = None

    theorem: ClassVar = "Sucker & Ochs 2023, Thm 6.7, self-normalised"
    assumptions: ClassVar = (
        IID,
        FIXED_BEFORE,
        Assumption("E l0^2 is at most the given value (absolute losses only)", Status.DECLARED),
    )

    def __post_init__(self) -> None:
        """A second moment and lower bounds on p come together."""
        if (self.second_moment is None) != (self.p_lo is None):
            raise AssumptionError(
                "One of second_moment and p_lo was given without the other.",
                "Absolute losses need both, relative losses neither.",
                "E[l^2 | success] is at most r^2 E[l0^2] / p.",
                "Give both, or none for the relative statement.",
            )

    def statistics(self, table: LossTable) -> np.ndarray:
        """(-mean over the successes, T2)."""
        success = table.reached(self.target_ratio)
        count = success.sum(axis=1)
        losses = table.ratios() if self.second_moment is None else table.leads.losses
        mean = np.where(success, losses, 0.0).sum(axis=1) / np.maximum(count, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = (
                np.full(len(count), 0.25) if self.second_moment is None else self.second_moment / np.asarray(self.p_lo)
            )
            spread = np.where(count > 0, self.target_ratio**2 * scale / count, np.inf)
        return np.stack([-mean, spread], axis=1)

    def natural_parameters(self, lam: float, n: int) -> Float[np.ndarray, " stat"]:
        """(lambda, -lambda^2/2)."""
        return np.array([lam, -(lam**2) / 2])
