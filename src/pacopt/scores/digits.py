"""How many decimal digits a run takes off the loss."""

from dataclasses import dataclass, replace
from math import ceil, isfinite, log10
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption, Status
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.scores.base import AbstractScore, quantity_of
from pacopt.scores.logarithms import log_ratios
from pacopt.support.numbers import is_real
from pacopt.support.rounding import down

#: The digits of a double; so many are counted while nothing is known of the instances.
DOUBLE = 16.0


@dataclass(frozen=True, slots=True)
class Digits(AbstractScore):
    """z = 1 - min(max(log10(l0 / l), 0), D) / D: the share of D digits that a run does not gain.

    A bound U on its mean says that min(digits gained, D) is at least D (1 - U) on average. Digits beyond `top` = D do
    not count. By default `learn` takes the most that the favourite gains on the prior split.

    >>> Digits(8).of_run(1e-6, 1.0)
    0.25
    """

    top: float | None = None
    quantity: str = "loss"

    name: ClassVar = "digits"
    relative: ClassVar = True
    on_outcomes: ClassVar = False
    rounding: ClassVar = 1e-12

    def __post_init__(self) -> None:
        """Refuse what is no number of digits."""
        if self.top is None:
            return
        if not is_real(self.top) or not self.top > 0 or not isfinite(self.top):
            raise DesignError(
                f"{self.top!r} digits are to be counted.",
                "A positive number is needed.",
                "A mean can be bounded only for a score between 0 and a known number.",
                "Use pacopt.Digits(8), or leave it out.",
            )
        object.__setattr__(self, "top", float(self.top))

    @property
    def noun(self) -> str:
        """What is bounded from above."""
        return f"number of digits short of {self.scale:g}"

    @property
    def unit(self) -> str:
        """Digits."""
        return "digits"

    @property
    def scale(self) -> float:
        """As many digits as are counted."""
        return DOUBLE if self.top is None else self.top

    @property
    def range(self) -> Assumption:
        """By construction."""
        text = (
            f"0 <= digits gained <= {self.scale!r} for every run, whatever happens in it: others are counted as these"
        )
        return Assumption(text, Status.PROVED)

    def of(self, table: LossTable, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """1 - min(max(log10 l0 - log10 l, 0), D) / D."""
        gained = np.clip(-log_ratios(table, rows) / np.log(10.0), 0.0, self.scale)
        return table.averaged(1.0 - gained / self.scale)

    def of_run(self, loss: float, start: float) -> float:
        """The same for one run."""
        if not isfinite(loss) or loss > start:
            return 1.0
        return 0.0 if loss == 0 else 1.0 - min(max(log10(start) - log10(loss), 0.0), self.scale) / self.scale

    def on_success(self, target_ratio: float) -> float:
        """What is left of the digits of the target ratio."""
        return 1.0 - min(-log10(target_ratio), self.scale) / self.scale

    def sentence(self, value: float) -> str:
        """It gains so many digits."""
        gained = down(max(0.0, self.scale - value))
        counted = f"of which at most {self.scale:g} are counted"
        return f"{self.safeguard}, it gains on average at least {gained} digits, {counted}."

    def highlight(self, value: float) -> tuple[str, str]:
        """What is gained."""
        return "digits gained", f"≥ {down(max(0.0, self.scale - value))}"

    def told(self, mean: float) -> str:
        """What was gained."""
        return f"{max(0.0, self.scale - mean):.3g} digits"

    def floor(self, table: LossTable) -> Any:
        """What is left of the start when all digits are gained."""
        return 10.0**-self.scale * table.starts

    @property
    def open(self) -> bool:
        """Whether no number was given."""
        return self.top is None

    def fixed(self, favourite: LossTable | None, steps: int | None) -> "Digits":
        """With as many digits as the favourite gains at most on the prior split."""
        gained = np.empty(0) if favourite is None else -log_ratios(favourite, slice(None)) / np.log(10.0)
        known = gained[np.isfinite(gained) & (gained > 0)]
        return replace(self, top=float(min(300, ceil(known.max()))) if len(known) else DOUBLE)

    def to_dict(self) -> dict[str, Any]:
        """Its name and how many digits are counted."""
        return {"name": self.name, "top": self.scale} | quantity_of(self)
