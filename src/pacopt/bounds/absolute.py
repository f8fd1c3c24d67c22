"""Absolute losses by truncation: nothing can be said without a declared assumption on the start loss."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from pacopt.aliases import with_earlier_methods
from pacopt.assumptions import FIXED_BEFORE, IID, Assumption, Status
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.grids import Grid
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.sums import by_rows, log_products
from pacopt.errors import AssumptionError
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.support.cells import start_or
from pacopt.support.rounding import and_more


@dataclass(frozen=True, slots=True)
class Truncation:
    """A level B, a bound on E (l0 - B)_+, and what it follows from: a declared second moment or a reason in words."""

    level: float
    excess: float
    reason: str
    second_moment: float | None = None

    def __post_init__(self) -> None:
        """Refuse what declares nothing, and an excess that does not follow from the second moment."""
        moment, positive = self.second_moment, 0 < self.level < np.inf
        follows = bool(self.reason) if moment is None else positive and self.excess == moment / (4 * self.level)
        if not positive or not 0 <= self.excess < np.inf or not follows:
            raise AssumptionError(
                f"The truncation level is {self.level}, the excess {self.excess}, the reason {self.reason!r}.",
                "An absolute statement needs a positive level and a finite bound on E (l0 - level)_+ with a reason.",
                "Without an assumption no bound on a mean exists (Bahadur & Savage 1956).",
                "Declare the law of the start loss, its second moment, or a bound; relative statements need nothing.",
            )

    @property
    def declared(self) -> str:
        """The declaration, as the ledger states it."""
        if self.second_moment is not None:
            return f"E l0^2 <= {self.second_moment!r}"
        return f"E (l0 - {self.level!r})_+ <= {self.excess!r}, since {self.reason}"

    @staticmethod
    def from_law(level: float, log_mgf: Callable[[float], float], theta_max: float, reason: str) -> "Truncation":
        """From the log-MGF of l0: E (l0 - B)_+ <= exp(logMGF(th) - th B - 1) / th for every th below theta_max."""
        if not 0 < theta_max < np.inf:
            raise AssumptionError(
                f"theta_max is {theta_max}.",
                "It is positive and finite, and the log-MGF is right below it.",
                "Beyond the point where the MGF becomes infinite a formula may still return numbers.",
                "For a normal right-hand side it is 1 / (largest eigenvalue of its covariance).",
            )
        best = minimize_scalar(
            lambda s: float(log_mgf(np.exp(s))) - np.exp(s) * level - 1 - s,
            bounds=(np.log(theta_max) - 20, np.log(theta_max)),
            method="bounded",
            options={"xatol": 1e-10},
        )
        _check_log_mgf(log_mgf, float(np.exp(best.x)))
        return Truncation(level, float(np.exp(best.fun)) * (1 + 1e-9), reason)

    @staticmethod
    def from_second_moment(level: float, second_moment: float) -> "Truncation":
        """From E l0^2 <= S2: E (l0 - B)_+ <= S2 / (4 B)."""
        return Truncation(level, second_moment / (4 * level) if level else np.nan, "", second_moment)

    @staticmethod
    def from_bound(level: float) -> "Truncation":
        """From l0 <= B for every instance: nothing is cut off."""
        return Truncation(level, 0.0, f"l0 <= {level!r} for every instance")


def _check_log_mgf(log_mgf: Callable[[float], float], theta: float) -> None:
    """Refuse what cannot be the log-MGF of a loss: on the way to theta it is finite, not negative and convex."""
    values = np.array([float(log_mgf(part)) for part in theta * np.linspace(0.0, 1.0, 65)[1:]])
    bends = np.diff(np.concatenate([[0.0], values]), n=2)
    if not np.all(np.isfinite(values)) or values.min() < -1e-12 or bends.min() < -1e-9 * np.abs(values).max():
        raise AssumptionError(
            f"Up to theta = {theta:.6g} the log-MGF runs from {values[0]:.6g} to {values[-1]:.6g} and is not convex.",
            "The log-MGF of a loss is finite, not negative and convex.",
            "Beyond the point where the MGF becomes infinite a formula may still return numbers.",
            "Give the smallest theta at which the MGF is infinite as theta_max.",
        )


@with_earlier_methods
@dataclass(frozen=True, eq=False)
class AbsoluteLoss(AbstractBound):
    """Upper bounds on E min(l, l0), the mean absolute loss of the safeguarded algorithm.

    **Theorem** (truncation). E min(l, l0) <= B betting(min(l, l0, B) / B) + E (l0 - B)_+.
    **Needs** a bound on the last term, from a declared law, second moment or bound of l0.
    """

    truncation: Truncation
    grid: Grid

    theorem: ClassVar = "L4 on truncated losses"
    assumptions: ClassVar = (IID, FIXED_BEFORE, Assumption("what is declared of the start loss", Status.DECLARED))

    def wealth(self, table: LossTable) -> Float[np.ndarray, "hyper grid"]:
        """The log-wealth of betting on min(l, l0, B) / B."""
        known = start_or(table.starts, self.truncation.level)
        bad = np.flatnonzero(known > self.truncation.level)
        if self.truncation.excess == 0 and len(bad):
            raise AssumptionError(
                f"The start loss of instance {bad[0]} is {table.starts[bad[0]]}, above "
                f"{self.truncation.level}{and_more(len(bad) - 1)}.",
                "The truncation declares that none is.",
                "A declaration that the instances contradict certifies nothing.",
                "Declare a larger bound, a second moment or a law, and certify with new training instances.",
            )
        cap = np.minimum(table.starts, self.truncation.level)

        def block(rows: slice) -> np.ndarray:
            kept = (
                np.fmin(table.losses[rows], cap) / self.truncation.level
            )  # fmin: a NaN has failed and counts as the start
            return log_products(table.averaged(kept), self.grid.points)

        return by_rows(table, block)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound for every candidate, all at once."""
        relative = MixtureBetting(self.grid).upper(self.wealth(table), table.shape[1], prior.log_weights, epsilon)
        return self.truncation.level * relative + self.truncation.excess

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The bound for E_Q."""
        mixture = MixtureBetting(self.grid)
        relative = mixture.posterior_upper(self.wealth(table), table.shape[1], prior, posterior, epsilon)
        return self.truncation.level * relative + self.truncation.excess


def second_moment_from_kurtosis(start: Float[np.ndarray, " instance"], kurtosis: float, epsilon: float) -> float:
    """S2 <= mean(l0^2) / (1 - sqrt(2 kurtosis log(1/eps) / N)), with E l0^4 <= kurtosis (E l0^2)^2 declared.

    It holds with probability 1 - eps, which comes on top of a certificate that uses it: for a total of 0.01 with 0.002
    spent here, certify with confidence 0.992.
    """
    start = np.asarray(start, dtype=np.float64)
    if not kurtosis >= 1 or not 0 < epsilon < 1 or not np.all(np.isfinite(start)):
        raise AssumptionError(
            f"The kurtosis is {kurtosis}, epsilon is {epsilon}.",
            "E l0^4 >= (E l0^2)^2, so a kurtosis is at least 1; 0 < epsilon < 1; start losses are finite.",
            "",
            "For a normal right-hand side in many dimensions it is a little above 1.",
        )
    root = np.sqrt(2 * kurtosis * np.log(1 / epsilon) / len(start))
    if not root < 1:
        raise AssumptionError(
            f"sqrt(2 kurtosis log(1/eps) / N) is {root:.3g}.",
            "It has to be below 1.",
            "With so few instances the kurtosis does not bound the second moment.",
            f"At least {int(np.floor(2 * kurtosis * np.log(1 / epsilon))) + 1} instances are needed.",
        )
    largest = float(start.max())
    return float(largest * (largest * np.mean((start / largest) ** 2)) / (1 - root)) if largest > 0 else 0.0
