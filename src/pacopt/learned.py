"""What `learn` returns: hyperparameters, their certificate, and the means to deploy, store and check them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacopt.certificate import Certificate
from pacopt.comparison import Comparison, Curves, Raw, raw_runs
from pacopt.decisions import Decisions
from pacopt.draws import seed_of
from pacopt.engines.base import AbstractEngine
from pacopt.engines.restoring import Given, restored_engine
from pacopt.engines.solution import Solution
from pacopt.errors import CandidatesError, InstancesError, MonitorError, StorageError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.monitoring.monitor import Monitor
from pacopt.provenance import Origin
from pacopt.report.notebook import learned_frame, learned_html
from pacopt.report.tested import contradictions, surpassing
from pacopt.runs.files import checked_path, read_json, write_json
from pacopt.runs.saving import (
    beside,
    curves_restored,
    curves_stored,
    read_files,
    with_table,
    write_with_report,
    writers,
)
from pacopt.stages.receiving import candidate_of, received
from pacopt.stages.remarks import remarks_on
from pacopt.support.arrays import load_npz, save_npz
from pacopt.support.numbers import is_whole

if TYPE_CHECKING:
    from pandas import DataFrame

    from pacopt.exporting.to_optax import Transformation
    from pacopt.exporting.to_scipy import Method


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A certified choice of hyperparameters.

    `table` is the loss table of the training split, and `test` that of the rows of the comparison on the test split
    (None if the test split is empty). `curves` are the losses along the way, if the engine sees them. `engine` runs the
    algorithm, and is None after loading if the code could not be found (`missing` says which). `train` holds the
    training instances, kept to recompute cells of the table. `decisions` are what the algorithm decided in the steps
    of its test runs, if it reports that.
    """

    certificate: Certificate
    table: LossTable
    test: LossTable | None
    curves: Curves | None
    engine: AbstractEngine | None
    train: Instances | None
    provenance: Mapping[str, Any]
    missing: str = ""
    decisions: Decisions | None = None

    @property
    def origin(self) -> Origin:
        """Its provenance, as typed values."""
        return Origin.of(self.provenance)

    @property
    def hyper(self) -> dict[str, Any]:
        """The deployed hyperparameters."""
        return self.table.hyper(self.certificate.deployed.index)

    @property
    def posterior(self) -> DiscreteMeasure:
        """The learned measure on the candidates."""
        return DiscreteMeasure.of(self.table.candidates, self.certificate.posterior.weights)

    @property
    def comparison(self) -> Comparison | None:
        """The learned hyperparameters, the textbook and the prior median on the test split; None if it is empty."""
        design = self.certificate.design
        return None if self.test is None else Comparison.of(self.test, self.test.origin.rows, design)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings: claims that the test split contradicts, values at the edge of their domain, failed runs, rivals."""
        job = "job" in self.provenance
        found = remarks_on(self.hyper, self.origin, self.curves, self.comparison, self._raw, job=job)
        return contradictions(self) + found + surpassing(self)

    @property
    def _raw(self) -> tuple[Raw, Raw | None]:
        """How the deployed candidate, and the textbook's if it is a candidate, did on the training instances."""
        deployed, textbook = self.certificate.deployed.index, self.origin.textbook
        return raw_runs(self.table, deployed), None if textbook is None else raw_runs(self.table, textbook)

    def __repr__(self) -> str:
        return f"Learned({self.certificate.deployed.hyper}, {self.certificate!r})"

    def _repr_html_(self) -> str:
        return learned_html(self)

    def to_dataframe(self) -> "DataFrame":
        """One row for each candidate, in pandas: `certified_...`, `train_...`, weights and `params_...`."""
        return learned_frame(self)

    def sample(self, *, seed: int | None = None) -> dict[str, Any]:
        """Hyperparameters drawn from the posterior; draw again for each instance: `solve(instance, sample())`."""
        if seed is not None and not is_whole(seed):
            raise CandidatesError(
                f"seed is {seed!r}.", "A seed is a whole number, not negative.", "", "Leave it out for a random one."
            )
        weights = self.posterior.weights
        index = np.random.default_rng(seed).choice(len(weights), p=weights / weights.sum())
        return self.table.hyper(int(index))

    @property
    def running(self) -> AbstractEngine:
        """The engine that runs the algorithm; an error if the code was not found after loading."""
        if self.engine is None:
            raise StorageError(
                f"{self.missing}.",
                "Solving an instance needs the code of the problem and the algorithm.",
                "A certificate holds for the code that it was made with, and no other.",
                "Import them before loading, or pass them: Learned.load(directory, problem=..., algorithm=...), or "
                "engine=....",
            )
        return self.engine

    def as_optax(self) -> "Transformation":
        """A gradient transformation for optax; its `__doc__` says which claims of the certificate still hold.

        Parameters are always the point at which the next gradient is needed, for most algorithms the current point.
        The certificate is about `read(state, params)`. There is no safeguard.
        """
        from pacopt.exporting.rule import rule_of
        from pacopt.exporting.to_optax import transformation_of

        return transformation_of(rule_of(self))

    def as_scipy_method(self) -> "Method":
        """A method for `scipy.optimize.minimize(fun, x0, jac=..., method=...)`, with the safeguard.

        It takes the certified number of steps; its `__doc__` says which claims of the certificate still hold.
        """
        from pacopt.exporting.rule import rule_of
        from pacopt.exporting.to_scipy import Method

        return Method(rule_of(self))

    def as_torch(self) -> Any:
        """A subclass of `torch.optim.Optimizer` that runs without JAX; its `save(path)` writes it for `load_torch`.

        `optimizer.step(closure)` takes one gradient; `optimizer.finish(closure)` ends a run, with the safeguard.
        """
        from pacopt.exporting.rule import rule_of
        from pacopt.exporting.to_torch import optimizer_of

        return optimizer_of(rule_of(self))

    def monitor(
        self, claims: str | Sequence[str] | None = None, *, every: float | None = None, ever: float | None = None
    ) -> Monitor:
        """A monitor that watches the certificate in use: `solve(instance, monitor=...)`, or `monitor.update(...)`."""
        return Monitor.of(self.certificate, claims, every=every, ever=ever)

    def solve(
        self,
        instance: Mapping[str, Any],
        hyper: Mapping[str, Any] | None = None,
        *,
        occurrence: int = 0,
        monitor: Monitor | None = None,
    ) -> Solution:
        """Run the deployed algorithm on one instance, with the safeguard of the certificate.

        It returns the end of the run if its loss is finite and at most that of the start, else the start. `hyper` may
        be any of the candidates, as drawn by `sample` or picked from the frontier. A random algorithm gets a seed that
        no training run had, derived from the instance; to run the same instance again with another seed, increase its
        `occurrence`. A `monitor` is told the result of the run; it watches the deployed hyperparameters.
        """
        engine = self.running
        chosen = self.hyper if hyper is None else candidate_of(self.table, hyper)
        checked, row = received(instance, self.origin.fields)
        if not is_whole(occurrence):
            raise InstancesError(
                f"occurrence is {occurrence!r}.", "It counts the runs of one instance from 0.", "", "Leave it out."
            )
        seeding = self.certificate.design.seeding
        root = 0 if seeding is None else seeding.root
        if monitor is not None and hyper is not None:
            raise MonitorError(
                "Hyperparameters are given beside a monitor.",
                "It watches the deployed ones.",
                "What is certified of one candidate says nothing about the scores of another.",
                "Leave one of the two out.",
            )
        solution = engine.solve(chosen, checked, seed_of(root, "use", row.fingerprints[0], occurrence))
        if monitor is not None:
            monitor.update(solution)
        return solution

    def save(self, directory: str | os.PathLike[str], *, instances: bool = True) -> Path:
        """Write a run: certificate, tables, provenance; completely or not at all, and never over an existing one.

        The training instances are stored too, so that cells of the table can be recomputed, unless `instances=False` or
        they are objects; for files, their names are stored. Then `report.html` is drawn, which can be drawn again at
        any time (`pacopt report`).

        Only the stored certificate counts others beside it that were made with some of the same instances; in memory,
        `certificate.earlier` does not change. To get the stored one, load the run or call `beside(directory)`.
        """
        code, arrays = ({}, {}) if self.engine is None else self.engine.stored()
        here = self.beside(directory)
        files = writers(here.certificate) | {
            "provenance.json": lambda path: write_json(path, dict(self.provenance)),
            "code.json": lambda path: write_json(path, code),
            "code.npz": lambda path: save_npz(path, arrays),
        }
        if self.test is not None:
            files["test.npz"] = self.test.save
        if self.curves is not None:
            curves = curves_stored(self.curves)
            files["curves.npz"] = lambda path: save_npz(path, curves)
        if self.decisions is not None:
            decisions = self.decisions.stored()
            files["decisions.npz"] = lambda path: save_npz(path, decisions)
        if instances and self.train is not None and self.train.storable:
            files["instances.npz"] = self.train.save
        return write_with_report(directory, files, here)

    def beside(self, directory: str | os.PathLike[str]) -> "Learned":
        """This value as it is saved in that place: its certificate counts those beside it that used its instances."""
        return replace(self, certificate=beside(self.certificate, directory))

    @staticmethod
    def load(
        directory: str | os.PathLike[str],
        *,
        problem: Any = None,
        algorithm: Any = None,
        engine: AbstractEngine | None = None,
    ) -> "Learned":
        """A run written by `save`; an altered or truncated file is an error. `pacopt.verify` checks the numbers.

        To solve instances, the problem and the algorithm are taken from imported modules, if their code has not
        changed, or from these arguments.
        """
        with read_files(directory) as files:
            return _read(directory, files, Given(problem, algorithm, engine))


