"""Polyak's heavy-ball method with a constant step size and momentum."""

from math import sqrt
from typing import ClassVar

import jax

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStandardHyper, Hyper, check_curvature
from pacopt.algorithms.gradient_descent import GradientDescent
from pacopt.algorithms.nesterov import Nesterov
from pacopt.algorithms.vectors import refuse_nonsmooth
from pacopt.problems.base import Objective, Point
from pacopt.space import Interval


class HeavyBall(AbstractAlgorithm, AbstractStandardHyper):
    """x_next = x - step_size * gradient(x) + momentum * (x - x_previous)."""

    hyperparameters: ClassVar = {"step_size": Interval(1e-8, 1e2, log=True), "momentum": Interval(0.0, 1.0)}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> tuple[Point, Point]:
        """The point twice: at rest."""
        refuse_nonsmooth(self, objective)
        return x, x

    def step(self, state: tuple[Point, Point], hyper: Hyper, objective: Objective) -> tuple[Point, Point]:
        """The points after one gradient step plus momentum times the last move."""
        x, previous = state

        def move(x: jax.Array, g: jax.Array, previous: jax.Array) -> jax.Array:
            moved: jax.Array = x - hyper["step_size"] * g + hyper["momentum"] * (x - previous)
            return moved

        return jax.tree.map(move, x, objective.gradient(x), previous), x

    def read(self, state: tuple[Point, Point]) -> Point:
        """The newer point."""
        return state[0]

    @property
    def rivals(self) -> tuple[AbstractAlgorithm, ...]:
        """Nesterov's method and gradient descent."""
        return Nesterov(), GradientDescent()

    def standard(self, mu: float, L: float) -> dict[str, float]:
        """The best constant pair for quadratics (Polyak 1964)."""
        check_curvature(mu, L)
        total = sqrt(L) + sqrt(mu)
        return {"step_size": (2.0 / total) ** 2, "momentum": ((sqrt(L) - sqrt(mu)) / total) ** 2}
