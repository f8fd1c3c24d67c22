"""A single candidate on instances that were used for nothing else."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import IID, Assumption, Status
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.grids import Grid
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.sums import log_wealth
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio


@dataclass(frozen=True, eq=False)
class HoldOut(AbstractBound):
    """Upper bound on mu = E min(l / l0, 1) of one candidate chosen without these instances.

    **Theorem** `MixtureBetting` with pi = 1: nothing was selected on these instances, so nothing is paid for selection.
    **Needs** the candidate and the grid chosen without them (declared).
    """

    grid: Grid
    candidate: int = 0
    score: AbstractScore = field(default_factory=Ratio)

    theorem: ClassVar = "L4, mixture over t, one candidate"
    assumptions: ClassVar = (
        IID,
        Assumption("the candidate was chosen without these instances", Status.DECLARED),
    )

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound for the candidate that was chosen beforehand, and 1 for all others."""
        bounds = np.ones(table.shape[0])
        bounds[self.candidate] = self.upper(table, self.candidate, epsilon)
        return bounds

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The mean of these bounds."""
        return posterior.expectation(self.for_candidates(table, prior, epsilon))

    def upper(self, table: LossTable, candidate: int, epsilon: float) -> float:
        """The bound for one candidate of a table on held-out instances."""
        wealth = log_wealth(table.select(rows=slice(candidate, candidate + 1)), self.grid.points, self.score)
        return float(MixtureBetting(self.grid).upper(wealth, table.shape[1], np.zeros(1), epsilon)[0])
