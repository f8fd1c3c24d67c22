"""Newton's method with step halving."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.line import Place, Vector, place_at
from pacopt.algorithms.vectors import chosen, refuse_nonsmooth
from pacopt.problems.base import Objective, Point

#: A trial is accepted if the loss decreases by this fraction of what the slope promises.
DECREASE = 1e-4
#: Smaller curvatures are raised to this fraction of the largest.
FLAT = 1e-12


class State(NamedTuple):
    """The point, the Newton step from there, the fraction of it to try next, and the lowest point seen."""

    place: Place
    direction: Float[Array, " n"]
    part: Float[Array, ""]
    best: Point
    lowest: Float[Array, ""]


class Newton(AbstractAlgorithm):
    """x_next = x - t H^-1 gradient(x), H the Hessian at x; t starts at 1 and is halved until the loss decreases enough.

    **Theory** Kantorovich (1948): near a minimum with a regular Hessian, steps with t = 1 converge quadratically.
    Armijo (1966): a t with loss(x - t d) <= loss(x) - 1e-4 t gradient(x)'d is found after finitely many halvings if d
    is a descent direction. It always is, because negative curvatures are replaced by their absolute values.

    **Gradients** One per step and one at the start; each step tries one t, which is accepted or rejected. `read` gives
    the lowest point evaluated. **A step costs more than that**: for n unknowns the Hessian takes n products with it,
    each about twice the work of a gradient, and its eigenvalues take about 10 n^3 more operations. So at equal numbers
    of steps this is not a fair match for methods that only see gradients; it shows what second derivatives would buy.

    There is nothing to learn: `Baseline(algorithm=Newton())`.
    """

    hyperparameters: ClassVar = {}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, with its loss and gradient, and the first Newton step."""
        refuse_nonsmooth(self, objective)
        place, direction = _evaluated(ravel_pytree(x)[0], x, objective)
        return State(place, direction, jnp.ones_like(place.value), x, place.value)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after one trial; if it is accepted, the next Newton step starts there."""
        origin, direction = state.place, state.direction
        place, renewed = _evaluated(origin.x + state.part * direction, state.best, objective)
        finite = jnp.isfinite(place.value) & jnp.all(jnp.isfinite(place.gradient))
        promised = state.part * jnp.sum(origin.gradient * direction)
        accepted = finite & (place.value <= origin.value + DECREASE * promised)
        _, as_point = ravel_pytree(state.best)
        best, lowest = chosen(
            finite & (place.value < state.lowest), (as_point(place.x), place.value), (state.best, state.lowest)
        )
        following = State(place, renewed, jnp.ones_like(state.part), best, lowest)
        kept: State = chosen(accepted, following, State(origin, direction, state.part / 2, best, lowest))
        return kept

    def read(self, state: State) -> Point:
        """The lowest point evaluated so far."""
        return state.best


def _evaluated(x: Vector, like: Point, objective: Objective) -> tuple[Place, Vector]:
    """The place at x and -|H|^-1 gradient, from the eigenvalues of H; loss, gradient and Hessian take one pass."""

    def seen(x: Vector) -> Place:
        return place_at(x, like, objective)

    place, along = jax.linearize(seen, x)
    hessian = jax.vmap(along)(jnp.eye(x.size, dtype=x.dtype)).gradient
    # If anything is not finite, the trial is rejected, so the eigenvalues do not matter.
    sane = jnp.where(jnp.all(jnp.isfinite(hessian)), hessian, jnp.eye(x.size, dtype=x.dtype))
    values, vectors = jnp.linalg.eigh(0.5 * (sane + sane.T))
    sizes = jnp.abs(values)
    sizes = jnp.maximum(sizes, jnp.maximum(FLAT * jnp.max(sizes), float(np.finfo(x.dtype).tiny)))
    return place, -(vectors @ ((vectors.T @ place.gradient) / sizes))
