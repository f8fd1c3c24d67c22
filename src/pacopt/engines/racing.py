"""A table in which hopeless candidates are given up early."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from pacopt.columns import joined
from pacopt.engines.ended import failed_candidates_of, failures_of
from pacopt.errors import PacoptError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.priors.trials import Run
from pacopt.scores import AbstractScore, Ratio

#: The fractions of the training instances after which candidates are given up.
STAGES = (1 / 16, 1 / 4)
#: A first look at fewer instances tells too little.
LEAST = 32
#: How many standard errors a candidate has to be behind.
ERRORS = 4.0


def race(
    run: Run,
    candidates: Mapping[str, np.ndarray],
    instances: Instances,
    *,
    target_ratio: float = 1.0,
    score: AbstractScore | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> LossTable:
    """The loss table of all candidates, in which those given up on the way have missing cells.

    After 1/16 and after 1/4 of the instances a candidate is given up if another one succeeded at least as often so far
    and is better by four standard errors of the paired difference of scores.

    **Why this is valid.** The bounds hold for every candidate and every posterior at once, so which candidates are
    followed to the end may depend on the training instances in any way. A missing cell counts as a failure with z = 1,
    which only makes a bound larger: a candidate that was given up is certified, if at all, as worse than it is. What
    must not happen is that the weights of those given up are handed to the survivors: the prior keeps all candidates
    (`certify` refuses a design with fewer). Renormalised, certificates fail nearly always (`tests/theorem/mutants.py`).
    """
    rows, count = len(next(iter(candidates.values()))), instances.count
    alive, looks = np.arange(rows), []
    tables: list[LossTable] = []
    ran: list[np.ndarray] = []
    missing: list[np.ndarray] = []
    losses, success = np.empty((rows, 0)), None
    times: dict[float, np.ndarray] = {}
    ends = [end for part in STAGES if (end := int(count * part)) >= LEAST]
    # Groups are kept whole: the rows of this many of them.
    cuts = [int(np.searchsorted(instances.codes, end)) for end in (0, *ends, count)]
    for first, last in pairwise(cuts):
        try:
            part = run({name: values[alive] for name, values in candidates.items()}, instances[first:last])
        except PacoptError as error:
            where = f"In a race, counted from instance {first} on and among the {len(alive)} candidates left: "
            raise type(error)(where + error.found, error.needed, error.why, error.remedy) from error
        losses = np.concatenate([losses, _among(rows, alive, part.losses, np.nan)], axis=1)
        if part.success is not None:
            before = np.empty((rows, 0), dtype=bool) if success is None else success
            success = np.concatenate([before, _among(rows, alive, part.success, False)], axis=1)
        for target, each in part.times.items():
            earlier = times.get(target, np.empty((rows, 0)))
            times[target] = np.concatenate([earlier, _among(rows, alive, each, np.inf)], axis=1)
        tables.append(part)
        ran.append(alive)
        missing.append(~np.isin(np.arange(rows), alive)[:, None] & np.ones(part.losses.shape[1], dtype=bool))
        looks.append({"instances": sum(table.shape[1] for table in tables), "candidates": len(alive)})
        if last < len(instances):
            so_far = LossTable(
                losses[alive],
                _starts(tables),
                success=None if success is None else success[alive],
                columns=joined([table.columns for table in tables]),
            )
            z = (Ratio() if score is None else score).of(so_far)
            alive = alive[_filled(survivors(z, so_far.succeeded(target_ratio)), z.mean(axis=1), rows)]
    cells = np.concatenate(missing, axis=1)
    return LossTable(
        losses=losses,
        start=_starts(tables),
        candidates=candidates,
        success=success,
        missing=cells if cells.any() else None,
        provenance={
            **(provenance or {}),
            "race": looks,
            **failures_of([table.provenance for table in tables]),
            **failed_candidates_of(zip([table.provenance for table in tables], ran, strict=True)),
        },
        fingerprints=_fingerprints(tables),
        columns=joined([table.columns for table in tables]),
        times=times,
    )


def _starts(tables: list[LossTable]) -> np.ndarray | None:
    known = [table.start for table in tables if table.start is not None]
    return np.concatenate(known) if len(known) == len(tables) else None


def _fingerprints(tables: list[LossTable]) -> np.ndarray | None:
    known = [table.fingerprints for table in tables if table.fingerprints is not None]
    return np.concatenate(known) if len(known) == len(tables) else None


def _among(rows: int, alive: np.ndarray, values: np.ndarray, blank: Any) -> np.ndarray:
    """The values of the candidates that ran, placed in their rows among all candidates."""
    found = np.full((rows, values.shape[1]), blank, dtype=values.dtype)
    found[alive] = values
    return found


def survivors(
    z: Float[np.ndarray, "hyper instance"], success: Bool[np.ndarray, "hyper instance"]
) -> Bool[np.ndarray, " hyper"]:
    """Which candidates no other one with at least as many successes beats by four standard errors."""
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
    """The survivors, topped up with the best of the others to a half, a quarter, ... of all candidates.

    So there are few shapes to compile for, and nothing is lost: those added are run like survivors.
    """
    size = rows
    while size // 2 >= max(1, kept.sum()):
        size //= 2
    order = np.lexsort((means, ~kept))
    return np.sort(order[:size])
