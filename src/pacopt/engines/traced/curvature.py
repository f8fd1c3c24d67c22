"""The smallest and the largest curvature of a problem, estimated where its runs start and where descent leads."""

from functools import partial
from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from pacopt.engines.traced.precision import in_precision, precision
from pacopt.engines.traced.static import as_run, divided, united
from pacopt.instances import Instances
from pacopt.problems.base import AbstractProblem, AbstractProximable

#: Up to this dimension the whole Hessian is formed; beyond it, Lanczos' method uses products with it.
DENSE = 256
#: How many instances are used beyond that dimension.
FEW = 10
#: Steps of gradient descent between the two points at which curvatures are measured.
WALK = 100


def estimated_curvature(
    problem: AbstractProblem, instances: Instances, dtype: np.dtype[Any]
) -> tuple[float, float] | None:
    """(mu, L) over the instances: extreme eigenvalues of the Hessian at the start and after descent; mu is at least 0.

    Exact for quadratics on these instances; an estimate otherwise: the two points may not be the extreme ones. None
    where there is no positive, finite curvature, or none that can be computed: a loss may have no second derivative.
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
    arrays, rest = divided(problem)
    with precision(dtype):
        first = {name: array[0] for name, array in fields.items()}
        size = ravel_pytree(jax.tree.map(jax.numpy.asarray, as_run(problem).start(first)))[0].size
        if size <= DENSE:
            return np.asarray(_spectra(rest, arrays, fields)).ravel()
        rows = [{name: array[row] for name, array in fields.items()} for row in range(min(FEW, len(instances)))]
        return np.concatenate([_extremes(rest, arrays, row, size, dtype) for row in rows])


def _loss(rest: Any, arrays: Any, instance: Any) -> tuple[Any, jax.Array]:
    """The loss, or its smooth part, as a function of a flat vector, and the start as a flat vector."""
    problem = united(arrays, rest)
    loss = problem.smooth if isinstance(problem, AbstractProximable) else problem.loss
    start, unravel = ravel_pytree(jax.tree.map(jax.numpy.asarray, problem.start(instance)))
    return lambda x: loss(unravel(x), instance), start


def _walk(rest: Any, arrays: Any, instance: Any) -> tuple[Any, jax.Array]:
    """The gradient as a function of a flat vector, and two such points: the start, and where descent leads."""
    loss, start = _loss(rest, arrays, instance)
    value = jax.value_and_grad(loss)

    def step(carry: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, jax.Array], None]:
        # A step that does not decrease the loss as much as a curvature of L promises is taken back, and L doubled.
        x, L = carry
        before, slope = value(x)
        after = value(x - slope / L)[0]
        descended = after <= before - jax.numpy.sum(slope**2) / (2 * L)
        return (jax.numpy.where(descended, x - slope / L, x), jax.numpy.where(descended, 0.9 * L, 2 * L)), None

    slope, bent = jax.jvp(lambda x: value(x)[1], (start,), (value(start)[1],))
    size = jax.numpy.linalg.norm(slope)
    first = jax.numpy.where(size > 0, jax.numpy.linalg.norm(bent) / size, 1.0)
    (end, _), _ = jax.lax.scan(step, (start, jax.numpy.where(first > 0, first, 1.0)), None, length=WALK)
    return lambda x: value(x)[1], jax.numpy.stack([start, end])


@partial(jax.jit, static_argnums=0)
def _spectra(rest: Any, arrays: Any, instances: Any) -> jax.Array:
    def spectra(instance: Any) -> jax.Array:
        gradient, points = _walk(rest, arrays, instance)
        eigenvalues: jax.Array = jax.vmap(lambda x: jax.numpy.linalg.eigvalsh(jax.jacrev(gradient)(x)))(points)
        return eigenvalues

    result: jax.Array = jax.lax.map(spectra, instances)
    return result


@partial(jax.jit, static_argnums=0)
def _points(rest: Any, arrays: Any, instance: Any) -> jax.Array:
    return _walk(rest, arrays, instance)[1]


@partial(jax.jit, static_argnums=0)
def _product(rest: Any, arrays: Any, instance: Any, x: jax.Array, direction: jax.Array) -> jax.Array:
    gradient = jax.grad(_loss(rest, arrays, instance)[0])
    product: jax.Array = jax.vjp(gradient, x)[1](direction)[0]  # the Hessian is symmetric
    return product


def _extremes(rest: Any, arrays: Any, instance: Any, size: int, dtype: np.dtype[Any]) -> np.ndarray:
    start, found = np.random.default_rng(0).standard_normal(size), []
    for x in _points(rest, arrays, instance):

        def product(direction: np.ndarray, x: jax.Array = x) -> np.ndarray:
            along = direction.ravel().astype(dtype)
            return np.asarray(_product(rest, arrays, instance, x, along), dtype=np.float64)

        hessian = LinearOperator((size, size), matvec=product, dtype=np.float64)
        for end in ("LA", "SA"):
            try:
                found.append(eigsh(hessian, k=1, which=end, tol=1e-3, v0=start, return_eigenvectors=False))
            except ArpackNoConvergence:
                # Only the small end converges slowly, and then it is small compared with the large one.
                found.append(np.zeros(1))
    return np.concatenate(found)
