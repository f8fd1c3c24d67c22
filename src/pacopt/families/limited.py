"""SciPy's L-BFGS-B with a limited number of evaluations: the solver that people would take, on equal terms."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import fmin_l_bfgs_b

Vector = Float[np.ndarray, " n"]
#: It goes on until its evaluations are spent, whatever it thinks of its progress.
ENDLESS: dict[str, Any] = {"factr": 0.0, "pgtol": 0.0, "maxfun": 10**6, "maxiter": 10**6, "maxls": 50}


class _SpentError(Exception):
    """All evaluations are."""


def lowest_loss(
    evaluated: Callable[[Vector], tuple[float, Vector]],
    start: Vector,
    steps: int,
    *,
    memory: int = 20,
    bounded: bool = False,
    judged: Callable[[Vector], float] | None = None,
) -> float:
    """The lowest loss that it sees at the start and in so many more evaluations of loss and gradient.

    `bounded` keeps all unknowns at or above zero. Points are judged by their loss, or by another function of them.
    """
    seen: list[float] = []

    def counted(x: Vector) -> tuple[float, Vector]:
        if len(seen) > steps:
            raise _SpentError
        value, gradient = evaluated(x)
        seen.append(value if judged is None else judged(x))
        return value, gradient

    with suppress(_SpentError):
        fmin_l_bfgs_b(counted, start, m=memory, bounds=[(0.0, None)] * len(start) if bounded else None, **ENDLESS)
    return min(seen)
