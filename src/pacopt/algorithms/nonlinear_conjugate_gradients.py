"""Nonlinear conjugate gradients (Polak-Ribière+) with the line search of Moré and Thuente."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.line import Line, line_from, place_at, tried
from pacopt.algorithms.vectors import chosen, first_length, ratio, refuse_nonsmooth
from pacopt.problems.base import Objective, Point

#: The constants of the strong Wolfe conditions. A trial is rejected unless the slope has fallen to a tenth: conjugate
#: directions make an accurate search worth a second gradient.
DECREASE, CURVATURE = 1e-4, 0.1


class State(NamedTuple):
    """The line being searched, and the lowest point seen, in the problem's structure."""

    line: Line
    best: Point


class NonlinearConjugateGradients(AbstractAlgorithm):
    """d_next = -g_next + max(0, g_next'(g_next - g) / g'g) d, with a line search along d; a step is one trial.

    **Theory** Polak and Ribière (1969); Gilbert and Nocedal (1992): with the factor of d cut off at zero and steps that
    satisfy the strong Wolfe conditions along directions of sufficient descent, the gradient comes arbitrarily close to
    zero on smooth losses (their Thm 4.3). With exact searches on a quadratic it takes the steps of linear conjugate
    gradients; here a search on a quadratic takes at most two trials, since the second, found by interpolation, is
    exact.

    **Gradients** One per step and one at the start; loss and gradient at a trial count as one. The line search carries
    its state across steps. `read` gives the lowest point evaluated.

    **In code** The first trial on a line is the step accepted on the previous line, or loss / |gradient|^2 on the first
    line. If a direction does not descend, or a search is abandoned, the negative gradient is used.
    """

    hyperparameters: ClassVar = {}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, with its loss and gradient, and the line along the negative gradient."""
        refuse_nonsmooth(self, objective)
        place = place_at(ravel_pytree(x)[0], x, objective)
        trial = first_length(place.value, jnp.sum(place.gradient**2))
        return State(line_from(place, -place.gradient, trial, place), x)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after one trial; if it is accepted, the next line begins."""
        last = state.line
        line, origin, accepted, failed = tried(last, state.best, objective, decrease=DECREASE, curvature=CURVATURE)
        change = jnp.sum(origin.gradient * (origin.gradient - last.origin.gradient))
        kept = jnp.where(accepted, jnp.maximum(0, ratio(change, jnp.sum(last.origin.gradient**2))), 0)
        direction = kept * last.direction - origin.gradient
        following = line_from(origin, direction, last.search.trial, line.best)
        _, as_point = ravel_pytree(state.best)
        return State(chosen(accepted | failed, following, line), as_point(line.best.x))

    def read(self, state: State) -> Point:
        """The lowest point evaluated so far."""
        return state.best
