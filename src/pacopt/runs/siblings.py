"""Runs that lie beside a run: which of them were made with some of the same training instances."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from pacopt.instances import Instances
from pacopt.loss_table import LossTable, table_hash
from pacopt.runs.files import MANIFEST
from pacopt.support.arrays import load_npz


def earlier_certificates(run: Path, table: LossTable, design_hash: str) -> int:
    """The number of other certificates beside this place that were made with some of the instances of this table.

    The same certificate made again, of the same table under the same design, is no other one.
    """
    mine = table_hash(table)
    beside = sorted(path.parent for path in run.parent.glob(f"*/{MANIFEST}") if path.parent.name != run.name)
    found = set()
    for directory in beside:
        try:
            stored = json.loads((directory / "certificate.json").read_text(encoding="utf-8"))
            other = (stored["table_hash"], stored["design_hash"])
        except (OSError, ValueError, KeyError, TypeError):  # no certificate, or none that can be read
            continue
        if other != (mine, design_hash) and (other[0] == mine or _shares_instances(directory, table)):
            found.add(other)
    return len(found)


def _shares_instances(directory: Path, table: LossTable) -> bool:
    if table.fingerprints is None:
        return False
    try:
        known: Any = load_npz(directory / "table.npz").get("fingerprints")
        if known is None:  # a run of an earlier version
            known = Instances.load(directory / "instances.npz").fingerprints
    except (OSError, ValueError):
        return False
    return bool(np.isin(table.fingerprints, known).any())
