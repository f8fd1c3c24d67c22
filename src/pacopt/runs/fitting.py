"""Whether the files beside a certificate and its table belong to them, and which of them are not there."""

import sys
from pathlib import Path
from typing import Any

from pacopt.decisions import fits
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.runs.files import read_json
from pacopt.support.arrays import load_npz
from pacopt.support.values import marked_hyper

#: The base class of a problem that states its minimum, by its name: nothing of JAX is imported here.
KNOWN_MINIMUM, METRIC = "AbstractKnownMinimum", "AbstractMetric"


def misfits(root: Path, table: LossTable, deployed: Any) -> list[str]:
    """What does not belong to this table and to its deployed hyperparameters."""
    rules = _test(root, table, deployed) | _instances(root, table) | _code(root, table)
    return [problem for problem, holds in rules.items() if not holds]


def lacking(root: Path, table: LossTable) -> list[str]:
    """What a run of `learn` usually has and this one has not; whoever deletes it can write the manifest anew."""
    split = table.origin.split
    if split is None or not (root / "provenance.json").exists():
        return []
    absent = {name: not (root / name).exists() for name in ("instances.npz", "test.npz", "curves.npz")}
    notes = []
    if absent["instances.npz"]:
        notes.append("there is no instances.npz, so no cell can be run again")
    if absent["test.npz"] and split.test.instances:
        notes.append(f"there is no test.npz, and the split has {split.test.instances} test instances")
    if absent["curves.npz"] and not absent["test.npz"] and table.origin.steps and table.start is not None:
        notes.append("there is no curves.npz, and an algorithm that goes step by step has losses on the way")
    if _decided(root) and not absent["test.npz"] and not (root / "decisions.npz").exists():
        notes.append("there is no decisions.npz, and the algorithm said what it decides")
    return notes


def _test(root: Path, table: LossTable, deployed: Any) -> dict[str, bool]:
    if not (root / "test.npz").exists():
        return {
            f"{name} is there without test.npz": not (root / name).exists() for name in ("curves.npz", "decisions.npz")
        }
    test, split = LossTable.load(root / "test.npz"), table.origin.split
    rules = {
        "test.npz does not start with the deployed hyperparameters": marked_hyper(test.hyper(0)) == deployed,
        "test.npz does not hold losses on the test split": split is None
        or test.origin.instances == split.test.fingerprint,
    }
    if (root / "curves.npz").exists():
        rules["curves.npz does not have a line for each row of test.npz"] = _curves(root, test)
    if (root / "decisions.npz").exists():
        rules["decisions.npz does not have a line for each decision"] = fits(
            load_npz(root / "decisions.npz"), _decided(root)
        )
    return rules


def _decided(root: Path) -> list[Any]:
    """What the algorithm of a run decides, by name."""
    found = read_json(root / "provenance.json").get("decisions") if (root / "provenance.json").exists() else None
    return found if isinstance(found, list) else []


def _curves(root: Path, test: LossTable) -> bool:
    """A line for each row, and then for baselines of the table; those of earlier versions had no names and no more."""
    curves, rows = load_npz(root / "curves.npz"), test.shape[0]
    ends = {array.shape[:1] for array in curves.values() if array.ndim > 1}
    if "names" not in curves:
        return ends == {(rows,)}
    names = curves["names"].tolist()
    # In the order in which they were asked for, which a table does not keep; none twice.
    others = sorted(name for name in test.baselines if name in names[rows:])
    known = tuple(names[:rows]) == test.origin.rows and sorted(names[rows:]) == others
    return known and ends == {(len(names),)}


def _instances(root: Path, table: LossTable) -> dict[str, bool]:
    if not (root / "instances.npz").exists():
        return {}
    instances, split = Instances.load(root / "instances.npz"), table.origin.split
    wanted = {table.origin.instances} | ({split.train.fingerprint} if split else set())
    separate = split is None or split.allow_duplicates or len(set(instances.fingerprints)) == len(instances)
    return {
        "instances.npz does not hold the instances that the table was made of": wanted == {instances.fingerprint},
        "instances.npz holds an instance twice, which the ledger denies": separate,
    }


def _code(root: Path, table: LossTable) -> dict[str, bool]:
    """What is stored of the code can be read, and its classes, if they are imported, are what the provenance says."""
    if not (root / "code.json").exists():
        return {"there is no code.json, which a run of learn has": not (root / "provenance.json").exists()}
    code, _ = read_json(root / "code.json"), load_npz(root / "code.npz")
    problem = _imported(code.get("problem", {}).get("class", ""))
    bases = set() if problem is None else {base.__name__ for base in problem.__mro__}
    stated = KNOWN_MINIMUM in bases and METRIC not in bases
    return {
        "the provenance says otherwise than the class of the problem whether its minimum is known": problem is None
        or stated == table.origin.known_minimum
    }


def _imported(name: str) -> type | None:
    """The class of this name, if its module is imported already."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None
