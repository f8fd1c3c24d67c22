"""A table as work to be done: validated, cut into tiles, run on all cores or devices, put together again."""

import dataclasses
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.columns import Columns
from pacopt.engines.base import Predicate
from pacopt.engines.traced.backend import errors_explained
from pacopt.engines.traced.cell import Cell, Goal, Outcome
from pacopt.engines.traced.checks import (
    check_kinds,
    check_success,
    checked_at,
    checked_candidates,
    checked_steps,
    state_of,
)
from pacopt.engines.traced.metrics import metric_of
from pacopt.engines.traced.nesting import flat_space
from pacopt.engines.traced.parallel import ordered_results
from pacopt.engines.traced.precision import in_precision, precision, refuse_narrow_fields, refuse_overflow, working_type
from pacopt.engines.traced.programs import run_starts, run_tile
from pacopt.engines.traced.provenance import provenance
from pacopt.engines.traced.static import divided
from pacopt.engines.traced.tiling import TILE_BYTES, Tiling, plan_tiles
from pacopt.engines.work import Collected, Layout, Progress, Tile, collect, expanded
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.problems.base import AbstractProblem
from pacopt.support.arrays import digest
from pacopt.support.cells import checked_targets, refuse_bad_losses
from pacopt.support.machine import cores
from pacopt.support.values import ONLY

#: How many instances' losses are compared to tell whether another process runs the same code.
SAMPLE = 16


