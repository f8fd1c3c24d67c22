"""Conjugate gradients without a line search: steps whose length a small network guesses, and the next step corrects."""

from math import log
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from pacopt.algorithms.base import AbstractAlgorithm, AbstractDecisions, AbstractInitialHyper, Hyper
from pacopt.algorithms.heavy_ball import HeavyBall
from pacopt.algorithms.scalars import (
    cosine,
    length,
    log_ratio,
    network,
    network_shapes,
    random_network,
    safe_ratio,
    size,
)
from pacopt.algorithms.vectors import chosen, refuse_nonsmooth
from pacopt.problems.base import Objective, Point
from pacopt.space import Array as ArraySpace
from pacopt.space import Interval, Tree

#: How many scalars the network sees, and how many it gives.
INPUTS, OUTPUTS = 9, 2
#: Curvature along a direction is not believed if the cosine of the direction and its image is smaller.
FLAT = 1e-8
#: A step is at least this part of the correction: after a smaller one, rounding would hide the curvature along it.
LEAST = 0.3
#: Exponents stay within these bounds, so that nothing overflows.
FAR = 9.0
#: The mean of this many curvatures, in logarithms, is the guess that the network starts from.
RECENT = 3
#: Where training starts: the first step is where a quadratic with minimum 0 has its minimum, or beyond.
FIRST = log(2.0)
#: What its decisions are called.
BOLDNESS, CORRECTION = "step size times curvature", "correction over step"


class Directions(NamedTuple):
    """Conjugate directions p, the newest last, their images q = H p, and 1 / p'q; empty rows weigh nothing."""

    p: Float[Array, "memory n"]
    q: Float[Array, "memory n"]
    weights: Float[Array, " memory"]


class Memory(NamedTuple):
    """What is carried from step to step."""

    x: Point
    directions: Directions
    #: The last step: gradient, its image of the correction, direction, and how far it went along it.
    gradient: Float[Array, " n"]
    corrected: Float[Array, " n"]
    d: Float[Array, " n"]
    step: Float[Array, ""]
    #: The last curvatures p'q / p'p, the newest last, and the largest of all; 0 where there is none.
    curvatures: Float[Array, " recent"]
    top: Float[Array, ""]
    #: The curvature that was guessed, and the lengths of the gradient after the correction and of the correction.
    guess: Float[Array, ""]
    remaining: Float[Array, ""]
    correction: Float[Array, ""]
    start: Float[Array, ""]
    taken: Int[Array, ""]