def load_run(directory: str | os.PathLike[str]) -> Learned | Certificate:
    """What a run holds: what was learned, or the certificate of a table of one's own."""
    if (checked_path(directory) / "provenance.json").exists():
        return Learned.load(directory)
    return Certificate.load(directory)


def _read(directory: str | os.PathLike[str], files: Mapping[str, Path], given: Given) -> Learned:
    """The value of checked files; an error if anything inside them is wrong."""
    if "provenance.json" not in files:
        raise StorageError(
            "The run holds the certificate of a table, without an algorithm.",
            "Learned.load reads what `learn` returned and `save` wrote.",
            "",
            "Use pacopt.Certificate.load(directory).",
        )
    provenance = read_json(files["provenance.json"])
    origin = Origin.of(provenance)
    table = LossTable.load(files["table.npz"])
    certificate = with_table(directory, read_json(files["certificate.json"]), table)
    if given.engine is not None:  # as it ran: what is counted and recorded is a matter of the design
        own = given.engine.recording(tuple(table.times)) if table.times else given.engine
        given = given._replace(engine=certificate.design.score.runs(own))
    engine, missing = restored_engine(read_json(files["code.json"]), load_npz(files["code.npz"]), origin, given)
    test = LossTable.load(files["test.npz"]) if "test.npz" in files else None
    return Learned(
        certificate=certificate,
        table=table,
        test=test,
        curves=curves_restored(load_npz(files["curves.npz"]), test) if test and "curves.npz" in files else None,
        engine=engine,
        train=_drawn(Instances.load(files["instances.npz"]), certificate) if "instances.npz" in files else None,
        provenance=provenance,
        missing=missing,
        decisions=Decisions.restored(load_npz(files["decisions.npz"])) if "decisions.npz" in files else None,
    )


def _drawn(train: Instances, certificate: Certificate) -> Instances:
    """The training instances with the random numbers that they had."""
    seeding = certificate.design.seeding
    return train if seeding is None else train.drawn(root=seeding.root, part="train", replicates=seeding.replicates)
