"""Tables and curves for problems and algorithms that JAX can trace."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.engines.store import Checkpoint
from pacopt.engines.traced.cell import Cell, Success
from pacopt.engines.traced.precision import working_type
from pacopt.engines.traced.solving import Solution, solve
from pacopt.engines.traced.tabulation import Progress, Tabulation, Tile
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.problems.base import AbstractProblem
from pacopt.support.interrupts import heeded


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """A problem and an algorithm that JAX can trace, the number of steps, the precision: all that determines a run.

    With a `checkpoint`, finished tiles are stored there, and those that are stored are not run again.
    """

    problem: AbstractProblem
    algorithm: AbstractAlgorithm
    steps: int
    dtype: npt.DTypeLike = np.float64
    success: Success | None = None
    checkpoint: Checkpoint | None = None

    @property
    def precision(self) -> np.dtype[Any]:
        """The number type of a run."""
        return working_type(self.dtype)

    def prepare(
        self, candidates: Mapping[str, npt.ArrayLike], instances: Instances, at: Iterable[int] | None = None
    ) -> Tabulation:
        """The work to be done for a table; everything that can be refused without running is refused here."""
        return Tabulation.prepare(
            self.problem,
            self.algorithm,
            candidates,
            instances,
            steps=self.steps,
            dtype=self.dtype,
            success=self.success,
            at=at,
        )

    @heeded()
    def table(
        self, candidates: Mapping[str, npt.ArrayLike], instances: Instances, progress: Progress | None = None
    ) -> LossTable:
        """Every candidate on every instance."""
        work = self.prepare(candidates, instances)
        return work.table(self._tiles(work), progress)

    @heeded()
    def curves(
        self, candidates: Mapping[str, npt.ArrayLike], instances: Instances, at: Iterable[int]
    ) -> tuple[LossTable, Float[np.ndarray, "hyper instance step"]]:
        """The table, and the losses at some steps on the way, of which the last one is the end."""
        work = self.prepare(candidates, instances, at)
        collected = work.collect(self._tiles(work))
        return work.final(collected), collected.losses

    def solve(self, hyper: Mapping[str, float], instance: Mapping[str, Any]) -> Solution:
        """One instance, with the safeguard that returns the start unless the run ended at or below it."""
        cell = Cell(self.problem, self.algorithm, self.steps, (self.steps,), None)
        return solve(cell, hyper, instance, working_type(self.dtype))

    def _tiles(self, work: Tabulation) -> Iterator[Tile]:
        return work.tiles() if self.checkpoint is None else self.checkpoint.tiles(work)


def tabulate(
    problem: AbstractProblem,
    algorithm: AbstractAlgorithm,
    candidates: Mapping[str, npt.ArrayLike],
    instances: Instances,
    *,
    steps: int,
    dtype: npt.DTypeLike = np.float64,
    success: Success | None = None,
    progress: Progress | None = None,
) -> LossTable:
    """The loss of every candidate on every instance after `steps` steps.

    Candidates are given by name, one array for each hyperparameter. `success` is an optional predicate of the final
    point and the instance; `progress` is called with the numbers of finished and of all cells.

    The same call gives the same bits on the same machine, with any number of threads and devices. In a table with
    another number of candidates or instances the roundings of single operations may differ, since for each shape the
    compiler decides anew which products and sums share one; that is 1e-12 of the larger of loss and start for runs that
    do not amplify them. A run that ends exactly where it started has exactly the start loss.

    >>> from pacopt import HeavyBall, VaryingCurvature
    >>> law = VaryingCurvature.draw(seed=0)
    >>> candidates = {"step_size": [2e-4, 7e-4], "momentum": [0.9, 0.9]}
    >>> table = tabulate(law.problem, HeavyBall(), candidates, law.sample(100, seed=1), steps=50)
    >>> table.shape, table.succeeded().mean(axis=1)
    ((2, 100), array([1., 1.]))
    """
    return Traced(problem, algorithm, steps, dtype, success).table(candidates, instances, progress)


@heeded()
def loss_curves(
    problem: AbstractProblem,
    algorithm: AbstractAlgorithm,
    candidates: Mapping[str, npt.ArrayLike],
    instances: Instances,
    *,
    steps: int,
    at: Iterable[int],
    dtype: npt.DTypeLike = np.float64,
) -> Float[np.ndarray, "hyper instance step"]:
    """The losses at the steps `at` (0 is the start) on the way to `steps`; no iterate is kept.

    >>> from pacopt import GradientDescent, VaryingCurvature
    >>> law = VaryingCurvature.draw(seed=0)
    >>> instances = law.sample(9, seed=1)
    >>> curves = loss_curves(law.problem, GradientDescent(), {"step_size": 2e-4}, instances, steps=20, at=(0, 10, 20))
    >>> curves.shape, bool(np.all(np.diff(curves) < 0))
    ((1, 9, 3), True)
    """
    work = Traced(problem, algorithm, steps, dtype).prepare(candidates, instances, at)
    return work.collect(work.tiles()).losses
