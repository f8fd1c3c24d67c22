"""Problems and algorithms as arrays, which are traced, and the rest, by which compiled functions are found again."""

from typing import Any

import equinox as eqx
import jax
import numpy as np


def divided(value: Any) -> tuple[Any, Any]:
    """The arrays of a pytree, of NumPy or JAX, and everything else as one hashable value."""
    arrays, rest = eqx.partition(_own(value), lambda leaf: isinstance(leaf, np.ndarray | jax.Array))
    leaves, structure = jax.tree.flatten(rest)
    return arrays, (structure, tuple(leaves))


def as_run(value: Any) -> Any:
    """The pytree as a run has it: with arrays of JAX, which traced numbers can index."""
    return jax.tree.map(lambda leaf: jax.numpy.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, _own(value))


def _own(value: Any) -> Any:
    """The pytree with arrays of NumPy that no other code has: views, which share their memory.

    JAX remembers what it made of an array by the object, whatever the precision was then: a loss that was compiled in
    float32 outside of pacopt would have float32 arrays in a float64 run.
    """
    return jax.tree.map(lambda leaf: leaf.view() if isinstance(leaf, np.ndarray) else leaf, value)


def united(arrays: Any, rest: Any) -> Any:
    """The pytree that was divided."""
    structure, leaves = rest
    return eqx.combine(arrays, jax.tree.unflatten(structure, leaves))
