"""Problems and algorithms as arrays, which are traced, and the rest, by which compiled functions are found again."""

from typing import Any

import equinox as eqx
import jax
import numpy as np


def divided(value: Any) -> tuple[Any, Any]:
    """The arrays of a pytree, of NumPy or JAX, and everything else as one hashable value."""
    arrays, rest = eqx.partition(value, lambda leaf: isinstance(leaf, np.ndarray | jax.Array))
    leaves, structure = jax.tree.flatten(rest)
    return arrays, (structure, tuple(leaves))


def united(arrays: Any, rest: Any) -> Any:
    """The pytree that was divided."""
    structure, leaves = rest
    return eqx.combine(arrays, jax.tree.unflatten(structure, leaves))
