"""What an algorithm decides along the way, if it reports it: read from its state after each step."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pacopt.algorithms.base import AbstractDecisions
from pacopt.engines.base import Decided
from pacopt.engines.traced.backend import errors_explained
from pacopt.engines.traced.cell import Cell
from pacopt.engines.traced.precision import precision
from pacopt.engines.traced.static import as_run, divided, united
from pacopt.engines.traced.tabulation import Tabulation, traced_values
from pacopt.errors import AlgorithmError
from pacopt.support.interrupts import heed

#: What an algorithm decides, by name, and what the textbook would use instead.
Numbers = tuple[dict[str, jax.Array], dict[str, jax.Array]]


def decided(work: Tabulation, at: tuple[int, ...], curvature: tuple[float, float] | None) -> Decided:
    """The decisions of the first candidate in each run at these steps, and the textbook's; no iterate is kept."""
    arrays, rest = divided(work.cell)
    values = {name: array[0] for name, array in traced_values(work.cell, work.candidates, work.dtype).items()}
    tiling, found, names = work.tiling, [], _names(work, values)
    for first in tiling:
        heed()
        columns = work.columns_from(first, tiling.span)
        grid = columns.reshape(tiling.groups, tiling.lanes)
        with precision(work.dtype), errors_explained(f"on instances {columns[0]} to {columns[-1]}"):
            result = _run((rest, at, curvature), arrays, values, work.batch(grid), work.seeds[grid])
            width = min(tiling.span, tiling.columns - first)
            found.append([{name: _flat(array)[:width] for name, array in each.items()} for each in result])

    def joined(which: int) -> dict[str, np.ndarray]:
        known = [name for name in names if name in found[0][which]]
        return {name: np.concatenate([part[which][name] for part in found]) for name in known}

    return Decided(joined(0), joined(1))


def _names(work: Tabulation, values: Any) -> list[str]:
    """The names of the decisions, in the algorithm's order; anything that is not a decision is refused."""
    cell: Any = as_run(work.cell)
    names: list[str] = []

    def look(values: Any, instance: Any, seed: Any) -> None:
        names.extend(_checked(cell.algorithm, cell.algorithm.decisions(cell.begun(values, instance, seed)[0])))

    with precision(work.dtype):
        instance = {name: array[0] for name, array in work.batch(np.arange(1)).items()}
        jax.eval_shape(look, values, instance, work.seeds[0])
    return names


def _flat(array: Any) -> np.ndarray:
    """From [group, lane, step] to [run, step]."""
    whole = np.asarray(array, dtype=np.float64)
    return whole.reshape(-1, whole.shape[-1])


@partial(jax.jit, static_argnums=0)
def _run(static: Any, arrays: Any, values: Any, batches: Any, seeds: Any) -> Numbers:
    rest, at, curvature = static
    cell: Cell = united(arrays, rest)
    algorithm: Any = cell.algorithm

    def told(state: Any) -> Numbers:
        usual = {} if curvature is None else algorithm.textbook(state, *curvature)
        own, other = (
            {name: jnp.asarray(value, dtype=float) for name, value in each.items()}
            for each in (algorithm.decisions(state), usual)
        )
        return own, other

    def one(instance: Any, seed: Any) -> Numbers:
        state, step, keys = cell.begun(values, instance, seed)

        def on(state: Any, number: Any) -> tuple[Any, Numbers]:
            state = step(state, *keys(number))
            return state, told(state)

        _, found = jax.lax.scan(on, state, jnp.arange(1, cell.steps + 1))
        some: Numbers = jax.tree.map(lambda numbers: numbers[jnp.asarray(at) - 1], found)
        return some

    result: Numbers = jax.lax.map(lambda group: jax.vmap(one)(*group), (batches, seeds))
    return result


def _checked(algorithm: AbstractDecisions, decisions: Any) -> list[str]:
    """The names of scalars."""
    named = isinstance(decisions, dict) and all(isinstance(name, str) for name in decisions)
    shapes = {name: jnp.shape(value) for name, value in decisions.items()} if named else {}
    if not named or not shapes or any(shapes.values()):
        raise AlgorithmError(
            f"{type(algorithm).__name__}.decisions returns {shapes if named else type(decisions).__name__}.",
            "It returns a dict with a number for each decision.",
            "",
            'Return {"step size": state.step}, for example.',
        )
    return list(decisions)
