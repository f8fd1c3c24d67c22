"""The smallest and the largest curvature of a problem, estimated where its runs start."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from pacopt.engines.precision import in_precision, precision
from pacopt.instances import Instances
from pacopt.problems.base import AbstractProblem, AbstractProximable

#: Up to this dimension the whole Hessian is formed; beyond it, Lanczos' method asks for products with it.
DENSE = 256
#: Instances looked at beyond that dimension.
FEW = 10


def estimated_curvature(
    problem: AbstractProblem, instances: Instances, dtype: np.dtype[Any]
) -> tuple[float, float] | None:
    """(mu, L) over the instances: extreme eigenvalues of the Hessian at the start; mu is at least 0.

    Exact for quadratics on these instances; an estimate otherwise. None where there is no positive, finite curvature,
    or none that can be computed: a loss may have no second derivative.
    """
    try:
        eigenvalues = _eigenvalues(problem, instances, dtype)
    except (TypeError, ValueError, NotImplementedError, ArpackError):  # what JAX, LAPACK and ARPACK raise
        return None
    if not eigenvalues.size or not np.isfinite(eigenvalues).all() or eigenvalues.max() <= 0:
        return None
    return max(0.0, float(eigenvalues.min())), float(eigenvalues.max())


def _eigenvalues(problem: AbstractProblem, instances: Instances, dtype: np.dtype[Any]) -> np.ndarray:
    fields = {name: in_precision(name, array, dtype) for name, array in instances.fields.items()}
    arrays, rest = eqx.partition(problem, eqx.is_array)
    with precision(dtype):
        first = {name: array[0] for name, array in fields.items()}
        size = ravel_pytree(jax.tree.map(jax.numpy.asarray, problem.start(first)))[0].size
        if size <= DENSE:
            return np.asarray(_spectra(rest, arrays, fields)).ravel()
        rows = [{name: array[row] for name, array in fields.items()} for row in range(min(FEW, len(instances)))]
        return np.concatenate([_extremes(rest, arrays, row, size, dtype) for row in rows])


def _gradient(rest: Any, arrays: Any, instance: Any) -> tuple[Any, jax.Array]:
    """The gradient as a function of a flat vector, and the start as such."""
    problem = eqx.combine(arrays, rest)
    loss = problem.smooth if isinstance(problem, AbstractProximable) else problem.loss
    flat, unravel = ravel_pytree(jax.tree.map(jax.numpy.asarray, problem.start(instance)))
    return jax.grad(lambda x: loss(unravel(x), instance)), flat


@partial(jax.jit, static_argnums=0)
def _spectra(rest: Any, arrays: Any, instances: Any) -> jax.Array:
    def spectrum(instance: Any) -> jax.Array:
        gradient, x = _gradient(rest, arrays, instance)
        eigenvalues: jax.Array = jax.numpy.linalg.eigvalsh(jax.jacrev(gradient)(x))
        return eigenvalues

    result: jax.Array = jax.lax.map(spectrum, instances)
    return result


@partial(jax.jit, static_argnums=0)
def _product(rest: Any, arrays: Any, instance: Any, direction: jax.Array) -> jax.Array:
    gradient, x = _gradient(rest, arrays, instance)
    product: jax.Array = jax.vjp(gradient, x)[1](direction)[0]  # the Hessian is symmetric
    return product


def _extremes(rest: Any, arrays: Any, instance: Any, size: int, dtype: np.dtype[Any]) -> np.ndarray:
    def product(direction: np.ndarray) -> np.ndarray:
        return np.asarray(_product(rest, arrays, instance, direction.ravel().astype(dtype)), dtype=np.float64)

    hessian = LinearOperator((size, size), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(size)
    found = []
    for end in ("LA", "SA"):
        try:
            found.append(eigsh(hessian, k=1, which=end, tol=1e-3, v0=start, return_eigenvectors=False))
        except ArpackNoConvergence:
            # Only the small end converges slowly, and then it is small beside the large one.
            found.append(np.zeros(1))
    return np.concatenate(found)
