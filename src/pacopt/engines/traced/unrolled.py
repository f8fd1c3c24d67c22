"""A run as a function that is differentiable with respect to hyperparameters, in bounded memory."""

from math import ceil, sqrt
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from pacopt.algorithms.base import State, prepared
from pacopt.engines.traced.cell import Cell, Seed, Values
from pacopt.engines.traced.metrics import metric_of
from pacopt.problems.base import Instance, Objective

#: Ratios below this are raised to it: at the minimum, the slope of a logarithm is no help.
LEAST = 1e-30


def final_ratio(
    cell: Cell, values: Values, instance: Instance, seed: Seed, steps: Int[Array, ""], *, sparing: bool
) -> Float[Array, ""]:
    """The loss after `steps` steps, at most those of the cell, relative to the start; a ranged metric to its range.

    For runs that stop at a goal it is the fraction of steps at which the goal is not yet met, softened so that it has
    a slope: the mean of l / (l + level) over the steps, where l is the loss after each.

    If `sparing`, states are kept at the ends of segments of about sqrt(steps) steps and recomputed in between on the
    backward pass: memory grows like sqrt(steps), and time by one run.
    """
    objective, algorithm = Objective(cell.problem, instance), cell.algorithm
    hyper = prepared(algorithm, cell.hyper(values), objective)
    start, metric = cell.start_point(instance), metric_of(cell.problem)
    raw, above = cell.start_loss(instance)
    root = jax.random.wrap_key_data(seed) if cell.random else None

    def keys(number: Any) -> tuple[Any, ...]:
        return () if root is None else (jax.random.fold_in(root, number),)

    def step(state: State, number: Int[Array, ""]) -> tuple[State, Float[Array, ""] | None]:
        # The number of steps is the same for all instances, so this stays a branch and one compilation is enough.
        moved = jax.lax.cond(
            number <= steps, lambda: algorithm.step(state, hyper, objective, *keys(number)), lambda: state
        )
        if level is None:
            return moved, None
        loss = cell.above_minimum(cell.judged(algorithm.read(moved), instance), raw, instance)[0]
        return moved, jnp.where(number <= steps, loss / (loss + level), 0.0)

    def segment(state: State, numbers: Int[Array, " step"]) -> tuple[State, Float[Array, " step"] | None]:
        return jax.lax.scan(step, state, numbers)

    level = None if cell.goal is None else cell.levels(raw, instance)[cell.recorded.index(cell.goal)]
    state = jax.tree.map(jnp.asarray, algorithm.init(start, hyper, objective, *keys(0)))
    if sparing:
        size = ceil(sqrt(cell.steps))
        numbers = 1 + jnp.arange(size * ceil(cell.steps / size)).reshape(-1, size)
        state, unmet = jax.lax.scan(jax.checkpoint(segment), state, numbers)
    else:
        state, unmet = segment(state, 1 + jnp.arange(cell.steps))
    if unmet is not None:
        return jnp.sum(unmet) / jnp.minimum(steps, cell.steps)
    final = cell.above_minimum(cell.judged(algorithm.read(state), instance), raw, instance)[0]
    scale = above if metric is None or metric.largest is None else jnp.asarray(metric.largest, final.dtype)
    return jnp.where(scale > 0, final / jnp.where(scale > 0, scale, 1.0), 0.0)


def descended(ratios: Float[Array, " instance"], logs: float) -> Float[Array, ""]:
    """What training minimises: the mean ratio, with 1 + log above 1, plus `logs` times the mean logarithm."""
    log = jnp.log(jnp.maximum(ratios, LEAST))
    mild = jnp.where(ratios < 1.0, ratios, 1.0 + jnp.where(ratios < 1.0, 0.0, log))
    return jnp.mean(mild + logs * log)
