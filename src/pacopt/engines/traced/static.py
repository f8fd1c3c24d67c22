"""Problems and algorithms as arrays, which are traced, and the rest, which is the key to compiled functions."""

from typing import Any

import equinox as eqx
import jax
import numpy as np


def divided(value: Any) -> tuple[Any, Any]:
    """The NumPy or JAX arrays of a pytree, and everything else as one hashable value."""
    arrays, rest = eqx.partition(_own(value), lambda leaf: isinstance(leaf, np.ndarray | jax.Array))
    leaves, structure = jax.tree.flatten(rest)
    return arrays, (structure, tuple(leaves))


def as_run(value: Any) -> Any:
    """The pytree as a run sees it: with JAX arrays, which traced numbers can index."""
    return jax.tree.map(lambda leaf: jax.numpy.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, _own(value))


def _own(value: Any) -> Any:
    """The pytree with NumPy arrays that no other code holds: views, which share memory.

    JAX caches what it made of an array by object, whatever the precision was then: a loss compiled in float32 outside
    pacopt would have float32 arrays in a float64 run.
    """
    return jax.tree.map(lambda leaf: leaf.view() if isinstance(leaf, np.ndarray) else leaf, value)


def united(arrays: Any, rest: Any) -> Any:
    """The pytree, put together again."""
    structure, leaves = rest
    return eqx.combine(arrays, jax.tree.unflatten(structure, leaves))
