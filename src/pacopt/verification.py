"""A stored run checked from scratch: its files, its numbers, its words and, if asked, cells of its table."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacopt.auditing import Audit, audit
from pacopt.certificate import Certificate
from pacopt.claims.foreign import ForeignClaim
from pacopt.errors import StorageError
from pacopt.loss_table import LossTable
from pacopt.report.seal import REPORT, report_problem
from pacopt.runs.files import checked_path, damage, read_json
from pacopt.runs.fitting import lacking, misfits
from pacopt.statement import subject_of
from pacopt.support.numbers import is_whole

if TYPE_CHECKING:
    from pacopt.algorithms.base import AbstractAlgorithm
    from pacopt.engines.base import AbstractEngine, Predicate
    from pacopt.learned import Learned
    from pacopt.problems.base import AbstractProblem

#: A cell that is run again may differ by this much of its loss, and by this much of its start.
TOLERANCE, ROUNDING = 1e-6, 1e-9
#: A run that ended above its start has amplified its roundings, and may differ by this much of its loss.
DIVERGED = 1e-3
#: So many cells that differ are named.
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and everything that is wrong.

    What this can show: that the files are as they were saved, that every number of the certificate follows from the
    table, that the words say these numbers, that the report has its seal and holds the statement word for word, and,
    with `rerun`, that cells of the table follow from instances and code.
    What it cannot show: who made the run (hashes and seals are not signed: whoever rewrites all that belongs together
    is not noticed, in a report not even if its charts are others), that the instances were independent draws, that the
    design was fixed before the training instances were seen, or that the losses on the test split are right (its
    instances are not stored). `unchecked` names what could have been checked and was not.
    """

    directory: str
    compared: int
    rerun: int
    problems: tuple[str, ...]
    unchecked: tuple[str, ...] = ()
    not_recomputed: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        cells = f" and {self.rerun} cells of the table were run again" if self.rerun else ""
        if self.passed:
            notes = "".join(f" Note: {note}." for note in self.unchecked)
            return f"{self.directory}: verified. {self.compared} numbers were recomputed{cells}; all agree.{notes}"
        return f"{self.directory}: NOT verified.\n" + "\n".join(f"- {problem}" for problem in self.problems)


def verify(
    directory: str | os.PathLike[str],
    *,
    rerun: int = 0,
    seed: int | None = None,
    problem: "AbstractProblem | None" = None,
    algorithm: "AbstractAlgorithm | None" = None,
    engine: "AbstractEngine | None" = None,
    success: "Predicate | None" = None,
) -> Verification:
    """Recompute a stored certificate from its table with independent code, on NumPy and SciPy alone.

    With `rerun`, so many random cells of the table are drawn. Their candidates are run again on all of their instances,
    and the deployed one on all training instances; everything that comes out is compared. That needs JAX, the stored
    instances and the user's code: imported already, or given here (a success predicate has to be given to be checked).
    """
    _check(rerun, seed)
    root = checked_path(directory)
    problems = damage(root)
    if problems:
        return Verification(str(root), 0, 0, tuple(problems))
    try:
        stored, table = read_json(root / "certificate.json"), LossTable.load(root / "table.npz")
        result = audit(stored, table)
        problems = _wrong(root, stored, table, result)
    except Exception as error:  # whatever a file holds that no run would
        return Verification(str(root), 0, 0, (f"{type(error).__name__}: {error}",))
    again, unchecked = (
        0,
        [
            f"the {'number' if '.' in name else 'claim'} {name!r}, whose formula is not at hand, was not recomputed"
            for name in result.not_recomputed
        ],
    )
    unchecked += lacking(root, table)
    if not (root / REPORT).exists():
        unchecked.append(f"there is no {REPORT}; `pacopt report` draws it")
    if rerun and not problems:
        given = {"problem": problem, "algorithm": algorithm, "engine": engine}
        again, problems = _rerun(root, table, rerun, seed, given, success)
        if table.origin.predicate is not None and success is None:
            unchecked.append("the verdicts of the success predicate, which was not given, were not checked")
    return Verification(str(root), result.compared, again, tuple(problems), tuple(unchecked), result.not_recomputed)


