"""A heavy-ball method in which a small network of scalars sets step size and momentum at each iteration."""

from math import log
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from pacopt.algorithms.base import AbstractAlgorithm, AbstractDecisions, AbstractInitialHyper, Hyper
from pacopt.algorithms.heavy_ball import HeavyBall
from pacopt.algorithms.scalars import network, network_shapes, random_network, safe_ratio, size
from pacopt.algorithms.vectors import refuse_nonsmooth
from pacopt.problems.base import Objective, Point
from pacopt.space import Array as ArraySpace
from pacopt.space import Interval, Tree

#: The number of scalars the network sees.
INPUTS = 7
#: The cosine between a move and the change of the gradient counts as at least this, so that curvature is positive.
FLAT = 1e-3
#: Step sizes stay within a factor e^9 of one over the largest curvature seen, so that nothing overflows.
FAR = 9.0
#: Where training starts: a step size of one over the largest curvature seen, and a momentum of 0.8.
STEP, MOMENTUM, FIRST = 0.0, log(4.0), 0.0
#: What its decisions are called.
BOLDNESS, INERTIA = "step size times curvature", "momentum"


class Memory(NamedTuple):
    """What is carried from step to step: point, last move, last gradient, and scalars."""

    x: Point
    move: Point
    gradient: Point
    #: The largest curvature y'y / s'y seen so far; 0 before the first.
    top: Float[Array, ""]
    #: The size of the loss at the start.
    start: Float[Array, ""]
    taken: Int[Array, ""]
    #: What the last step decided.
    step: Float[Array, ""]
    momentum: Float[Array, ""]


