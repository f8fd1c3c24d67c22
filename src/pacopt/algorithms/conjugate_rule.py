"""Conjugate gradients without a line search: a small network guesses each step, and the next one corrects it."""

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

#: The number of scalars the network sees, and the number it returns.
INPUTS, OUTPUTS = 9, 2
#: The curvature along a direction is ignored if the cosine between the direction and its image is smaller than this.
FLAT = 1e-8
#: A step is at least this fraction of the correction: rounding would hide the curvature along a smaller one.
LEAST = 0.3
#: Exponents are clipped to this range so that nothing overflows.
FAR = 9.0
#: The network's guess starts from the geometric mean of this many curvatures.
RECENT = 3
#: Where training starts: a first step that reaches or passes the minimum of a quadratic whose minimum is 0.
FIRST = log(2.0)
#: What its decisions are called.
BOLDNESS, CORRECTION = "step size times curvature", "correction over step"


class Directions(NamedTuple):
    """Conjugate directions p, newest last, their images q = H p, and 1 / p'q; empty rows have weight zero."""

    p: Float[Array, "memory n"]
    q: Float[Array, "memory n"]
    weights: Float[Array, " memory"]


class Memory(NamedTuple):
    """What is carried from step to step."""

    x: Point
    directions: Directions
    #: The last step: the gradient, the image of the correction, the direction, and how far the step went along it.
    gradient: Float[Array, " n"]
    corrected: Float[Array, " n"]
    d: Float[Array, " n"]
    step: Float[Array, ""]
    #: The last curvatures p'q / p'p, newest last, and the largest seen; 0 where there is none.
    curvatures: Float[Array, " recent"]
    top: Float[Array, ""]
    #: The guessed curvature, and the lengths of the corrected gradient and of the correction.
    guess: Float[Array, ""]
    remaining: Float[Array, ""]
    correction: Float[Array, ""]
    start: Float[Array, ""]
    taken: Int[Array, ""]


