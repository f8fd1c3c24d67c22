"""Loops that XLA does not dissolve, so that whatever follows is computed from a point in memory.

XLA repeats cheap operations wherever their results are used, and rounds them differently each time. A step may decide
between two points ("keep the lower one"): if their losses agree but for the last bit, repetitions can decide
differently. A loss that is computed in one piece with such a step is then that of a mixture of both points, one that
no run ever returns. A state that comes out of a loop is in memory, and is the same for all that read it.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Turn = Callable[[Any, Any], Any]


def looped(turn: Turn, state: Any, places: Any, count: int, unroll: int = 1) -> Any:
    """The state after turn(state, place) for each place; places are arrays with one row per turn, or None."""
    if count == 1:
        return _twice(turn, state, places)
    if count < 2 * unroll:
        unroll = 1

    def scan(state: Any, first: int, length: int) -> Any:
        rows = jax.tree.map(lambda array: array[first : first + length], places)
        return jax.lax.scan(once, state, rows, length, unroll=min(unroll, length))[0] if length else state

    def once(state: Any, place: Any) -> tuple[Any, None]:
        return turn(state, place), None

    # The remainder that does not fill a round comes first: JAX would put it after the loop.
    left = count % unroll
    return scan(scan(state, 0, left), left, count - left)


def _twice(turn: Turn, state: Any, places: Any) -> Any:
    """The state after one turn, in a loop of two, since XLA dissolves a loop of one. The first turn is undone."""

    def kept(state: Any, place: tuple[Any, Any]) -> tuple[Any, None]:
        counts, each = place
        new = turn(state, each)
        return jax.tree.map(
            lambda new, old: jax.lax.select(jnp.broadcast_to(counts, new.shape), new, old), new, state
        ), None

    both = jnp.array([False, True]), jax.tree.map(lambda array: jnp.repeat(array, 2, axis=0), places)
    return jax.lax.scan(kept, state, both)[0]
