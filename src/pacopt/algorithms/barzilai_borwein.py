"""Gradient descent with the step sizes of Barzilai and Borwein."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.vectors import along, chosen, difference, dot, first_length, ratio, refuse_nonsmooth
from pacopt.problems.base import Objective, Point

#: A trial is compared with the highest of so many losses, and must be lower by this part of what its slope promises.
LOOK_BACK, DECREASE = 10, 1e-4


class State(NamedTuple):
    """The point, its loss and gradient, the step to be tried, whose turn it is, last losses, the lowest point."""

    x: Point
    value: Float[Array, ""]
    gradient: Point
    step_size: Float[Array, ""]
    long: Bool[Array, ""]
    losses: Float[Array, " look_back"]
    best: Point
    best_value: Float[Array, ""]


class BarzilaiBorwein(AbstractAlgorithm):
    """x_next = x - t gradient(x), t in turn s'y / y'y and s's / s'y: s the last move, y the change of the gradient.

    **Theory** Barzilai and Borwein (1988): t I is the multiple of the identity that comes nearest to the inverse
    Hessian along s, or its inverse to the Hessian. On strictly convex quadratics each of both converges R-linearly,
    though not monotonically (Raydan 1993, Dai and Liao 2002); taking them in turn is from Dai and Fletcher (2005), and
    on the paper's quadratics it ends lower than either. On other losses the method is made to converge by the search of
    Grippo, Lampariello and Lucidi (Raydan 1997): a trial must lie below the highest of the last 10 losses, and is
    shortened by quadratic interpolation if it does not.

    **Gradients** One for each step and one at the start; a trial that is not accepted is a step too. `read` gives the
    lowest point that was evaluated, since the last one may lie far above it.

    **In code** The first t is loss / |gradient|^2. Where the curvature s'y is not positive, t is ten times the last
    one.
    """

    hyperparameters: ClassVar = {}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, evaluated."""
        refuse_nonsmooth(self, objective)
        value, gradient = objective.value_and_gradient(x)
        step_size = first_length(value, dot(gradient, gradient))
        return State(x, value, gradient, step_size, jnp.zeros((), bool), jnp.full(LOOK_BACK, value), x, value)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """One trial."""
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
        """The lowest point that was evaluated."""
        return state.best
