"""Linear conjugate gradients, for quadratics."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.vectors import along, difference, dot, norm, ratio, refuse_nonsmooth
from pacopt.problems.base import Objective, Point


class State(NamedTuple):
    """The point, its gradient and the direction; the start, its gradient, and how far from it products are taken."""

    x: Point
    gradient: Point
    direction: Point
    start: Point
    start_gradient: Point
    radius: Float[Array, ""]


class ConjugateGradients(AbstractAlgorithm):
    """x_next = x + (g'g / d'Ad) d with conjugate directions d: the lowest point that gradients of a quadratic span.

    **Theory** Hestenes and Stiefel (1952): after k steps x is the minimiser of the quadratic over x0 + span{g0, A g0,
    ..., A^(k-1) g0}, so that no method whose steps stay in the span of its gradients ends lower, and in n dimensions it
    ends after n steps. Rounding delays that where the spectrum is wide, as in every code of conjugate gradients.

    **Gradients** One for each step and one at the start. The Hessian A is not given, but for a quadratic
    A d = (gradient(x0 + t d) - gradient(x0)) / t whatever t is, and the gradient at x follows by g + (g'g / d'Ad) A d.

    **In code** t is such that t |d| = r, with r the larger of |x0| and 2 loss(x0) / |g0|. A longer t does no harm on a
    quadratic, a shorter one would lose digits in the difference. With L the largest curvature and a loss that is not
    negative, 2 loss(x0) >= g0'A^-1 g0 >= |g0|^2 / L, so that r >= |g0| / L and the difference is known to about
    eps (L r + |g0|) <= 2 eps L r, twice the error of a product with A itself. Differences are taken from the start and
    not from x: the gradient there is an evaluated one, not one that has gone through the recurrence.

    **Needs** A quadratic. On other losses the products are those of no Hessian: take `NonlinearConjugateGradients`.
    """

    hyperparameters: ClassVar = {}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, its gradient, and minus that as the first direction."""
        refuse_nonsmooth(self, objective)
        value, gradient = objective.value_and_gradient(x)
        radius = jnp.maximum(norm(x), ratio(2 * jnp.abs(value), norm(gradient)))
        down = jax.tree.map(lambda g: -g, gradient)
        return State(x, gradient, down, x, gradient, jnp.where(radius > 0, radius, jnp.ones_like(radius)))

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """One product with the Hessian; where the gradient or the curvature is zero, the point stays."""
        x, gradient, direction, start, start_gradient, radius = state
        trial = ratio(radius, norm(direction))
        change = difference(objective.gradient(along(start, trial, direction)), start_gradient)
        square = dot(gradient, gradient)
        # change = trial * A d
        length = ratio(square, ratio(dot(direction, change), trial))
        reduced = along(gradient, ratio(length, trial), change)
        kept = ratio(dot(reduced, reduced), square)
        turned = jax.tree.map(lambda g, d: kept * d - g, reduced, direction)
        return State(along(x, length, direction), reduced, turned, start, start_gradient, radius)

    def read(self, state: State) -> Point:
        """The point itself."""
        return state.x
