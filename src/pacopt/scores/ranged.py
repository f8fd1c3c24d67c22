"""A loss in a unit of its own, with a largest value that is declared."""

from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption, Status
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.scores.base import AbstractScore
from pacopt.support.numbers import is_real
from pacopt.support.rounding import up


@dataclass(frozen=True, slots=True)
class Ranged(AbstractScore):
    """z = min(l / top, 1), for losses without a start: iterations, seconds, an error rate.

    The bound on the mean counts everything beyond `top`, and every failed run, as `top`.

    >>> Ranged(200, noun="number of iterations", unit="iterations").scale
    200.0
    """

    top: float
    noun: str = "loss"
    unit: str = ""

    name: ClassVar = "ranged"
    relative: ClassVar = False

    def __post_init__(self) -> None:
        """Refuse a top that is no positive number."""
        if not is_real(self.top) or not self.top > 0 or not isfinite(self.top):
            raise DesignError(
                f"The largest value of the loss is {self.top!r}.",
                "It is positive and finite.",
                "A mean can be bounded only for a score between 0 and a known number.",
                'Use pacopt.Ranged(200, unit="iterations"), for example.',
            )
        object.__setattr__(self, "top", float(self.top))
        for name in ("noun", "unit"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.isprintable() or (name == "noun" and not value.strip()):
                raise DesignError(f"{name} is {value!r}.", "It is a text.", "It stands in sentences.", 'Use "loss".')

    @property
    def scale(self) -> float:
        """The largest value."""
        return self.top

    @property
    def proviso(self) -> str:
        """What is beyond the top counts as the top."""
        return f"where a run that came to no number or went beyond {self.top:g} counts as {self.top:g}"

    @property
    def range(self) -> Assumption:
        """What is beyond the top counts as the top."""
        text = f"losses are not negative, and a loss above {self.top!r} or a run that failed counts as {self.top!r}"
        return Assumption(text, Status.PROVED)

    def of(self, table: LossTable, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """min(l / top, 1); 1 for a run that failed."""
        losses = table.losses[rows]
        z: np.ndarray = np.where(np.isfinite(losses), np.minimum(losses / self.top, 1.0), 1.0)
        return table.averaged(z)

    def of_run(self, loss: float, start: float) -> float:
        """min(l / top, 1)."""
        return min(loss / self.top, 1.0) if isfinite(loss) else 1.0

    def on_success(self, target_ratio: float) -> float:
        """1: success says nothing about the size of the loss."""
        return 1.0

    def sentence(self, value: float) -> str:
        """The mean is at most so much."""
        unit = self.spoken_unit and f" {self.spoken_unit}"
        return f"Its mean {self.noun} is at most {up(value)}{unit}, {self.proviso}."

    def to_dict(self) -> dict[str, Any]:
        """Name, top, noun and unit."""
        return {"name": self.name, "noun": self.noun, "top": self.top, "unit": self.unit}
