"""Any algorithm in other coordinates: a learned metric, either estimated from the prior split or trained."""

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

#: Where to search for good entries: scale factors from 1 / FACTOR to FACTOR, others from -ENTRY to ENTRY.
FACTOR, ENTRY = 100.0, 1.0


class Place(NamedTuple):
    """The start, the state of the algorithm, which runs from 0 in the other coordinates, and the point if M is trained.

    `read` gets the state but no hyperparameters, so the point is stored whenever M depends on them.
    """

    origin: Point
    inner: State
    point: Point | None


class Moved(AbstractProblem):
    """A problem in coordinates z, x = origin + M C z, which start at 0."""

    problem: AbstractProblem
    metric: Float[Array, "..."] | None
    trained: Mapping[str, Float[Array, "..."]]
    origin: Point

    def start(self, instance: Instance) -> Point:
        """Zero."""
        return jnp.zeros_like(ravel_pytree(self.origin)[0])

    def loss(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """The loss at the point that z represents."""
        return self.problem.loss(moved(self.origin, self.metric, corrected(self.trained, x)), instance)


class Preconditioned(AbstractAlgorithm, AbstractInitialHyper):
    """An algorithm that runs in coordinates z, x = start + M z, from z = 0: M is a matrix, or the diagonal of one.

    **Theory** In these coordinates the gradient is M' gradient(x) and the Hessian M' H M, so a method whose rate
    depends on the condition number of H depends on that of M' H M instead. A gradient step in z is a step along -M M'
    gradient(x): the metric is (M M')^-1. With M M' = H^-1 the condition number is 1, and gradient descent is Newton's
    method. `whitening`, `diagonal_scaling` and `layer_scaling` estimate M from the prior split.

    It works with every algorithm that uses gradients and draws no random numbers, including baselines; the number of
    gradients per step stays the same. A rotation-invariant method behaves the same for every M with the same M M'. A
    point that is a pytree is flattened leaf by leaf, as `jax.flatten_util` does.

    **Fixed or trained** `Preconditioned(algorithm, metric)` uses that metric, and has the hyperparameters of the
    algorithm. With a `dimension`, the number of unknowns, M is `metric` times a matrix C (or C alone, without a
    `metric`), which is trained with `pacopt.priors.Train`. The entries of C become hyperparameters alongside those of
    the algorithm, and C starts as the identity:

    | `rank` | C | hyperparameters |
    |---|---|---|
    | none | a full matrix | `matrix` |
    | 0 | a diagonal | `scale` |
    | r | a diagonal plus a matrix of rank r | `scale`, `left`, `right` |

    >>> from pacopt import DiagonalQuadratic, GradientDescent, Instances, tabulate
    >>> instances = Instances({"diagonal": np.array([[1.0, 50.0]]), "b": np.ones((1, 2))})
    >>> newton = Preconditioned(GradientDescent(), np.array([1.0, 1 / 50]))
    >>> table = tabulate(DiagonalQuadratic(), newton, {"step_size": [1.0]}, instances, steps=1)
    >>> bool(table.losses[0, 0] < 1e-30)
    True
    >>> sorted(Preconditioned(GradientDescent(), dimension=50, rank=3).hyperparameters)
    ['left', 'right', 'scale', 'step_size']
    """

    algorithm: AbstractAlgorithm
    #: A square matrix, or the diagonal of one.
    metric: Array | np.ndarray | None = eqx.field(converter=as_array, default=None)
    #: The number of unknowns, if the metric is trained.
    dimension: int | None = eqx.field(static=True, default=None, kw_only=True)
    #: The rank of the matrix trained in addition to a diagonal; None to train a full matrix.
    rank: int | None = eqx.field(static=True, default=None, kw_only=True)

    def __check_init__(self) -> None:
        """Refuse invalid metrics and sizes, and algorithms that draw random numbers."""
        refuse_unwrappable(self, self.algorithm, "The coordinates are changed")
        checked_number(self, "dimension", self.dimension, 1)
        checked_number(self, "rank", self.rank, 0)
        if self.metric is None and self.dimension is None:
            raise AlgorithmError(
                "Preconditioned was given neither a metric nor a dimension.",
                "It needs either a known metric or a dimension for one to be trained.",
                "",
                "Use metric=pacopt.whitening(problem, split), or dimension=50 to train one for 50 unknowns.",
            )
        if self.rank is not None and (self.dimension is None or self.rank >= self.dimension):
            raise AlgorithmError(
                f"rank is {self.rank}, and dimension is {self.dimension}.",
                "Only a trained metric has a rank, and it must be below the number of unknowns.",
                "",
                "Pass the dimension too, or leave out the rank for a full matrix.",
            )
        if self.metric is not None:
            _check_metric(self.metric, self.dimension)
        with_own(self, self.algorithm, self._own)

    @property
    def _own(self) -> dict[str, ArraySpace]:
        """The spaces of the trained part of the metric."""
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
        """The hyperparameters of the algorithm, and the entries of C if it is trained."""
        return with_own(self, self.algorithm, self._own)

    def initial(self, seed: int) -> dict[str, Any]:
        """Where the algorithm starts training, with C the identity.

        `left` is random: if both factors were zero, so would be the derivatives with respect to them.
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
                "A preconditioned algorithm uses only gradients.",
                "In other coordinates the proximal map is a different one, which is not known.",
                "Use the algorithm without Preconditioned.",
            )
        known = self.dimension if self.metric is None else len(self.metric)
        if size != known:
            raise AlgorithmError(
                f"A point of {type(problem).__name__} has {size} unknowns, but the metric is for {known}.",
                "The metric needs one row for each unknown.",
                "",
                f"Learn it from the same problem: pacopt.whitening(problem, split), or dimension={size}.",
            )
        inner = self._seen(x, hyper, objective)
        state = self.algorithm.init(inner.problem.start(inner.instance), inner_hyper(self.algorithm, hyper), inner)
        return Place(x, state, self._point(x, state, hyper))

    def step(self, state: Place, hyper: Hyper, objective: Objective) -> Place:
        """The state after one step of the algorithm."""
        seen = self._seen(state.origin, hyper, objective)
        inner = self.algorithm.step(state.inner, inner_hyper(self.algorithm, hyper), seen)
        return Place(state.origin, inner, self._point(state.origin, inner, hyper))

    def read(self, state: Place) -> Point:
        """The point that z represents."""
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
        """The objective in the coordinates z."""
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
            "It must be a square matrix of real numbers, or the diagonal of one, with one row for each unknown.",
            "Points are multiplied by it.",
            "Use metric=pacopt.whitening(problem, split), for example.",
        )
    if not np.isfinite(metric).all():
        raise AlgorithmError(
            "The metric has entries that are not finite.", "All must be finite.", "All runs would end in NaN.", ""
        )
    if dimension is not None and dimension != len(metric):
        raise AlgorithmError(
            f"dimension is {dimension}, but the metric is for {len(metric)} unknowns.",
            "The two must agree.",
            "The trained matrix is multiplied by the metric.",
            f"Use dimension={len(metric)}, or leave it out if nothing is to be trained.",
        )
