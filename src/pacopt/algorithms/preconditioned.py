"""Any algorithm in other coordinates: a metric that was learned from the prior split."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from pacopt.algorithms.base import (
    AbstractAlgorithm,
    AbstractInitialHyper,
    AbstractStochasticAlgorithm,
    Hyper,
    State,
    initial_of,
)
from pacopt.errors import AlgorithmError
from pacopt.problems.base import AbstractProblem, AbstractProximable, Instance, Objective, Point


class Place(NamedTuple):
    """The start, and the state of the algorithm that runs from 0 in the other coordinates."""

    origin: Point
    inner: State


class Moved(AbstractProblem):
    """A problem in the coordinates z of x = origin + M z, which start at 0."""

    problem: AbstractProblem
    metric: Float[Array, "..."]
    origin: Point

    def start(self, instance: Instance) -> Point:
        """Zero."""
        return jnp.zeros_like(ravel_pytree(self.origin)[0])

    def loss(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """The loss at the point that z stands for."""
        return self.problem.loss(moved(self.origin, self.metric, x), instance)


class Preconditioned(AbstractAlgorithm, AbstractInitialHyper):
    """An algorithm that runs in coordinates z, x = start + M z, from z = 0: M is a matrix, or the diagonal of one.

    **Theory** In these coordinates the gradient is M' gradient(x) and the Hessian M' H M, so that a method whose rate
    depends on the condition number of H has that of M' H M instead. A gradient step by z is a step along -M M'
    gradient(x): the metric is (M M')^-1. With M M' = H^-1 the condition number is 1, and gradient descent is Newton's
    method. `whitening`, `diagonal_scaling` and `layer_scaling` learn M from the prior split.

    It goes with every algorithm that uses gradients and draws nothing, baselines too; hyperparameters are those of the
    algorithm, and a step takes as many gradients. A method that does not change under rotation does what it does in any
    other M with the same M M'. A point that is a pytree is raveled, leaf after leaf, as `jax.flatten_util` does it.

    >>> from pacopt import DiagonalQuadratic, GradientDescent, Instances, tabulate
    >>> instances = Instances({"diagonal": np.array([[1.0, 50.0]]), "b": np.ones((1, 2))})
    >>> newton = Preconditioned(GradientDescent(), np.array([1.0, 1 / 50]))
    >>> table = tabulate(DiagonalQuadratic(), newton, {"step_size": [1.0]}, instances, steps=1)
    >>> float(table.losses[0, 0])
    0.0
    """

    algorithm: AbstractAlgorithm
    #: A square matrix, or the diagonal of one.
    metric: Array | np.ndarray

    def __check_init__(self) -> None:
        """Refuse what is no metric, and algorithms that draw random numbers."""
        if not isinstance(self.algorithm, AbstractAlgorithm) or isinstance(self.algorithm, AbstractStochasticAlgorithm):
            raise AlgorithmError(
                f"A {type(self.algorithm).__name__} was given to be preconditioned.",
                "An algorithm that draws no random numbers is needed.",
                "The coordinates are changed around its init and step, which are given no key.",
                "Pass Preconditioned(pacopt.LBFGS(), metric), for example.",
            )
        shape, kind = np.shape(self.metric), np.asarray(self.metric).dtype.kind
        if len(shape) not in (1, 2) or len(set(shape)) != 1 or 0 in shape or kind != "f":
            raise AlgorithmError(
                f"The metric has the shape {list(shape)} and the type {np.asarray(self.metric).dtype}.",
                "It is a square matrix, or the diagonal of one, of real numbers: one row for each unknown.",
                "Points are multiplied by it.",
                "Use metric=pacopt.whitening(problem, split), for example.",
            )
        if not np.isfinite(self.metric).all():
            raise AlgorithmError(
                "The metric has entries that are not finite.", "All are numbers.", "All runs would end as NaN.", ""
            )

    @property
    def hyperparameters(self) -> Any:
        """Those of the algorithm."""
        return self.algorithm.hyperparameters

    def initial(self, seed: int) -> dict[str, Any]:
        """Where the algorithm starts."""
        return initial_of(self.algorithm, seed)

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Place:
        """The start, and the algorithm at 0."""
        problem, size = objective.problem, ravel_pytree(x)[0].size
        if isinstance(problem, AbstractProximable):
            raise AlgorithmError(
                f"{type(problem).__name__} has a part with a proximal map.",
                "A preconditioned algorithm uses gradients only.",
                "The proximal map in other coordinates is another one, and that is not known.",
                "Run the algorithm as it is.",
            )
        if size != len(self.metric):
            raise AlgorithmError(
                f"A point of {type(problem).__name__} has {size} unknowns, and the metric is for {len(self.metric)}.",
                "There is one row of it for each unknown.",
                "",
                "Learn it from the same problem: pacopt.whitening(problem, split).",
            )
        inner = self._seen(x, objective)
        return Place(x, self.algorithm.init(inner.problem.start(inner.instance), hyper, inner))

    def step(self, state: Place, hyper: Hyper, objective: Objective) -> Place:
        """One step of the algorithm."""
        return state._replace(inner=self.algorithm.step(state.inner, hyper, self._seen(state.origin, objective)))

    def read(self, state: Place) -> Point:
        """The point that z stands for."""
        return moved(state.origin, jnp.asarray(self.metric), self.algorithm.read(state.inner))

    def _seen(self, origin: Point, objective: Objective) -> Objective:
        """What the algorithm sees."""
        return Objective(Moved(objective.problem, jnp.asarray(self.metric), origin), objective.instance)


def moved(origin: Point, metric: Float[Array, "..."], z: Float[Array, " n"]) -> Point:
    """origin + M z."""
    flat, as_point = ravel_pytree(origin)
    move = metric @ z if metric.ndim == 2 else metric * z
    return as_point(flat + move.astype(flat.dtype))
