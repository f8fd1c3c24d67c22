"""Baselines that stand in a table beside its candidates."""

import numpy as np
from jaxtyping import Bool

from pacopt.assumptions import Assumption, Status
from pacopt.errors import TableError
from pacopt.loss_table import LossTable
from pacopt.scores import AbstractScore

BASELINE = Assumption("the baselines were fixed before the training instances were seen", Status.DECLARED)
#: More than a score can be off by rounding.
ROUNDING = 1e-12


def baseline_table(table: LossTable, name: str) -> LossTable:
    """The runs of a baseline as a table of one candidate."""
    if name not in table.baselines:
        known = ", ".join(map(repr, table.baselines)) or "none"
        raise TableError(
            f"There is no baseline {name!r} in the table.",
            f"It has {known}.",
            "A gain is over what ran on the same instances.",
            f"Pass baselines={{{name!r}: losses}} to the table, one loss for each run.",
        )
    return LossTable(table.baselines[name][None], table.start, columns=table.columns)


def wins(table: LossTable, baseline: str, score: AbstractScore) -> Bool[np.ndarray, "hyper instance"]:
    """Where a candidate ends below the baseline; a run that failed, or ended above its start, counts as the start."""
    ours, theirs = table.leads, baseline_table(table, baseline).leads
    cap, floor = score.most(ours), score.floor(ours)
    ended = [np.where(np.isfinite(each.losses), np.minimum(each.losses, cap), cap) for each in (ours, theirs)]
    one, other = (np.maximum(each, floor) for each in ended)
    below: np.ndarray = one < other
    return below
