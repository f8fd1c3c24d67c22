"""What a job file names: the code and the data, put together and run."""

import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pacopt import algorithms, problems
from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.app.job_file import Job, Mistake, read_job, refuse
from pacopt.app.job_keys import OF_A_SOLVER
from pacopt.app.job_names import Lookup, concrete
from pacopt.app.job_words import in_job_words, told_in_job_words
from pacopt.bounds.absolute import Truncation
from pacopt.engines.base import AbstractEngine
from pacopt.engines.blackbox.checks import check_space
from pacopt.engines.blackbox.engine import BlackBox
from pacopt.engines.description import described
from pacopt.engines.traced.nesting import flat_space
from pacopt.errors import JobError, PacoptError, suggest
from pacopt.learned import Learned
from pacopt.learning import learn
from pacopt.priors.search import Search
from pacopt.priors.train import Train
from pacopt.problems.base import AbstractProblem
from pacopt.scores import ALL as SCORES
from pacopt.scores import AbstractScore, Digits, Effort, Ranged
from pacopt.splits import Split
from pacopt.support.arrays import digest
from pacopt.support.own_code import file_hash, is_own, own_files
from pacopt.support.progress import StageProgress

#: Keys of a job that `learn` knows by the same names.
AS_THEY_ARE = (
    "budget",
    "confidence",
    "curvature",
    "min_success",
    "objective",
    "quantile_level",
    "racing",
    "replicates",
    "seed",
    "steps",
    "target_ratio",
)


class OwnCode(NamedTuple):
    """The user's code that a job names: problem, algorithm and success criterion, or an engine."""

    problem: Any = None
    algorithm: Any = None
    success: Any = None
    engine: Any = None

    def parts(self, split: Split) -> tuple[Any, Any, Any]:
        """What `learn` is given: problem, algorithm and split, or engine and split."""
        return (self.problem, self.algorithm, split) if self.engine is None else (self.engine, split, None)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A job with everything that it names; nothing has been run yet."""

    job: Job
    code: OwnCode
    split: Split
    prior: Any
    truncation: Truncation | None
    sources: Mapping[str, str]

    @property
    def fingerprints(self) -> dict[str, Any]:
        """What the result depends on: the values of the job, the data, the files of the user's own code."""
        tables = {f"[{name}]": dict(values) for name, values in self.job.tables.items()}
        domain = {f"domain.{name}": repr(space) for name, space in self.job.domain.items()}
        parts = {part: getattr(self.split, part).fingerprint for part in ("prior", "train", "test")}
        data = {
            "the content of the instances": digest(parts),
            "the content of shared" if self.code.engine is None else "the solver": described(
                self.code.engine or self.code.problem
            )["fields"],
        }
        return {**self.job.top, **tables, **domain, **data, **self.sources}

    def learn(
        self, *, checkpoint: Path | None = None, executor: Any = None, progress: StageProgress | bool = False
    ) -> Learned:
        """Run the job; the result remembers the file that asked for it."""
        top = self.job.top
        with _own_failures(self.job), told_in_job_words(self.job):
            learned = learn(
                *self.code.parts(self.split),
                **{name: top[name] for name in AS_THEY_ARE},
                success=self.code.success,
                dtype=None if top["precision"] is None else np.dtype(top["precision"]),
                prior=self.prior,
                score=_score(top["score"]) if self.job.said("score") else None,
                baseline=None if top["baseline"] == "none" else top["baseline"],
                truncation=self.truncation,
                checkpoint=checkpoint,
                executor=executor,
                progress=progress,
            )
        about = {"text": self.job.text, "sources": dict(self.sources), "belongs": digest(self.fingerprints)}
        return replace(learned, provenance={**learned.provenance, "job": about})


def _score(asked: str | dict[str, Any]) -> AbstractScore:
    if isinstance(asked, dict) and "effort" in asked:
        return Effort(asked["effort"], asked.get("cap"), asked.get("penalty", 1.0), asked.get("unit", "steps"))
    if isinstance(asked, dict) and "largest" in asked:
        return Ranged(asked["largest"], asked.get("noun", "loss"), asked.get("unit", ""))
    if isinstance(asked, dict):
        return Digits(asked["digits"])
    kind: Any = SCORES[asked]
    score: AbstractScore = kind()
    return score


def prepare_code(path: str | Path) -> OwnCode:
    """Problem, algorithm and success criterion of a job, or its engine, without its instances."""
    job, mistakes = read_job(path)
    code = _code(Lookup(job, mistakes))
    refuse(job, mistakes)
    return code


