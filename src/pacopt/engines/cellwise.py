"""Engines that run one candidate on one instance at a time: plain Python, any library."""

import platform
from abc import abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pacopt._version import __version__
from pacopt.columns import Columns
from pacopt.engines.base import AbstractEngine, Candidates
from pacopt.engines.description import candidates_hash, described, stored
from pacopt.engines.ended import (
    BY_CHANCE,
    Run,
    checked_run,
    kind_of,
    refuse_all_failed,
    refuse_changed,
    refuse_mixed,
    start_of,
    words_of,
)
from pacopt.engines.solution import Solution
from pacopt.engines.work import Layout, Progress, Tile, Tiles, collect, expanded
from pacopt.errors import CandidatesError, EngineError, PacoptError, correction
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.support.arrays import digest, frozen
from pacopt.support.interrupts import heed, heeded
from pacopt.support.values import ONLY, value_of

#: The fewest calls in a tile, so that a stored tile is worth its file.
CALLS = 64
#: How many calls are compared to tell whether another process runs the same code.
SAMPLE = 5
#: The most tiles in a table: each is a file, and a message in a cluster.
TILES = 2**17


class Call(NamedTuple):
    """One candidate on one instance, and the name errors use for it."""

    hyper: Mapping[str, Any]
    instance: Mapping[str, Any]
    seed: int
    place: str