def _wrong(root: Path, stored: dict[str, Any], table: LossTable, result: Audit) -> list[str]:
    """Everything that does not fit together in files that are as they were saved."""
    rules = {f"{result.disagreement}": result.passed}
    if (root / "provenance.json").exists():
        provenance = read_json(root / "provenance.json")
        pairs = {key: (provenance.get(key), value) for key, value in table.provenance.items() if key != "versions"}
        pairs["confidence"] = (provenance.get("confidence"), stored["confidence"])
        same = all(a == b for a, b in pairs.values())
        rules["provenance.json, certificate.json and table.npz tell of different runs"] = same
    if result.passed:
        certificate = Certificate.from_dict(stored)
        rules["the sentences of certificate.json do not say what its numbers say"] = _said(certificate)
        words = (root / "statement.txt").read_text(encoding="utf-8")
        rules["statement.txt does not say what certificate.json says"] = words == f"{certificate}\n"
        # The report is a view and may be missing; where it is, it has to show this certificate.
        wrong = report_problem(root / REPORT, certificate) if (root / REPORT).exists() else None
        if wrong is not None:
            rules[wrong] = False
    wrong_files = misfits(root, table, stored["deployed"]["hyper"])
    return [*(problem for problem, holds in rules.items() if not holds), *wrong_files]


def _said(certificate: Certificate) -> bool:
    """Whether each sentence is the one that its claim makes of its number; without its code, a claim's own stands."""
    subject, values = subject_of(certificate), certificate.deployed.values
    known = [claim for claim in certificate.design.claims if not isinstance(claim, ForeignClaim)]
    return certificate.stored is not None or all(
        certificate.sentences[claim.name] == claim.sentence(values[claim.name], subject)
        and certificate.theorems[claim.name] == claim.theorem(certificate.design)
        for claim in known
    )


def _rerun(
    root: Path, table: LossTable, count: int, seed: int | None, given: dict[str, Any], success: Any
) -> tuple[int, list[str]]:
    """How many cells were run again, and disagreements; the engine is imported only here."""
    from pacopt.engines.description import predicate_hash
    from pacopt.learned import Learned

    learned = Learned.load(root, **given)
    if learned.engine is None or learned.train is None:
        raise StorageError(
            "The training instances were not stored with the run." if learned.train is None else f"{learned.missing}.",
            "To run cells again, the instances and the code are needed.",
            "",
            "Save runs with their instances."
            if learned.train is None
            else "Import the code before, or pass problem=... and algorithm=..., or engine=... (on the command line: "
            "--job job.toml).",
        )
    if success is not None and predicate_hash(success) != learned.origin.predicate:
        return 0, ["the success predicate that was given is not the one of the run"]
    rows, columns = _chosen(table, count, np.random.default_rng(seed))
    deployed = np.array([learned.certificate.deployed.index])
    cells, problems = _again(learned, table, deployed, np.arange(table.shape[1]), success)
    others = np.setdiff1d(rows, deployed)
    if len(others):
        more, found = _again(learned, table, others, columns, success)
        cells, problems = cells + more, problems + found
    if len(problems) > EXAMPLES:
        rest = f"{len(problems) - EXAMPLES} more cells differ: the code, or the table, is another than it was"
        problems = [*problems[:EXAMPLES], rest]
    return cells, problems


