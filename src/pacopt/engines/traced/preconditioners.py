"""Metrics that are learned from the prior split: mean curvatures where descent leads."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from pacopt.algorithms.lbfgs import LBFGS
from pacopt.engines.traced.precision import in_precision, precision
from pacopt.engines.traced.static import as_run, divided, united
from pacopt.errors import AlgorithmError
from pacopt.instances import Instances
from pacopt.problems.base import AbstractProblem, AbstractProximable, Objective
from pacopt.splits import Split
from pacopt.support.numbers import is_whole

#: The most instances of the prior split that are used.
ENOUGH = 500
#: Curvatures below this fraction of the largest are raised to it.
FLAT = 1e-8


def whitening(problem: AbstractProblem, split: Split, *, steps: int = 100) -> Float[np.ndarray, "n n"]:
    """H^-1/2, where H is the mean Hessian over prior instances after `steps` steps of L-BFGS: for `Preconditioned`.

    Each Hessian is divided by its trace, so that the units of the loss do not decide which instances count, and the
    result is in the units of the mean trace. Negative eigenvalues of the mean are replaced by their absolute values.
    Only the `prior` part of the split is used, and at most 500 instances of it; a matrix of n^2 numbers is kept, and n
    products with Hessians are made for each instance.

    >>> from pacopt import VaryingCurvature, split
    >>> law = VaryingCurvature.draw(seed=0, n=5)
    >>> parts = split(law.sample(40, seed=1), prior=20, train=10, test=10, seed=0)
    >>> whitening(law.problem, parts).shape
    (5, 5)
    """
    values, vectors = np.linalg.eigh(_mean_hessian(problem, split, steps))
    return np.asarray((vectors * _roots(values)) @ vectors.T)


def diagonal_scaling(problem: AbstractProblem, split: Split, *, steps: int = 100) -> Float[np.ndarray, " n"]:
    """The roots of 1 / H_ii, H the mean Hessian as in `whitening`: Jacobi's scaling, for `Preconditioned`."""
    return _roots(np.diag(_mean_hessian(problem, split, steps)))


def layer_scaling(problem: AbstractProblem, split: Split, *, steps: int = 100) -> Float[np.ndarray, " n"]:
    """One number for each array of a point: the root of 1 / the mean of |H_ii| over its entries, H as in `whitening`.

    For points that are pytrees whose parts differ in scale, such as the layers of a network.
    """
    curvatures = np.abs(np.diag(_mean_hessian(problem, split, steps)))
    first = {name: array[0] for name, array in split.prior.fields.items()}
    sizes = [np.size(leaf) for leaf in jax.tree.leaves(as_run(problem).start(first))]
    parts = np.split(curvatures, np.cumsum(sizes)[:-1])
    return _roots(np.repeat([part.mean() for part in parts], sizes))


def check_estimate(what: str, split: Split, steps: int) -> None:
    """Refuse to estimate from anything but the prior part of a split, and an invalid number of steps."""
    if not isinstance(split, Split):
        raise AlgorithmError(
            f"A {type(split).__name__} was given.",
            f"{what} the prior part of a Split.",
            "If it used training instances, candidates would depend on them, and the certificate would be void.",
            "Pass what pacopt.split returned.",
        )
    if not is_whole(steps, 0):
        raise AlgorithmError(
            f"steps is {steps!r}.", "It must be a whole number, at least 0.", "", "Leave it out to use 100."
        )


def _roots(curvatures: np.ndarray) -> np.ndarray:
    sizes = np.abs(curvatures)
    return np.asarray(1.0 / np.sqrt(np.maximum(sizes, FLAT * sizes.max())))


def _mean_hessian(problem: AbstractProblem, split: Split, steps: int) -> np.ndarray:
    """The mean Hessian in float64, over prior instances only."""
    check_estimate("A metric is learned from", split, steps)
    if isinstance(problem, AbstractProximable):
        raise AlgorithmError(
            f"{type(problem).__name__} has a part with a proximal map.",
            "A metric works only with algorithms that use nothing but gradients.",
            "In other coordinates the proximal map is a different one, which is not known.",
            "",
        )
    dtype = np.dtype(np.float64)
    prior: Instances = split.prior[:ENOUGH]
    fields = {name: in_precision(name, array, dtype) for name, array in prior.fields.items()}
    arrays, rest = divided(problem)
    with precision(dtype):
        found = np.asarray(_hessians(rest, steps, arrays, fields))
    traces = np.trace(found, axis1=1, axis2=2)
    sizes = np.abs(np.linalg.eigvalsh(found)).sum(axis=1)
    fine = np.isfinite(traces) & (sizes > 0)
    if not fine.any():
        raise AlgorithmError(
            f"None of the {len(found)} prior instances has a Hessian that is finite and nonzero.",
            f"Curvature is measured after {steps} steps of L-BFGS.",
            "The metric is computed from it.",
            "Use fewer steps, or steps=0 for the curvature at the start; a loss needs second derivatives to have any.",
        )
    mean = np.mean(found[fine] / sizes[fine, None, None], axis=0) * np.mean(sizes[fine])
    return np.asarray(0.5 * (mean + mean.T))


@partial(jax.jit, static_argnums=(0, 1))
def _hessians(rest: Any, steps: int, arrays: Any, instances: Any) -> jax.Array:
    problem: AbstractProblem = united(arrays, rest)
    algorithm = LBFGS()

    def hessian(instance: Any) -> jax.Array:
        objective = Objective(problem, instance)
        state = algorithm.init(jax.tree.map(jnp.asarray, problem.start(instance)), {}, objective)
        state, _ = jax.lax.scan(lambda state, _: (algorithm.step(state, {}, objective), None), state, length=steps)
        x, as_point = ravel_pytree(algorithm.read(state))
        gradient = jax.grad(lambda x: problem.loss(as_point(x), instance))
        columns: jax.Array = jax.lax.map(lambda along: jax.jvp(gradient, (x,), (along,))[1], jnp.eye(x.size))
        return columns

    found: jax.Array = jax.lax.map(hessian, instances, batch_size=8)
    return found
