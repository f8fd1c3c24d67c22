"""Nesterov's accelerated gradient method with a constant step size and momentum."""

from math import sqrt
from typing import ClassVar

import jax

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStandardHyper, Hyper, check_curvature
from pacopt.algorithms.vectors import refuse_nonsmooth
from pacopt.problems.base import Objective, Point
from pacopt.space import Interval


class Nesterov(AbstractAlgorithm, AbstractStandardHyper):
    """y = x + momentum * (x - x_previous); x_next = y - step_size * gradient(y)."""

    hyperparameters: ClassVar = {"step_size": Interval(1e-8, 1e2, log=True), "momentum": Interval(0.0, 1.0)}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> tuple[Point, Point]:
        """The point twice: at rest."""
        refuse_nonsmooth(self, objective)
        return x, x

    def step(self, state: tuple[Point, Point], hyper: Hyper, objective: Objective) -> tuple[Point, Point]:
        """The points after extrapolating and taking a gradient step there."""
        x, previous = state
        ahead = jax.tree.map(lambda x, previous: x + hyper["momentum"] * (x - previous), x, previous)
        return jax.tree.map(lambda y, g: y - hyper["step_size"] * g, ahead, objective.gradient(ahead)), x

    def read(self, state: tuple[Point, Point]) -> Point:
        """The newer point."""
        return state[0]

    def standard(self, mu: float, L: float) -> dict[str, float]:
        """1 / L and (sqrt(L) - sqrt(mu)) / (sqrt(L) + sqrt(mu)) (Nesterov 2018, scheme 2.2.22)."""
        check_curvature(mu, L)
        return {"step_size": 1.0 / L, "momentum": (sqrt(L) - sqrt(mu)) / (sqrt(L) + sqrt(mu))}
