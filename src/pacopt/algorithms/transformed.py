"""Any algorithm in coordinates that depend on the instance."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, AbstractInitialHyper, Hyper, State, initial_of
from pacopt.algorithms.vectors import refuse_nonsmooth
from pacopt.algorithms.wrapping import refuse_unwrappable
from pacopt.problems.base import AbstractProblem, Instance, Objective, Point
from pacopt.space import AbstractSpace, Tree


class AbstractCoordinates(eqx.Module):
    """A linear map from other coordinates to those of the problem; it may read what the loss reads of an instance.

    >>> class Scaled(AbstractCoordinates):  # in units in which the largest curvature is 1
    ...     def applied(self, z, instance):
    ...         return z / jnp.max(jnp.abs(instance["diagonal"]))
    """

    @abstractmethod
    def applied(self, z: Point, instance: Instance) -> Point:
        """M z, linear in z; z has the structure of points."""


class Placed(NamedTuple):
    """The state of the algorithm in its coordinates, the start, and the current point."""

    inner: State
    origin: Point
    point: Point


class Seen(AbstractProblem):
    """A problem in coordinates z, x = origin + M z, which start at 0."""

    problem: AbstractProblem
    coordinates: AbstractCoordinates
    origin: Point

    def start(self, instance: Instance) -> Point:
        """Zero."""
        return jax.tree.map(jnp.zeros_like, self.origin)

    def at(self, z: Point, instance: Instance) -> Point:
        """origin + M z."""
        return jax.tree.map(lambda x, move: x + move, self.origin, self.coordinates.applied(z, instance))

    def loss(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """The loss at the point that z represents."""
        return self.problem.loss(self.at(x, instance), instance)


class Transformed(AbstractAlgorithm, AbstractInitialHyper):
    """An algorithm that runs in coordinates z, x = start + M z, from z = 0, where M depends on the instance.

    **Theory** As for `Preconditioned`, a gradient step in z is a step along -M M' gradient(x). There M is an array
    shared by all instances; here it is a map (`AbstractCoordinates`) that reads the instance, so each instance has its
    own metric: one over its Lipschitz constant, or a division by the effect of its blur in Fourier space.

    **Gradients** As many as the inner algorithm takes; the hyperparameters are the same too.
    """

    algorithm: AbstractAlgorithm
    coordinates: AbstractCoordinates

    def __check_init__(self) -> None:
        """Refuse algorithms that draw random numbers."""
        refuse_unwrappable(self, self.algorithm, "The coordinates are changed")

    @property
    def hyperparameters(self) -> Mapping[str, AbstractSpace | Tree]:
        """The hyperparameters of the algorithm."""
        return self.algorithm.hyperparameters

    def initial(self, seed: int) -> dict[str, Any]:
        """Where the algorithm starts training."""
        return initial_of(self.algorithm, seed)

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Placed:
        """The algorithm at 0."""
        refuse_nonsmooth(self, objective)
        seen = self._seen(x, objective)
        zero = seen.problem.start(seen.instance)
        return Placed(self.algorithm.init(zero, hyper, seen), x, x)

    def step(self, state: Placed, hyper: Hyper, objective: Objective) -> Placed:
        """The state after one step of the algorithm."""
        seen = self._seen(state.origin, objective)
        inner = self.algorithm.step(state.inner, hyper, seen)
        point = Seen(objective.problem, self.coordinates, state.origin).at(self.algorithm.read(inner), seen.instance)
        return Placed(inner, state.origin, point)

    def read(self, state: Placed) -> Point:
        """The point that z represents."""
        return state.point

    def _seen(self, origin: Point, objective: Objective) -> Objective:
        """The objective in the coordinates z."""
        return Objective(Seen(objective.problem, self.coordinates, origin), objective.instance)
