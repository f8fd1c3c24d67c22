"""Minima of deblurring problems, with a proof: a lower bound from strong convexity."""

import os
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from pacopt.algorithms.modelled_newton import ModelledNewton, State
from pacopt.engines.traced.parallel import ordered_results
from pacopt.errors import ProblemError
from pacopt.families.deblurring_model import Deblurring, FourierModel
from pacopt.problems.base import Objective

#: A run ends when the unproved part is at most this fraction of the gap at the start, or after this many steps.
PROVED, LONGEST = 1e-13, 1000
#: A larger unproved part is refused.
LOOSE = 1e-10
#: What rounding may do to a sum of terms added one by one, relative to the sum and per term, both in the bound and in a
#: loss compared with it; the bound is lowered by this much.
ROUNDING = 2.0 * float(np.finfo(np.float64).eps)
#: The number of instances solved in one call.
TILE = 64


def proven_minima(
    problem: Deblurring, fields: Mapping[str, np.ndarray]
) -> tuple[Float[np.ndarray, " instance"], Float[np.ndarray, "instance n n"]]:
    """Proven lower bounds on the minima, and the points that prove them, which are nearly the minimisers.

    `ModelledNewton` runs until the bound loss(x) - |gradient(x)|^2 / (2 ridge) is within 1e-13 of loss(x), relative to
    the gain since the start. It is a bound whatever the run did, because the loss is ridge-strongly convex.
    """
    count, solve = len(fields["b"]), eqx.filter_jit(_solved)
    tiles = [range(first, min(first + TILE, count)) for first in range(0, count, TILE)]

    def one(tile: range, position: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # A shorter last tile is padded, so that one compilation is enough.
        rows = np.minimum(np.arange(tile.start, tile.start + TILE), count - 1) if count > TILE else np.arange(count)
        with jax.enable_x64(True):
            given = {name: jnp.asarray(np.asarray(array, np.float64)[rows]) for name, array in fields.items()}
            return tuple(np.asarray(each)[: len(tile)] for each in solve(problem, given))  # type: ignore[return-value]

    found = list(ordered_results(one, tiles, workers=os.cpu_count() or 1))
    bounds, slack, points = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if not np.all((slack > 0) & (slack <= LOOSE)):
        worst = int(np.argmax(np.where(slack > 0, slack, np.inf)))
        raise ProblemError(
            f"The minimum of instance {worst} is known only to {slack[worst]:.2g} of the gap at its start.",
            f"It must be known to {LOOSE:g} after {LONGEST} steps.",
            "Gaps are measured from it, and a loose bound would hide what the methods gain.",
            "Use a larger ridge, edge or weight.",
        )
    return bounds, points


def _solved(problem: Deblurring, fields: Any) -> Any:
    return jax.lax.map(lambda instance: _proved(problem, instance), fields)


def _proved(problem: Deblurring, instance: Any) -> Any:
    """A lower bound, the distance from it to the loss at the point, relative to the gain, and the point."""
    method, objective = ModelledNewton(FourierModel(problem), steps=1), Objective(problem, instance)
    hyper = jax.tree.map(jnp.asarray, method.initial(0))
    first = method.init(problem.start(instance), hyper, objective)
    start = first.place.value

    def open_by(state: State) -> Any:
        return jnp.sum(state.place.gradient**2) / (2 * problem.ridge)

    def goes_on(state: State) -> Any:
        return (open_by(state) > PROVED * (start - state.place.value)) & (state.taken < LONGEST)

    last = jax.lax.while_loop(goes_on, lambda state: method.step(state, hyper, objective), first)
    slack = open_by(last) + ROUNDING * last.place.x.size * last.place.value
    point = last.place.x.reshape(instance["b"].shape)
    return last.place.value - slack, slack / (start - last.place.value), point