class ConjugateRule(AbstractAlgorithm, AbstractInitialHyper, AbstractDecisions):
    """Conjugate gradients with one gradient a step, at the point itself: x_next = x + correction - step * d.

    **Theory** Along a conjugate direction d, conjugate gradients (Hestenes and Stiefel 1952) go -d'g / d'Hd. For d'Hd
    they need a gradient at another point, and take the next one from the recursion, which holds for quadratics alone.
    Here the step is made with a guess of the curvature d'Hd / d'd. The next gradient tells what it was: the change of
    the gradient is H times the move, for a quadratic exactly. So the next move begins with a correction: for each
    direction p that is remembered, with q = Hp, from the oldest to the newest, p'r / p'q is taken off along p, and r,
    which is the gradient at first, becomes that at the corrected point. Then d is r made conjugate to all p. However
    wrong the guesses are, x after the correction is where conjugate gradients would be, on a quadratic and but for
    rounding and for what is forgotten; only the last step of a run has to live with its guess. Subspace optimisation
    (Narkiss and Zibulevsky 2005) and L-BFGS (Liu and Nocedal 1989) remember directions for the same reason.

    The `memory` holds so many directions. Two suffice in exact arithmetic; more of them keep directions conjugate in
    spite of rounding, and pay where few eigenvalues stand apart.

    **What the network decides** The logarithm of step * curvature, where the curvature is the geometric mean of the
    last three, and by how much the correction is longer or shorter. Untrained both are 0. It sees scalars that do not
    change if coordinates are rotated, if the loss or x is multiplied by a number, or if coordinates are added that do
    not matter: with the last direction p, its image q and the largest curvature met, `top`, logarithms of p'q / p'p
    over `top` and over that of the direction before, of q'q / p'q over p'q / p'p, of p'q / p'p over what was guessed,
    of the length of r over the last one and of d over r; the cosine of r and p; k / K and cos(pi k / K). Two
    layers of `width` tanh units; a free number for each iteration is added to each output (`schedule`).

    **Needs** A quadratic, or nearly one: where the Hessian changes along the way corrections are wrong, and runs may
    diverge. Take `QuasiNewtonRule` there.

    **Gradients** One a step. Before the first one no curvature is known: the step is e^first * loss(start) / |g|^2, for
    which the loss at the start is evaluated, once in a run. A run longer than `steps` goes on with the last numbers of
    the schedule.

    >>> from pacopt import ConjugateGradients, VaryingCurvature, tabulate
    >>> law = VaryingCurvature.draw(seed=0)
    >>> rule, instances = ConjugateRule(steps=20), law.sample(9, seed=1)
    >>> untrained = jax.tree.map(lambda array: array[None], rule.initial(seed=0))
    >>> guessed = tabulate(law.problem, rule, untrained, instances, steps=20).ratios().mean()
    >>> exact = tabulate(law.problem, ConjugateGradients(), {}, instances, steps=20).ratios().mean()
    >>> bool(exact < guessed < 1.05 * exact)
    True
    """

    steps: int = eqx.field(static=True, converter=size("steps"))
    memory: int = eqx.field(static=True, converter=size("memory"), default=10)
    width: int = eqx.field(static=True, converter=size("width"), default=16)

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The first step, the network (a row of offsets below each matrix), and two numbers for each iteration."""
        return {
            "first": Interval(-5.0, 5.0),
            "network": Tree(network_shapes(INPUTS, self.width, OUTPUTS)),
            "schedule": ArraySpace((self.steps, OUTPUTS), -1.0, 1.0),
        }

    def initial(self, seed: int) -> dict[str, Any]:
        """Conjugate gradients with plain guesses: the network is random, and its last layer zero."""
        return {
            "first": np.asarray(FIRST),
            "network": random_network(INPUTS, self.width, OUTPUTS, seed),
            "schedule": np.zeros((self.steps, OUTPUTS)),
        }

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Memory:
        """Nothing is known but the size of the loss at the start."""
        refuse_nonsmooth(self, objective)
        zero = jnp.zeros_like(ravel_pytree(x)[0])
        rows, none = jnp.zeros((self.memory, zero.size), zero.dtype), jnp.zeros((), zero.dtype)
        directions = Directions(rows, rows, rows[:, 0])
        start = jnp.abs(jnp.asarray(objective.loss(x))).astype(zero.dtype)
        recent = jnp.zeros(RECENT, zero.dtype)
        return Memory(x, directions, zero, zero, zero, none, recent, none, none, none, none, start, jnp.asarray(0))

    def step(self, state: Memory, hyper: Hyper, objective: Objective) -> Memory:
        """One gradient, what it tells of the last step, a correction, a guess, a step."""
        g, _ = ravel_pytree(objective.gradient(state.x))
        q = (state.corrected - (g - state.gradient)) * safe_ratio(jnp.ones_like(state.step), state.step)
        directions, curvatures = _learned(state, q)
        top = jnp.maximum(state.top, curvatures[-1])
        known = top > 0
        r, correction, image = _corrected(directions, g)
        d = _conjugate(directions, r)
        of_r, of_d, of_c = length(r), length(d), length(correction)
        inputs = self._inputs(state, directions, curvatures, top, r, of_r, of_d)
        row = hyper["schedule"][jnp.minimum(state.taken, self.steps - 1)]
        out = network(hyper["network"], inputs) + row
        guess = jnp.where(known, _mean(curvatures) * jnp.exp(jnp.clip(-out[0], -FAR, FAR)), 0.0)
        more = 1.0 + out[1]
        towards = cosine(d, r, of_d, of_r) * safe_ratio(of_r, of_d)
        unit = jnp.where(state.start > 0, safe_ratio(state.start, of_r), jnp.ones_like(of_r))
        first = jnp.exp(jnp.clip(hyper["first"], -FAR, FAR)) * safe_ratio(unit, of_r)
        step = jnp.where(known, jnp.maximum(safe_ratio(towards, guess), LEAST * safe_ratio(of_c, of_d)), first)
        move = more * correction - step * d
        x, as_point = ravel_pytree(state.x)
        return Memory(
            as_point((x + move).astype(x.dtype)),
            directions,
            g,
            more * image,
            d,
            step,
            curvatures,
            top,
            guess,
            of_r,
            of_c,
            state.start,
            state.taken + 1,
        )

    def read(self, state: Memory) -> Point:
        """The current point."""
        return state.x

    def decisions(self, state: Memory) -> dict[str, Float[Array, ""]]:
        """Step size times the largest curvature met, and the length of the correction over that of the step."""
        found = {
            BOLDNESS: state.step * state.top,
            CORRECTION: safe_ratio(state.correction, state.step * length(state.d)),
        }
        return {name: jnp.where(state.top > 0, value, jnp.nan) for name, value in found.items()}

    def textbook(self, state: Memory, mu: float, L: float) -> dict[str, Float[Array, ""]]:
        """Polyak's constant step for quadratics, times the curvature met on this instance; it corrects nothing."""
        step = HeavyBall().standard(mu, L)["step_size"]
        return {BOLDNESS: jnp.where(state.top > 0, step * state.top, jnp.nan)}

    def _inputs(
        self, state: Memory, directions: Directions, curvatures: Array, top: Array, r: Array, of_r: Array, of_d: Array
    ) -> Float[Array, " input"]:
        """What the network sees."""
        p, q = directions.p[-1], directions.q[-1]
        of_p, of_q, last = length(p), length(q), curvatures[-1]
        time = jnp.minimum(state.taken / self.steps, 1.0).astype(r.dtype)
        return jnp.stack(
            [
                log_ratio(last, top),
                log_ratio(last, curvatures[-2]),
                2 * log_ratio(of_q, of_p * last),
                log_ratio(last, state.guess),
                log_ratio(of_r, state.remaining),
                log_ratio(of_d, of_r),
                cosine(r, p, of_r, of_p),
                time,
                jnp.cos(jnp.pi * time),
            ]
        )


