"""A single candidate on instances that were used for nothing else."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pacopt.bounds.common import IID, SAFEGUARDED
from pacopt.bounds.exponential_family import AbstractBound, Assumption, Status
from pacopt.bounds.grids import Grid
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.sums import log_wealth
from pacopt.loss_table import LossTable


@dataclass(frozen=True, eq=False)
class HoldOut(AbstractBound):
    """Upper bound on mu = E min(l / l0, 1) of one candidate chosen without these instances.

    **Theorem** `MixtureBetting` with pi = 1: nothing was selected on these instances, so nothing is paid for selection.
    **Needs** the candidate and the grid chosen without them (declared).
    """

    grid: Grid

    theorem: ClassVar = "L4, mixture over t, one candidate"
    posterior: ClassVar = False
    single: ClassVar = True
    assumptions: ClassVar = (
        IID,
        SAFEGUARDED,
        Assumption("the candidate was chosen without these instances", Status.DECLARED),
    )

    def upper(self, table: LossTable, candidate: int, epsilon: float) -> float:
        """The bound for one candidate of a table on held-out instances."""
        row = LossTable(losses=table.losses[candidate : candidate + 1], start=table.start)
        wealth = log_wealth(row, self.grid.points)
        return float(MixtureBetting(self.grid).upper(wealth, table.shape[1], np.zeros(1), epsilon)[0])
