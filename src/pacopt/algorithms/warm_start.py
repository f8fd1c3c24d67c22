"""Any algorithm from another start: a learned function of the instance, either fitted or trained."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, AbstractInitialHyper, Hyper, State, initial_of
from pacopt.algorithms.wrapping import as_array, checked_number, inner_hyper, refuse_unwrappable, with_own
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Instance, Objective, Point
from pacopt.problems.reading import refuse_hidden
from pacopt.space import Array as ArraySpace


def names(given: Any) -> tuple[str, ...]:
    """Names of fields as a tuple; a single name may be given as a string."""
    found = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if not found or not all(isinstance(name, str) for name in found) or len(set(found)) < len(found):
        raise AlgorithmError(
            f"reads is {given!r}.",
            "It must name at least one field of an instance, and each field only once.",
            "The start is a function of these fields.",
            'Use reads=("b",), for example.',
        )
    return found


class WarmStart(AbstractAlgorithm, AbstractInitialHyper):
    """An algorithm that begins at x0 = start + W f, where f holds the numbers in some fields of the instance, then a 1.

    When instances have something in common, such as one matrix with new right-hand sides, solutions are roughly a
    linear function of the data. Then x0 is closer than any method gets from the usual start by combining its gradients.
    It works with every algorithm that draws no random numbers, and takes no extra gradients.

    **What does not change** The start of the problem. Ratios are still to its loss, and the safeguard still returns it
    if the run ends above it or at a loss that is not finite. So a warm start that is worse than none is certified as
    such.

    **What it may read** Only fields that the loss reads, which tracing the loss reveals: fields that only `minimum`
    reads are unknown in use. The certificate says which fields are read.

    **Fixed or trained** `WarmStart(algorithm, reads=("b",), weights=W)` uses that W, with one row per unknown, and has
    the hyperparameters of the algorithm; `fitted_start` fits W to solutions of prior instances. With a `dimension`, the
    number of unknowns, W is trained with `pacopt.priors.Train` alongside those, as the hyperparameter `start`, in units
    of the root mean square of `weights`. Training begins from `weights` if given, else from zero; then `features` is
    the total number of numbers in the fields.

    >>> from pacopt import ConjugateGradients, FixedCurvature, fitted_start, split, tabulate
    >>> law = FixedCurvature.draw(seed=0, n=5)
    >>> parts = split(law.sample(60, seed=1), prior=40, train=10, test=10, seed=0)
    >>> W = fitted_start(law.problem, parts, reads=("b",))
    >>> warm = WarmStart(ConjugateGradients(), reads=("b",), weights=W)
    >>> table = tabulate(law.problem, warm, {}, parts.test, steps=1)
    >>> bool(table.ratios().max() < 1e-20)
    True
    """

    algorithm: AbstractAlgorithm
    reads: tuple[str, ...] = eqx.field(static=True, converter=names)
    #: One row per unknown, one column per number that is read, and one for the constant.
    weights: Array | np.ndarray | None = eqx.field(converter=as_array, default=None)
    #: The number of unknowns, if the start is trained.
    dimension: int | None = eqx.field(static=True, default=None, kw_only=True)
    features: int | None = eqx.field(static=True, default=None, kw_only=True)

    def __check_init__(self) -> None:
        """Refuse invalid weights and sizes, and algorithms that draw random numbers."""
        refuse_unwrappable(self, self.algorithm, "The start is changed")
        checked_number(self, "dimension", self.dimension, 1)
        checked_number(self, "features", self.features, 1)
        if self.weights is None and (self.dimension is None or self.features is None):
            raise AlgorithmError(
                f"WarmStart was given no weights, dimension={self.dimension} and features={self.features}.",
                "It needs either known weights or the sizes of weights to be trained.",
                "",
                "Use weights=pacopt.fitted_start(problem, split, reads=...), or dimension=50, features=50.",
            )
        if self.weights is not None:
            _check_weights(self.weights, self.dimension, self.features)
        with_own(self, self.algorithm, self._own)

    @property
    def _shape(self) -> tuple[int, ...]:
        return np.shape(self.weights) if self.weights is not None else (self.dimension or 0, (self.features or 0) + 1)

    @property
    def _own(self) -> dict[str, ArraySpace]:
        return {} if self.dimension is None else {"start": ArraySpace(self._shape, -1.0, 1.0)}

    @property
    def hyperparameters(self) -> Any:
        """The hyperparameters of the algorithm, and `start` if it is trained."""
        return with_own(self, self.algorithm, self._own)

    def initial(self, seed: int) -> dict[str, Any]:
        """Where the algorithm starts training, with zero added to `weights` or to the start of the problem."""
        found = initial_of(self.algorithm, seed)
        return found if self.dimension is None else {**found, "start": np.zeros(self._shape)}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The algorithm at the warm start."""
        refuse_hidden(self.reads, type(self).__name__, objective.problem, x, objective.instance)
        flat, as_point = ravel_pytree(x)
        given, weights = numbers_in(self.reads, objective.instance, flat.dtype), self._weights(hyper)
        if weights.shape != (flat.size, given.size):
            raise AlgorithmError(
                f"A point of {type(objective.problem).__name__} has {flat.size} unknowns, the fields "
                f"{', '.join(self.reads)} have {given.size - 1} numbers, and the weights have the shape "
                f"{list(weights.shape)}.",
                f"The weights must have the shape [{flat.size}, {given.size}]: one column per number, and one for the "
                "constant.",
                "",
                f"Fit them to the same problem, or use dimension={flat.size}, features={given.size - 1}.",
            )
        start = as_point(flat + (weights @ given).astype(flat.dtype))
        return self.algorithm.init(start, inner_hyper(self.algorithm, hyper), objective)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after one step of the algorithm."""
        return self.algorithm.step(state, inner_hyper(self.algorithm, hyper), objective)

    def read(self, state: State) -> Point:
        """The current point of the algorithm."""
        return self.algorithm.read(state)

    def _weights(self, hyper: Hyper) -> Float[Array, "n features"]:
        if self.weights is None:
            return jnp.asarray(hyper["start"])
        known = jnp.asarray(self.weights)
        if self.dimension is None:
            return known
        unit = jnp.sqrt(jnp.mean(known**2))
        return known + jnp.where(unit > 0, unit, 1.0) * jnp.asarray(hyper["start"])


def numbers_in(reads: tuple[str, ...], instance: Instance, dtype: Any) -> Float[Array, " features"]:
    """The numbers in these fields, one after another, then a 1."""
    parts = [jnp.ravel(jnp.asarray(instance[name])) for name in reads]
    for name, part in zip(reads, parts, strict=True):
        if jnp.iscomplexobj(part):
            raise AlgorithmError(
                f"The field {name!r} has complex numbers.",
                "A start is computed from real numbers.",
                "",
                "Store real and imaginary parts as two fields.",
            )
    return jnp.concatenate([*(part.astype(dtype) for part in parts), jnp.ones(1, dtype)])


def _check_weights(weights: Any, dimension: int | None, features: int | None) -> None:
    shape, kind = np.shape(weights), np.asarray(weights).dtype
    wanted = (
        dimension or (shape or (0,))[0],
        shape[1] if features is None and len(shape) == 2 else (features or 0) + 1,
    )
    if len(shape) != 2 or min(shape) < 1 or shape[1] < 2 or kind.kind != "f" or shape != wanted:
        sizes = "" if dimension is None and features is None else f", with dimension={dimension}, features={features}"
        raise AlgorithmError(
            f"The weights have the shape {list(shape)} and the type {kind}{sizes}.",
            "They must be a matrix of real numbers: one row per unknown, one column per number that is read, and one "
            "for the constant.",
            "The start is computed by multiplying them with what is read.",
            "Use weights=pacopt.fitted_start(problem, split, reads=...).",
        )
    if not np.isfinite(weights).all():
        raise AlgorithmError(
            "The weights have entries that are not finite.",
            "All must be finite.",
            "No run would have a valid start.",
            "Fit them again.",
        )
