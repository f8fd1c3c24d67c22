"""Descent along lines: the current place, the line being searched, and the lowest place seen."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from pacopt.algorithms.more_thuente import Search, advanced, searching
from pacopt.algorithms.vectors import chosen
from pacopt.problems.base import Objective, Point

Vector = Float[Array, " n"]


class Place(NamedTuple):
    """A point as a vector, with its loss and gradient: the result of one evaluation."""

    x: Vector
    value: Float[Array, ""]
    gradient: Vector


class Line(NamedTuple):
    """A line from a place, the search along it, and the lowest place seen."""

    origin: Place
    direction: Vector
    search: Search
    best: Place


class Tried(NamedTuple):
    """A line after one more trial, and whether the trial was accepted or the search abandoned.

    `origin` is where the next line starts: at the trial if it was accepted, or else at the lowest place seen.
    """

    line: Line
    origin: Place
    accepted: Bool[Array, ""]
    failed: Bool[Array, ""]


def place_at(x: Vector, like: Point, objective: Objective) -> Place:
    """The place at x, by a step's one evaluation; `like` has the structure of points."""
    _, as_point = ravel_pytree(like)
    value, gradient = objective.value_and_gradient(as_point(x))
    flat, _ = ravel_pytree(gradient)
    return Place(x, jnp.asarray(value, x.dtype), flat.astype(x.dtype))


def line_from(origin: Place, direction: Vector, trial: Any, best: Place) -> Line:
    """A new line, along the negative gradient if the given direction does not descend."""
    slope = jnp.sum(origin.gradient * direction)
    descends = slope < 0
    direction = jnp.where(descends, direction, -origin.gradient)
    slope = jnp.where(descends, slope, -jnp.sum(origin.gradient**2))
    return Line(origin, direction, searching(origin.value, slope, trial), best)


def tried(line: Line, like: Point, objective: Objective, *, decrease: float, curvature: float) -> Tried:
    """The line after its trial is evaluated."""
    place = place_at(line.origin.x + line.search.trial * line.direction, like, objective)
    slope = jnp.sum(place.gradient * line.direction)
    search, accepted, failed = advanced(line.search, place.value, slope, decrease=decrease, curvature=curvature)
    finite = jnp.isfinite(place.value) & jnp.all(jnp.isfinite(place.gradient))
    best = chosen(finite & (place.value < line.best.value), place, line.best)
    return Tried(line._replace(search=search, best=best), chosen(accepted, place, best), accepted, failed)
