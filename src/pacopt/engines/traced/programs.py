"""What is compiled for a table: one program for its starts, one for its tiles."""

from functools import partial
from typing import Any

import jax

from pacopt.engines.traced.cell import Cell, Outcome
from pacopt.engines.traced.static import united


@partial(jax.jit, static_argnums=0)
def run_starts(rest: Any, arrays: Any, batch: Any) -> tuple[jax.Array, jax.Array]:
    """Start losses [instance]."""
    cell: Cell = united(arrays, rest)
    raw, above = jax.vmap(cell.start_loss)(batch)
    return raw, above


@partial(jax.jit, static_argnums=0)
def run_tile(rest: Any, arrays: Any, hypers: Any, batches: Any, start_losses: Any, seeds: Any) -> Outcome:
    """Outcomes [group, block, lane, candidate, ...]."""
    cell: Cell = united(arrays, rest)
    over_candidates = jax.vmap(cell, in_axes=(0, None, None, None))
    over_lanes = jax.vmap(over_candidates, in_axes=(None, 0, 0, 0))

    def group(lanes: Any) -> Outcome:
        outcome: Outcome = jax.lax.map(lambda block: over_lanes(block, *lanes), hypers)
        return outcome

    result: Outcome = jax.lax.map(group, (batches, start_losses, seeds))
    return result
