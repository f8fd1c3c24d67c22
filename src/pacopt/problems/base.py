"""A problem is a start and a loss; anything else that some problems have is a separate class."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Float

from pacopt.errors import ProblemError

#: The variable to minimise over: any pytree of real arrays.
Point = Any
#: One row of `Instances`: arrays by name.
Instance = Mapping[str, Any]


class AbstractProblem(eqx.Module):
    """A family of minimisation problems, one for each instance. Data shared by all instances are fields of the problem.

    >>> import jax.numpy as jnp
    >>> class LeastSquares(AbstractProblem):
    ...     def start(self, instance):
    ...         return jnp.zeros(instance["A"].shape[-1])
    ...
    ...     def loss(self, x, instance):
    ...         return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)
    """

    @abstractmethod
    def start(self, instance: Instance) -> Point:
        """The point from which every algorithm starts on this instance."""

    @abstractmethod
    def loss(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """The loss to minimise over x: one number, nonnegative unless the minimum is known."""


class AbstractKnownMinimum(eqx.Module):
    """For problems whose minimal loss is known; the table then holds loss - minimum, and so does a `Solution`.

    In use, where the minimum of a new instance is unknown, any lower bound will do, because the safeguard only compares
    two losses of the same instance.
    """

    @abstractmethod
    def minimum(self, instance: Instance) -> Float[Array, ""]:
        """The smallest value of the loss on this instance."""


class AbstractMetric(eqx.Module):
    """For problems judged by something other than the minimised loss, such as a validation error or a residual.

    Tables then hold the `metric` instead of the loss, the safeguard compares it with its value at the start, and
    sentences call it by its `quantity`. With a `largest` value, the metric itself is averaged, in its `unit`; without
    one, its ratio to the value at the start is. With a `tolerance`, an instance counts as solved once the metric is at
    or below it, and `Effort("solved")` counts the steps until then.

    >>> class Fit(AbstractProblem, AbstractMetric):
    ...     quantity = "validation error"
    ...
    ...     def start(self, instance):
    ...         return instance["x"]
    ...
    ...     def loss(self, x, instance):
    ...         return (x - instance["y"]) ** 2
    ...
    ...     def metric(self, x, instance):
    ...         return abs(x - instance["z"])
    """

    #: Its name in sentences.
    quantity: ClassVar[str]
    unit: ClassVar[str] = ""
    largest: ClassVar[float | None] = None
    tolerance: ClassVar[float | None] = None

    @abstractmethod
    def metric(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """The metric at x: one nonnegative number, smaller is better."""


class AbstractProximable(eqx.Module):
    """For losses that are the sum of a smooth part, `smooth`, and a part with a cheap proximal map."""

    @abstractmethod
    def smooth(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """The smooth part of the loss, which is differentiated."""

    @abstractmethod
    def prox(self, x: Point, step_size: Float[Array, ""], instance: Instance) -> Point:
        """The minimiser over y of (the other part at y) + |y - x|^2 / (2 step_size)."""


class Objective(eqx.Module):
    """What an algorithm sees of one instance: loss, gradient and, if the problem has one, the proximal map."""

    problem: AbstractProblem
    instance: Instance

    def loss(self, x: Point) -> Float[Array, ""]:
        """The loss at x."""
        return self.problem.loss(x, self.instance)

    def gradient(self, x: Point) -> Point:
        """The gradient of the loss at x, or of its smooth part if the problem declares one."""
        return jax.grad(self._differentiated)(x, self.instance)

    def value_and_gradient(self, x: Point) -> tuple[Float[Array, ""], Point]:
        """The differentiated loss at x and its gradient; one gradient evaluation gives both."""
        value, gradient = jax.value_and_grad(self._differentiated)(x, self.instance)
        return value, gradient

    @property
    def _differentiated(self) -> Callable[[Point, Instance], Float[Array, ""]]:
        return self.problem.smooth if isinstance(self.problem, AbstractProximable) else self.problem.loss

    def prox(self, x: Point, step_size: Float[Array, ""]) -> Point:
        """The proximal map of the other part; only for problems that are `AbstractProximable`."""
        if not isinstance(self.problem, AbstractProximable):
            raise ProblemError(
                f"{type(self.problem).__name__} has no proximal map, but the algorithm asks for one.",
                "A problem with a nonsmooth part must define its proximal map.",
                "",
                "Derive it from pacopt.AbstractProximable too, or use an algorithm that needs only gradients.",
            )
        return self.problem.prox(x, step_size, self.instance)
