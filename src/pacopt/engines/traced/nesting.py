"""From the hyperparameters of an algorithm to arrays by name, and back: pytrees are flattened here and nowhere else."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm, AbstractInitialHyper
from pacopt.errors import AlgorithmError
from pacopt.space import AbstractSpace, Array, Domain, Interval, Tree


def flat_space(algorithm: AbstractAlgorithm) -> Domain:
    """The spaces of an algorithm, by name; each array of a pytree has its own."""
    name, declared = type(algorithm).__name__, getattr(algorithm, "hyperparameters", None)
    kinds = (AbstractSpace, Tree)
    if not isinstance(declared, Mapping) or not all(isinstance(space, kinds) for space in declared.values()):
        raise AlgorithmError(
            f"{name}.hyperparameters is {declared!r}.",
            "Each hyperparameter needs a name and a space: an Interval, Whole, Choice, Array or Tree.",
            "The space says which values are valid, and where to look for good ones.",
            'Write hyperparameters = {"step_size": pacopt.Interval(1e-6, 1.0, log=True)}.',
        )
    for key in declared:
        if not isinstance(key, str) or not key.isprintable() or not key.strip() or "\\" in key or "/" in key:
            raise AlgorithmError(
                f"{name} has a hyperparameter named {key!r}.",
                "A name must be a printable string without slashes.",
                "It appears in statements, reports and files.",
                "Rename it.",
            )
    found: dict[str, AbstractSpace] = {}
    for key, space in declared.items():
        leaves = _leaves(key, space) if isinstance(space, Tree) else {key: space}
        for twice in found.keys() & leaves.keys():
            raise AlgorithmError(
                f"{name} has two hyperparameters named {twice!r}.", "Names must be unique.", "", "Rename one."
            )
        found |= leaves
    return found


def is_trainable(algorithm: AbstractAlgorithm) -> bool:
    """Whether an algorithm knows where to start, has arrays, and can be differentiated in all hyperparameters."""
    spaces = flat_space(algorithm).values()
    numbers = all(isinstance(space, Array | Interval) for space in spaces)
    return isinstance(algorithm, AbstractInitialHyper) and numbers and any(space.shape for space in spaces)


def nested(algorithm: AbstractAlgorithm, values: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters of one candidate as the algorithm sees them."""
    hyper = {}
    for key, space in algorithm.hyperparameters.items():
        if isinstance(space, Tree):
            names = _leaves(key, space)
            hyper[key] = jax.tree.unflatten(jax.tree.structure(space.like), [values[name] for name in names])
        else:
            hyper[key] = values[key]
    return hyper


def flattened(algorithm: AbstractAlgorithm, candidates: Mapping[str, Any]) -> dict[str, Any]:
    """Candidates in which pytrees (with a leading axis in each array) are replaced by their named arrays."""
    flat: dict[str, Any] = {}
    for key, value in candidates.items():
        space = algorithm.hyperparameters.get(key)
        if isinstance(space, Tree):
            structure: Any = jax.tree.structure(space.like)
            if jax.tree.structure(value) != structure:
                raise AlgorithmError(
                    f"The candidates for {key!r} have the structure {jax.tree.structure(value)}.",
                    f"The algorithm needs {structure}, with a leading axis in each array.",
                    "",
                    "Stack them: jax.tree.map(lambda *leaves: numpy.stack(leaves), *candidates).",
                )
            flat |= dict(zip(_leaves(key, space), jax.tree.leaves(value), strict=True))
        else:
            flat[key] = value
    return flat


def _leaves(key: str, tree: Tree) -> dict[str, AbstractSpace]:
    paths = jax.tree_util.tree_leaves_with_path(tree.like)
    found: dict[str, AbstractSpace] = {}
    for path, leaf in paths:
        shape = np.shape(leaf)
        suffix = jax.tree_util.keystr(path, simple=True, separator=".")
        found[f"{key}.{suffix}" if suffix else key] = (
            Array(shape, tree.low, tree.high) if shape else Interval(tree.low, tree.high)
        )
    if not found or len(found) < len(paths):
        raise AlgorithmError(
            f"The pytree of {key!r} has {len(paths)} arrays with {len(found)} names.",
            "It needs at least one array, and each must have its own name.",
            "",
            "Use a dict of arrays, for example.",
        )
    return found
