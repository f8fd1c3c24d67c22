"""A table as work to be done tile by tile, anywhere: what a tile holds, and how tiles become a table."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pacopt.columns import Columns
from pacopt.draws import drawn
from pacopt.engines.ended import Failures
from pacopt.errors import EngineError, TableError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.support.cells import UNKNOWN_START
from pacopt.support.rounding import and_more, counted

if TYPE_CHECKING:
    from pacopt.engines.store import Checkpoint

#: Called with the number of finished cells and the total.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A finished part of a table: all candidates on consecutive runs, starting at `first`. Plain arrays, to be
    stored and read back.

    `table_key` says which table it belongs to.
    """

    table_key: str
    first: int
    losses: np.ndarray  # [candidate, run, recorded step]
    start: np.ndarray  # [run]
    success: np.ndarray | None  # [candidate, run]
    clamped: int
    times: np.ndarray | None = None  # [candidate, run, target], -1 for never
    failures: np.ndarray | None = None  # [candidate, run], the message of a failed run; empty if it did not fail


class Work(Protocol):
    """A table made tile by tile: what it offers to code that stores tiles, or makes them elsewhere."""

    @property
    def instances(self) -> Instances:
        """One instance for each run."""
        ...

    @property
    def table_key(self) -> str:
        """A hash of everything that determines the tiles; equal jobs can share them."""
        ...

    @property
    def layout(self) -> "Layout":
        """The sizes of the table and of its tiles."""
        ...

    @property
    def repeatable(self) -> bool:
        """Whether a tile made again comes out the same."""
        ...

    def tiles(self, firsts: Sequence[int] | None = None) -> Generator[Tile, None, None]:
        """The finished tiles that start at these runs, in this order; all tiles by default."""
        ...

    def begin(self) -> None:
        """Refuse bad instances before anything long starts, where possible."""
        ...

    def sample(self) -> np.ndarray:
        """Some losses of the table, computed here; NaN for a run that might end differently next time."""
        ...

    @property
    def alone(self) -> bool:
        """Whether only one thread of a process may make tiles at a time."""
        ...

    def sent(self) -> "Work":
        """The same work, ready to be pickled and done in another process."""
        ...


class Tiles(Protocol):
    """Where tiles come from: a store that keeps them, a cluster that makes them."""

    def tiles(self, work: Work) -> Generator[Tile, None, None]:
        """All tiles of a table, in any order."""
        ...

    @property
    def kept(self) -> "Checkpoint | None":
        """Where tiles are kept, if anywhere."""
        ...

    def begin(self, belongs: Mapping[str, str]) -> None:
        """Record what tables will belong to; refused if something else was begun there."""
        ...


