"""Gradient descent with the step sizes of Barzilai and Borwein."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.vectors import along, chosen, difference, dot, first_length, ratio, refuse_nonsmooth
from pacopt.problems.base import Objective, Point

#: A trial is compared with the highest of this many losses, and must fall below it by this fraction of what the slope
#: promises.
LOOK_BACK, DECREASE = 10, 1e-4


class State(NamedTuple):
    """The point, its loss and gradient, the step to try, which formula is next, recent losses, the best point."""

    x: Point
    value: Float[Array, ""]
    gradient: Point
    step_size: Float[Array, ""]
    long: Bool[Array, ""]
    losses: Float[Array, " look_back"]
    best: Point
    best_value: Float[Array, ""]


class BarzilaiBorwein(AbstractAlgorithm):
    """x_next = x - t gradient(x), t alternating s'y / y'y and s's / s'y: s the last move, y the gradient's change.

    **Theory** Barzilai and Borwein (1988): t I is the multiple of the identity closest to the inverse Hessian along s
    (the first formula), or its inverse is the one closest to the Hessian (the second). On strictly convex quadratics
    either formula converges R-linearly, though not monotonically (Raydan 1993, Dai and Liao 2002). Alternating them is
    due to Dai and Fletcher (2005), and on the paper's quadratics it ends lower than either alone. On other losses the
    search of Grippo, Lampariello and Lucidi makes the method converge (Raydan 1997): a trial must lie below the highest
    of the last 10 losses, or else it is shortened by quadratic interpolation.

    **Gradients** One per step and one at the start; a rejected trial is a step too. `read` gives the lowest point
    evaluated, since the last one may lie far above it.

    **In code** The first t is loss / |gradient|^2. Where the curvature s'y is not positive, t is ten times the last t.
    """

    hyperparameters: ClassVar = {}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, with its loss and gradient."""
        refuse_nonsmooth(self, objective)
        value, gradient = objective.value_and_gradient(x)
        step_size = first_length(value, dot(gradient, gradient))
        return State(x, value, gradient, step_size, jnp.zeros((), bool), jnp.full(LOOK_BACK, value), x, value)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after one trial."""
        t, slope = state.step_size, dot(state.gradient, state.gradient)
        x = along(state.x, -t, state.gradient)
        value, gradient = objective.value_and_gradient(x)
        finite = jnp.isfinite(value) & jnp.isfinite(dot(gradient, gradient))
        accepted = finite & (value <= jnp.max(state.losses) - DECREASE * t * slope)

        move, change = difference(x, state.x), difference(gradient, state.gradient)
        product = dot(move, change)
        long, short = ratio(dot(move, move), product), jnp.where(product > 0, ratio(product, dot(change, change)), 0)
        secant = jnp.where(state.long, long, short)
        following = jnp.where(secant > 0, secant, 10 * t)
        interpolated = ratio(t * t * slope, 2 * (value - state.value + t * slope))
        shorter = jnp.where(finite, jnp.clip(interpolated, 0.1 * t, 0.5 * t), 0.1 * t)
        better = finite & (value < state.best_value)
        return State(
            chosen(accepted, x, state.x),
            jnp.where(accepted, value, state.value),
            chosen(accepted, gradient, state.gradient),
            jnp.where(accepted, jnp.where(slope > 0, following, t), shorter),
            state.long ^ accepted,
            jnp.where(accepted, jnp.append(state.losses[1:], value), state.losses),
            chosen(better, x, state.best),
            jnp.where(better, value, state.best_value),
        )

    def read(self, state: State) -> Point:
        """The lowest point evaluated so far."""
        return state.best
