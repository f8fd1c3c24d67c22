"""What an algorithm decides on the way, where it says so: read from its state after each step."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pacopt.algorithms.base import AbstractDecisions
from pacopt.engines.traced.backend import errors_explained
from pacopt.engines.traced.cell import Cell
from pacopt.engines.traced.precision import precision
from pacopt.engines.traced.static import as_run, divided, united
from pacopt.engines.traced.tabulation import Tabulation, traced_values
from pacopt.errors import AlgorithmError
from pacopt.support.interrupts import heed


def decided(work: Tabulation, at: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The decisions of the first candidate in each run at these steps, [run, step] by name; no iterate is kept."""
    arrays, rest = divided(work.cell)
    values = {name: array[0] for name, array in traced_values(work.cell, work.candidates, work.dtype).items()}
    tiling, found, names = work.tiling, [], _names(work, values)
    for first in tiling:
        heed()
        columns = work.columns_from(first, tiling.span)
        grid = columns.reshape(tiling.groups, tiling.lanes)
        with precision(work.dtype), errors_explained(f"on instances {columns[0]} to {columns[-1]}"):
            result = _run((rest, at), arrays, values, work.batch(grid), work.seeds[grid])
            width = min(tiling.span, tiling.columns - first)
            found.append({name: _flat(array)[:width] for name, array in result.items()})
    return {name: np.concatenate([part[name] for part in found]) for name in names}


def _names(work: Tabulation, values: Any) -> list[str]:
    """What decisions are called, in the order in which the algorithm gives them; what is no decision is refused."""
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
def _run(static: Any, arrays: Any, values: Any, batches: Any, seeds: Any) -> dict[str, jax.Array]:
    rest, at = static
    cell: Cell = united(arrays, rest)
    algorithm: Any = cell.algorithm

    def one(instance: Any, seed: Any) -> dict[str, jax.Array]:
        state, step, keys = cell.begun(values, instance, seed)

        def on(state: Any, number: Any) -> tuple[Any, dict[str, jax.Array]]:
            state = step(state, *keys(number))
            return state, {name: jnp.asarray(value, dtype=float) for name, value in algorithm.decisions(state).items()}

        _, found = jax.lax.scan(on, state, jnp.arange(1, cell.steps + 1))
        return {name: numbers[jnp.asarray(at) - 1] for name, numbers in found.items()}

    result: dict[str, jax.Array] = jax.lax.map(lambda group: jax.vmap(one)(*group), (batches, seeds))
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
