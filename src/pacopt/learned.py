"""What `learn` returns: hyperparameters, their certificate, and the means to deploy, store and check them."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pacopt._version import __version__
from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.certificate import Certificate, table_hash
from pacopt.comparison import Comparison, Curves
from pacopt.engines.traced.engine import Traced
from pacopt.engines.traced.provenance import described
from pacopt.engines.traced.solving import Solution
from pacopt.engines.traced.storing import restored, stored
from pacopt.errors import CandidatesError, InstancesError, PacoptError, StorageError, suggest
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.problems.base import AbstractProblem
from pacopt.report.page import write_report
from pacopt.runs import checked_files, read_json, write_json, write_run
from pacopt.support.arrays import load_npz, save_npz
from pacopt.support.numbers import is_whole

#: Fewer test instances tell nothing about a difference of means.
ENOUGH = 10
#: A mean ratio above the first that fell by less than to this part in the last half of the steps has come to a stop.
PLATEAU = 0.01, 0.98
#: A hyperparameter in the outermost two per cent of its domain is at its edge.
EDGE = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A certified choice of hyperparameters.

    `table` is the loss table of the training split, `test` that of the rows of the comparison on the test split (None
    if the test split is empty, and then there are no `curves`). `engine` runs the algorithm, and is None after loading
    where the code could not be found (`missing` says which). `train` are the training instances, kept to recompute
    cells of the table.
    """

    certificate: Certificate
    table: LossTable
    test: LossTable | None
    curves: Curves | None
    engine: Traced | None
    train: Instances | None
    provenance: Mapping[str, Any]
    missing: str = ""

    @property
    def hyper(self) -> dict[str, float]:
        """The deployed hyperparameters."""
        return self.table.hyper(self.certificate.deployed.index)

    @property
    def posterior(self) -> DiscreteMeasure:
        """The learned measure on the candidates."""
        return DiscreteMeasure.of(self.table.candidates, self.certificate.posterior.weights)

    @property
    def comparison(self) -> Comparison | None:
        """Learned, standard and prior median on the test split; None if it is empty."""
        if self.test is None:
            return None
        design = self.certificate.design
        names = self.test.provenance["rows"]
        return Comparison.of(self.test, names, target_ratio=design.target_ratio, quantile_level=design.quantile_level)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know before deploying: hyperparameters at the edge of their domain, a better textbook."""
        found = []
        for name, (low, high, log) in self.provenance["domain"].items():
            value, ends = self.hyper[name], np.array([low, high])
            scale = np.log10 if log else np.asarray
            part = (scale(value) - scale(ends)[0]) / np.diff(scale(ends))[0] if value > 0 or not log else 0.0
            if (part < EDGE or part > 1 - EDGE) and not (low == 0 and not log and part < EDGE):
                found.append(
                    f"{name} = {value:.4g} is at the edge of where it was looked for, [{low:g}, {high:g}]: widen it, "
                    f'prior=pacopt.priors.Search({{"{name}": pacopt.Interval(...)}})'
                )
        found += self._plateau()
        if self.test is not None and "standard" in self.test.provenance["rows"]:
            z = self.test.safeguarded()
            behind = z[0] - z[self.test.provenance["rows"].index("standard")]
            if len(behind) >= ENOUGH and behind.mean() > 3 * behind.std() / np.sqrt(len(behind)):
                found.append(f"on the test split the textbook does better, by {behind.mean():.4g} in the mean ratio")
        return tuple(found)

    def _plateau(self) -> list[str]:
        """A loss that does not move any more, far from 0, may have reached a minimum that nobody stated."""
        if self.curves is None or self.provenance.get("known_minimum") or len(self.curves.steps) < 5:
            return []
        mean = self.curves.mean[0]
        middle, end = float(mean[len(mean) // 2]), float(mean[-1])
        if not (end > PLATEAU[0] and PLATEAU[1] * middle < end < 1.0):
            return []
        return [
            f"the loss hardly moved over the last half of the steps, at {end:.3g} of its start: if its minimum is not "
            "0, state it (AbstractKnownMinimum); else fewer steps, or another algorithm, may do"
        ]

    def __repr__(self) -> str:
        return f"Learned({self.hyper}, {self.certificate!r})"

    def sample(self, *, seed: int | None = None) -> dict[str, float]:
        """Hyperparameters drawn from the posterior: draw anew for each instance, `solve(instance, sample())`."""
        if seed is not None and not is_whole(seed):
            raise CandidatesError(
                f"seed is {seed!r}.", "A seed is a whole number, not negative.", "", "Leave it out for a new draw."
            )
        weights = self.posterior.weights
        index = np.random.default_rng(seed).choice(len(weights), p=weights / weights.sum())
        return self.table.hyper(int(index))

    def solve(self, instance: Mapping[str, Any], hyper: Mapping[str, float] | None = None) -> Solution:
        """Run the deployed algorithm on one instance, with the safeguard that the certificate speaks of.

        The point where the run ended is returned if its loss is finite and at most that of the start, else the start.
        `hyper` may be any of the candidates, as drawn by `sample` or picked from the frontier.
        """
        if self.engine is None:
            raise StorageError(
                f"{self.missing}.",
                "To solve an instance, the problem and the algorithm themselves are needed.",
                "A certificate speaks of the code that it was made with and of no other.",
                "Import them before loading, or pass them: Learned.load(directory, problem=..., algorithm=...).",
            )
        chosen = self.hyper if hyper is None else self._candidate(hyper)
        return self.engine.solve(chosen, self._checked(instance))

    def save(self, directory: str | os.PathLike[str], *, instances: bool = True) -> Path:
        """Write a run: certificate, tables, provenance; whole or not at all, never over an existing one.

        The training instances are stored too, so that cells of the table can be recomputed, unless `instances=False`.
        Then `report.html` is drawn from it, a view that can be drawn again at any time (`pacopt report`).
        """
        code: dict[str, Any] = {}
        arrays: dict[str, np.ndarray] = {}
        if self.engine is not None:
            for part in ("problem", "algorithm"):
                code[part], found = stored(getattr(self.engine, part), part)
                arrays |= found
        writers = {
            "certificate.json": lambda path: write_json(path, self.certificate.to_dict()),
            "statement.txt": lambda path: path.write_text(f"{self.certificate}\n", encoding="utf-8"),
            "table.npz": self.table.save,
            "provenance.json": lambda path: write_json(path, dict(self.provenance)),
            "code.json": lambda path: write_json(path, code),
            "code.npz": lambda path: save_npz(path, arrays),
        }
        if self.test is not None and self.curves is not None:
            curves = {name: getattr(self.curves, name) for name in ("steps", "mean", "median", "low", "high")}
            writers |= {"test.npz": self.test.save, "curves.npz": lambda path: save_npz(path, curves)}
        if instances and self.train is not None:
            writers["instances.npz"] = self.train.save
        written = write_run(directory, writers)
        try:
            write_report(written, self)
        except (
            Exception
        ) as error:  # hours of learning are on the disk: a page that cannot be drawn is no reason to stop
            warnings.warn(
                f"The run is saved, and its report could not be drawn ({type(error).__name__}: {error}). Try "
                f"`pacopt report {written}`.",
                stacklevel=2,
            )
        return written

    @staticmethod
    def load(
        directory: str | os.PathLike[str],
        *,
        problem: AbstractProblem | None = None,
        algorithm: AbstractAlgorithm | None = None,
    ) -> "Learned":
        """A run written by `save`; an altered or truncated file is an error. `pacopt.verify` checks the numbers.

        To solve instances, the problem and the algorithm are taken from the modules imported already, if their code is
        what it was, or as they are given here.
        """
        files = checked_files(directory)
        try:
            loaded = _read(files, problem, algorithm)
            fits = table_hash(loaded.table) == loaded.certificate.table_hash
        except PacoptError:
            raise
        except Exception as error:  # whatever a file holds that no run would
            raise StorageError(
                f"{os.fspath(directory)} could not be read ({type(error).__name__}: {error}).",
                "The files of one run are needed, as they were saved.",
                "",
                "Restore the directory from a copy, or learn again.",
            ) from error
        if not fits:
            raise StorageError(
                f"{os.fspath(directory)} holds a certificate and the table of another run.",
                "A certificate is read with the table that it was made of.",
                "Its numbers say nothing about another one.",
                "Restore the directory from a copy, or learn again.",
            )
        return loaded

    def _candidate(self, hyper: Any) -> dict[str, float]:
        try:
            wanted = {name: float(value) for name, value in hyper.items()}
        except (AttributeError, TypeError, ValueError):
            wanted = {}
        for candidate in map(self.table.hyper, range(self.table.shape[0])):
            if candidate == wanted:
                return candidate
        raise CandidatesError(
            f"{hyper!r} is none of the {self.table.shape[0]} candidates.",
            "Hyperparameters to solve with come from the certificate, from sample() or from the frontier.",
            "The certificate covers the candidates of its design and nothing between them.",
            "Leave `hyper` out for the deployed ones.",
        )

    def _checked(self, instance: Any) -> dict[str, np.ndarray]:
        """One instance with the fields, shapes and number types of those that were learned from."""
        expected = self.provenance["fields"]
        if not isinstance(instance, Mapping) or instance.keys() != expected.keys():
            names = sorted(map(str, instance)) if isinstance(instance, Mapping) else []
            unknown = [name for name in names if name not in expected]
            raise InstancesError(
                f"An instance with {', '.join(names) or 'no fields'} was given."
                if isinstance(instance, Mapping)
                else f"An object of type {type(instance).__name__} was given.",
                f"One instance is a mapping with {', '.join(expected)}.",
                "",
                f"For {unknown[0]!r}: {suggest(unknown[0], expected)}" if unknown else "Use instances[0], for example.",
            )
        row = Instances({name: np.expand_dims(np.asanyarray(array), 0) for name, array in instance.items()})
        checked = {}
        for name, array in row.fields.items():
            kind, _, shape = expected[name].partition("[")
            if str(list(array.shape[1:])) != f"[{shape}" or not np.can_cast(array.dtype, np.dtype(kind), "same_kind"):
                raise InstancesError(
                    f"{name!r} is {array.dtype}{list(array.shape[1:])}.",
                    f"The instances that were learned from have {expected[name]}.",
                    "The certificate speaks of new instances from the same distribution.",
                    "Pass one instance, without the leading axis.",
                )
            checked[name] = array[0].astype(kind)
        return checked


def _read(files: Mapping[str, Path], problem: Any, algorithm: Any) -> Learned:
    """The value of checked files; whatever is wrong inside of them raises something."""
    provenance = read_json(files["provenance.json"])
    code, arrays = read_json(files["code.json"]), load_npz(files["code.npz"])
    found: dict[str, Any] = {}
    for part, base, given in (("problem", AbstractProblem, problem), ("algorithm", AbstractAlgorithm, algorithm)):
        if given is not None:
            _refuse_changed(part, given, provenance[part])
        found[part] = given or restored(code.get(part), arrays, part, base, provenance[part])
    lacking = [f"{provenance[part]['class']} is not imported, or has changed" for part in found if found[part] is None]
    if provenance["versions"]["pacopt"] != __version__:  # which may run the same classes in another way
        lacking.append(f"this was learned with pacopt {provenance['versions']['pacopt']}, and here is {__version__}")
    engine = None if lacking else Traced(**found, steps=provenance["steps"], dtype=provenance["precision"])
    test = LossTable.load(files["test.npz"]) if "test.npz" in files else None
    return Learned(
        certificate=Certificate.from_dict(read_json(files["certificate.json"])),
        table=LossTable.load(files["table.npz"]),
        test=test,
        curves=None if test is None else Curves(tuple(test.provenance["rows"]), **load_npz(files["curves.npz"])),
        engine=engine,
        train=Instances.load(files["instances.npz"]) if "instances.npz" in files else None,
        provenance=provenance,
        missing="; ".join(lacking),
    )


def _refuse_changed(part: str, given: Any, provenance: Mapping[str, str]) -> None:
    now = described(given)
    changed = [key for key in ("class", "fields", "source") if now[key] != provenance[key]]
    if changed:
        raise StorageError(
            f"The {part} given has another {' and '.join(changed)} than the one that was learned with "
            f"({provenance['class']}).",
            f"The {part} of the run is needed, with the same code and the same fields.",
            "A certificate speaks of the code that it was made with and of no other.",
            "Pass what was learned with, or learn again.",
        )