def _code(parts: Lookup) -> OwnCode:
    folder = str(parts.job.path.parent.resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # code stands beside the job
    if parts.job.top["solver"] is not None:
        return OwnCode(engine=_solver(parts))
    if parts.job.top["engine"] is not None:
        return OwnCode(engine=parts.made("engine", AbstractEngine, {}, {}))
    shared = parts.arrays("shared") or {}
    return OwnCode(
        parts.made("problem", AbstractProblem, concrete(problems, AbstractProblem), shared),
        parts.made("algorithm", AbstractAlgorithm, concrete(algorithms, AbstractAlgorithm), {}),
        parts.named("success"),
    )


def _solver(parts: Lookup) -> AbstractEngine | None:
    """A black box of the function that is named, with the space of the job; an engine as it is."""
    found, top = parts.named("solver"), parts.job.top
    if isinstance(found, AbstractEngine):
        settings = [name for name in OF_A_SOLVER if parts.job.said(name)]
        for name in settings:
            parts.note(name, f"{top['solver']} is already an object; set {name} where you construct it")
        return found
    if found is not None and not parts.job.domain:
        parts.note("domain", "is missing; a solver needs a line for each hyperparameter")
        return None
    if any(mistake.key.startswith("domain.") for mistake in parts.mistakes):
        return None  # of a space with holes, nothing else can be said
    try:
        check_space(parts.job.domain, top["defaults"])
    except PacoptError as error:
        parts.note("defaults", f"{error}")
        return None
    try:
        return None if found is None else BlackBox(found, parts.job.domain, **{name: top[name] for name in OF_A_SOLVER})
    except PacoptError as error:
        parts.note("solver", in_job_words(f"{error}"))
        return None


def prepare_job(path: str | Path) -> Prepared:
    """A job with all that it names; every mistake in it, and in what it names, is reported in one error."""
    job, mistakes = read_job(path)
    parts = Lookup(job, mistakes)
    code = _code(parts)
    prior = parts.named("prior")
    searched = code.algorithm or code.engine
    if searched is not None:
        known = searched.space if isinstance(searched, AbstractEngine) else flat_space(searched)
        mistakes.extend(_unknown(job, known, type(searched).__name__))
    divided = parts.split()
    truncation = parts.truncation()
    refuse(job, mistakes)
    return Prepared(job, code, divided, prior or _found(job), truncation, _sources())


def _unknown(job: Job, known: Mapping[str, Any], kind: str) -> Iterator[Mistake]:
    """Hyperparameters in the domain and the baseline that there are not, or that are missing."""
    for name in job.domain:
        if name not in known:
            yield Mistake(f"domain.{name}", f"{kind} has no such hyperparameter; {suggest(name, known)}")
    baseline = job.top["baseline"]
    if isinstance(baseline, dict):
        surplus, lacking = ([n for n in a if n not in b] for a, b in ((baseline, known), (known, baseline)))
        for name in surplus:
            yield Mistake("baseline", f"{kind} has no hyperparameter {name!r}; {suggest(name, lacking or known)}")
        if lacking and not surplus:
            yield Mistake("baseline", f"has no value for {', '.join(lacking)}; give one for each hyperparameter")


def _found(job: Job) -> Search | Train | None:
    """How candidates are found; None leaves it to `learn`, which knows what suits the algorithm."""
    if "training" in job.tables:
        said = {name: value for name, value in job.tables["training"].items() if value is not None}
        number_type = {"dtype": np.dtype(said.pop("precision"))} if "precision" in said else {}
        return Train(**said, **number_type)
    searched = job.domain or job.said("candidates")
    return Search(job.domain, candidates=job.top["candidates"]) if searched else None


def _sources() -> dict[str, str]:
    """A hash of each file of the user's own code that is imported, by the name of its module."""
    return {f"{name} ({Path(file).name})": file_hash(file) for name, file in own_files([*sys.modules]).items()}


@contextmanager
def _own_failures(job: Job) -> Iterator[None]:
    """Turns an error raised by the user's code into a mistake of the job, with its place."""
    try:
        yield
    except PacoptError:
        raise
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_own(frame.filename)]
        if not frames:
            raise
        place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"
        raise JobError(
            f"{job.path}: the code it names fails ({place}): {type(error).__name__}: {error}.",
            "Problem, algorithm, success and prior must run without raising an exception.",
            "",
            "Correct the code.",
        ) from error
