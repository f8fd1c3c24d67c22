"""Gradient descent with a constant step size."""

from typing import ClassVar

import jax

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStandardHyper, Hyper, check_curvature
from pacopt.algorithms.vectors import refuse_nonsmooth
from pacopt.problems.base import Objective, Point
from pacopt.space import Interval


class GradientDescent(AbstractAlgorithm, AbstractStandardHyper):
    """x <- x - step_size * gradient(x)."""

    hyperparameters: ClassVar = {"step_size": Interval(1e-8, 1e2, log=True)}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Point:
        """The point itself."""
        refuse_nonsmooth(self, objective)
        return x

    def step(self, state: Point, hyper: Hyper, objective: Objective) -> Point:
        """The point after one gradient step."""
        return jax.tree.map(lambda x, g: x - hyper["step_size"] * g, state, objective.gradient(state))

    def read(self, state: Point) -> Point:
        """The point itself."""
        return state

    def standard(self, mu: float, L: float) -> dict[str, float]:
        """2 / (L + mu), the best constant step size in the worst case (Nesterov 2018, Thm 2.1.15)."""
        check_curvature(mu, L)
        return {"step_size": 2.0 / (L + mu)}
