"""Where a table comes from: hashes of everything that determines its numbers."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from pacopt._version import __version__
from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.algorithms.warm_start import WarmStart
from pacopt.engines.description import candidates_hash, criterion, described, hashed, predicate_hash
from pacopt.engines.traced.cell import Cell
from pacopt.engines.traced.metrics import metric_of
from pacopt.instances import Instances
from pacopt.problems.base import AbstractKnownMinimum


def provenance(
    cell: Cell, candidates: Mapping[str, np.ndarray], instances: Instances, dtype: np.dtype[Any], seeds: np.ndarray
) -> dict[str, Any]:
    """A JSON value that says what was run on what, and with which versions."""
    metric = metric_of(cell.problem)
    about: dict[str, Any] = {
        "algorithm": described(cell.algorithm),
        "candidates": candidates_hash(candidates),
        "criterion": criterion(cell.predicate),
        "fields": {name: f"{array.dtype}{list(array.shape[1:])}" for name, array in instances.fields.items()},
        "instances": instances.fingerprint,
        "known_minimum": isinstance(cell.problem, AbstractKnownMinimum) and metric is None,
        "platform": jax.default_backend(),
        "precision": str(dtype),
        "problem": described(cell.problem),
        "recorded_steps": list(cell.at),
        "steps": cell.steps,
        "success": predicate_hash(cell.predicate),
        "versions": {"jax": jax.__version__, "numpy": np.__version__, "pacopt": __version__},
    }
    reads, given = start_reads(cell.algorithm), given_arrays(cell.algorithm)
    if reads:
        about["start_reads"] = list(reads)
    if given:
        about["given_arrays"] = list(given)
    if cell.targets:
        about["targets"] = list(cell.targets)
    if metric is not None:
        about["metric"] = metric._asdict()
    if cell.goal is not None:
        about["goal"] = cell.goal
    if cell.random:
        about["seeds"] = {"hash": hashed(seeds.tobytes()), "replicates": len(seeds) // len(instances)}
    return about


def start_reads(algorithm: AbstractAlgorithm) -> tuple[str, ...]:
    """The fields of an instance from which its start is computed, including by an inner algorithm."""
    own = algorithm.reads if isinstance(algorithm, WarmStart) else ()
    inside = (each for each in vars(algorithm).values() if isinstance(each, AbstractAlgorithm))
    return tuple(dict.fromkeys((*own, *(name for each in inside for name in start_reads(each)))))


def given_arrays(algorithm: AbstractAlgorithm) -> tuple[str, ...]:
    """The names of the fields whose arrays the algorithm was made with."""
    leaves = jax.tree_util.tree_leaves_with_path(algorithm)
    return tuple(
        jax.tree_util.keystr(path, simple=True, separator=".")
        for path, leaf in leaves
        if isinstance(leaf, np.ndarray | jax.Array)
    )
