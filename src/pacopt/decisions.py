"""What the learned algorithm decides over the steps of its test runs: medians and bands, beside the textbook's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from pacopt.support.arrays import frozen

#: The arrays of decisions, as a run stores them beside their names.
STORED = ("steps", "median", "low", "high", "textbook")


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """Numbers that an algorithm decides in each step, over the runs of a test split: median, 10 % and 90 %.

    Numbers that are not finite are left out; if none is finite, the entry is NaN. `textbook` holds the median of what
    the textbook would have taken in the same states, NaN for a decision that it does not define.
    """

    names: tuple[str, ...]
    steps: Int[np.ndarray, " step"]
    median: Float[np.ndarray, "name step"]
    low: Float[np.ndarray, "name step"]
    high: Float[np.ndarray, "name step"]
    textbook: Float[np.ndarray, "name step"]

    @staticmethod
    def of(
        steps: tuple[int, ...],
        values: Mapping[str, Float[np.ndarray, "run step"]],
        textbook: Mapping[str, Float[np.ndarray, "run step"]],
    ) -> "Decisions":
        """The decisions of runs at these steps."""
        low, median, high = (
            frozen([[_quantile(column, level) for column in found.T] for found in values.values()])
            for level in (0.1, 0.5, 0.9)
        )
        nothing = np.full((1, len(steps)), np.nan)
        usual = frozen([[_quantile(column, 0.5) for column in textbook.get(name, nothing).T] for name in values])
        return Decisions(tuple(values), frozen(np.asarray(steps)), median, low, high, usual)

    def stored(self) -> dict[str, np.ndarray]:
        """The arrays of a file."""
        return {"names": np.array(self.names), **{name: getattr(self, name) for name in STORED}}

    @staticmethod
    def restored(arrays: Mapping[str, Any]) -> "Decisions":
        """As they were stored."""
        return Decisions(tuple(arrays["names"].tolist()), **{name: frozen(arrays[name]) for name in STORED})


def fits(arrays: Mapping[str, np.ndarray], decided: list[Any]) -> bool:
    """Whether stored arrays have these names, a line for each of them, and an entry for each step."""
    if arrays.keys() != {"names", *STORED} or arrays["names"].tolist() != decided:
        return False
    names, steps = arrays["names"], arrays["steps"]
    shapes = {arrays[name].shape for name in ("median", "low", "high", "textbook")}
    return names.ndim == steps.ndim == 1 and shapes == {(len(names), len(steps))}


def _quantile(values: Float[np.ndarray, " run"], level: float) -> float:
    known = values[np.isfinite(values)]
    return float(np.quantile(known, level, method="inverted_cdf")) if len(known) else np.nan
