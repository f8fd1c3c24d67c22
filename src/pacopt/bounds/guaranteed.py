"""Guaranteed convergence: P Thm 6.2."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import FIXED_BEFORE, IID, SECOND_MOMENT, Assumption, Status
from pacopt.bounds.exponential_family import AbstractLinearBound
from pacopt.errors import AssumptionError
from pacopt.loss_table import LossTable
from pacopt.support.rounding import and_more

#: A loss above its guaranteed bound by at most this much of the start is a rounding error of the run.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class GuaranteedConvergence(AbstractLinearBound):
    """Upper bound on E_Q R, the mean absolute loss, when every run is known to contract.

    **Theorem** (Sucker & Ochs 2023, Thm 6.2). If l(alpha, theta) <= C rho(alpha) l0(theta) for all theta, then for
    all Q E_Q R <= E_Q Rhat + lambda/2 C^2 E[l0^2]/N E_Q rho^2 + (KL + log(1/eps))/lambda.
    **In code** T' = rho^2, eta = (lambda, -lambda^2/2 C^2 S2 / N).
    **Needs** rho and C (declared; checked on every cell of the table), S2 >= E l0^2 (declared).
    **Departs from the paper**, whose implementation puts the training mean in place of E l0^2.
    """

    rho: Float[np.ndarray, " hyper"]
    second_moment: float
    constant: float = 1.0

    theorem: ClassVar = "Sucker & Ochs 2023, Thm 6.2"
    assumptions: ClassVar = (
        IID,
        FIXED_BEFORE,
        SECOND_MOMENT,
        Assumption("l <= C rho(alpha) l0 for every instance, not only those seen", Status.DECLARED),
    )

    def statistics(self, table: LossTable) -> np.ndarray:
        """(-Rhat, rho^2); raises if a cell of the table contradicts the declared rate."""
        allowed = self.constant * np.multiply.outer(np.asarray(self.rho), table.starts) + ROUNDING * table.starts
        rows, columns = np.nonzero(~(table.losses <= allowed))
        if len(rows):
            raise AssumptionError(
                f"Candidate {rows[0]} ends at {table.losses[rows[0], columns[0]]} on instance {columns[0]}, above "
                f"C rho l0 = {allowed[rows[0], columns[0]]}{and_more(len(rows) - 1)}.",
                "The theorem needs l <= C rho(alpha) l0 for all instances.",
                "A rate holds for the loss above its minimum: if the minimum is not 0, the declared rate is false.",
                "Subtract the minimum (AbstractKnownMinimum), or use a bound that assumes no rate.",
            )
        # What the check lets pass is paid for: l <= (C rho + ROUNDING) l0 is what the theorem is applied to.
        rho = np.asarray(self.rho) + ROUNDING / self.constant
        return np.stack([-table.averaged(table.losses).mean(axis=1), rho**2], axis=1)

    def natural_parameters(self, lam: float, n: int) -> Float[np.ndarray, " stat"]:
        """(lambda, -lambda^2/2 C^2 S2 / N)."""
        return np.array([lam, -(lam**2) / 2 * self.constant**2 * self.second_moment / n])


def gradient_descent_rate(step_size: np.ndarray, *, mu: float, L: float, steps: int) -> Float[np.ndarray, " hyper"]:
    """rho = max(|1 - alpha mu|, |1 - alpha L|)^(2K) for 1/2 |A x - b|^2 with minimum 0, spectrum of A'A in [mu, L]."""
    step_size = np.asarray(step_size, dtype=np.float64)
    rate: np.ndarray = np.maximum(np.abs(1 - step_size * mu), np.abs(1 - step_size * L)) ** (2 * steps)
    return rate
