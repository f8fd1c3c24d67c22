"""Starts fitted to the prior split: a linear function of the instance that comes close to its solution."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from pacopt.algorithms.lbfgs import LBFGS
from pacopt.algorithms.warm_start import names, numbers_in
from pacopt.engines.traced.precision import in_precision, precision
from pacopt.engines.traced.preconditioners import check_estimate
from pacopt.engines.traced.static import as_run, divided, united
from pacopt.errors import AlgorithmError
from pacopt.problems.base import AbstractProblem, AbstractProximable, Objective
from pacopt.problems.reading import refuse_hidden
from pacopt.splits import Split

#: The most instances of the prior split that are used.
ENOUGH = 2000
#: The most steps of Newton's method after those of L-BFGS, and the fractions of a step that are tried.
NEWTON, PARTS = 30, (1.0, 0.5, 0.1, 0.01)
#: Curvatures below this fraction of the largest are raised to it; losses that differ by less than this are equal.
FLAT, EQUAL, TINY = 1e-14, 1e-13, 1e-300
#: Penalties to try, in units of the mean square of a number that is read; every fourth instance decides.
PENALTIES = (1e-14, 1e-10, 1e-7, *np.geomspace(1e-5, 10.0, 13).tolist())
HELD_OUT = 4
#: The fewest instances to fit to.
LEAST = 8


def fitted_start(
    problem: AbstractProblem, split: Split, *, reads: tuple[str, ...] | str, steps: int = 100
) -> Float[np.ndarray, "n features"]:
    """Weights for `WarmStart`: a ridge regression of the solutions of prior instances on the fields that are read.

    A solution is where `steps` steps of L-BFGS and up to 30 of Newton's method lead from the start, in float64; for a
    loss with several valleys, the one that they lead to. The penalty is the one with the smallest mean ratio of loss
    above the solution on a quarter of the prior instances, which are held out from the fit. Only the `prior` part of
    the split is used, and at most 2000 instances of it. Newton's method takes n products with the Hessian and n^3
    operations for each step.
    """
    reads = names(reads)
    _check(problem, split, steps)
    dtype = np.dtype(np.float64)
    fields = {name: in_precision(name, array, dtype) for name, array in split.prior[:ENOUGH].fields.items()}
    arrays, rest = divided(problem)
    with precision(dtype):
        first = {name: jnp.asarray(array[0]) for name, array in fields.items()}
        run = as_run(problem)
        refuse_hidden(reads, "fitted_start", run, jax.tree.map(jnp.asarray, run.start(first)), first)
        starts, ends, given = (np.asarray(each) for each in _solved((rest, steps, reads), arrays, fields))
        fine = np.isfinite(ends).all(axis=1) & np.isfinite(given).all(axis=1)
        if fine.sum() < LEAST:
            raise AlgorithmError(
                f"{fine.sum()} of {len(fine)} prior instances have a solution and numbers that are finite.",
                f"At least {LEAST} are needed.",
                "The start is fitted to these.",
                "Use pacopt.split(..., prior=200), or fewer steps if runs diverge.",
            )
        chosen = np.flatnonzero(fine)
        held = chosen[::HELD_OUT]
        kept = np.setdiff1d(chosen, held)
        moves = ends - starts
        tried = np.stack([_ridge(given[kept], moves[kept], penalty) for penalty in PENALTIES])
        few = {name: array[held] for name, array in fields.items()}
        found = np.asarray(_ratios(rest, arrays, few, starts[held], ends[held], given[held] @ tried.transpose(0, 2, 1)))
    best = int(np.argmin(found.mean(axis=1)))
    return _ridge(given[chosen], moves[chosen], PENALTIES[best])


def _check(problem: AbstractProblem, split: Split, steps: int) -> None:
    check_estimate("A start is fitted to", split, steps)
    if isinstance(problem, AbstractProximable):
        raise AlgorithmError(
            f"{type(problem).__name__} has a part with a proximal map.",
            "Solutions are found by methods that use derivatives only.",
            "",
            "Train the start: pacopt.WarmStart(algorithm, reads=..., dimension=..., features=...).",
        )


def _ridge(given: np.ndarray, wanted: np.ndarray, penalty: float) -> np.ndarray:
    """The weights with the smallest mean square plus penalty; the constant, the last column, is not penalised."""
    numbers = given[:, :-1]
    centre, target = numbers.mean(axis=0), wanted.mean(axis=0)
    spread = numbers.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    left, values, right = np.linalg.svd((numbers - centre) / scale, full_matrices=False)
    # Directions in which the instances do not vary are not used, whatever the penalty.
    known = values > FLAT * values[0] * max(given.shape)
    factors = np.where(known, values, 0.0) / np.maximum(values**2 + penalty * len(given), np.finfo(float).tiny)
    weights = ((right.T * factors) @ (left.T @ (wanted - target))).T / scale
    return np.column_stack([weights, target - weights @ centre])


@partial(jax.jit, static_argnums=0)
def _solved(static: Any, arrays: Any, instances: Any) -> tuple[Array, Array, Array]:
    """Starts, solutions and what is read, as rows."""
    rest, steps, reads = static
    problem: AbstractProblem = united(arrays, rest)
    algorithm = LBFGS()

    def one(instance: Any) -> tuple[Array, Array, Array]:
        objective, start = Objective(problem, instance), jax.tree.map(jnp.asarray, problem.start(instance))
        state = algorithm.init(start, {}, objective)
        state, _ = jax.lax.scan(lambda state, _: (algorithm.step(state, {}, objective), None), state, length=steps)
        flat, as_point = ravel_pytree(start)
        end = _newton(lambda x: problem.loss(as_point(x), instance), ravel_pytree(algorithm.read(state))[0])
        return flat, end, numbers_in(reads, instance, flat.dtype)

    found: tuple[Array, Array, Array] = jax.lax.map(one, instances)
    return found


def _newton(loss: Any, x: Array) -> Array:
    """Newton's method with absolute curvatures, until neither the loss nor the gradient gets smaller."""
    gradient, parts = jax.grad(loss), jnp.asarray(PARTS)

    def on(carry: tuple[Array, Array, Array]) -> Array:
        return carry[1] & (carry[2] < NEWTON)

    def go(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, _, count = carry
        here, slope = loss(x), gradient(x)
        hessian = jax.hessian(loss)(x)
        values, vectors = jnp.linalg.eigh(0.5 * (hessian + hessian.T))
        sizes = jnp.abs(values)
        sizes = jnp.maximum(sizes, jnp.maximum(FLAT * sizes.max(), TINY))
        step = vectors @ (vectors.T @ slope / sizes)
        ends = jax.vmap(lambda part: x - part * step)(parts)
        losses = jax.vmap(loss)(ends)
        best = jnp.argmin(jnp.where(jnp.isfinite(losses), losses, jnp.inf))
        slack = EQUAL * jnp.abs(here)
        lower, flatter = losses[best] < here - slack, jnp.sum(gradient(ends[best]) ** 2) < 0.5 * jnp.sum(slope**2)
        better = lower | ((losses[best] <= here + slack) & flatter)
        return jnp.where(better, ends[best], x), better, count + 1

    end: Array = jax.lax.while_loop(on, go, (x, jnp.asarray(True), jnp.asarray(0)))[0]
    return end


@partial(jax.jit, static_argnums=0)
def _ratios(rest: Any, arrays: Any, instances: Any, starts: Any, ends: Any, moves: Any) -> Array:
    """Losses above the solution relative to the start, [penalty, instance], with the safeguard."""
    problem: AbstractProblem = united(arrays, rest)

    def one(instance: Any, start: Array, end: Array, moves: Array) -> Array:
        as_point = ravel_pytree(problem.start(instance))[1]
        lowest, first = problem.loss(as_point(end), instance), problem.loss(as_point(start), instance)
        losses = jax.vmap(lambda move: problem.loss(as_point(start + move), instance))(moves)
        ratios = (losses - lowest) / jnp.where(first > lowest, first - lowest, 1.0)
        return jnp.where(jnp.isfinite(ratios), jnp.clip(ratios, 0.0, 1.0), 1.0)

    found: Array = jax.vmap(one, in_axes=(0, 0, 0, 1), out_axes=1)(instances, starts, ends, moves)
    return found
