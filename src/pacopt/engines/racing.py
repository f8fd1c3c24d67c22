"""A table in which hopeless candidates are given up early."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from pacopt.errors import PacoptError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.priors.trials import Run

#: The parts of the training instances after which candidates are given up.
STAGES = (1 / 16, 1 / 4)
#: A first look at fewer instances tells too little.
LEAST = 32
#: Standard errors by which a candidate has to be behind.
ERRORS = 4.0


def race(
    run: Run,
    candidates: Mapping[str, np.ndarray],
    instances: Instances,
    *,
    target_ratio: float = 1.0,
    provenance: Mapping[str, Any] | None = None,
) -> LossTable:
    """The loss table of all candidates, in which those given up on the way have missing cells.

    After 1/16 and after 1/4 of the instances a candidate is given up if another one succeeded at least as often so far
    and is better by four standard errors of the paired difference of safeguarded ratios.

    **Why this is valid.** The bounds hold for every candidate and every posterior at once, so which candidates are
    followed to the end may depend on the training instances in any way. A missing cell counts as a failure with z = 1,
    which only makes a bound larger: a candidate that was given up is certified, if at all, as worse than it is. What
    must not happen is that the weights of those given up are handed to the survivors: the prior keeps all candidates
    (`certify` refuses a design with fewer). Renormalised, certificates fail nearly always (`tests/theorem/mutants.py`).
    """
    rows, columns = len(next(iter(candidates.values()))), len(instances)
    losses, start = np.full((rows, columns), np.nan), np.empty(columns)
    success, missing = None, np.ones((rows, columns), dtype=bool)
    alive = np.arange(rows)
    ends = [end for part in STAGES if (end := int(columns * part)) >= LEAST]
    looks = []
    for first, last in zip([0, *ends], [*ends, columns], strict=True):
        try:
            part = run({name: values[alive] for name, values in candidates.items()}, instances[first:last])
        except PacoptError as error:
            where = f"In a race, counted from instance {first} on and among the {len(alive)} candidates left: "
            raise type(error)(where + error.found, error.needed, error.why, error.remedy) from error
        cells = np.ix_(alive, np.arange(first, last))
        losses[cells], start[first:last], missing[cells] = part.losses, part.starts, False
        if part.success is not None:
            success = np.zeros((rows, columns), dtype=bool) if success is None else success
            success[cells] = part.success
        looks.append({"instances": last, "candidates": len(alive)})
        if last < columns:
            so_far = LossTable(
                losses[alive, :last], start[:last], success=None if success is None else success[alive, :last]
            )
            kept = survivors(so_far.safeguarded(), so_far.successes(target_ratio))
            alive = alive[_filled(kept, so_far.safeguarded().mean(axis=1), rows)]
    return LossTable(
        losses=losses,
        start=start,
        candidates=candidates,
        success=success,
        missing=missing if missing.any() else None,
        provenance=dict(provenance or {}) | {"race": looks},
        fingerprints=instances.fingerprints,
    )


def survivors(
    z: Float[np.ndarray, "hyper instance"], success: Bool[np.ndarray, "hyper instance"]
) -> Bool[np.ndarray, " hyper"]:
    """Those that no candidate with as many successes beats by four standard errors."""
    counts, means = success.sum(axis=1), z.mean(axis=1)
    # For each candidate, the best of those that succeeded at least as often.
    order = np.lexsort((means, -counts))
    best = order[np.maximum.accumulate(np.where(_record(means[order]), np.arange(len(order)), 0))]
    leader = np.empty_like(order)
    leader[order] = best
    behind = z - z[leader]
    error = behind.std(axis=1) / np.sqrt(z.shape[1])
    kept: np.ndarray = behind.mean(axis=1) <= ERRORS * error
    return kept


def _record(values: np.ndarray) -> np.ndarray:
    """Where a value is smaller than all before it."""
    record: np.ndarray = values < np.append(np.inf, np.minimum.accumulate(values)[:-1])
    return record


def _filled(kept: np.ndarray, means: np.ndarray, rows: int) -> np.ndarray:
    """The survivors, and the best of the others until their number is a half, a quarter... of all.

    So there are few shapes to compile for, and nothing is lost: those that fill up are followed like survivors.
    """
    size = rows
    while size // 2 >= max(1, kept.sum()):
        size //= 2
    order = np.lexsort((means, ~kept))
    return np.sort(order[:size])
