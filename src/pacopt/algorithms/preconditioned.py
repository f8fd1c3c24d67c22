"""Any algorithm in other coordinates: a metric that is learned, estimated from the prior split or trained."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, AbstractInitialHyper, Hyper, State, initial_of
from pacopt.algorithms.wrapping import as_array, checked_number, inner_hyper, refuse_unwrappable, with_own
from pacopt.errors import AlgorithmError
from pacopt.problems.base import AbstractProblem, AbstractProximable, Instance, Objective, Point
from pacopt.space import Array as ArraySpace

#: Where good entries are looked for: factors of coordinates within so much of 1, and others within so much of 0.
FACTOR, ENTRY = 100.0, 1.0


class Place(NamedTuple):
    """The start, the state of the algorithm that runs from 0 in the other coordinates, and the point if M is trained.

    A point can be read from a state alone, without hyperparameters, so that it is kept where M is made of them.
    """

    origin: Point
    inner: State
    point: Point | None


class Moved(AbstractProblem):
    """A problem in the coordinates z of x = origin + M C z, which start at 0."""

    problem: AbstractProblem
    metric: Float[Array, "..."] | None
    trained: Mapping[str, Float[Array, "..."]]
    origin: Point

    def start(self, instance: Instance) -> Point:
        """Zero."""
        return jnp.zeros_like(ravel_pytree(self.origin)[0])

    def loss(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """The loss at the point that z stands for."""
        return self.problem.loss(moved(self.origin, self.metric, corrected(self.trained, x)), instance)


class Preconditioned(AbstractAlgorithm, AbstractInitialHyper):
    """An algorithm that runs in coordinates z, x = start + M z, from z = 0: M is a matrix, or the diagonal of one.

    **Theory** In these coordinates the gradient is M' gradient(x) and the Hessian M' H M, so that a method whose rate
    depends on the condition number of H has that of M' H M instead. A gradient step by z is a step along -M M'
    gradient(x): the metric is (M M')^-1. With M M' = H^-1 the condition number is 1, and gradient descent is Newton's
    method. `whitening`, `diagonal_scaling` and `layer_scaling` estimate M from the prior split.

    It goes with every algorithm that uses gradients and draws nothing, baselines too; a step takes as many gradients. A
    method that does not change under rotation does what it does in any other M with the same M M'. A point that is a
    pytree is raveled, leaf after leaf, as `jax.flatten_util` does it.

    **Fixed or trained** `Preconditioned(algorithm, metric)` has that metric, and the hyperparameters of the algorithm.
    With a `dimension`, the number of unknowns, M is `metric` times a matrix C that is trained with
    `pacopt.priors.Train` (without a `metric`: C itself). Its numbers are hyperparameters beside those of the algorithm,
    and it starts from the identity:

    | `rank` | C | hyperparameters |
    |---|---|---|
    | none | a full matrix | `matrix` |
    | 0 | a diagonal | `scale` |
    | r | a diagonal plus a matrix of rank r | `scale`, `left`, `right` |

    >>> from pacopt import DiagonalQuadratic, GradientDescent, Instances, tabulate
    >>> instances = Instances({"diagonal": np.array([[1.0, 50.0]]), "b": np.ones((1, 2))})
    >>> newton = Preconditioned(GradientDescent(), np.array([1.0, 1 / 50]))
    >>> table = tabulate(DiagonalQuadratic(), newton, {"step_size": [1.0]}, instances, steps=1)
    >>> float(table.losses[0, 0])
    0.0
    >>> sorted(Preconditioned(GradientDescent(), dimension=50, rank=3).hyperparameters)
    ['left', 'right', 'scale', 'step_size']
    """

    algorithm: AbstractAlgorithm
    #: A square matrix, or the diagonal of one.
    metric: Array | np.ndarray | None = eqx.field(converter=as_array, default=None)
    #: The number of unknowns, if the metric is trained.
    dimension: int | None = eqx.field(static=True, default=None, kw_only=True)
    #: Of the matrix that is trained beside a diagonal; none if all of it is.
    rank: int | None = eqx.field(static=True, default=None, kw_only=True)

    def __check_init__(self) -> None:
        """Refuse what is no metric, sizes that are none, and algorithms that draw random numbers."""
        refuse_unwrappable(self, self.algorithm, "The coordinates are changed")
        checked_number(self, "dimension", self.dimension, 1)
        checked_number(self, "rank", self.rank, 0)
        if self.metric is None and self.dimension is None:
            raise AlgorithmError(
                "Preconditioned was given neither a metric nor a dimension.",
                "It has a metric that is known, or one that is trained.",
                "",
                "Use metric=pacopt.whitening(problem, split), or dimension=50 to train one for 50 unknowns.",
            )
        if self.rank is not None and (self.dimension is None or self.rank >= self.dimension):
            raise AlgorithmError(
                f"rank is {self.rank}, and dimension {self.dimension}.",
                "A metric of low rank is one that is trained, and its rank is below the number of unknowns.",
                "",
                "Give the dimension too; leave out the rank for a full matrix.",
            )
        if self.metric is not None:
            _check_metric(self.metric, self.dimension)
        with_own(self, self.algorithm, self._own)

    @property
    def _own(self) -> dict[str, ArraySpace]:
        """The spaces of what is trained of the metric."""
        if self.dimension is None:
            return {}
        if self.rank is None:
            return {"matrix": ArraySpace((self.dimension, self.dimension), -ENTRY, ENTRY)}
        found = {"scale": ArraySpace((self.dimension,), 1 / FACTOR, FACTOR, log=True)}
        if self.rank:
            found |= {name: ArraySpace((self.dimension, self.rank), -ENTRY, ENTRY) for name in ("left", "right")}
        return found

    @property
    def hyperparameters(self) -> Any:
        """Those of the algorithm, and the entries of C if there is one."""
        return with_own(self, self.algorithm, self._own)

    def initial(self, seed: int) -> dict[str, Any]:
        """Where the algorithm starts; C is the identity.

        `left` is random, since the derivative by either factor of zero times zero is zero.
        """
        found = initial_of(self.algorithm, seed)
        if self.dimension is None:
            return found
        if self.rank is None:
            return {**found, "matrix": np.eye(self.dimension)}
        found["scale"] = np.ones(self.dimension)
        if self.rank:
            shape = (self.dimension, self.rank)
            found["left"] = np.random.default_rng([seed, 4]).normal(size=shape) / np.sqrt(self.dimension)
            found["right"] = np.zeros(shape)
        return found

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
        known = self.dimension if self.metric is None else len(self.metric)
        if size != known:
            raise AlgorithmError(
                f"A point of {type(problem).__name__} has {size} unknowns, and the metric is for {known}.",
                "There is one row of it for each unknown.",
                "",
                f"Learn it from the same problem: pacopt.whitening(problem, split), or dimension={size}.",
            )
        inner = self._seen(x, hyper, objective)
        state = self.algorithm.init(inner.problem.start(inner.instance), inner_hyper(self.algorithm, hyper), inner)
        return Place(x, state, self._point(x, state, hyper))

    def step(self, state: Place, hyper: Hyper, objective: Objective) -> Place:
        """One step of the algorithm."""
        seen = self._seen(state.origin, hyper, objective)
        inner = self.algorithm.step(state.inner, inner_hyper(self.algorithm, hyper), seen)
        return Place(state.origin, inner, self._point(state.origin, inner, hyper))

    def read(self, state: Place) -> Point:
        """The point that z stands for."""
        if self.dimension is not None:
            return state.point
        return moved(state.origin, self._fixed, self.algorithm.read(state.inner))

    @property
    def _fixed(self) -> Float[Array, "..."] | None:
        return None if self.metric is None else jnp.asarray(self.metric)

    def _point(self, origin: Point, inner: State, hyper: Hyper) -> Point | None:
        if self.dimension is None:
            return None
        return moved(origin, self._fixed, corrected(self._trained(hyper), self.algorithm.read(inner)))

    def _trained(self, hyper: Hyper) -> dict[str, Float[Array, "..."]]:
        return {name: jnp.asarray(hyper[name]) for name in self._own}

    def _seen(self, origin: Point, hyper: Hyper, objective: Objective) -> Objective:
        """What the algorithm sees."""
        return Objective(Moved(objective.problem, self._fixed, self._trained(hyper), origin), objective.instance)


def moved(origin: Point, metric: Float[Array, "..."] | None, z: Float[Array, " n"]) -> Point:
    """origin + M z."""
    flat, as_point = ravel_pytree(origin)
    move = z if metric is None else metric @ z if metric.ndim == 2 else metric * z
    return as_point(flat + move.astype(flat.dtype))


def corrected(trained: Mapping[str, Float[Array, "..."]], z: Float[Array, " n"]) -> Float[Array, " n"]:
    """C z; z itself if nothing is trained."""
    if "matrix" in trained:
        return trained["matrix"] @ z
    if "left" in trained:
        return trained["scale"] * z + trained["left"] @ (trained["right"].T @ z)
    return trained["scale"] * z if "scale" in trained else z


def _check_metric(metric: Any, dimension: int | None) -> None:
    shape, kind = np.shape(metric), np.asarray(metric).dtype.kind
    if len(shape) not in (1, 2) or len(set(shape)) != 1 or 0 in shape or kind != "f":
        raise AlgorithmError(
            f"The metric has the shape {list(shape)} and the type {np.asarray(metric).dtype}.",
            "It is a square matrix, or the diagonal of one, of real numbers: one row for each unknown.",
            "Points are multiplied by it.",
            "Use metric=pacopt.whitening(problem, split), for example.",
        )
    if not np.isfinite(metric).all():
        raise AlgorithmError(
            "The metric has entries that are not finite.", "All are numbers.", "All runs would end as NaN.", ""
        )
    if dimension is not None and dimension != len(metric):
        raise AlgorithmError(
            f"dimension is {dimension}, and the metric is for {len(metric)} unknowns.",
            "Both are for the same points.",
            "What is trained is multiplied by the metric.",
            f"Use dimension={len(metric)}, or leave it out if nothing is to be trained.",
        )
