"""Solvers outside of pacopt for the family of small networks: SciPy's L-BFGS-B."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import fmin_l_bfgs_b

#: The arrays of a point, in the order in which they stand in a vector.
NAMES = ("hidden", "offset", "output", "constant")


class SpentError(Exception):
    """All evaluations are."""


@dataclass(frozen=True, slots=True)
class lbfgs_b:  # noqa: N801
    """The lowest loss among the start and `steps` more evaluations by SciPy's L-BFGS-B, as a function for `BlackBox`.

    A loss and its gradient at the same point count as one evaluation.
    """

    steps: int
    memory: int = 20

    def __call__(self, hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> float:
        """Run it on an instance."""
        seen: list[float] = []

        def evaluated(x: Float[np.ndarray, " n"]) -> tuple[float, Float[np.ndarray, " n"]]:
            if len(seen) > self.steps:
                raise SpentError
            value, gradient = value_and_gradient(x, instance)
            seen.append(value)
            return value, gradient

        start = np.concatenate([np.ravel(instance[name]) for name in NAMES])
        with suppress(SpentError):
            fmin_l_bfgs_b(evaluated, start, m=self.memory, factr=0.0, pgtol=0.0, maxfun=10**6, maxls=50)
        return min(seen)


def value_and_gradient(
    x: Float[np.ndarray, " n"], instance: Mapping[str, Any]
) -> tuple[float, Float[np.ndarray, " n"]]:
    """The mean squared error of the network with these weights, and its gradient by the chain rule."""
    inputs, targets = np.asarray(instance["inputs"]), np.asarray(instance["targets"])
    shape = np.shape(instance["hidden"])
    hidden, rest = x[: shape[0] * shape[1]].reshape(shape), x[shape[0] * shape[1] :]
    offset, output, constant = rest[: shape[1]], rest[shape[1] : -1], rest[-1]
    units = np.tanh(inputs @ hidden + offset)
    error = units @ output + constant - targets
    slope = 2 * error / len(error)
    back = slope[:, None] * output * (1 - units**2)
    parts = (inputs.T @ back).ravel(), back.sum(axis=0), units.T @ slope, [slope.sum()]
    return float(np.mean(error**2)), np.concatenate(parts)
