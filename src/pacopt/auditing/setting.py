"""What the formulas of an audit start from: the table, the stored design, and the scores, computed anew."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pacopt.auditing.recomputation import log_relative, relative, success
from pacopt.loss_table import LossTable

#: So many scores of a candidate at a time.
BLOCK = 4096


@dataclass(frozen=True)
class Setting:
    """A table with the design and the failure probability under which it was certified."""

    table: LossTable
    design: dict[str, Any]
    epsilon: float

    @cached_property
    def pi(self) -> np.ndarray:
        """The prior weights, from logarithms in which null stands for no weight."""
        weights = prior_weights(self.design)
        return np.asarray(weights / weights.sum())

    @cached_property
    def t(self) -> np.ndarray:
        """The betting fractions."""
        return np.array(self.design["t_grid"]["points"])

    @cached_property
    def w(self) -> np.ndarray:
        """Their weights."""
        return np.array(self.design["t_grid"]["weights"])

    @property
    def n(self) -> int:
        """The number of independent draws: instances, or groups of them."""
        return self.table.losses.shape[1] if self.table.columns is None else len(self.table.columns.sizes)

    def averaged(self, values: np.ndarray) -> np.ndarray:
        """Numbers of runs as numbers of draws: the mean of each column, one by one."""
        if self.table.columns is None:
            return values
        ends = np.cumsum(self.table.columns.sizes).tolist()
        pairs = zip([0, *ends[:-1]], ends, strict=True)
        return np.stack([values[:, first:last].mean(axis=1) for first, last in pairs], axis=1)

    def leading(self, values: np.ndarray) -> np.ndarray:
        """Numbers of runs as numbers of draws: those of the run that was drawn for its column."""
        return values if self.table.columns is None else values[:, self.table.columns.lead]

    @cached_property
    def outcomes(self) -> np.ndarray:
        """How the runs ended: ratios, or losses where there is no start; infinite for a run that failed."""
        if self.table.start is not None:
            return self.leading(relative(self.table))
        return self.leading(np.where(np.isfinite(self.table.losses), self.table.losses, np.inf))

    @cached_property
    def z(self) -> np.ndarray:
        """The score of every run."""
        return self.scores(self.table)

    def baseline(self, name: str) -> np.ndarray:
        """The score of a baseline."""
        return np.asarray(self.scores(LossTable(self.table.baselines[name][None], self.table.start))[0])

    def scores(self, table: LossTable) -> np.ndarray:
        """The scores of the runs of a table, put into the columns of this one."""
        score = self.design["score"]
        if score["name"] == "ratio":
            return self.averaged(np.minimum(relative(table), 1))
        if score["name"] == "ranged":
            capped = np.where(np.isnan(table.losses), np.inf, table.losses) / score["top"]
            return self.averaged(np.minimum(capped, 1))
        if score["name"] == "effort":
            late = ~(table.losses <= score["cap"])  # a run that failed is late, too
            return self.averaged(np.where(late, 1.0, np.where(late, 0.0, table.losses) / self.scale))
        if score["name"] in ("rate", "digits"):
            shrunk = np.minimum(log_relative(table), 0)
            if score["name"] == "rate":
                return self.averaged(np.exp(shrunk / score["steps"]))
            return self.averaged(np.maximum(1 + shrunk / np.log(10) / score["top"], 0))
        raise ValueError(f"there is no score {score['name']!r}")

    @property
    def rounding(self) -> float:
        """By what a bound on the mean is larger, where the score is made of logarithms."""
        return 1e-12 if self.design["score"]["name"] in ("rate", "digits") else 0.0

    @property
    def scale(self) -> float:
        """What a score of 1 is in its unit."""
        score = self.design["score"]
        return float(score["penalty"] * score["cap"] if score["name"] == "effort" else score.get("top", 1.0))

    @cached_property
    def wealth(self) -> np.ndarray:
        """sum_j log(1 - t z_j), one logarithm at a time, in blocks that fit into a cache."""
        sums = np.zeros((len(self.z), len(self.t)))
        for first in range(0, self.z.shape[1], BLOCK):
            for row, z in enumerate(self.z[:, first : first + BLOCK]):
                sums[row] += np.log1p(-np.outer(self.t, z)).sum(axis=1)
        return sums

    @cached_property
    def good(self) -> np.ndarray:
        """Where a run succeeded."""
        if self.table.start is None and self.table.success is None:
            return self.leading(np.isfinite(self.table.losses))
        return self.leading(success(self.table, self.design["target_ratio"]))


def prior_weights(design: dict[str, Any]) -> np.ndarray:
    """The weights as they are stored."""
    return np.array([0.0 if weight is None else np.exp(weight) for weight in design["log_weights"]])


#: What most claims rest on, written out once more.
GENERAL = (
    ("declared", "the training instances are independent draws from the distribution of the new one"),
    (
        "declared",
        "candidates, weights, grids, levels, shares and sizes were fixed before the training instances were seen",
    ),
)
