"""Adam."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.vectors import refuse_nonsmooth
from pacopt.problems.base import Objective, Point
from pacopt.space import Interval


class State(NamedTuple):
    """The point, the running means of the gradient and of its square, and the number of steps taken."""

    x: Point
    mean: Point
    square: Point
    steps: Int[Array, ""]


class Adam(AbstractAlgorithm):
    """x_next = x - step_size m / (sqrt(v) + eps), coordinate by coordinate.

    **Theory** Kingma and Ba (2015, Alg. 1): m and v are running means of the gradient and of its square, with weights
    b1 and b2, divided by 1 - b1^k and 1 - b2^k to correct for starting at zero. Apart from eps, the method is invariant
    to scaling the loss, but not to rotating the coordinates. Theory gives no step size for a curvature range; the usual
    values are b1 = 0.9 and b2 = 0.999.

    **Gradients** One per step and none at the start.
    """

    eps: float = 1e-8

    hyperparameters: ClassVar = {
        "step_size": Interval(1e-8, 1e2, log=True),
        "b1": Interval(0.0, 0.999),
        "b2": Interval(0.0, 0.9999),
    }

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The point, with both means zero."""
        refuse_nonsmooth(self, objective)
        zero = jax.tree.map(jnp.zeros_like, x)
        return State(x, zero, zero, jnp.zeros((), jnp.int32))

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state one gradient later: both means, then the point."""
        b1, b2, steps = hyper["b1"], hyper["b2"], state.steps + 1
        gradient = objective.gradient(state.x)
        mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mean, gradient)
        square = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, state.square, gradient)

        def move(x: Array, m: Array, v: Array) -> Array:
            unbiased = jnp.sqrt(v / (1 - b2**steps)) + self.eps
            moved: Array = x - hyper["step_size"] * (m / (1 - b1**steps)) / unbiased
            return moved

        return State(jax.tree.map(move, state.x, mean, square), mean, square, steps)

    def read(self, state: State) -> Point:
        """The point itself."""
        return state.x
