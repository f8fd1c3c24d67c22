"""Engines that run one candidate on one instance at a time: plain Python, any library."""

import platform
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pacopt._version import __version__
from pacopt.columns import Columns
from pacopt.engines.base import AbstractEngine, Candidates
from pacopt.engines.description import candidates_hash, described, stored
from pacopt.engines.solution import Solution
from pacopt.engines.store import Checkpoint
from pacopt.engines.work import Layout, Progress, Tile, collect, expanded
from pacopt.errors import CandidatesError, EngineError, PacoptError, suggest
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.support.arrays import digest, frozen
from pacopt.support.cells import refuse_bad_losses
from pacopt.support.interrupts import heed, heeded
from pacopt.support.numbers import is_real
from pacopt.support.values import ONLY, value_of

#: At least so many calls in a tile, so that a stored one is worth its file.
CALLS = 64
#: If so many runs fail, and no other has ended, something is wrong with the function.
FEW = 16
#: Ways to fail are told apart by so many letters.
LONGEST = 60


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """How a run ended: its loss, the loss at its start, and the points of both, which `solve` hands back.

    A loss that is not finite means that the run failed; `failure` says how, in words. `start_loss` is left out where
    losses are not compared with a start. `success` is a verdict of your own, for all runs or for none. `times` are when
    the targets of the engine were first met.
    """

    loss: float
    start_loss: float | None = None
    x: Any = None
    start: Any = None
    success: bool | None = None
    times: Mapping[float, float] = field(default_factory=dict)
    failure: str = ""


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

    #: Parts of the start of which runs tell when they were first met.
    targets: tuple[float, ...] = ()

    @abstractmethod
    def run(self, hyper: Mapping[str, Any], instance: Mapping[str, np.ndarray], seed: int) -> Run:
        """One candidate on one instance. The seed is for engines that say `random`; others ignore it."""

    def check(self, candidates: Candidates, instances: Instances) -> None:
        """Refuse candidates that are none of this space, and what are no instances."""
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
        store: Checkpoint | None = None,
    ) -> LossTable:
        """Every candidate on every instance, one after the other."""
        work = self._work(candidates, instances)
        found = collect(work, work.tiles() if store is None else store.tiles(work), progress)
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

    def stored(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The class of the engine and its fields."""
        description, arrays = stored(self, "engine")
        return {"engine": description}, arrays

    def called(self, hyper: Mapping[str, Any], instance: Mapping[str, Any], seed: int, place: str) -> Run:
        """A run whose numbers are numbers; whatever it raises says where."""
        given = {name: value for name, value in hyper.items() if name in self.space}
        try:
            run = self.run(given, instance, seed)
        except (PacoptError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise EngineError(
                f"{place} raised {type(error).__name__}: {error}.",
                "A run ends with a loss; one that failed ends with infinity.",
                "",
                "Return Run(loss=float('inf'), ...) where your solver fails.",
            ) from error
        numbers = [] if not isinstance(run, Run) else [run.loss, 0.0 if run.start_loss is None else run.start_loss]
        if not numbers or not all(map(is_real, numbers)):
            raise EngineError(
                f"{place} returned {run!r}.",
                "A run returns pacopt.engines.Run(loss=..., start_loss=...), with numbers.",
                "",
                "Convert them with float(...).",
            )
        start = None if run.start_loss is None else np.array([run.start_loss], dtype=float)
        refuse_bad_losses(np.array([[run.loss]], dtype=float), start)
        return run

    def _work(self, candidates: Candidates, instances: Instances) -> "CellWork":
        values = self._checked(candidates)
        columns, runs, seeds = expanded(instances, random=self.random)
        about: dict[str, Any] = {
            "candidates": candidates_hash(values),
            "engine": described(self),
            "fields": {name: f"{array.dtype}{list(array.shape[1:])}" for name, array in instances.fields.items()},
            "instances": instances.fingerprint,
            "versions": {"numpy": np.__version__, "pacopt": __version__, "python": platform.python_version()},
        }
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
                f"For {unknown[0]!r}: {suggest(unknown[0], self.space)}" if unknown else "Give an array for each.",
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
    """A table that is made call by call."""

    engine: AbstractCellEngine
    candidates: Mapping[str, np.ndarray]
    instances: Instances
    columns: Columns | None
    seeds: np.ndarray
    provenance: dict[str, Any]

    @property
    def layout(self) -> Layout:
        """Strips of instances, with enough calls in each."""
        rows = len(next(iter(self.candidates.values())))
        return Layout(rows, len(self.instances), max(1, -(-CALLS // rows)))

    @property
    def table_key(self) -> str:
        """A hash of the provenance."""
        return digest(self.provenance)

    def tiles(self, skip: Collection[int] = ()) -> Iterator[Tile]:
        """Tile after tile; an interrupt is noticed between two calls."""
        layout, table_key, skipped = self.layout, self.table_key, set(skip)
        hypers = [{name: value_of(values, i) for name, values in self.candidates.items()} for i in range(layout.rows)]
        for first in layout:
            if first not in skipped:
                yield self._tile(table_key, hypers, first, layout.width(first))

    def _tile(self, table_key: str, hypers: list[dict[str, Any]], first: int, width: int) -> Tile:
        targets = self.engine.targets
        losses, start = np.empty((len(hypers), width, 1)), np.full(width, np.nan)
        times = np.empty((len(hypers), width, len(targets)))
        rows: list[list[Run]] = []
        for j in range(width):
            instance, seed = self.instances[first + j], int(self.seeds[first + j])
            runs = []
            for i, hyper in enumerate(hypers):
                heed()
                runs.append(self.engine.called(hyper, instance, seed, f"Candidate {i} on instance {first + j}"))
            losses[:, j, 0] = [run.loss for run in runs]
            times[:, j] = [[run.times[target] for target in targets] for run in runs]
            start[j] = _start(runs, first + j)
            rows.append(runs)
        ended = [run for runs in rows for run in runs if not run.failure]
        _refuse_all_failed(rows, first)
        _refuse_mixed([run.start_loss is None for run in ended], "a start loss", first)
        _refuse_mixed([run.success is None for run in ended], "a verdict of success", first)
        told = any(run.success is not None for run in ended)
        success = np.array([[bool(run.success) for run in runs] for runs in rows]).T if told else None
        messages = np.array([[_kind(run.failure) for run in runs] for runs in rows]).T
        recorded = np.where(np.isfinite(times), times, -1) if targets else None
        return Tile(table_key, first, losses, start, success, 0, recorded, messages if messages.any() else None)


def _start(runs: list[Run], column: int) -> float:
    """The loss at the start of all runs of an instance; NaN where nobody tells."""
    known = {float(run.start_loss): i for i, run in reversed([*enumerate(runs)]) if run.start_loss is not None}
    if len(known) > 1:
        (one, i), (other, j) = sorted(known.items(), key=lambda pair: pair[1])[:2]
        raise EngineError(
            f"On instance {column} candidate {i} starts at the loss {one!r}, and candidate {j} at {other!r}.",
            "All candidates start at the same loss.",
            "Ratios to the start could not be compared otherwise.",
            "Compute start_loss from the instance alone.",
        )
    return next(iter(known), np.nan)


def _refuse_mixed(lacking: list[bool], what: str, first: int) -> None:
    if len(set(lacking)) > 1:
        raise EngineError(
            f"Some runs have {what}, and others have none (from instance {first} on).",
            "All runs have one, or none has.",
            "",
            "Return it for all of them; a run that failed has the loss infinity.",
        )


def _refuse_all_failed(rows: list[list[Run]], first: int) -> None:
    """Refuse to go on where nothing runs at all: then it is not the instances."""
    failures = [run.failure for runs in rows for run in runs]
    if first == 0 and len(failures) >= FEW and all(failures):
        raise EngineError(
            f"All of the first {len(failures)} runs failed; the first said {failures[0]!r}.",
            "A run that fails is counted, and does not end the job; but some have to come to an end.",
            "",
            "Correct the function, or the space: the solver may refuse such values.",
        )


def _kind(failure: str) -> str:
    """In which way a run failed, without what differs from run to run."""
    return failure.partition(":")[0][:LONGEST]