class AbstractCellEngine(AbstractEngine):
    """An engine made of one function: how a candidate runs on an instance.

    >>> from pacopt import Interval
    >>> class Halving(AbstractCellEngine):
    ...     space = {"factor": Interval(0.0, 1.0)}
    ...
    ...     def run(self, hyper, instance, seed):
    ...         x = start = float(instance["x"])
    ...         for _ in range(10):
    ...             x *= hyper["factor"]
    ...         return Run(loss=x**2, start_loss=start**2, x=x, start=start)
    >>> Halving().table({"factor": [0.5, 0.9]}, Instances({"x": np.arange(1.0, 4.0)})).ratios().round(3)
    array([[0.   , 0.   , 0.   ],
           [0.122, 0.122, 0.122]])
    """

    #: Its name in a report; by default the name of its class.
    title: str = ""
    #: Fractions of the start; runs report when they first reach them.
    targets: tuple[float, ...] = ()

    @abstractmethod
    def run(self, hyper: Mapping[str, Any], instance: Mapping[str, np.ndarray], seed: int) -> Run:
        """One candidate on one instance. The seed is for engines that set `random`; others ignore it."""

    def check(self, candidates: Candidates, instances: Instances) -> None:
        """Reject candidates outside this space, and invalid instances."""
        self._work(candidates, instances)

    def provenance(self, candidates: Candidates, instances: Instances) -> dict[str, Any]:
        """Code and fields of the engine, candidates, instances, versions."""
        return self._work(candidates, instances).provenance

    @heeded()
    def table(
        self,
        candidates: Candidates,
        instances: Instances,
        progress: Progress | None = None,
        store: Tiles | None = None,
    ) -> LossTable:
        """Every candidate on every instance, one call at a time."""
        work = self._work(candidates, instances)
        with closing(work.tiles() if store is None else store.tiles(work)) as tiles:
            found = collect(work, tiles, progress)
        return found.table(
            0,
            candidates=work.candidates,
            fingerprints=work.instances.fingerprints,
            provenance=work.provenance,
            columns=work.columns,
            targets=self.targets,
        )

    def solve(self, hyper: Mapping[str, Any], instance: Mapping[str, Any], seed: int) -> Solution:
        """One instance, with the safeguard."""
        run = self.called(hyper, instance, seed, "The run")
        if run.start_loss is None:
            return Solution(run.x, run.loss, None, run.loss, self.steps)
        return Solution.safeguarded(run.x, run.start, run.loss, run.start_loss, self.steps)

    def rehearse(self, candidates: Candidates, instances: Instances) -> bool:
        """Whether runs have a start loss, judging by those that finished.

        A few runs are made in two orders; if any of them differs, the engine is rejected.
        """
        work = self._work(candidates, instances)
        calls = list(work.calls([*work.layout]))
        forward, backward = list(self.results(calls)), list(self.results(reversed(calls)))
        for call, first, second in zip(calls, forward, reversed(backward), strict=True):
            refuse_changed(first, second, call.place, repeatable=self.repeatable)
        ended = [run for run in forward if not run.failure]
        return not ended or any(run.start_loss is not None for run in ended)

    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The class of the engine and its fields."""
        description, arrays = stored(self, "engine")
        return {"engine": description}, arrays

    def called(self, hyper: Mapping[str, Any], instance: Mapping[str, Any], seed: int, place: str) -> Run:
        """A run, checked to have valid numbers; errors say where they were raised."""
        try:
            run = self.run(self.known(hyper), instance, seed)
        except (PacoptError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise EngineError(
                f"{place} raised {type(error).__name__}: {error}.",
                "A run ends with a loss; the loss of a failed run is infinite.",
                "",
                "Return Run(loss=float('inf'), ...) where your solver fails.",
            ) from error
        return checked_run(run, place)

    def known(self, hyper: Mapping[str, Any]) -> dict[str, Any]:
        """The hyperparameters that belong to this space."""
        return {name: value for name, value in hyper.items() if name in self.space}

    @property
    def alone(self) -> bool:
        """Whether only one thread of a process may call it at a time, because a run may change the engine."""
        return True

    def sent(self) -> "AbstractCellEngine":
        """This engine, ready to be pickled and used in a cluster process."""
        return self

    def results(self, calls: Iterable[Call]) -> Generator[Run, None, None]:
        """The runs of some calls, in order."""
        for call in calls:
            heed()
            yield self.called(*call)

    def _work(self, candidates: Candidates, instances: Instances) -> "CellWork":
        values = self._checked(candidates)
        columns, runs, seeds = expanded(instances, random=self.random)
        about: dict[str, Any] = {
            "candidates": candidates_hash(values),
            "engine": described(self),
            "fields": instances.kinds,
            "instances": instances.fingerprint,
            "versions": {"numpy": np.__version__, "pacopt": __version__, "python": platform.python_version()},
        }
        if self.title:
            about["title"] = self.title
        if self.steps is not None:
            about["steps"] = self.steps
        if self.targets:
            about["targets"] = list(self.targets)
        if self.metric is not None:
            about["metric"] = self.metric._asdict()
        if self.random:
            about["seeds"] = {"hash": digest(seeds.tolist()), "replicates": len(seeds) // len(instances)}
        return CellWork(self, values, runs, columns, seeds, about)

    def _checked(self, candidates: Candidates) -> dict[str, np.ndarray]:
        if not self.space:
            return {ONLY: frozen(np.zeros(1))}
        if not isinstance(candidates, Mapping) or candidates.keys() != self.space.keys():
            given = list(candidates) if isinstance(candidates, Mapping) else []
            unknown = [name for name in given if name not in self.space]
            raise CandidatesError(
                f"Candidates with {', '.join(map(str, given)) or 'no names'} were given.",
                f"{type(self).__name__} has the hyperparameters {', '.join(self.space)}.",
                "",
                correction(unknown[0], self.space) if unknown else "Give an array for each.",
            )
        values = {name: np.asarray(candidates[name]) for name in self.space}
        lengths = {len(array) if array.ndim else 0 for array in values.values()}
        for name, array in values.items():
            if len(lengths) != 1 or not array.size or not self.space[name].holds(array):
                raise CandidatesError(
                    f"The values of {name!r} are of type {array.dtype} and of shape {list(array.shape)}.",
                    f"They are values of {self.space[name]!r}, one for each candidate.",
                    "",
                    "Correct them.",
                )
        return {name: frozen(array) for name, array in values.items()}


@dataclass(frozen=True, slots=True, eq=False)
class CellWork:
    """A table built call by call."""

    engine: AbstractCellEngine
    candidates: Mapping[str, np.ndarray]
    instances: Instances
    columns: Columns | None
    seeds: np.ndarray
    provenance: dict[str, Any]

    @property
    def layout(self) -> Layout:
        """Strips of instances, with enough calls in each."""
        rows, runs = len(next(iter(self.candidates.values()))), len(self.instances)
        return Layout(rows, runs, max(1, -(-CALLS // rows), -(-runs // TILES)))

    @property
    def table_key(self) -> str:
        """A hash of the provenance."""
        return digest(self.provenance)

    @property
    def repeatable(self) -> bool:
        """As the engine is."""
        return self.engine.repeatable

    def begin(self) -> None:
        """Do nothing: nothing is known about an instance before it runs."""

    @property
    def alone(self) -> bool:
        """As the engine is."""
        return self.engine.alone

    def sample(self) -> np.ndarray:
        """The losses of a few calls from all over the table."""
        layout, count = self.layout, min(SAMPLE, self.layout.rows * self.layout.runs)
        places = np.linspace(0, layout.rows * layout.runs - 1, count).astype(int)
        calls = [self._call(int(place % layout.rows), int(place // layout.rows)) for place in places]
        runs = [*self.engine.results(calls)]
        return np.array([np.nan if kind_of(run.failure) in BY_CHANCE else run.loss for run in runs])

    def _call(self, row: int, column: int) -> Call:
        hyper = {name: value_of(values, row) for name, values in self.candidates.items()}
        return Call(hyper, self.instances[column], int(self.seeds[column]), f"Candidate {row} on instance {column}")

    def sent(self) -> "CellWork":
        """The same work, with its engine ready to be sent."""
        return replace(self, engine=self.engine.sent())

    def tiles(self, firsts: Sequence[int] | None = None) -> Generator[Tile, None, None]:
        """The tiles, one after another; interrupts are noticed between calls."""
        layout, table_key = self.layout, self.table_key
        firsts = [*layout] if firsts is None else firsts
        with closing(self.engine.results(self.calls(firsts))) as runs:
            for first in firsts:
                rows = [[next(runs) for _ in range(layout.rows)] for _ in range(layout.width(first))]
                yield self._tile(table_key, rows, first)
            for _ in runs:  # exhausted, so that workers are kept for the next table
                pass

    def calls(self, firsts: Sequence[int]) -> Iterator[Call]:
        """The calls of some tiles: all candidates on an instance, then on the next one."""
        layout = self.layout
        hypers = [{name: value_of(values, i) for name, values in self.candidates.items()} for i in range(layout.rows)]
        for first in firsts:
            for column in range(first, first + layout.width(first)):
                instance, seed = self.instances[column], int(self.seeds[column])
                for i, hyper in enumerate(hypers):
                    yield Call(hyper, instance, seed, f"Candidate {i} on instance {column}")

    def _tile(self, table_key: str, rows: list[list[Run]], first: int) -> Tile:
        targets = self.engine.targets
        losses = np.array([[run.loss for run in runs] for runs in rows]).T[:, :, None]
        times = np.array([[[run.times[target] for target in targets] for run in runs] for runs in rows])
        times = times.reshape(len(rows), len(rows[0]), len(targets)).transpose(1, 0, 2)
        start = np.array([start_of(runs, first + j) for j, runs in enumerate(rows)])
        ended = [run for runs in rows for run in runs if not run.failure]
        refuse_all_failed(rows, first)
        refuse_mixed([run.start_loss is None for run in ended], "a start loss", first)
        refuse_mixed([run.success is None for run in ended], "a verdict of success", first)
        told = any(run.success is not None for run in ended)
        success = np.array([[bool(run.success) for run in runs] for runs in rows]).T if told else None
        messages = np.array([[words_of(run.failure) for run in runs] for runs in rows]).T
        recorded = np.where(np.isfinite(times), times, -1) if targets else None
        return Tile(table_key, first, losses, start, success, 0, recorded, messages if messages.any() else None)
