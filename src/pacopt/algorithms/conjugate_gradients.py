"""Linear conjugate gradients, for quadratics."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.vectors import along, difference, dot, ratio, refuse_nonsmooth, unit
from pacopt.problems.base import Objective, Point


class State(NamedTuple):
    """The point, its gradient and the direction; the start, its gradient, and the distance for Hessian products."""

    x: Point
    gradient: Point
    direction: Point
    start: Point
    start_gradient: Point
    radius: Float[Array, ""]


class ConjugateGradients(AbstractAlgorithm):
    """x_next = x + (g'g / d'Ad) d with conjugate directions d: the best combination of gradients on a quadratic.

    **Theory** Hestenes and Stiefel (1952): after k steps x is the minimiser of the quadratic over x0 + span{g0, A g0,
    ..., A^(k-1) g0}, so no method whose steps stay in the span of its gradients ends lower, and in n dimensions it
    finishes after n steps. Rounding delays that when the spectrum is wide, as in any implementation.

    **Gradients** One per step and one at the start. The Hessian A is not given, but on a quadratic
    A d = (gradient(x0 + t d) - gradient(x0)) / t for any t, and the next gradient is g + (g'g / d'Ad) A d.

    **In code** t is chosen such that t |d| = r, with r the largest of |x0|, 2 loss(x0) / |g0| and all |x - x0|. A
    longer t does no harm on a quadratic; a shorter one would lose digits in the difference. With L the largest
    curvature and a nonnegative loss, 2 loss(x0) >= g0'A^-1 g0 >= |g0|^2 / L, so r >= |g0| / L and the difference is
    accurate to about eps (L r + |g0|) <= 2 eps L r, twice the error of a product with A itself. Differences are taken
    from the start rather than from x, because the gradient there was evaluated, not computed by the recurrence.

    **Needs** A quadratic. On other losses the products are not products with a Hessian: use
    `NonlinearConjugateGradients`.
    """

    hyperparameters: ClassVar = {}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, its gradient, and the negative gradient as the first direction."""
        refuse_nonsmooth(self, objective)
        value, gradient = objective.value_and_gradient(x)
        radius = jnp.maximum(unit(x)[1], ratio(2 * jnp.abs(value), unit(gradient)[1]))
        down = jax.tree.map(lambda g: -g, gradient)
        return State(x, gradient, down, x, gradient, jnp.where(radius > 0, radius, jnp.ones_like(radius)))

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after one product with the Hessian; the point stays where the gradient or the curvature is zero."""
        x, gradient, direction, start, start_gradient, radius = state
        # Lengths and cosines instead of products, which would overflow at scales where nothing else does.
        (d, of_d), of_g = unit(direction), unit(gradient)[1]
        change = difference(objective.gradient(along(start, radius, d)), start_gradient)
        y, of_y = unit(change)
        # change = radius * A d / |d|
        part = ratio(of_g, of_y * dot(d, y)) * ratio(of_g, of_d)
        reduced = along(gradient, part, change)
        kept = ratio(unit(reduced)[1], of_g) ** 2
        turned = jax.tree.map(lambda r, d: kept * d - r, reduced, direction)
        x = along(x, part * radius, d)
        farther = jnp.maximum(radius, unit(difference(x, start))[1])
        return State(x, reduced, turned, start, start_gradient, farther)

    def read(self, state: State) -> Point:
        """The point itself."""
        return state.x
