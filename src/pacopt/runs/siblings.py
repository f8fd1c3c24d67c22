"""Runs that lie beside a run: which of them were made with some of the same training instances."""

import json
from pathlib import Path

import numpy as np

from pacopt.errors import PacoptError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.runs.files import MANIFEST
from pacopt.sources import CHANCE, Sources, reused_columns
from pacopt.support.repeats import sharing_by_chance
from pacopt.support.stored_table import table_hash

#: Start losses that agree to this part of their size may be those of one instance, in single precision too.
GRAIN = 1e-5


def earlier_certificates(run: Path, table: LossTable, design_hash: str) -> int:
    """The number of other certificates beside this place that were made with some of the instances of this table.

    The same certificate made again, of the same table under the same design, is no other one. Instances are compared by
    their fingerprints; where these differ (a column more in the file, another precision), tables that have more start
    losses or more columns in common than separate draws would are taken to share instances. It takes about twenty in
    common to tell.
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
    try:
        other = LossTable.load(directory / "table.npz")
        known = other.fingerprints
        if known is None and (directory / "instances.npz").exists():  # a run of an earlier version
            known = Instances.load(directory / "instances.npz").fingerprints
    except (OSError, ValueError, PacoptError):
        return False
    if table.fingerprints is not None and known is not None and np.isin(table.fingerprints, known).any():
        return True
    if sharing_by_chance(_starts(table), _starts(other)) <= CHANCE:
        return True
    alike = table.losses.shape[0] == other.losses.shape[0]
    return alike and bool(reused_columns(Sources.of(other), table, separate_draws=True).any())


def _starts(table: LossTable) -> np.ndarray:
    """Start losses to about five digits, one for each column."""
    start = table.leads.start
    return np.empty(0) if start is None else np.rint(np.log(start[start > 0]) / GRAIN)
