"""Any algorithm from another start: a function of the instance that is learned, fitted or trained."""

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
    """Names of fields; one alone may be given as it is."""
    found = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if not found or not all(isinstance(name, str) for name in found) or len(set(found)) < len(found):
        raise AlgorithmError(
            f"reads is {given!r}.",
            "It has the name of at least one field of an instance, each once.",
            "The start is a function of these fields.",
            'Use reads=("b",), for example.',
        )
    return found


class WarmStart(AbstractAlgorithm, AbstractInitialHyper):
    """An algorithm that begins at x0 = start + W f, f the numbers in some fields of the instance, and a 1 after them.

    Where instances have something in common, one matrix and new right-hand sides say, solutions are about a linear
    function of the data: x0 is then so near that no method in the span of its gradients from the usual start gets
    there. It goes with every algorithm that draws nothing, and takes no gradients of its own.

    **What does not change** The start of the problem. Its loss is what ratios are to, and it is what the safeguard
    returns if the run ends above it, or at no finite number. So a start that is worse than no start is certified as
    what it is.

    **What it may read** Fields that the loss reads, which is found by tracing it, and no others: those that only
    `minimum` reads are not known in use. The certificate says which fields these are.

    **Fixed or trained** `WarmStart(algorithm, reads=("b",), weights=W)` has that W, one row for each unknown, and the
    hyperparameters of the algorithm; `fitted_start` fits W to solutions of prior instances. With a `dimension`, the
    number of unknowns, it is trained with `pacopt.priors.Train` beside those, as the hyperparameter `start`, in units
    of the root mean square of `weights`: from `weights` if they are given, else from zero, where `features` says how
    many numbers the fields have in all.

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
    #: One row for each unknown; a column for each number, and one for the constant.
    weights: Array | np.ndarray | None = eqx.field(converter=as_array, default=None)
    #: The number of unknowns, if the start is trained.
    dimension: int | None = eqx.field(static=True, default=None, kw_only=True)
    features: int | None = eqx.field(static=True, default=None, kw_only=True)

    def __check_init__(self) -> None:
        """Refuse weights and sizes that are none, and algorithms that draw random numbers."""
        refuse_unwrappable(self, self.algorithm, "The start is changed")
        checked_number(self, "dimension", self.dimension, 1)
        checked_number(self, "features", self.features, 1)
        if self.weights is None and (self.dimension is None or self.features is None):
            raise AlgorithmError(
                f"WarmStart was given no weights, dimension={self.dimension} and features={self.features}.",
                "It has weights that are known, or the sizes of those to be trained.",
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
        """Those of the algorithm, and `start` if it is trained."""
        return with_own(self, self.algorithm, self._own)

    def initial(self, seed: int) -> dict[str, Any]:
        """Where the algorithm starts, from `weights` or from the start of the problem."""
        found = initial_of(self.algorithm, seed)
        return found if self.dimension is None else {**found, "start": np.zeros(self._shape)}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The algorithm at the other start."""
        refuse_hidden(self.reads, type(self).__name__, objective.problem, x, objective.instance)
        flat, as_point = ravel_pytree(x)
        given, weights = numbers_in(self.reads, objective.instance, flat.dtype), self._weights(hyper)
        if weights.shape != (flat.size, given.size):
            raise AlgorithmError(
                f"A point of {type(objective.problem).__name__} has {flat.size} unknowns, the fields "
                f"{', '.join(self.reads)} have {given.size - 1} numbers, and the weights the shape "
                f"{list(weights.shape)}.",
                f"They have the shape [{flat.size}, {given.size}]: a column for each number, and one for the constant.",
                "",
                f"Fit them to the same problem, or use dimension={flat.size}, features={given.size - 1}.",
            )
        start = as_point(flat + (weights @ given).astype(flat.dtype))
        return self.algorithm.init(start, inner_hyper(self.algorithm, hyper), objective)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """One step of the algorithm."""
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
    """The numbers in these fields, one after the other, and a 1."""
    parts = [jnp.ravel(jnp.asarray(instance[name])) for name in reads]
    for name, part in zip(reads, parts, strict=True):
        if jnp.iscomplexobj(part):
            raise AlgorithmError(
                f"The field {name!r} has complex numbers.",
                "A start is computed from real ones.",
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
            "They are a matrix of real numbers: a row for each unknown, a column for each number that is read, and one "
            "for the constant.",
            "The start is their product with what is read.",
            "Use weights=pacopt.fitted_start(problem, split, reads=...).",
        )
    if not np.isfinite(weights).all():
        raise AlgorithmError(
            "The weights have entries that are not finite.",
            "All are numbers.",
            "No run would have a start.",
            "Fit them anew.",
        )
