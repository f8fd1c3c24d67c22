"""A descent along lines: where it stands, the line it searches, and the lowest point that it has seen."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from pacopt.algorithms.more_thuente import Search, advanced, searching
from pacopt.algorithms.vectors import chosen
from pacopt.problems.base import Objective, Point

Vector = Float[Array, " n"]


class Place(NamedTuple):
    """A point as a vector, with its loss and gradient: what one evaluation gives."""

    x: Vector
    value: Float[Array, ""]
    gradient: Vector


class Line(NamedTuple):
    """A line from a place, the search along it, and the lowest place of all."""

    origin: Place
    direction: Vector
    search: Search
    best: Place


class Tried(NamedTuple):
    """A line after one more trial: the place of the trial, and whether it was accepted or the search given up.

    `origin` is where the next line starts if one of both holds: at the trial, or at the lowest place of all.
    """

    line: Line
    origin: Place
    accepted: Bool[Array, ""]
    failed: Bool[Array, ""]


def place_at(x: Vector, like: Point, objective: Objective) -> Place:
    """The one evaluation of a step; `like` has the structure of points."""
    _, as_point = ravel_pytree(like)
    value, gradient = objective.value_and_gradient(as_point(x))
    flat, _ = ravel_pytree(gradient)
    return Place(x, jnp.asarray(value, x.dtype), flat.astype(x.dtype))


def line_from(origin: Place, direction: Vector, trial: Any, best: Place) -> Line:
    """A new line. Along a direction that does not descend there is nothing to search: minus the gradient is taken."""
    slope = jnp.sum(origin.gradient * direction)
    descends = slope < 0
    direction = jnp.where(descends, direction, -origin.gradient)
    slope = jnp.where(descends, slope, -jnp.sum(origin.gradient**2))
    return Line(origin, direction, searching(origin.value, slope, trial), best)


def tried(line: Line, like: Point, objective: Objective, *, decrease: float, curvature: float) -> Tried:
    """Evaluate the trial of the line."""
    place = place_at(line.origin.x + line.search.trial * line.direction, like, objective)
    slope = jnp.sum(place.gradient * line.direction)
    search, accepted, failed = advanced(line.search, place.value, slope, decrease=decrease, curvature=curvature)
    finite = jnp.isfinite(place.value) & jnp.all(jnp.isfinite(place.gradient))
    best = chosen(finite & (place.value < line.best.value), place, line.best)
    return Tried(line._replace(search=search, best=best), chosen(accepted, place, best), accepted, failed)