class ConjugateRule(AbstractAlgorithm, AbstractInitialHyper, AbstractDecisions):
    """Conjugate gradients with one gradient per step, at the point itself: x_next = x + correction - step * d.

    **Theory** Along a conjugate direction d, conjugate gradients (Hestenes and Stiefel 1952) go -d'g / d'Hd. For d'Hd
    they need a gradient at another point, and they get the next gradient from a recursion that holds only for
    quadratics. Here the step is taken with a guess of the curvature d'Hd / d'd. The next gradient reveals the true
    value: the change of the gradient is H times the move, exactly so for a quadratic. So the next move begins with a
    correction: for each remembered direction p, with q = Hp, from oldest to newest, p'r / p'q is taken off along p, and
    r, which starts as the gradient, becomes the gradient at the corrected point. Then d is r made conjugate to all p.
    On a quadratic, apart from rounding and forgotten directions, x after the correction is where conjugate gradients
    would be, however wrong the guesses were; only the last step of a run is left uncorrected. Subspace optimisation
    (Narkiss and Zibulevsky 2005) and L-BFGS (Liu and Nocedal 1989) remember directions for the same reason.

    `memory` is the number of directions remembered. Two suffice in exact arithmetic; more keep the directions conjugate
    despite rounding, and pay off where a few eigenvalues stand apart.

    **What the network decides** The logarithm of step * curvature, where the curvature is the geometric mean of the
    last three, and how much to lengthen or shorten the correction. Untrained, both are 0. The scalars it sees do not
    change if the coordinates are rotated, if the loss or x is scaled, or if irrelevant coordinates are added. With p
    the last direction, q its image and `top` the largest curvature seen, they are the logarithms of p'q / p'p over
    `top` and over that of the previous direction, of q'q / p'q over p'q / p'p, of p'q / p'p over its guess, and of the
    lengths of r over the last r and of d over r; the cosine between r and p; k / K and cos(pi k / K). The network
    has two layers of `width` tanh units; a free number per iteration is added to each output (`schedule`).

    **Needs** A quadratic, or nearly one: where the Hessian changes along the way, the corrections are wrong and runs
    may diverge. Use `QuasiNewtonRule` there.

    **Gradients** One per step. Before the first step no curvature is known, so that step is e^first * loss(start) /
    |g|^2; for it, the loss at the start is evaluated once per run. Runs longer than `steps` keep using the last numbers
    of the schedule.

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
        """The first step, the network (a row of offsets below each matrix), and two numbers per iteration."""
        return {
            "first": Interval(-5.0, 5.0),
            "network": Tree(network_shapes(INPUTS, self.width, OUTPUTS)),
            "schedule": ArraySpace((self.steps, OUTPUTS), -1.0, 1.0),
        }

    def initial(self, seed: int) -> dict[str, Any]:
        """Conjugate gradients with plain guesses: a random network whose last layer is zero."""
        return {
            "first": np.asarray(FIRST),
            "network": random_network(INPUTS, self.width, OUTPUTS, seed),
            "schedule": np.zeros((self.steps, OUTPUTS)),
        }

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Memory:
        """The start, where only the size of the loss is known."""
        refuse_nonsmooth(self, objective)
        zero = jnp.zeros_like(ravel_pytree(x)[0])
        rows, none = jnp.zeros((self.memory, zero.size), zero.dtype), jnp.zeros((), zero.dtype)
        directions = Directions(rows, rows, rows[:, 0])
        start = jnp.abs(jnp.asarray(objective.loss(x))).astype(zero.dtype)
        recent = jnp.zeros(RECENT, zero.dtype)
        return Memory(x, directions, zero, zero, zero, none, recent, none, none, none, none, start, jnp.asarray(0))

    def step(self, state: Memory, hyper: Hyper, objective: Objective) -> Memory:
        """The state one gradient later: learn from the last step, correct it, guess the curvature, step."""
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
        """The step size times the largest curvature seen, and the length of the correction over that of the step."""
        found = {
            BOLDNESS: state.step * state.top,
            CORRECTION: safe_ratio(state.correction, state.step * length(state.d)),
        }
        return {name: jnp.where(state.top > 0, value, jnp.nan) for name, value in found.items()}

    def textbook(self, state: Memory, mu: float, L: float) -> dict[str, Float[Array, ""]]:
        """Polyak's constant step for quadratics, times the curvature seen on this instance; there is no correction."""
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
    """Directions and curvatures, the last direction replacing the oldest if its curvature is positive and finite."""
    of_d, of_q = length(state.d), length(q)
    cos = cosine(state.d, q, of_d, of_q)
    curvature = cos * safe_ratio(of_q, of_d)
    usable = (state.taken > 0) & (state.step > 0) & (cos > FLAT) & jnp.isfinite(curvature)
    # Directions are stored with unit length so that their products cannot overflow.
    unit = safe_ratio(jnp.ones_like(of_d), of_d)
    rows = (state.d * unit, q * unit, safe_ratio(jnp.ones_like(curvature), curvature))
    pushed = Directions(
        *(jnp.concatenate([all_[1:], row[None]]) for all_, row in zip(state.directions, rows, strict=True))
    )
    curvatures = jnp.append(state.curvatures[1:], curvature)
    found: tuple[Directions, Array] = chosen(usable, (pushed, curvatures), (state.directions, state.curvatures))
    return found


def _corrected(directions: Directions, g: Float[Array, " n"]) -> tuple[Array, Array, Array]:
    """The gradient at the minimum of the model over all directions, the move there, and its image."""

    def off(carried: tuple[Array, Array], row: Directions) -> tuple[tuple[Array, Array], None]:
        (r, way), (p, q, weight) = carried, row
        part = weight * jnp.sum(p * r)
        return (r - part * q, way - part * p), None

    (r, way), _ = jax.lax.scan(off, (g, jnp.zeros_like(g)), directions, unroll=True)
    return r, way, r - g


def _conjugate(directions: Directions, r: Float[Array, " n"]) -> Float[Array, " n"]:
    """The gradient, made conjugate to all directions (modified Gram-Schmidt)."""

    def off(d: Array, row: Directions) -> tuple[Array, None]:
        p, q, weight = row
        return d - weight * jnp.sum(q * d) * p, None

    return jax.lax.scan(off, r, directions, unroll=True)[0]


def _mean(curvatures: Float[Array, " recent"]) -> Float[Array, ""]:
    """The geometric mean of the known curvatures."""
    known = curvatures > 0
    logs = jnp.where(known, jnp.log(jnp.where(known, curvatures, 1.0)), 0.0)
    return jnp.exp(jnp.sum(logs) / jnp.maximum(known.sum(), 1))