@dataclass(frozen=True, slots=True)
class Layout:
    """A table of `rows` candidates and `runs` columns of cells, made in tiles of `span` columns."""

    rows: int
    runs: int
    span: int
    recorded: int = 1

    def __iter__(self) -> Iterator[int]:
        """The first run of each tile."""
        return iter(range(0, self.runs, self.span))

    def __len__(self) -> int:
        return -(-self.runs // self.span)

    def width(self, first: int) -> int:
        """The number of runs in the tile that starts here."""
        return min(self.span, self.runs - first)

    def fits(self, tile: Tile, first: int) -> bool:
        """Whether a tile has the shape of the one that starts here."""
        cells = (self.rows, self.width(first), self.recorded)
        return tile.first == first and tile.losses.shape == cells and tile.start.shape == cells[1:2]


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """The tiles of a table put together."""

    losses: np.ndarray  # [candidate, run, recorded step]
    start: np.ndarray  # [run]
    success: np.ndarray | None  # [candidate, run]
    clamped: int
    times: np.ndarray | None = None  # [candidate, run, target]
    failures: Failures = field(default_factory=Failures)

    def table(
        self,
        step: int,
        *,
        targets: tuple[float, ...] = (),
        candidates: Mapping[str, np.ndarray],
        fingerprints: np.ndarray,
        provenance: Mapping[str, Any],
        columns: Columns | None,
    ) -> LossTable:
        """The losses at one of the recorded steps as a `LossTable`."""
        self.losses.flags.writeable = False
        known = ~np.isnan(self.start)
        # A failed run may not know where it started; it failed wherever that is.
        start = np.where(known, self.start, UNKNOWN_START) if known.any() else None
        if start is not None:
            self._refuse_ended_without_start(~known)
        return LossTable(
            losses=self.losses[:, :, step],
            start=start,
            candidates=candidates,
            success=self.success,
            provenance={**provenance, "clamped": self.clamped, **self.failures.described()},
            fingerprints=fingerprints,
            columns=columns,
            times={} if self.times is None else {target: self.times[:, :, k] for k, target in enumerate(targets)},
        )

    def _refuse_ended_without_start(self, unknown: np.ndarray) -> None:
        ended = np.flatnonzero(unknown & np.isfinite(self.losses).any(axis=(0, 2)))
        if len(ended):
            raise EngineError(
                f"Runs on instance {ended[0]} ended without a start loss, and runs on others told theirs"
                f"{and_more(len(ended) - 1)}.",
                "Either all runs have one, or none.",
                "Nothing is known of a ratio to a start that nobody told.",
                "Return start_loss for all runs; a run that failed may leave it out.",
            )


def expanded(instances: Instances, *, random: bool) -> tuple[Columns | None, Instances, np.ndarray]:
    """How runs make up columns, the instance of each run, and its seed: one run for each seed of an instance."""
    if not random:
        return instances.columns(), instances, np.zeros(len(instances), dtype=np.uint64)
    draws = instances.draws or drawn(instances.fingerprints, root=0, part="table")
    replicates = draws.seeds.shape[1]
    runs = instances if replicates == 1 else instances[np.repeat(np.arange(len(instances)), replicates)]
    return instances.columns(replicates), runs, draws.seeds.reshape(-1)


def collect(work: Work, tiles: Iterable[Tile], progress: Progress | None = None) -> Collected:
    """The tiles as whole arrays; a missing tile is an error."""
    layout, table_key = work.layout, work.table_key
    losses = np.empty((layout.rows, layout.runs, layout.recorded))
    start, finished = np.empty(layout.runs), np.zeros(layout.runs, dtype=bool)
    success: np.ndarray | None = None
    times: np.ndarray | None = None
    clamped, failures = 0, Failures()
    if progress is not None:
        progress(0, layout.rows * layout.runs)  # before anything is compiled
    for tile in tiles:
        if tile.table_key != table_key:
            raise TableError(
                f"The tile that starts at instance {tile.first} comes from another table.",
                "All tiles of a table come from the same problem, algorithm, candidates, instances and versions.",
                "Numbers of different experiments would be certified as one.",
                "Delete the stored tiles and start again.",
            )
        runs = slice(tile.first, tile.first + len(tile.start))
        losses[:, runs], start[runs], finished[runs] = tile.losses, tile.start, True
        if tile.success is not None:
            success = np.zeros(losses.shape[:2], dtype=bool) if success is None else success
            success[:, runs] = tile.success
        if tile.times is not None:
            times = np.empty((layout.rows, layout.runs, tile.times.shape[2])) if times is None else times
            times[:, runs] = np.where(tile.times < 0, np.inf, tile.times)
        clamped += tile.clamped
        if tile.failures is not None:
            failures.add(tile.failures, tile.first)
        if progress is not None:
            progress(layout.rows * int(finished.sum()), layout.rows * layout.runs)
    if not finished.all():
        lacking = counted(int((~finished).sum()), "instance is", "instances are")
        raise TableError(
            f"{lacking} in no tile (first: {finished.argmin()}).",
            "A table is put together from all of its tiles.",
            "",
            "Run the missing ones: tiles([first, ...]).",
        )
    return Collected(losses, start, success, clamped, times, failures)