@dataclass(frozen=True, slots=True, eq=False)
class Tabulation:
    """Every candidate on every instance, as tiles that can be stored and skipped.

    >>> from pacopt import GradientDescent, VaryingCurvature
    >>> law = VaryingCurvature.draw(seed=0, n=4)
    >>> candidates = {"step_size": [1e-4, 2e-4]}
    >>> work = Tabulation.prepare(law.problem, GradientDescent(), candidates, law.sample(6, seed=0), steps=3)
    >>> stored = list(work.tiles())  # on disk, say
    >>> lost = stored.pop(0)
    >>> stored += work.tiles([lost.first])
    >>> work.table(stored).shape
    (2, 6)
    """

    cell: Cell
    candidates: Mapping[str, np.ndarray]
    instances: Instances  # one for each run
    columns: Columns | None
    seeds: np.ndarray  # two words of 32 bits for each run, or none
    dtype: np.dtype[Any]
    tiling: Tiling
    provenance: Mapping[str, Any]
    #: Start losses as the problem gives them and above a known minimum, for some instances each.
    starts: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, init=False, repr=False)

    @staticmethod
    def prepare(
        problem: AbstractProblem,
        algorithm: AbstractAlgorithm,
        candidates: Mapping[str, npt.ArrayLike],
        instances: Instances,
        *,
        steps: int,
        dtype: npt.DTypeLike = np.float64,
        success: Predicate | None = None,
        at: Iterable[int] | None = None,
        targets: tuple[float, ...] = (),
        goal: Goal | None = None,
        traced: dict[Any, list[jax.ShapeDtypeStruct]] | None = None,
    ) -> "Tabulation":
        """The work to be done; everything that can be refused without running is refused here.

        `traced` caches what tracing found about this problem and algorithm, for calls with the same shapes.
        """
        check_kinds(problem, algorithm, instances)
        values = checked_candidates(algorithm, candidates)
        steps, dtype = checked_steps(steps), working_type(dtype)
        refuse_narrow_fields(problem, dtype)
        refuse_overflow(values, dtype)
        check_success(success)
        chosen = _chosen(algorithm, values)
        cell = Cell(problem, algorithm, steps, checked_at(at, steps), success, chosen, checked_targets(targets), goal)
        columns, runs, drawn = expanded(instances, random=cell.random)
        seeds = _words(drawn) if cell.random else np.empty((len(runs), 0), dtype=np.uint32)
        with precision(dtype):
            hyper = {name: jax.numpy.asarray(array[0]) for name, array in traced_values(cell, values, dtype).items()}
            instance = {
                name: jax.numpy.asarray(in_precision(name, array[:1], dtype)[0])
                for name, array in instances.fields.items()
            }
            shapes = [(name, array.shape, array.dtype) for part in (hyper, instance) for name, array in part.items()]
            known, key = {} if traced is None else traced, (cell.chosen, dtype, *shapes)
            state = known[key] = known[key] if key in known else state_of(cell, hyper, instance, dtype)
        tiling = plan_tiles(
            rows=len(next(iter(values.values()))),
            columns=len(runs),
            state_elements=sum(leaf.size for leaf in state),
            state_bytes=sum(leaf.size * leaf.dtype.itemsize for leaf in state),
            instance_bytes=max(1, sum(array.nbytes for array in instance.values())),
            steps=steps,
        )
        about = provenance(cell, values, instances, dtype, seeds)
        return Tabulation(cell, values, runs, columns, seeds, dtype, tiling, about)

    @property
    def repeatable(self) -> bool:
        """Always."""
        return True

    @property
    def layout(self) -> Layout:
        """The sizes of the table and of its tiles."""
        return Layout(self.tiling.rows, self.tiling.columns, self.tiling.span, len(self.cell.at))

    @property
    def table_key(self) -> str:
        """A hash of everything that determines the tiles; equal jobs can share them."""
        return digest([self.provenance, dataclasses.asdict(self.tiling)])

    @property
    def alone(self) -> bool:
        """False: many threads may call JAX."""
        return False

    def sample(self) -> np.ndarray:
        """The losses of some instances of the first tile."""
        (tile,) = self.tiles([0])
        return tile.losses[:, :SAMPLE]

    def sent(self) -> "Tabulation":
        """As it is."""
        return replace(self)

    def begin(self) -> None:
        """Refuse an instance without a usable start loss before anything long starts."""
        self._start_losses(np.arange(self.tiling.columns))

    def tiles(self, firsts: Sequence[int] | None = None) -> Generator[Tile, None, None]:
        """The finished tiles that start at these instances, in order; only a few are in progress at a time.

        Their start losses come first, so that an instance without a usable one is named before anything long starts.
        """
        table_key, devices = self.table_key, jax.local_devices()
        firsts = [*self.tiling] if firsts is None else firsts
        # A block that reaches past the end repeats the last candidate: one shape, one compilation.
        rows = np.minimum(np.arange(self.tiling.blocks * self.tiling.block), self.tiling.rows - 1)
        rows = rows.reshape(self.tiling.blocks, self.tiling.block)
        hypers = {name: array[rows] for name, array in traced_values(self.cell, self.candidates, self.dtype).items()}
        arrays, rest = divided(self.cell)
        with precision(self.dtype):
            shared = [jax.device_put((arrays, hypers), device) for device in devices]
        for first in firsts:
            self._start_losses(self.columns_from(first, self.tiling.span))
        compiled = threading.Event()

        def explained(first: int, position: int) -> Tile:
            with errors_explained(f"on instances {first} to {first + self.layout.width(first) - 1}"):
                return solve(first, position)

        def solve(first: int, position: int) -> Tile:
            # The first tile compiles for all of them; the call returns before the tile is finished.
            if position > 0:
                compiled.wait()
            lane = position % len(devices)
            try:
                with precision(self.dtype):
                    columns = self.columns_from(first, self.tiling.span)
                    raw, start = self._start_losses(columns)
                    columns, raw = (each.reshape(self.tiling.groups, self.tiling.lanes) for each in (columns, raw))
                    batches = jax.device_put((self.batch(columns), raw, self.seeds[columns]), devices[lane])
                    result = run_tile(rest, *shared[lane], *batches)
            finally:
                compiled.set()
            return self._tile(table_key, first, start, jax.tree.map(np.asarray, result))

        return ordered_results(explained, firsts, workers=max(len(devices), cores()))

    def _start_losses(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The start losses of consecutive instances, as the problem gives them and above a known minimum.

        They are computed for parts of the table whose size does not depend on the caller, and cached.
        """
        count = self.tiling.columns
        size = -(-count // max(1, -(-count * self.tiling.instance_bytes // TILE_BYTES)))
        parts = range(columns[0] // size, columns[-1] // size + 1)
        for part in parts:
            if part not in self.starts:
                self.starts[part] = self._started(part * size, size)
        raw, start = (np.concatenate([self.starts[part][k] for part in parts]) for k in (0, 1))
        return raw[columns - parts[0] * size], start[columns - parts[0] * size]

    def _started(self, first: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        arrays, rest = divided(self.cell)
        with (
            precision(self.dtype),
            errors_explained("at the starts of the instances", "Leave out instances on which it fails."),
        ):
            found = run_starts(rest, arrays, self.batch(self.columns_from(first, size)))
            raw, start = (np.asarray(each)[: self.tiling.columns - first] for each in found)
        start = start.astype(np.float64)
        refuse_bad_losses(np.zeros((1, len(start))), start, first_instance=first)
        return raw, start

    def table(self, tiles: Iterable[Tile], progress: Progress | None = None) -> LossTable:
        """The losses after the last step as a `LossTable`."""
        return self.final(collect(self, tiles, progress))

    def final(self, result: Collected) -> LossTable:
        """The collected losses after the last step as a `LossTable`; for runs that stop at a goal, their times."""
        table = result.table(
            self.cell.at.index(self.cell.steps),
            candidates=self.candidates,
            fingerprints=self.instances.fingerprints,
            provenance=self.provenance,
            columns=self.columns,
            targets=tuple(target for target in self.cell.recorded if not isinstance(target, str)),
        )
        if self.cell.goal is None or result.times is None:
            metric = metric_of(self.cell.problem)
            return table if metric is None or metric.largest is None else replace(table, start=None)
        kept = {target: table.times[target] for target in self.cell.targets}
        taken = result.times[:, :, self.cell.recorded.index(self.cell.goal)]
        return replace(table, losses=taken, start=None, success=None, times=kept)

    def columns_from(self, first: int, count: int) -> np.ndarray:
        """The indices of `count` instances starting at `first`; past the end the last one is repeated."""
        return np.minimum(np.arange(first, first + count), self.tiling.columns - 1)

    def batch(self, columns: np.ndarray) -> dict[str, np.ndarray]:
        """The data of these instances, in the precision of a run."""
        return {name: in_precision(name, array[columns], self.dtype) for name, array in self.instances.fields.items()}

    def _tile(self, table_key: str, first: int, start: np.ndarray, outcome: Outcome) -> Tile:
        """The tile without repeats, checked."""
        width = min(self.tiling.span, self.tiling.columns - first)

        def cut(array: Any) -> np.ndarray:
            """From [group, block, lane, candidate, ...] to [candidate, instance, ...]."""
            by_candidate: np.ndarray = np.moveaxis(array, (1, 3), (0, 1))
            rows, columns = self.tiling.blocks * self.tiling.block, self.tiling.span
            whole: np.ndarray = by_candidate.reshape(rows, columns, *array.shape[4:])
            return whole[: self.tiling.rows, :width]

        losses, start = cut(outcome.losses).astype(np.float64), start[:width]
        for step in range(losses.shape[2]):
            refuse_bad_losses(losses[:, :, step], start, first_instance=first)
        success = None if self.cell.predicate is None else cut(outcome.success)
        times = cut(outcome.times) if self.cell.recorded else None
        return Tile(table_key, first, losses, start, success, int(cut(outcome.clamped).sum()), times)


def _chosen(algorithm: AbstractAlgorithm, values: Mapping[str, np.ndarray]) -> tuple[tuple[str, Any], ...]:
    """The choices that all candidates of a table share."""
    static = [name for name, space in flat_space(algorithm).items() if space.static]
    return tuple((name, values[name][0].item()) for name in static)


def traced_values(cell: Cell, values: Mapping[str, np.ndarray], dtype: np.dtype[Any]) -> dict[str, np.ndarray]:
    """The values of the candidates that a run is given, in its precision; a dummy number if there are none."""
    known = {name for name, _ in cell.chosen}
    given = {name: in_precision(name, array, dtype) for name, array in values.items() if name not in known}
    return given or {ONLY: np.zeros(len(next(iter(values.values()))), dtype)}


def _words(seeds: np.ndarray) -> np.ndarray:
    """Seeds as 32-bit words, which exist in every precision."""
    words: np.ndarray = np.ascontiguousarray(seeds, dtype="<u8").view("<u4").reshape(-1, 2)
    return words