class ScalarRule(AbstractAlgorithm, AbstractInitialHyper, AbstractDecisions):
    """x_next = x - step * gradient(x) + momentum * (x - x_previous), where a network sets step and momentum.

    It sees only scalars, which do not change if the coordinates are rotated, if the loss or x is scaled, or if
    irrelevant coordinates are added. With s the last move, y the change of the gradient g along it, and `top` the
    largest y'y / s'y seen so far, they are the logarithms of s'y / s's and y'y / s'y over `top`, the cosines of (g, s)
    and of (g, last g), the logarithm of the length of g over that of the last g, and the time: k / K and
    cos(pi k / K). Two layers of `width` tanh units give the logarithm of step * top and the logit of the momentum; a
    free number per iteration is added to each (`schedule`).

    With the right step and momentum the iteration would be conjugate gradients (Polyak 1964), but computing those needs
    g'Hg, which costs another evaluation. The scalars hold what can be known about it without one.

    Each step takes one gradient. Before the first step no curvature is known, so that step is e^first * loss(start) /
    |g|^2 (Polyak's step, 1969, towards the value 0); for it, the loss at the start is evaluated once per run. Adding a
    constant to the loss changes that step and nothing else. If the loss at the start is 0, its length is e^first.

    Runs longer than `steps` keep using the last numbers of the schedule.

    >>> from pacopt import VaryingCurvature, loss_curves
    >>> law = VaryingCurvature.draw(seed=0)
    >>> rule = ScalarRule(steps=20)
    >>> candidate = jax.tree.map(lambda array: array[None], rule.initial(seed=0))
    >>> curves = loss_curves(law.problem, rule, candidate, law.sample(9, seed=1), steps=20, at=(0, 20))
    >>> bool(np.all(curves[:, :, 1] < 0.2 * curves[:, :, 0]))
    True
    """

    steps: int = eqx.field(static=True, converter=size("steps"))
    width: int = eqx.field(static=True, converter=size("width"), default=16)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The first step, the network (a row of offsets below each matrix), and two numbers per iteration."""
        return {
            "first": Interval(-5.0, 5.0),
            "network": Tree(network_shapes(INPUTS, self.width, 2)),
            "schedule": ArraySpace((self.steps, 2), -5.0, 5.0),
        }

    def initial(self, seed: int) -> dict[str, Any]:
        """A plain heavy-ball method: a random network whose last layer is zero."""
        return {
            "first": np.asarray(FIRST),
            "network": random_network(INPUTS, self.width, 2, seed),
            "schedule": np.tile([STEP, MOMENTUM], (self.steps, 1)),
        }

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Memory:
        """The start, at rest, with the size of the loss there."""
        refuse_nonsmooth(self, objective)
        start = jnp.abs(jnp.asarray(objective.loss(x)))
        rest, none = jax.tree.map(jnp.zeros_like, x), jnp.zeros_like(start)
        return Memory(x, rest, rest, none, start, jnp.asarray(0), none, none)

    def step(self, state: Memory, hyper: Hyper, objective: Objective) -> Memory:
        """The state after one gradient and one move."""
        x, s, last, top, start, taken, *_ = state
        g = objective.gradient(x)
        y = jax.tree.map(jnp.subtract, g, last)
        # Lengths first, then their products: squares of squares would overflow early.
        lengths = [_root(_dot(each, each)) for each in (s, y, g, last)]
        of_s, of_y, of_g, of_last = lengths
        sy = jnp.maximum(_dot(s, y), FLAT * of_s * of_y)
        curvature = safe_ratio(of_y, safe_ratio(sy, of_y))
        known = (taken > 0) & (curvature > 0) & jnp.isfinite(curvature)
        top = jnp.where(known, jnp.maximum(top, curvature), top)
        time = jnp.minimum(taken / self.steps, 1.0).astype(top.dtype)
        inputs = jnp.stack(
            [
                jnp.where(known, _log_ratio(safe_ratio(safe_ratio(sy, of_s), of_s), top), 0.0),
                jnp.where(known, _log_ratio(curvature, top), 0.0),
                safe_ratio(safe_ratio(_dot(g, s), of_g), of_s),
                safe_ratio(safe_ratio(_dot(g, last), of_g), of_last),
                _log_ratio(of_g, of_last),
                time,
                jnp.cos(jnp.pi * time),
            ]
        )
        out = network(hyper["network"], inputs) + hyper["schedule"][jnp.minimum(taken, self.steps - 1)]
        bold = jnp.exp(jnp.clip(out[0], -FAR, FAR))
        towards = jnp.where(
            start > 0, safe_ratio(safe_ratio(start, of_g), of_g), safe_ratio(jnp.ones_like(start), of_g)
        )
        guess = jnp.exp(jnp.clip(hyper["first"], -FAR, FAR)) * towards
        step = jnp.where(top > 0, safe_ratio(bold, top), guess)
        momentum = jax.nn.sigmoid(out[1])
        s = jax.tree.map(lambda move, each: momentum * move - step * each, s, g)
        return Memory(jax.tree.map(jnp.add, x, s), s, g, top, start, taken + 1, step, momentum)

    def read(self, state: Memory) -> Point:
        """The current point."""
        return state.x

    def decisions(self, state: Memory) -> dict[str, Float[Array, ""]]:
        """The step size times the largest curvature seen so far, and the momentum; NaN before any curvature is seen."""
        found = {BOLDNESS: state.step * state.top, INERTIA: state.momentum}
        return {name: jnp.where(state.top > 0, value, jnp.nan) for name, value in found.items()}

    def textbook(self, state: Memory, mu: float, L: float) -> dict[str, Float[Array, ""]]:
        """Polyak's constants for quadratics; the step size is multiplied by the curvature seen on this instance."""
        constant = HeavyBall().standard(mu, L)
        found = {BOLDNESS: constant["step_size"] * state.top, INERTIA: jnp.full_like(state.top, constant["momentum"])}
        return {name: jnp.where(state.top > 0, value, jnp.nan) for name, value in found.items()}


def _dot(a: Point, b: Point) -> Float[Array, ""]:
    """The inner product of two points."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return jnp.stack([jnp.sum(one * other) for one, other in pairs]).sum()


# A square root and a logarithm; they and their derivatives are 0 where undefined.
def _root(a: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.where(a > 0, jnp.sqrt(jnp.where(a > 0, a, 1.0)), 0.0)


def _log_ratio(a: Float[Array, ""], b: Float[Array, ""]) -> Float[Array, ""]:
    fine = (a > 0) & (b > 0)
    return jnp.where(fine, jnp.log(jnp.where(fine, a, 1.0)) - jnp.log(jnp.where(fine, b, 1.0)), 0.0)
