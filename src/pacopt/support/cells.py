"""What a table is made of, checked and frozen: numbers, masks and names, with errors that name the cell."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pacopt.errors import TableError
from pacopt.support.arrays import frozen
from pacopt.support.numbers import is_real
from pacopt.support.rounding import counted
from pacopt.support.values import ONLY

#: The start loss of an instance on which every run failed and none told it. As nothing is larger, a baseline that ended
#: there scores next to 0 and never loses: no gain is claimed from what is not known.
UNKNOWN_START = float(np.finfo(np.float64).max)


def start_or(start: np.ndarray, value: float) -> np.ndarray:
    """Start losses, with this value for those that are not known."""
    return np.where(start == UNKNOWN_START, value, start)


def shared_start(starts: Iterable[np.ndarray | None]) -> np.ndarray | None:
    """The start losses of runs of the same instances, known where any of these tables knows them."""
    known = [start for start in starts if start is not None]
    return np.minimum.reduce(known) if known else None


def checked_targets(targets: Any) -> tuple[float, ...]:
    """Different parts of a start loss to be reached, the largest first."""
    known = isinstance(targets, list | tuple) and all(map(is_real, targets))
    found = tuple(sorted({float(target) for target in targets}, reverse=True)) if known else (np.nan,)
    if not known or not all(0 < target < 1 for target in found) or len(found) < len(targets):
        raise TableError(
            f"The targets are {targets!r}.",
            "A target is a fraction of the start loss: a number above 0 and below 1, each given once.",
            "Every run is at its start from the beginning.",
            "Use [1e-1, 1e-3], for example.",
        )
    return found


def refuse_other_verdicts(times: np.ndarray, success: np.ndarray | None) -> None:
    """Refuse times of runs that have not succeeded: where a target is not met, its time is infinite."""
    odd = 0 if success is None else int((np.isfinite(times) & ~success).sum())
    if odd:
        raise TableError(
            f"{odd} runs have a time, and the verdict that they did not succeed.",
            "A time is when a run met its target; it is infinite for one that never did.",
            "It would count as solved in one place and as failed in another.",
            "Use numpy.where(success, times, numpy.inf), and leave success out.",
        )


def first_times(times: Any, shape: tuple[int, ...]) -> dict[float, np.ndarray]:
    """Read-only times at which targets are first met, the largest target first; infinite for never."""
    if not isinstance(times, Mapping):
        raise TableError(
            f"times is a {type(times).__name__}.", "They go by their targets.", "", "Use {0.1: steps, 0.001: steps}."
        )
    found: dict[float, np.ndarray] = {}
    earlier = np.zeros(shape)
    targets = checked_targets(tuple(times))
    named = {float(target): array for target, array in times.items()}
    for target in targets:
        array = real_array(f"times[{target!r}]", named[target])
        if array.shape != shape or np.isnan(array).any() or (array < 0).any():
            raise TableError(
                f"times[{target!r}] has shape {array.shape}, and {int((~(array >= 0)).sum())} of its numbers are "
                "negative or NaN.",
                f"It has a time for each run: shape {shape}, not negative, infinite where the target is never met.",
                "",
                "Use numpy.inf for never.",
            )
        if (array < earlier).any():
            raise TableError(
                f"{int((array < earlier).sum())} runs meet the target {target!r} before an easier one.",
                "A run that meets a target has met all larger ones, at the latest by then.",
                "Times that contradict each other cannot all be first ones.",
                "Take the first step at which the loss is at or below the target times its start.",
            )
        found[target] = earlier = array
    return found


def refuse_bad_losses(losses: np.ndarray, start: np.ndarray | None, *, first_instance: int = 0) -> None:
    """Raise for a start that is negative or not finite and for a negative final loss; name the cell.

    `first_instance` says where a part of a table stands in the whole.
    """
    bad = np.empty(0, dtype=int) if start is None else np.flatnonzero(~np.isfinite(start) | (start < 0))
    if start is not None and len(bad):
        told = counted(len(bad), "start is invalid", "starts are invalid")
        raise TableError(
            f"The start loss of instance {first_instance + bad[0]} is {start[bad[0]]:.4g}; {told}.",
            "A start loss is finite and not negative.",
            "Every statement is relative to the start, so without one nothing can be said about the instance.",
            "Subtract a lower bound in the loss, or give the problem a minimum (AbstractKnownMinimum); if it states "
            "one, that lies above the loss at the start: correct it."
            if start[bad[0]] < 0 and np.isfinite(start[bad[0]])
            else "Check the data of that instance, the start of the problem, its loss there, and its minimum if it "
            "states one.",
        )
    rows, columns = np.nonzero(losses < 0)
    if len(rows):
        raise TableError(
            f"The loss of candidate {rows[0]} on instance {first_instance + columns[0]} is "
            f"{losses[rows[0], columns[0]]:.4g}; {counted(len(rows), 'loss is', 'losses are')} negative.",
            "Losses are not negative.",
            "Ratios of losses, on which every certificate rests, mean nothing for negative values.",
            "Subtract a lower bound in the loss, or give the problem a minimum (AbstractKnownMinimum); if it has one, "
            "that minimum is too large for this instance.",
        )


def plain_json(provenance: Any) -> dict[str, Any]:
    """The provenance as plain JSON values."""
    try:
        value: dict[str, Any] = json.loads(json.dumps(dict(provenance)))
    except (TypeError, ValueError) as error:
        raise TableError(
            f"The provenance cannot be written as JSON: {error}.",
            "It is a mapping of names to plain values.",
            "It is stored and hashed with the table.",
            "Leave out everything but numbers, texts and lists of these.",
        ) from error
    return value


def real_array(name: str, array: Any) -> np.ndarray:
    """A read-only float64 array of real numbers."""
    try:
        result = np.asarray(array)
    except ValueError as error:
        raise TableError(
            f"{name} is not an array: {error}.", "Every row has the same length.", "", "Use NaN for a run that failed."
        ) from error
    if result.dtype.kind not in "fiu" and result.size:
        raise TableError(
            f"{name} holds {result.dtype} values.", "Losses are real numbers.", "", "Pass an array of floats."
        )
    return frozen(result, np.float64)


def cell_mask(name: str, array: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """A read-only mask with a value for each cell, or None."""
    if array is None:
        return None
    result = np.asarray(array)
    if result.dtype != np.bool_ or result.shape != shape:
        raise TableError(
            f"{name} is {result.dtype} of shape {result.shape}.",
            f"It is boolean of shape {shape}, one value for each cell of the table.",
            "",
            "Compare explicitly, for example residuals <= tolerance.",
        )
    return frozen(result)


def column_names(given: Any, columns: int) -> np.ndarray | None:
    """A read-only fingerprint of at most 32 characters for each column, or None; a longer text is hashed."""
    if given is None:
        return None
    result = np.asarray(given)
    if result.dtype.kind not in "SU" or result.shape != (columns,):
        raise TableError(
            f"fingerprints holds {result.dtype} values of shape {result.shape}.",
            f"There is one text for each instance: shape ({columns},).",
            "They tell whether an instance was used before.",
            "Pass instances.fingerprints, or leave them out.",
        )
    texts = [name if isinstance(name, bytes) else name.encode() for name in result.tolist()]
    # Cut off, texts with the same beginning would be one instance.
    names = [name if len(name) <= 32 else hashlib.blake2b(name, digest_size=16).hexdigest().encode() for name in texts]
    return frozen(np.array(names, dtype="S32"))


#: Whole numbers beyond this one are not kept apart by files that know only floats.
LARGEST = 2**53


def candidate_values(values: Any) -> np.ndarray:
    """Values of a hyperparameter: real numbers and arrays as float64, booleans, whole numbers and texts as they are.

    What is none of these is a ValueError, which says what was found.
    """
    array = np.asarray(values)
    if array.ndim == 0 or (array.ndim > 1 and array.dtype.kind not in "fiu"):
        raise ValueError(f"{array.dtype} values of shape {array.shape}")
    if array.ndim > 1 and np.isfinite(array).all():
        return frozen(array, np.float64)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array):
        array = array.astype(str)
    given = values if isinstance(values, list | tuple) else ()
    kinds = {
        "texts" if isinstance(v, str) else "booleans" if isinstance(v, bool | np.bool_) else "numbers" for v in given
    }
    if array.dtype.kind not in "biufU":
        raise ValueError(f"{array.dtype} values")
    if len(kinds) > 1:
        raise ValueError(" and ".join(sorted(kinds)))
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"the value {array[~np.isfinite(array)][0]}")
    whole = array.tolist() if array.dtype.kind in "iu" else [value for value in given if isinstance(value, int)]
    if any(abs(value) > LARGEST for value in whole):
        raise ValueError("a whole number beyond 2^53")
    return frozen(array) if array.dtype.kind in "biuU" else frozen(array, np.float64)


def _candidate_values(name: str, values: Any) -> np.ndarray:
    try:
        return candidate_values(values)
    except ValueError as error:
        raise TableError(
            f"{name} holds {error}.",
            "The values of a hyperparameter are finite numbers (whole ones up to 2^53), arrays of them, texts, or "
            "booleans; one kind.",
            "A candidate is stored, compared and deployed by its values.",
            "Use texts for anything else.",
        ) from error


def named_candidates(candidates: Mapping[str, Any], rows: int) -> dict[str, np.ndarray]:
    """The candidates by their names, one value for each row; numbered if none are given."""
    if not isinstance(candidates, Mapping):
        raise TableError(
            f"candidates is a {type(candidates).__name__}.",
            "Hyperparameters go by their names.",
            "",
            'Use a mapping such as {"solver": ["simplex", "barrier"]}, one list for each.',
        )
    named = {name: _candidate_values(f"candidates[{name!r}]", values) for name, values in sorted(candidates.items())}
    for name, values in named.items():
        if values.shape[:1] != (rows,):
            raise TableError(
                f"candidates[{name!r}] has shape {values.shape}, and the table has {rows} rows.",
                f"Each hyperparameter has one value for each candidate: shape ({rows},), or ({rows}, ...) for arrays.",
                "Otherwise a row would be certified under another candidate's name.",
                "Pass the candidates in the order of the rows.",
            )
    return named or {ONLY: frozen(np.arange(rows, dtype=np.float64))}


def baseline_rows(baselines: Any, runs: int) -> dict[str, np.ndarray]:
    """Read-only losses of baselines by name, in the order of the names; one for each run, infinite where it failed."""
    if not isinstance(baselines, Mapping):
        raise TableError(
            f"baselines is a {type(baselines).__name__}.", "They go by name.", "", 'Use {"default": losses}.'
        )
    found = {}
    for name in baselines:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or "/" in name:
            raise TableError(
                f"A baseline is named {name!r}.", "Its name can be printed, and has no /.", "", "Rename it."
            )
    for name, losses in sorted(baselines.items()):
        row = real_array(f"baselines[{name!r}]", losses)
        if row.shape != (runs,):
            raise TableError(
                f"baselines[{name!r}] has shape {row.shape}.",
                f"It has one loss for each run: shape ({runs},).",
                "A gain is over what ran on the same instances.",
                "Run the baseline on every instance.",
            )
        bad = np.flatnonzero(np.isnan(row) | (row < 0))
        if len(bad):
            raise TableError(
                f"The loss of the baseline {name!r} on instance {bad[0]} is {row[bad[0]]}; "
                f"{counted(len(bad), 'loss is', 'losses are')} invalid.",
                "A baseline has a loss, not negative, on every instance; infinity says that its run failed.",
                "A baseline that is missing where it does well would make a gain look larger than it is.",
                "Run it on every instance, and use numpy.inf for runs that failed.",
            )
        found[name] = row
    return found
