"""Points as vectors: inner products, moves along a direction, and the length of a first step."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pacopt.errors import AlgorithmError
from pacopt.problems.base import AbstractProximable, Objective, Point


def dot(a: Point, b: Point) -> Float[Array, ""]:
    """The inner product of two points."""
    products = jax.tree.map(lambda u, v: jnp.sum(u * v), a, b)
    return jnp.asarray(sum(jax.tree.leaves(products)))


def unit(a: Point) -> tuple[Point, Float[Array, ""]]:
    """A point divided by its length, and the length; scaling by the largest entry prevents overflow.

    Where the length is 0, both are 0 and so are their derivatives, so that runs from there can be trained.
    """
    largest = jax.lax.stop_gradient(jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(a)])))
    scaled = jax.tree.map(lambda u: u / jnp.where(largest > 0, largest, 1), a)
    square = dot(scaled, scaled)
    root = jnp.sqrt(jnp.where(square > 0, square, 1))
    return jax.tree.map(lambda u: u / root, scaled), jnp.where(square > 0, largest * root, 0)


def along(x: Point, length: Any, direction: Point) -> Point:
    """x + length * direction, with the dtypes of x."""
    return jax.tree.map(lambda u, v: (u + length * v).astype(u.dtype), x, direction)


def difference(a: Point, b: Point) -> Point:
    """a - b."""
    return jax.tree.map(lambda u, v: u - v, a, b)


def chosen(condition: Any, a: Point, b: Point) -> Point:
    """a where the condition holds, else b; they may be any pytrees of the same structure."""
    return jax.tree.map(lambda u, v: jnp.where(condition, u, v), a, b)


def ratio(a: Any, b: Any) -> Float[Array, ""]:
    """a / b, or 0 where b is not positive or the ratio is not finite, so that a method that has converged stays put."""
    found = a / jnp.where(b > 0, b, 1)
    return jnp.where((b > 0) & jnp.isfinite(found), found, 0)


def first_length(value: Float[Array, ""], squared: Float[Array, ""]) -> Float[Array, ""]:
    """How far to go along the negative gradient when only the loss and the squared gradient are known.

    This is loss / |gradient|^2, Polyak's step (1987) for a loss whose infimum is 0: it goes where the tangent reaches
    0. It scales correctly with the loss and with x. On a nonnegative quadratic it is at least half the step to the
    minimum along the line: with A the Hessian, 2 loss >= g'A^-1 g, and (g'A^-1 g) (g'Ag) >= |g|^4. If the loss is not
    positive, or the result overflows, it is 1 / |gradient|: a step of length one.
    """
    length = ratio(value, squared)
    return jnp.where(length > 0, length, ratio(1, jnp.sqrt(squared)))


def proximal(x: Point, step_size: Any, objective: Objective) -> Point:
    """The proximal map at x; x itself if the problem has none."""
    return objective.prox(x, step_size) if isinstance(objective.problem, AbstractProximable) else x


def evaluated(x: Point, objective: Objective) -> tuple[Float[Array, ""], Point]:
    """The loss at x with both its parts, and the gradient of the smooth part: one evaluation."""
    value, gradient = objective.value_and_gradient(x)
    return objective.loss(x) if isinstance(objective.problem, AbstractProximable) else value, gradient


def refuse_nonsmooth(algorithm: object, objective: Objective) -> None:
    """Refuse a problem whose gradient covers only its smooth part: the other part would be ignored."""
    if isinstance(objective.problem, AbstractProximable):
        name = type(algorithm).__name__
        raise AlgorithmError(
            f"{type(objective.problem).__name__} has a part with a proximal map, but {name} uses only gradients.",
            "The gradient of such a problem covers only its smooth part.",
            f"{name} would minimise that part and ignore the other, so a gain over it would mean nothing.",
            "Use pacopt.FISTA, or a problem that is smooth as a whole.",
        )
