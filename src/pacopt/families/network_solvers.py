"""Solvers from outside pacopt for the family of small networks: SciPy's L-BFGS-B."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from pacopt.engines.blackbox.result import Result
from pacopt.families.limited import lowest_loss

#: The arrays of a point, in their order within a vector.
NAMES = ("hidden", "offset", "output", "constant")


def lbfgs_b(steps: int, hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> Result:
    """The lowest loss among the start and `steps` more evaluations by SciPy's L-BFGS-B, with a memory of 20 pairs."""
    start = np.concatenate([np.ravel(instance[name]) for name in NAMES])
    return lowest_loss(partial(value_and_gradient, instance), start, steps)


def value_and_gradient(
    instance: Mapping[str, Any], x: Float[np.ndarray, " n"]
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
