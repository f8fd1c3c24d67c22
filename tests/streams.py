"""Streams of small problems on which the truth about every candidate is known."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri

import pacopt


@cache
def _log_normal(spread, points):
    return np.exp(spread * ndtri((np.arange(points) + 0.5) / points))


class Slope(pacopt.AbstractProblem):
    """a/2 (x - 1)^2 from x = 0, where a is the instance."""

    def start(self, instance):
        return jnp.zeros(())

    def loss(self, x, instance):
        return 0.5 * instance["a"] * (x - 1.0) ** 2


@dataclass(frozen=True)
class SlopeStream:
    """Log-normal curvature: gradient descent with step s multiplies the loss by (1 - s a)^2 in each step.

    A bold step is fast on most instances and diverges on those with a large curvature.
    """

    spread: float = 1.0
    steps: int = 5
    problem: ClassVar = Slope()
    algorithm: ClassVar = pacopt.GradientDescent()

    def sample(self, count, seed):
        return pacopt.Instances({"a": np.exp(self.spread * np.random.default_rng(seed).standard_normal(count))})

    def ratios(self, step_size, points=200_000):
        """Final over start loss on quantiles of the curvature, spread evenly: means over them are integrals."""
        a = _log_normal(self.spread, points)
        with np.errstate(over="ignore"):
            return (1.0 - step_size * a) ** (2 * self.steps)

    def risk(self, hyper):
        return float(np.minimum(self.ratios(hyper["step_size"]), 1.0).mean())

    def success(self, hyper, target_ratio=1.0):
        return float((self.ratios(hyper["step_size"]) <= target_ratio).mean())


class Jump(pacopt.AbstractAlgorithm):
    """One jump whose length is a lottery between ticket and instance: no ticket is better than another."""

    hyperparameters = {"ticket": pacopt.Interval(1.0, 2.0)}

    def init(self, x, hyper, objective):
        return x

    def step(self, x, hyper, objective):
        draw = 1e4 * jnp.sin(1e4 * hyper["ticket"] * objective.instance["a"])
        return jnp.where(draw - jnp.floor(draw) < 0.5, 0.9, 0.0) + 0.0 * x

    def read(self, state):
        return state


@dataclass(frozen=True)
class LotteryStream:
    """Every candidate wins (ratio 0.01) or not (ratio 1) with probability one half: whoever seems better was lucky."""

    steps: int = 1
    problem: ClassVar = Slope()
    algorithm: ClassVar = Jump()

    def sample(self, count, seed):
        return pacopt.Instances({"a": np.random.default_rng(seed).uniform(1.0, 2.0, count)})

    def risk(self, hyper):
        return 0.505

    def success(self, hyper, target_ratio=1.0):
        return 1.0 if target_ratio == 1.0 else 0.5
