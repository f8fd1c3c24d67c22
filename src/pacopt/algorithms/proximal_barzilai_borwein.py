"""Proximal gradient steps with the step sizes of Barzilai and Borwein."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStandardHyper, Hyper, check_curvature
from pacopt.algorithms.vectors import along, chosen, difference, dot, evaluated, proximal, ratio
from pacopt.problems.base import Objective, Point
from pacopt.space import Interval

#: A trial is compared with the highest of this many losses, and must fall below it by this fraction of what a proximal
#: step gains.
LOOK_BACK, DECREASE = 5, 0.01
#: A rejected trial is repeated with this fraction of its step.
SHORTER = 0.5


class State(NamedTuple):
    """The point, the gradient of the smooth part there, the step to try, recent losses, the lowest point."""

    x: Point
    gradient: Point
    step_size: Float[Array, ""]
    losses: Float[Array, " look_back"]
    best: Point
    best_value: Float[Array, ""]


class ProximalBarzilaiBorwein(AbstractAlgorithm, AbstractStandardHyper):
    """x_next = prox(x - t gradient(x), t), t = s's / s'y: s the last move, y the gradient's change. SpaRSA.

    **Theory** Wright, Nowak and Figueiredo (2009): t I approximates the inverse Hessian of the smooth part along the
    last move (Barzilai and Borwein 1988). A trial must lie below the highest of the last 5 losses by 0.01 |s|^2 /
    (2 t), or else it is repeated with half of t; this makes every limit point a minimum if the loss is convex.

    **Gradients** One per step and one at the start; a rejected trial is a step too. `read` gives the lowest point
    evaluated. `step_size` is for the first trial only, where 1 / L is safe. For a problem without a proximal map, prox
    is the identity.

    **In code** Where s'y is not positive, t is ten times the last t."""

    hyperparameters: ClassVar = {"step_size": Interval(1e-8, 1e2, log=True)}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, with its loss and gradient."""
        value, gradient = evaluated(x, objective)
        step_size = jnp.asarray(hyper["step_size"], value.dtype)
        return State(x, gradient, step_size, jnp.full(LOOK_BACK, value), x, value)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after one trial."""
        t = state.step_size
        x = proximal(along(state.x, -t, state.gradient), t, objective)
        value, gradient = evaluated(x, objective)
        move, change = difference(x, state.x), difference(gradient, state.gradient)
        squared, product = dot(move, move), dot(move, change)
        finite = jnp.isfinite(value) & jnp.isfinite(dot(gradient, gradient))
        accepted = finite & (value <= jnp.max(state.losses) - 0.5 * DECREASE * ratio(squared, t))
        secant = ratio(squared, product)
        following = jnp.where(squared > 0, jnp.where(secant > 0, secant, 10 * t), t)
        better = finite & (value < state.best_value)
        return State(
            chosen(accepted, x, state.x),
            chosen(accepted, gradient, state.gradient),
            jnp.where(accepted, following, SHORTER * t),
            jnp.where(accepted, jnp.append(state.losses[1:], value), state.losses),
            chosen(better, x, state.best),
            jnp.where(better, value, state.best_value),
        )

    def read(self, state: State) -> Point:
        """The lowest point evaluated so far."""
        return state.best

    def standard(self, mu: float, L: float) -> dict[str, float]:
        """A first step of 1 / L."""
        check_curvature(mu, L)
        return {"step_size": 1.0 / L}
