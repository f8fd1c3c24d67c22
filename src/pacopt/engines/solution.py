"""What is returned for one instance, whichever engine ran it."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What the safeguarded algorithm returns: the final point of the run, or the start if it ended above it.

    `loss` is the loss at `x`; `run_loss` is the loss where the run ended, whatever it is. `steps` is None if the engine
    does not count them, and `start_loss` is None if it is unknown. `time` is when a run that stops at a target met it,
    infinite for never; None for other runs.
    """

    x: Any
    loss: float
    start_loss: float | None
    run_loss: float
    steps: int | None
    time: float | None = None

    @staticmethod
    def safeguarded(
        x: Any, start: Any, run_loss: float, start_loss: float, steps: int | None, time: float | None = None
    ) -> "Solution":
        """The point where a run ended if its loss is finite and at most that of the start, else the start."""
        good = acceptable(run_loss, start_loss)
        return Solution(x if good else start, run_loss if good else start_loss, start_loss, run_loss, steps, time)

    @property
    def outcome(self) -> float:
        """What a table records of the run: its final loss, or the time at which it met its target."""
        return self.run_loss if self.time is None else self.time

    @property
    def returned_start(self) -> bool:
        """Whether the safeguard had to step in."""
        return self.start_loss is not None and not acceptable(self.run_loss, self.start_loss)

    @property
    def ratio(self) -> float:
        """The loss relative to the start, between 0 and 1; NaN if there is none."""
        if self.start_loss is None:
            return float("nan")
        return self.loss / self.start_loss if self.start_loss > 0 else float(self.returned_start)


def acceptable(after: float, before: float) -> bool:
    """Whether the end of a run may be returned."""
    # In this order: a NaN is not finite, and `after > before` would be false for it.
    return bool(np.isfinite(after)) and after <= before
