"""Tables and curves for problems and algorithms that JAX can trace."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from pacopt.algorithms.base import (
    AbstractAlgorithm,
    AbstractDecisions,
    AbstractStandardHyper,
    AbstractStochasticAlgorithm,
)
from pacopt.engines.base import AbstractEngine, Candidates, Decided, Metric, Predicate, Standard
from pacopt.engines.description import candidates_hash, stored
from pacopt.engines.solution import Solution
from pacopt.engines.traced.cell import SOLVED, Cell, Goal
from pacopt.engines.traced.checks import checked_candidates
from pacopt.engines.traced.deciding import decided
from pacopt.engines.traced.merging import merged
from pacopt.engines.traced.metrics import checked_count, metric_of
from pacopt.engines.traced.nesting import flat_space, flattened, is_trainable
from pacopt.engines.traced.precision import working_type
from pacopt.engines.traced.reading import as_seen
from pacopt.engines.traced.solving import solve
from pacopt.engines.traced.standard import standard_of
from pacopt.engines.traced.tabulation import Tabulation, traced_values
from pacopt.engines.training import AbstractTraining, Descent
from pacopt.engines.work import Progress, Tiles, collect
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.problems.base import AbstractProblem
from pacopt.space import Domain
from pacopt.support.interrupts import heeded
from pacopt.support.values import keys


@dataclass(frozen=True, slots=True, eq=False)
class Traced(AbstractEngine):
    """All that determines a run: a problem and an algorithm that JAX can trace, the number of steps, the precision."""

    problem: AbstractProblem
    algorithm: AbstractAlgorithm
    length: int
    dtype: npt.DTypeLike = np.float64
    success: Predicate | None = field(default=None)
    #: Fractions of the start loss; the first step that reaches each is recorded, at the cost of a loss at every step.
    targets: tuple[float, ...] = ()
    #: The fraction of the start loss at which a run stops, or SOLVED; losses are then the steps it took.
    goal: Goal | None = None
    #: What tracing found, kept because a search asks for many tables of the same shape.
    traced: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def space(self) -> Domain:
        """The spaces of the algorithm; each array of a pytree has its own."""
        return flat_space(self.algorithm)

    @property
    def random(self) -> bool:
        """Whether the algorithm draws random numbers."""
        return isinstance(self.algorithm, AbstractStochasticAlgorithm)

    @property
    def trainable(self) -> bool:
        """Whether the algorithm knows where to start, has arrays, and can be differentiated in all hyperparameters."""
        return is_trainable(self.algorithm)

    @property
    def metric(self) -> Metric | None:
        """The metric of the problem, if it has one."""
        return metric_of(self.problem)

    @property
    def steps(self) -> int:
        """The number of steps of a run."""
        return self.length

    @property
    def precision(self) -> np.dtype[Any]:
        """The number type of a run."""
        return working_type(self.dtype)

    def recording(self, targets: tuple[float, ...]) -> "Traced":
        """The same runs, recording the first step at or below each of these fractions of the start."""
        return replace(self, targets=targets)

    def until(self, target: float, steps: int | None) -> "Traced":
        """The same runs, stopped at a fraction of their start."""
        return replace(self, goal=target, length=self.length if steps is None else steps)

    def counting(self, unit: str, cap: float | None) -> "Traced":
        """The same runs, stopped once the problem is solved."""
        steps = checked_count(self.problem, unit, cap, self.length)
        return replace(self, goal=SOLVED, length=steps)

    def prepare(self, candidates: Candidates, instances: Instances, at: Iterable[int] | None = None) -> Tabulation:
        """The work for candidates with the same choices; refuses whatever can be refused before it starts."""
        return Tabulation.prepare(
            self.problem,
            self.algorithm,
            candidates,
            instances,
            steps=self.length,
            dtype=self.dtype,
            success=self.success,
            at=at,
            targets=self.targets,
            goal=self.goal,
            traced=self.traced,
        )

    def check(self, candidates: Candidates, instances: Instances) -> None:
        """Raise every error that can be found before anything runs."""
        for _, work in self._parts(candidates, instances, None):
            del work

    def provenance(self, candidates: Candidates, instances: Instances) -> dict[str, Any]:
        """What determines a table: code, candidates, instances, precision, versions."""
        values = checked_candidates(self.algorithm, candidates)
        first = self.prepare({name: array[:1] for name, array in values.items()}, instances)
        return {**first.provenance, "candidates": candidates_hash(values)}

    @heeded()
    def table(
        self,
        candidates: Candidates,
        instances: Instances,
        progress: Progress | None = None,
        store: Tiles | None = None,
    ) -> LossTable:
        """Every candidate on every instance."""
        return self._run(candidates, instances, None, progress, store)[0]

    def curves(
        self, candidates: Candidates, instances: Instances, at: Iterable[int], store: Tiles | None = None
    ) -> tuple[LossTable, Float[np.ndarray, "hyper run step"]] | None:
        """The table, and the losses at some steps on the way, the last being the end; None if runs stop early."""
        ranged = self.metric is not None and self.metric.largest is not None
        return None if self.goal is not None or ranged else self.recorded(candidates, instances, at, store)

    @heeded()
    def recorded(
        self, candidates: Candidates, instances: Instances, at: Iterable[int], store: Tiles | None = None
    ) -> tuple[LossTable, Float[np.ndarray, "hyper run step"]]:
        """The table, and what it holds of runs at some steps on the way."""
        return self._run(candidates, instances, tuple(at), None, store)

    @heeded()
    def decisions(
        self, hyper: Mapping[str, Any], instances: Instances, at: Iterable[int], curvature: tuple[float, float] | None
    ) -> Decided | None:
        """What the algorithm decides, if it tells; None if runs stop early."""
        if not isinstance(self.algorithm, AbstractDecisions) or self.goal is not None:
            return None
        candidates = {name: np.asarray(value)[None] for name, value in hyper.items()}
        return decided(self.prepare(candidates, instances), tuple(at), curvature)

    def solve(self, hyper: Mapping[str, Any], instance: Mapping[str, Any], seed: int = 0) -> Solution:
        """One instance, with the safeguard that falls back to the start if the loss did not decrease."""
        given = {name: np.asarray(value)[None] for name, value in flattened(self.algorithm, hyper).items()}
        values = checked_candidates(self.algorithm, given)
        chosen = tuple((name, values[name][0].item()) for name, space in self.space.items() if space.static)
        cell = Cell(self.problem, self.algorithm, self.length, (self.length,), None, chosen, (), self.goal)
        one = {name: array[0] for name, array in traced_values(cell, values, self.precision).items()}
        return solve(cell, one, instance, self.precision, seed)

    def seen(self, instances: Instances) -> Instances:
        """The instances with only the fields that a run depends on, in the precision it uses."""
        work = self.prepare(self._middle(), instances)
        return as_seen(work.cell, traced_values(work.cell, work.candidates, work.dtype), instances, dtype=work.dtype)

    def _middle(self) -> dict[str, np.ndarray]:
        """One candidate, in the middle of the space."""
        return {name: space.at(np.full((1, *_flat(space.shape)), 0.5)) for name, space in self.space.items()}

    def training(self, fit: Instances, held_out: Instances, descent: Descent) -> AbstractTraining:
        """Training by gradients through the unrolled run."""
        from pacopt.engines.traced.training import TracedTraining  # optax, which nothing else needs

        work = self.prepare(self._middle(), fit)
        about = {**work.provenance, "held_out": held_out.fingerprint}
        dtype = self.precision if descent.dtype is None else working_type(descent.dtype)
        return TracedTraining(work.cell, fit, held_out, descent, dtype, about)

    def standard(self, prior: Instances, curvature: tuple[float, float] | None) -> Standard:
        """What theory recommends for the curvature, which is estimated on the prior split unless given."""
        return standard_of(self.problem, self.algorithm, curvature, prior, self.precision)

    @property
    def rivals(self) -> tuple[Any, ...]:
        """The rivals of the algorithm, if it has textbook values."""
        return self.algorithm.rivals if isinstance(self.algorithm, AbstractStandardHyper) else ()

    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Classes and fields of the problem and of the algorithm."""
        code: dict[str, Any] = {}
        arrays: dict[str, np.ndarray] = {}
        for part in ("problem", "algorithm"):
            code[part], found = stored(getattr(self, part), part)
            arrays |= found
        return code, arrays

    def _parts(
        self, candidates: Candidates, instances: Instances, at: tuple[int, ...] | None
    ) -> Iterator[tuple[np.ndarray, Tabulation]]:
        """The candidates grouped by their choices: the row numbers of each group, and its work."""
        values = checked_candidates(self.algorithm, candidates)
        static = [name for name, space in self.space.items() if space.static]
        if not static:
            yield np.arange(len(next(iter(values.values())))), self.prepare(values, instances, at)
            return
        chosen = keys(values, static)
        for choice in dict.fromkeys(chosen):
            rows = np.flatnonzero([each == choice for each in chosen])
            yield rows, self.prepare({name: array[rows] for name, array in values.items()}, instances, at)

    def _run(
        self,
        candidates: Candidates,
        instances: Instances,
        at: tuple[int, ...] | None,
        progress: Progress | None,
        store: Tiles | None,
    ) -> tuple[LossTable, np.ndarray]:
        parts = list(self._parts(candidates, instances, at))
        cells, done, found = sum(work.layout.rows * work.layout.runs for _, work in parts), 0, []
        for rows, work in parts:

            def told(finished: int, _: int, before: int = done) -> None:
                if progress is not None:
                    progress(before + finished, cells)

            result = collect(work, work.tiles() if store is None else store.tiles(work), told)
            found.append((rows, work.final(result), result.losses))
            done += work.layout.rows * work.layout.runs
        if len(found) == 1:
            return found[0][1:]
        return merged(found, checked_candidates(self.algorithm, candidates))


def _flat(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (int(np.prod(shape)),) if shape else ()


def tabulate(
    problem: AbstractProblem,
    algorithm: AbstractAlgorithm,
    candidates: Candidates,
    instances: Instances,
    *,
    steps: int,
    dtype: npt.DTypeLike = np.float64,
    success: Predicate | None = None,
    progress: Progress | None = None,
) -> LossTable:
    """The loss of every candidate on every instance after `steps` steps.

    Candidates are given by name, one array for each hyperparameter. `success` is an optional predicate of the final
    point and the instance; `progress` is called with the numbers of finished and of all runs.

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


def loss_curves(
    problem: AbstractProblem,
    algorithm: AbstractAlgorithm,
    candidates: Candidates,
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
    return Traced(problem, algorithm, steps, dtype).recorded(candidates, instances, at)[1]
