"""A stored run checked from scratch: its files, its numbers, its words and, if asked, cells of its table."""

import os
from dataclasses import dataclass
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
from pacopt.statement import known_texts, subject_of
from pacopt.support.numbers import is_whole
from pacopt.verification.rerunning import run_again

if TYPE_CHECKING:
    from pacopt.algorithms.base import AbstractAlgorithm
    from pacopt.engines.base import AbstractEngine, Predicate
    from pacopt.instances import Instances
    from pacopt.problems.base import AbstractProblem


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and everything that is wrong.

    It can show that the files are as they were saved, that every number of the certificate follows from the
    table, that the statement contains these numbers, that the report has its seal and holds the statement word for
    word, and, with `rerun`, that cells of the table follow from instances and code.
    It cannot show who made the run (hashes and seals are not signatures: a consistent rewrite goes unnoticed, and so do
    altered charts in a resealed report), that the instances were independent draws, that the
    design was fixed before the training instances were seen, or that the losses on the test split are right (its
    instances are not stored). `unchecked` names what could have been checked but was not.
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
    instances: "Instances | None" = None,
) -> Verification:
    """Recompute a stored certificate from its table with independent code, on NumPy and SciPy alone.

    With `rerun`, this many random cells of the table are drawn. Their candidates are run again on all of their
    instances, and the deployed one on all training instances; all results are compared. That needs JAX, the stored
    instances and the user's code: already imported, or passed here (a success predicate must be passed to be checked).
    `instances` are those that were not stored, such as objects; it may contain others.
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
    unchecked += [note for note in lacking(root, table) if instances is None or "instances.npz" not in note]
    if not rerun and dict(table.origin.fields) == {"file": "file"}:
        unchecked.append("the files that the instances are were not looked at")
    if not (root / REPORT).exists():
        unchecked.append(f"there is no {REPORT}; `pacopt report` draws it")
    if rerun and not problems:
        given = {"problem": problem, "algorithm": algorithm, "engine": engine}
        again, problems, notes = run_again(root, table, rerun, seed, given, success, instances)
        unchecked += notes
        if table.origin.predicate is not None and success is None:
            unchecked.append("the verdicts of the success predicate, which was not given, were not checked")
    return Verification(str(root), result.compared, again, tuple(problems), tuple(unchecked), result.not_recomputed)


def _wrong(root: Path, stored: dict[str, Any], table: LossTable, result: Audit) -> list[str]:
    """Everything that does not fit together in files that are as they were saved."""
    rules = {f"{result.disagreement}": result.passed}
    ended = int(np.isfinite(table.losses).sum()) + (0 if table.missing is None else int(table.missing.sum()))
    failed = table.losses.size - ended
    rules["the table holds fewer failed runs than its provenance counts"] = (
        sum(table.origin.failures.values()) <= failed
    )
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
        rules["statement.txt does not say what certificate.json says"] = words in [
            f"{text}\n" for text in known_texts(certificate)
        ]
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


def _check(rerun: Any, seed: Any) -> None:
    for name, value in (("rerun", rerun), ("seed", 0 if seed is None else seed)):
        if not is_whole(value):
            raise StorageError(f"{name} is {value!r}.", "It is a whole number, not negative.", "", "Use rerun=20.")