def _learned(state: Memory, q: Float[Array, " n"]) -> tuple[Directions, Float[Array, " recent"]]:
    """The last direction in place of the oldest, with its curvature, if that is positive and a number."""
    of_d, of_q = length(state.d), length(q)
    cos = cosine(state.d, q, of_d, of_q)
    curvature = cos * safe_ratio(of_q, of_d)
    usable = (state.taken > 0) & (state.step > 0) & (cos > FLAT) & jnp.isfinite(curvature)
    # Directions are stored with length one, so that no product of them overflows.
    unit = safe_ratio(jnp.ones_like(of_d), of_d)
    rows = (state.d * unit, q * unit, safe_ratio(jnp.ones_like(curvature), curvature))
    pushed = Directions(
        *(jnp.concatenate([all_[1:], row[None]]) for all_, row in zip(state.directions, rows, strict=True))
    )
    curvatures = jnp.append(state.curvatures[1:], curvature)
    found: tuple[Directions, Array] = chosen(usable, (pushed, curvatures), (state.directions, state.curvatures))
    return found


def _corrected(directions: Directions, g: Float[Array, " n"]) -> tuple[Array, Array, Array]:
    """The gradient where the model is smallest over all directions, the way there, and its image."""

    def off(carried: tuple[Array, Array], row: Directions) -> tuple[tuple[Array, Array], None]:
        (r, way), (p, q, weight) = carried, row
        part = weight * jnp.sum(p * r)
        return (r - part * q, way - part * p), None

    (r, way), _ = jax.lax.scan(off, (g, jnp.zeros_like(g)), directions, unroll=True)
    return r, way, r - g


def _conjugate(directions: Directions, r: Float[Array, " n"]) -> Float[Array, " n"]:
    """The gradient, made conjugate to all directions (Gram and Schmidt, modified)."""

    def off(d: Array, row: Directions) -> tuple[Array, None]:
        p, q, weight = row
        return d - weight * jnp.sum(q * d) * p, None

    return jax.lax.scan(off, r, directions, unroll=True)[0]


def _mean(curvatures: Float[Array, " recent"]) -> Float[Array, ""]:
    """The geometric mean of those that are known."""
    known = curvatures > 0
    logs = jnp.where(known, jnp.log(jnp.where(known, curvatures, 1.0)), 0.0)
    return jnp.exp(jnp.sum(logs) / jnp.maximum(known.sum(), 1))
