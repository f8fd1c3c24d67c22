"""Sparse regression: the LASSO with one dictionary and new data."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pacopt.families.lasso_minima import proven_minima
from pacopt.instances import Instances
from pacopt.problems.base import AbstractKnownMinimum, AbstractProblem, AbstractProximable, Instance


class Lasso(AbstractProblem, AbstractProximable, AbstractKnownMinimum):
    """1/2 |A x - b|^2 + penalty |x|_1 from x = 0, with one dictionary A for all instances."""

    dictionary: np.ndarray

    def start(self, instance: Instance) -> Float[Array, " n"]:
        """Zero."""
        return jnp.zeros(self.dictionary.shape[1])

    def smooth(self, x: Float[Array, " n"], instance: Instance) -> Float[Array, ""]:
        """1/2 |A x - b|^2."""
        return 0.5 * jnp.sum((self.dictionary @ x - instance["b"]) ** 2)

    def loss(self, x: Float[Array, " n"], instance: Instance) -> Float[Array, ""]:
        """Both parts."""
        return self.smooth(x, instance) + instance["penalty"] * jnp.sum(jnp.abs(x))

    def prox(self, x: Float[Array, " n"], step_size: Float[Array, ""], instance: Instance) -> Float[Array, " n"]:
        """Entries nearer to zero by step_size times the penalty, and no further than zero."""
        threshold = step_size * instance["penalty"]
        return x - jnp.clip(x, -threshold, threshold)

    def minimum(self, instance: Instance) -> Float[Array, ""]:
        """A proven lower bound of it."""
        return instance["minimum"]


@dataclass(frozen=True, eq=False)
class SparseSignals:
    """b = A x + noise."""

    dictionary: np.ndarray
    kind: str

    def sample(self, count: int, *, seed: int) -> Instances:
        rng, A = np.random.default_rng(seed), self.dictionary
        m, n = A.shape
        if self.kind == "lasso":
            x = np.zeros((count, n))
            places = np.argsort(rng.random((count, n)), axis=1)[:, :5]
            np.put_along_axis(x, places, rng.normal(size=(count, 5)), axis=1)
            b = x @ A.T + 0.7 * rng.normal(size=(count, m))
            penalty = rng.uniform(5, 10, count)
        else:
            x = rng.normal(size=(count, n)) * (rng.random((count, n)) < 0.1)
            b = x @ A.T
            b = b + rng.normal(size=b.shape) * 1e-2 * np.sqrt(np.mean(b**2, axis=1, keepdims=True))
            penalty = np.full(count, 0.1)
        return Instances({"b": b, "penalty": penalty, "minimum": proven_minima(A, b, penalty).lower})


def laws():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(70, 350))
    D = rng.normal(size=(256, 512)); D /= np.linalg.norm(D, axis=0)
    return {"lasso": SparseSignals(A, "lasso"), "coding": SparseSignals(D, "coding")}
