"""One instance solved the way that a certificate speaks of: with the safeguard."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np

from pacopt.engines.traced.cell import Cell, Outcome
from pacopt.engines.traced.precision import in_precision, precision
from pacopt.support.cells import refuse_bad_losses


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What the safeguarded algorithm returns: the final point of the run, or the start if it ended above it.

    `loss` is the loss at `x`; `run_loss` the loss where the run ended, whatever it is.
    """

    x: Any
    loss: float
    start_loss: float
    run_loss: float
    steps: int

    @property
    def returned_start(self) -> bool:
        """Whether the safeguard had to step in."""
        return not _acceptable(self.run_loss, self.start_loss)

    @property
    def ratio(self) -> float:
        """The loss relative to the start, between 0 and 1."""
        return self.loss / self.start_loss if self.start_loss > 0 else float(self.returned_start)


def solve(cell: Cell, hyper: Mapping[str, float], instance: Mapping[str, np.ndarray], dtype: np.dtype[Any]) -> Solution:
    """Run one candidate on one instance; return where it ended if that is no worse than the start, else the start."""
    arrays, rest = eqx.partition(cell, eqx.is_array)
    with precision(dtype):
        data = {name: in_precision(name, np.asarray(array)[None], dtype)[0] for name, array in instance.items()}
        values = {name: np.asarray(value, dtype) for name, value in hyper.items()}
        start, x, start_loss, outcome = _run(rest, arrays, values, data)
        before, after = float(start_loss), float(outcome.losses[-1])
    refuse_bad_losses(np.array([[after]]), np.array([before]))
    good = _acceptable(after, before)
    point = jax.tree.map(np.asarray, x if good else start)
    return Solution(point, after if good else before, before, after, cell.steps)


def _acceptable(after: float, before: float) -> bool:
    # In this order: a NaN is not finite, and `after > before` would be false for it.
    return bool(np.isfinite(after)) and after <= before


@partial(jax.jit, static_argnums=0)
def _run(rest: Cell, arrays: Cell, hyper: Any, instance: Any) -> tuple[Any, Any, jax.Array, Outcome]:
    cell: Cell = eqx.combine(arrays, rest)
    raw, above = cell.start_loss(instance)
    x, outcome = cell.run(hyper, instance, raw)
    return cell.start_point(instance), x, above, outcome
