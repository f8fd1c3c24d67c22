"""A table as work to be done: validated, cut into tiles, run on all cores or devices, put together again."""

import dataclasses
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
import numpy.typing as npt

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.engines.traced.cell import Cell, Outcome, Success
from pacopt.engines.traced.checks import (
    check_kinds,
    check_success,
    checked_at,
    checked_candidates,
    checked_steps,
    state_of,
)
from pacopt.engines.traced.parallel import ordered_results
from pacopt.engines.traced.precision import in_precision, precision, refuse_narrow_fields, refuse_overflow, working_type
from pacopt.engines.traced.provenance import provenance
from pacopt.engines.traced.tiling import TILE_BYTES, Tiling, plan_tiles
from pacopt.errors import TableError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.problems.base import AbstractProblem
from pacopt.support.arrays import digest
from pacopt.support.cells import refuse_bad_losses
from pacopt.support.machine import cores

#: Called with the number of finished cells and the number of all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A finished part of a table: all candidates on the instances from `first` on. Plain arrays, to be stored and
    given back.

    `job` says to which table it belongs.
    """

    job: str
    first: int
    losses: np.ndarray  # [candidate, instance, recorded step]
    start: np.ndarray  # [instance]
    success: np.ndarray | None  # [candidate, instance]
    clamped: int


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """The tiles of a table put together."""

    losses: np.ndarray  # [candidate, instance, recorded step]
    start: np.ndarray  # [instance]
    success: np.ndarray | None  # [candidate, instance]
    clamped: int


@dataclass(frozen=True, slots=True, eq=False)
class Tabulation:
    """Every candidate on every instance, as tiles that can be stored and skipped.

    >>> from pacopt import GradientDescent, VaryingCurvature
    >>> law = VaryingCurvature.draw(seed=0, n=4)
    >>> candidates = {"step_size": [1e-4, 2e-4]}
    >>> work = Tabulation.prepare(law.problem, GradientDescent(), candidates, law.sample(6, seed=0), steps=3)
    >>> stored = list(work.tiles())  # on disk, say
    >>> list(work.tiles(skip=[tile.first for tile in stored]))
    []
    >>> work.table(stored).shape
    (2, 6)
    """

    cell: Cell
    candidates: Mapping[str, np.ndarray]
    instances: Instances
    dtype: np.dtype[Any]
    tiling: Tiling
    provenance: Mapping[str, Any]

    @staticmethod
    def prepare(
        problem: AbstractProblem,
        algorithm: AbstractAlgorithm,
        candidates: Mapping[str, npt.ArrayLike],
        instances: Instances,
        *,
        steps: int,
        dtype: npt.DTypeLike = np.float64,
        success: Success | None = None,
        at: Iterable[int] | None = None,
    ) -> "Tabulation":
        """The work to be done; everything that can be refused without running is refused here."""
        check_kinds(problem, algorithm, instances)
        values = checked_candidates(algorithm, candidates)
        steps, dtype = checked_steps(steps), working_type(dtype)
        refuse_narrow_fields(problem, dtype)
        refuse_overflow(values, dtype)
        check_success(success)
        cell = Cell(problem, algorithm, steps, checked_at(at, steps), success)
        with precision(dtype):
            hyper = {name: jax.numpy.asarray(array[0], dtype) for name, array in values.items()}
            instance = {
                name: jax.numpy.asarray(in_precision(name, array[:1], dtype)[0])
                for name, array in instances.fields.items()
            }
            state = state_of(cell, hyper, instance, dtype)
        tiling = plan_tiles(
            rows=len(next(iter(values.values()))),
            columns=len(instances),
            state_elements=sum(leaf.size for leaf in state),
            state_bytes=sum(leaf.size * leaf.dtype.itemsize for leaf in state),
            instance_bytes=max(1, sum(array.nbytes for array in instance.values())),
            steps=steps,
        )
        return Tabulation(cell, values, instances, dtype, tiling, provenance(cell, values, instances, dtype))

    @property
    def job(self) -> str:
        """A hash of everything that determines the tiles; equal jobs can share them."""
        return digest([self.provenance, dataclasses.asdict(self.tiling)])

    def tiles(self, skip: Collection[int] = ()) -> Iterator[Tile]:
        """The finished tiles, in order, but those whose first instance is in `skip`; few are under way at a time.

        All start losses come first, so that an instance without a usable one is named before anything long starts.
        """
        job, devices, skipped = self.job, jax.local_devices(), set(skip)
        firsts = [first for first in self.tiling if first not in skipped]
        # A block that reaches past the end repeats the last candidate: one shape, one compilation.
        rows = np.minimum(np.arange(self.tiling.blocks * self.tiling.block), self.tiling.rows - 1)
        rows = rows.reshape(self.tiling.blocks, self.tiling.block)
        hypers = {name: array[rows].astype(self.dtype) for name, array in self.candidates.items()}
        arrays, rest = eqx.partition(self.cell, eqx.is_array)
        with precision(self.dtype):
            shared = [jax.device_put((arrays, hypers), device) for device in devices]
            raw, start = self._start_losses(rest, shared[0][0])
        refuse_bad_losses(np.zeros((1, len(start))), start)
        compiled = threading.Event()

        def solve(first: int, position: int) -> Tile:
            # The first tile compiles for all; the call returns before the tile is finished.
            if position > 0:
                compiled.wait()
            lane = position % len(devices)
            try:
                with precision(self.dtype):
                    columns = self._columns(first, self.tiling.span).reshape(self.tiling.groups, self.tiling.lanes)
                    batches = jax.device_put((self._batch(columns), raw[columns]), devices[lane])
                    result = _run_tile(rest, *shared[lane], *batches)
            finally:
                compiled.set()
            return self._tile(job, first, start, jax.tree.map(np.asarray, result))

        return ordered_results(solve, firsts, workers=max(len(devices), cores()))

    def _start_losses(self, rest: Cell, arrays: Cell) -> tuple[np.ndarray, np.ndarray]:
        """The start losses of all instances, as the problem has them and above a known minimum."""
        count = self.tiling.columns
        size = -(-count // max(1, -(-count * self.tiling.instance_bytes // TILE_BYTES)))
        parts = [_run_starts(rest, arrays, self._batch(self._columns(first, size))) for first in range(0, count, size)]
        raw, start = (np.concatenate([np.asarray(part[k]) for part in parts])[:count] for k in (0, 1))
        return raw, start.astype(np.float64)

    def collect(self, tiles: Iterable[Tile], progress: Progress | None = None) -> Collected:
        """The tiles as whole arrays; instances whose tile is not there are an error."""
        tiling, job = self.tiling, self.job
        losses = np.empty((tiling.rows, tiling.columns, len(self.cell.at)))
        start, finished = np.empty(tiling.columns), np.zeros(tiling.columns, dtype=bool)
        success = None if self.cell.success is None else np.empty((tiling.rows, tiling.columns), dtype=bool)
        clamped = 0
        for tile in tiles:
            if tile.job != job:
                raise TableError(
                    f"The tile that starts at instance {tile.first} comes from another table.",
                    "All tiles of a table come from the same problem, algorithm, candidates, instances and versions.",
                    "Numbers of different experiments would be certified as one.",
                    "Delete the stored tiles and start again.",
                )
            columns = slice(tile.first, tile.first + len(tile.start))
            losses[:, columns], start[columns], finished[columns] = tile.losses, tile.start, True
            if success is not None and tile.success is not None:
                success[:, columns] = tile.success
            clamped += tile.clamped
            if progress is not None:
                progress(tiling.rows * int(finished.sum()), tiling.rows * tiling.columns)
        if not finished.all():
            raise TableError(
                f"{np.sum(~finished)} instances are in none of the tiles (first: {np.argmin(finished)}).",
                "A table is put together from all of its tiles.",
                "",
                "Run the missing ones: tiles(skip=[tile.first for tile in stored]).",
            )
        return Collected(losses, start, success, clamped)

    def table(self, tiles: Iterable[Tile], progress: Progress | None = None) -> LossTable:
        """The losses after the last step as a `LossTable`."""
        return self.final(self.collect(tiles, progress))

    def final(self, result: Collected) -> LossTable:
        """What was collected, after the last step, as a `LossTable`."""
        result.losses.flags.writeable = False
        return LossTable(
            losses=result.losses[:, :, self.cell.at.index(self.cell.steps)],
            start=result.start,
            candidates=self.candidates,
            success=result.success,
            provenance={**self.provenance, "clamped": result.clamped},
            fingerprints=self.instances.fingerprints,
        )

    def _columns(self, first: int, count: int) -> np.ndarray:
        """So many instances from the first on; past the end the last one is repeated."""
        return np.minimum(np.arange(first, first + count), self.tiling.columns - 1)

    def _batch(self, columns: np.ndarray) -> dict[str, np.ndarray]:
        return {name: in_precision(name, array[columns], self.dtype) for name, array in self.instances.fields.items()}

    def _tile(self, job: str, first: int, start: np.ndarray, outcome: Outcome) -> Tile:
        """The tile without what was repeated, checked."""
        width = min(self.tiling.span, self.tiling.columns - first)

        def cut(array: Any) -> np.ndarray:
            """From [group, block, lane, candidate, ...] to [candidate, instance, ...]."""
            by_candidate: np.ndarray = np.moveaxis(array, (1, 3), (0, 1))
            rows, columns = self.tiling.blocks * self.tiling.block, self.tiling.span
            whole: np.ndarray = by_candidate.reshape(rows, columns, *array.shape[4:])
            return whole[: self.tiling.rows, :width]

        losses, start = cut(outcome.losses).astype(np.float64), start[first : first + width]
        for step in range(losses.shape[2]):
            refuse_bad_losses(losses[:, :, step], start, first_instance=first)
        success = None if self.cell.success is None else cut(outcome.success)
        return Tile(job, first, losses, start, success, int(cut(outcome.clamped).sum()))


@partial(jax.jit, static_argnums=0)
def _run_starts(rest: Cell, arrays: Cell, batch: Any) -> tuple[jax.Array, jax.Array]:
    """Start losses [instance]."""
    cell: Cell = eqx.combine(arrays, rest)
    raw, above = jax.vmap(cell.start_loss)(batch)
    return raw, above


@partial(jax.jit, static_argnums=0)
def _run_tile(rest: Cell, arrays: Cell, hypers: Any, batches: Any, start_losses: Any) -> Outcome:
    """Outcomes [group, block, lane, candidate, ...]."""
    cell: Cell = eqx.combine(arrays, rest)
    over_candidates = jax.vmap(cell, in_axes=(0, None, None))
    over_lanes = jax.vmap(over_candidates, in_axes=(None, 0, 0))

    def group(lanes: Any) -> Outcome:
        outcome: Outcome = jax.lax.map(lambda block: over_lanes(block, *lanes), hypers)
        return outcome

    result: Outcome = jax.lax.map(group, (batches, start_losses))
    return result