def _again(
    learned: "Learned", table: LossTable, rows: np.ndarray, columns: np.ndarray, success: Any
) -> tuple[int, list[str]]:
    """How many cells of these rows and columns were run again, and which of them differ."""
    chosen = {name: values[rows] for name, values in table.candidates.items()}
    train: Any = learned.train
    whole = train.columns()
    runner: Any = learned.engine
    runner = runner if success is None else replace(runner, success=success)
    runner = runner.recording(tuple(table.times)) if table.times else runner
    again = runner.table(chosen, train[columns if whole is None else whole.at(columns)[1]])
    before, target = table.select(rows=rows, columns=columns), learned.certificate.design.target_ratio
    found = _differences(before, again, rows, _columns_of_runs(before, columns), target)
    return before.losses.size if before.missing is None else int((~before.missing).sum()), found


def _chosen(table: LossTable, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns of so many random cells that were run."""
    missing = table.leads.missing
    run = np.ones(table.shape, dtype=bool) if missing is None else ~missing
    cells = np.flatnonzero(run)
    rows, columns = np.divmod(rng.choice(cells, min(count, len(cells)), replace=False), table.shape[1])
    return np.unique(rows), np.unique(columns)


def _columns_of_runs(table: LossTable, columns: np.ndarray) -> np.ndarray:
    """For each run of a table the number of its column in the whole."""
    return columns if table.columns is None else np.repeat(columns, table.columns.sizes)


def _differences(
    before: LossTable, again: LossTable, rows: np.ndarray, columns: np.ndarray, target: float
) -> list[str]:
    """Every cell that does not come out as it stands in the table; a cell that was not run then says nothing."""
    problems = []
    verdicts = before.success is not None and again.success is not None
    # Roundings may move a run across a target by one step; never comes after the last one.
    never, before_goal = (again.origin.steps or 0) + 1, again.origin.goal is not None
    before_at, again_at = (
        {target: np.minimum(times, never) for target, times in table.times.items()} for table in (before, again)
    )
    for j, column in enumerate(columns.tolist()):
        start = None if before.start is None else before.start[j]
        for i, row in enumerate(rows.tolist()):
            if before.missing is not None and before.missing[i, j]:
                continue
            place, old, new = f"candidate {row} on instance {column}", before.losses[i, j], again.losses[i, j]
            if start is None:
                alike = _near(old, new, never if before_goal else None)
            else:
                alike = _same(old, new, start, target) and abs(again.starts[j] - start) <= ROUNDING * start
            if not alike:
                problems.append(f"{place} has the loss {old:.10g} in the table and {new:.10g} when run again")
            elif any(abs(times[i, j] - again_at[target][i, j]) > 1 for target, times in before_at.items()):
                problems.append(f"{place} reaches a target at another step when run again")
            elif verdicts and before.success[i, j] != again.success[i, j]:  # type: ignore[index]
                problems.append(f"{place} has another verdict when run again")
    return problems


def _near(before: float, after: float, never: int | None) -> bool:
    """Whether two runs without a start ended alike: at steps that differ by one at most, or nearly at the same loss."""
    if never is not None:
        return bool(abs(np.fmin(before, never) - np.fmin(after, never)) <= 1)
    if not (np.isfinite(before) and np.isfinite(after)):
        return bool(np.isfinite(before) == np.isfinite(after))
    return bool(abs(after - before) <= TOLERANCE * abs(before))


def _same(before: float, after: float, start: float, target: float) -> bool:
    """Whether two runs of a cell ended alike, but for roundings that the run may have amplified."""
    if not (np.isfinite(before) and np.isfinite(after)):
        return bool(np.isfinite(before) == np.isfinite(after))
    if before > start:
        return bool(abs(after - before) <= DIVERGED * before)
    reached = (before <= target * start) == (after <= target * start) or target * start <= ROUNDING * start
    near = abs(before - target * start) <= TOLERANCE * target * start
    return bool(abs(after - before) <= TOLERANCE * before + ROUNDING * start and (reached or near))


def _check(rerun: Any, seed: Any) -> None:
    for name, value in (("rerun", rerun), ("seed", 0 if seed is None else seed)):
        if not is_whole(value):
            raise StorageError(f"{name} is {value!r}.", "It is a whole number, not negative.", "", "Use rerun=20.")
