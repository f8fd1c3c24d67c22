"""One instance solved as the certificate describes: with the safeguard."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from pacopt.engines.solution import Solution
from pacopt.engines.traced.backend import errors_explained
from pacopt.engines.traced.cell import Cell, Outcome
from pacopt.engines.traced.precision import in_precision, precision
from pacopt.engines.traced.static import divided, united
from pacopt.support.cells import refuse_bad_losses


def solve(
    cell: Cell, values: Mapping[str, Any], instance: Mapping[str, np.ndarray], dtype: np.dtype[Any], seed: int
) -> Solution:
    """Run one candidate on one instance; return where it ended if that is no worse than the start, else the start."""
    arrays, rest = divided(cell)
    words = np.array([seed], dtype="<u8").view("<u4") if cell.random else np.empty(0, dtype=np.uint32)
    with precision(dtype):
        data = {name: in_precision(name, np.asarray(array)[None], dtype)[0] for name, array in instance.items()}
        given = {name: in_precision(name, np.asarray(value)[None], dtype)[0] for name, value in values.items()}
        with errors_explained("on the instance given"):
            start, x, start_loss, outcome = _run(rest, arrays, given, data, words)
            before, after = float(start_loss), float(outcome.losses[-1])
            met = int(outcome.times[0]) if cell.goal is not None else None
            start, x = (jax.tree.map(np.asarray, point) for point in (start, x))
    refuse_bad_losses(np.array([[after]]), np.array([before]))
    if met is None:
        return Solution.safeguarded(x, start, after, before, cell.steps)
    used, time = (cell.steps, np.inf) if met < 0 else (met, float(met))
    return Solution.safeguarded(x, start, after, before, used, time)


@partial(jax.jit, static_argnums=0)
def _run(rest: Any, arrays: Any, values: Any, instance: Any, seed: Any) -> tuple[Any, Any, jax.Array, Outcome]:
    cell: Cell = united(arrays, rest)
    raw, above = cell.start_loss(instance)
    x, outcome = cell.run(values, instance, raw, seed, stops=cell.goal is not None)
    return cell.start_point(instance), x, above, outcome
