"""Quadratics 1/2 |A x - b|^2, with one matrix for all instances or a diagonal matrix for each."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pacopt.problems.base import AbstractProblem, Instance


class SharedQuadratic(AbstractProblem):
    """1/2 |A x - b|^2 from x = 0, with A shared by all instances and b the instance."""

    A: Float[Array | np.ndarray, "n n"]

    def start(self, instance: Instance) -> Float[Array, " n"]:
        """The origin."""
        return jnp.zeros_like(instance["b"])

    def loss(self, x: Float[Array, " n"], instance: Instance) -> Float[Array, ""]:
        """Half the squared residual."""
        return 0.5 * jnp.sum((self.A @ x - instance["b"]) ** 2)


class DiagonalQuadratic(AbstractProblem):
    """1/2 |diag(a) x - b|^2 from x = 0; an instance holds `diagonal` and `b`."""

    def start(self, instance: Instance) -> Float[Array, " n"]:
        """The origin."""
        return jnp.zeros_like(instance["b"])

    def loss(self, x: Float[Array, " n"], instance: Instance) -> Float[Array, ""]:
        """Half the squared residual."""
        return 0.5 * jnp.sum((instance["diagonal"] * x - instance["b"]) ** 2)
