"""The final-to-initial ratio, with the safeguard that falls back to the start if the loss did not decrease."""

from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption, Status
from pacopt.loss_table import LossTable
from pacopt.scores.base import AbstractScore, quantity_of
from pacopt.support.rounding import up


@dataclass(frozen=True, slots=True)
class Ratio(AbstractScore):
    """z = min(l / l0, 1): the relative loss, falling back to the start if the loss did not decrease."""

    quantity: str = "loss"

    name: ClassVar = "ratio"
    relative: ClassVar = True

    @property
    def noun(self) -> str:
        """A ratio of losses."""
        return f"final-to-initial {self.quantity} ratio"

    @property
    def range(self) -> Assumption:
        """By construction."""
        return Assumption("0 <= min(l / l0, 1) <= 1 for every run, whatever happens in it", Status.PROVED)

    def of(self, table: LossTable, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """min(l / l0, 1)."""
        return table.safeguarded(rows)

    def of_run(self, loss: float, start: float) -> float:
        """min(l / l0, 1)."""
        if not isfinite(loss) or loss > start:
            return 1.0
        return loss / start if start > 0 else 0.0

    def on_success(self, target_ratio: float) -> float:
        """The target ratio itself."""
        return target_ratio

    def sentence(self, value: float) -> str:
        """The mean ratio is at most so much."""
        return f"{self.safeguard}, it has an expected {self.noun} of at most {up(value)}."

    def to_dict(self) -> dict[str, Any]:
        """Nothing but its name, and what it is a ratio of."""
        return {"name": self.name} | quantity_of(self)
