"""A stored run checked from scratch: its files, its numbers, its words and, if asked, cells of its table."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacopt.auditing import Audit, audit
from pacopt.certificate import Certificate
from pacopt.errors import PacoptError, StorageError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.runs import damage, read_json

if TYPE_CHECKING:
    from pacopt.algorithms.base import AbstractAlgorithm
    from pacopt.engines.cell import Success
    from pacopt.problems.base import AbstractProblem

#: A cell that is run again may differ by this much of the larger of loss and start: roundings, amplified by the run.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and everything that is wrong.

    What this can show: that the files are as they were saved, that every number of the certificate follows from the
    table, that the words say these numbers, and, with `rerun`, that cells of the table follow from instances and code.
    What it cannot show: who made the run (hashes are not signed), that the instances were independent draws, or that
    the design was fixed before the training instances were seen.
    """

    directory: str
    compared: int
    rerun: int
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        cells = f" and {self.rerun} cells of the table were run again" if self.rerun else ""
        if self.passed:
            return f"{self.directory}: verified. {self.compared} numbers were recomputed{cells}; all agree."
        return f"{self.directory}: NOT verified.\n" + "\n".join(f"- {problem}" for problem in self.problems)


def verify(
    directory: str | os.PathLike[str],
    *,
    rerun: int = 0,
    seed: int | None = None,
    problem: "AbstractProblem | None" = None,
    algorithm: "AbstractAlgorithm | None" = None,
    success: "Success | None" = None,
) -> Verification:
    """Recompute a stored certificate from its table with independent code, on NumPy and SciPy alone.

    With `rerun`, so many random cells of the table are computed again from the stored instances, which needs JAX and
    the user's code: imported already, or given here (a success predicate has to be given to be checked).
    """
    root = Path(directory)
    problems = damage(root)
    if problems:
        return Verification(str(root), 0, 0, tuple(problems))
    stored = read_json(root / "certificate.json")
    provenance = read_json(root / "provenance.json")
    try:
        table = LossTable.load(root / "table.npz")
        result = audit(stored, table)
        problems = _wrong(root, stored, table, provenance, result)
    except (PacoptError, OSError, KeyError, TypeError) as error:
        return Verification(str(root), 0, 0, (str(error),))
    if rerun and not problems:
        problems = _rerun(root, table, rerun, seed, problem, algorithm, success)
    return Verification(str(root), result.compared, rerun if rerun else 0, tuple(problems))


def _wrong(
    root: Path, stored: dict[str, Any], table: LossTable, provenance: dict[str, Any], result: Audit
) -> list[str]:
    problems = [] if result.passed else [f"{result.disagreement}"]
    if result.passed and (root / "statement.txt").read_text(encoding="utf-8") != f"{Certificate.from_dict(stored)}\n":
        problems.append("statement.txt does not say what certificate.json says")
    if any(provenance.get(key) != value for key, value in table.provenance.items() if key != "versions"):
        problems.append("provenance.json and table.npz tell of different runs")
    if (root / "instances.npz").exists():
        found = Instances.load(root / "instances.npz").fingerprint
        if found != table.provenance.get("instances"):
            problems.append("instances.npz does not hold the instances that the table was made of")
    return problems


def _rerun(
    root: Path, table: LossTable, count: int, seed: int | None, problem: Any, algorithm: Any, success: Any
) -> list[str]:
    """Disagreements among random cells; the engine is imported only here."""
    from dataclasses import replace

    from pacopt.learned import Learned

    learned = Learned.load(root, problem=problem, algorithm=algorithm)
    if learned.engine is None or learned.train is None:
        raise StorageError(
            "The training instances were not stored with the run."
            if learned.train is None
            else f"The code of {learned.provenance['problem']['class']} and "
            f"{learned.provenance['algorithm']['class']} was not found as it was.",
            "To run cells again, the instances and the code are needed.",
            "",
            "Import the code before, or pass problem=... and algorithm=...; save runs with their instances.",
        )
    rng = np.random.default_rng(seed)
    run = np.ones(table.shape, dtype=bool) if table.missing is None else ~table.missing
    cells = np.flatnonzero(run)
    rows, columns = np.divmod(rng.choice(cells, min(count, len(cells)), replace=False), table.shape[1])
    engine = replace(learned.engine, success=success)
    again = engine.table({name: values[rows] for name, values in table.candidates.items()}, learned.train[columns])
    problems = []
    for k, (i, j) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        before, after, start = table.losses[i, j], again.losses[k, k], table.start[j]
        failed = not before <= start and not after <= again.start[k]
        same = abs(again.start[k] - start) <= TOLERANCE * start and (
            failed or abs(after - before) <= TOLERANCE * max(before, start)
        )
        if not same:
            problems.append(
                f"candidate {i} on instance {j} has the loss {before!r} in the table and {after!r} when run again"
            )
        if table.success is not None and again.success is not None and table.success[i, j] != again.success[k, k]:
            problems.append(f"candidate {i} on instance {j} has another verdict when run again")
    return problems
