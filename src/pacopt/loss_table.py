"""The loss table: what every candidate does on every instance. The algorithms end here and the statistics start."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from pacopt.errors import StorageError, TableError
from pacopt.support.arrays import frozen, load_npz, save_npz

#: The version of the stored form.
SCHEMA = "pacopt.loss-table/1"


@dataclass(frozen=True, eq=False)
class LossTable:
    """Final losses of M candidates on N instances, beside the loss at each instance's start.

    A loss that is not finite means that the run failed. `success` is the user's own verdict on each run, if there is
    one. `missing` marks cells that were not evaluated; they count as failed and hold NaN.

    >>> table = LossTable(losses=[[1.0, 0.5], [np.inf, 3.0]], start=[2.0, 2.0])
    >>> table.shape
    (2, 2)
    >>> table.succeeded()
    array([[ True,  True],
           [False, False]])
    """

    losses: Float[np.ndarray, "hyper instance"]
    start: Float[np.ndarray, " instance"]
    candidates: Mapping[str, Float[np.ndarray, " hyper"]] = field(default_factory=dict)
    success: Bool[np.ndarray, "hyper instance"] | None = None
    missing: Bool[np.ndarray, "hyper instance"] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        losses, start = _real("losses", self.losses), _real("start", self.start)
        if losses.ndim != 2 or 0 in losses.shape:
            raise TableError(
                f"losses has shape {losses.shape}.",
                "A table has at least one row (candidate) and one column (instance).",
                "There is nothing to learn from an empty one.",
                "Pass an array of shape [candidates, instances].",
            )
        if start.shape != losses.shape[1:]:
            raise TableError(
                f"start has shape {start.shape}, losses has shape {losses.shape}.",
                f"start holds one loss for each instance: shape {losses.shape[1:]}.",
                "Final losses are compared with the start of the same instance.",
                "Check that losses has candidates as rows and instances as columns.",
            )
        missing = _mask("missing", self.missing, losses.shape)
        success = _mask("success", self.success, losses.shape)
        if missing is not None:
            losses = frozen(np.where(missing, np.nan, losses))
        if success is not None:
            # A run that failed has not succeeded, whatever a predicate made of its last point.
            success = frozen(success & np.isfinite(losses))
        refuse_bad_losses(losses, start)
        values = {
            "losses": losses,
            "start": start,
            "candidates": MappingProxyType(_named_candidates(self.candidates, len(losses))),
            "success": success,
            "missing": missing,
            "provenance": MappingProxyType(_json(self.provenance)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it was made of, for worker processes."""
        values = (dict(self.candidates), self.success, self.missing, dict(self.provenance))
        return LossTable, (self.losses, self.start, *values)

    def __repr__(self) -> str:
        return f"LossTable({len(self.losses)} candidates of {', '.join(self.candidates)} x {len(self.start)} instances)"

    @property
    def shape(self) -> tuple[int, int]:
        """The number of candidates and the number of instances."""
        rows, columns = self.losses.shape
        return rows, columns

    def select(self, *, rows: Any = slice(None), columns: Any = slice(None)) -> "LossTable":
        """The table of some candidates or instances, given by a slice, numbers or a mask; provenance stays behind."""

        def cut(cells: np.ndarray | None) -> np.ndarray | None:
            return None if cells is None else cells[rows][:, columns]

        return LossTable(
            losses=self.losses[rows][:, columns],
            start=self.start[columns],
            candidates={name: values[rows] for name, values in self.candidates.items()},
            success=cut(self.success),
            missing=cut(self.missing),
        )

    def hyper(self, candidate: int) -> dict[str, float]:
        """The hyperparameters of one candidate, by name."""
        return {name: float(values[candidate]) for name, values in self.candidates.items()}

    def succeeded(self, target_ratio: float = 1.0) -> Bool[np.ndarray, "hyper instance"]:
        """The paper's convergence set: where a run ended, finite, at or below `target_ratio` times its start loss."""
        if not 0.0 < target_ratio <= 1.0:
            raise TableError(
                f"target_ratio is {target_ratio}.",
                "It lies above 0 and at most at 1.",
                "A run that ends above its start has not succeeded in any sense the theory covers.",
                "Use 1.0 for 'does not increase the loss', 0.1 for 'reduces it tenfold'.",
            )
        # Not losses / start: the two differ on ties. A NaN compares as false.
        success: np.ndarray = np.isfinite(self.losses) & (self.losses <= target_ratio * self.start)
        return success

    def successes(self, target_ratio: float = 1.0) -> Bool[np.ndarray, "hyper instance"]:
        """The user's verdicts if there are any, else `succeeded`."""
        return self.succeeded(target_ratio) if self.success is None else self.success

    def ratios(self, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """Final over start loss; infinite if the run failed, and for a start of 0 unless the loss stayed there."""
        losses = self.losses[rows]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = np.where(np.isfinite(losses), losses / self.start, np.inf)
        at_zero = self.start == 0
        if at_zero.any():
            ratios[:, at_zero] = np.where(losses[:, at_zero] == 0, 0.0, np.inf)
        return ratios

    def safeguarded(self, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """z = min(l / l0, 1): the relative loss if the start is returned unless the run ended at or below it."""
        z: np.ndarray = np.minimum(self.ratios(rows), 1.0)
        return z

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table as npz, without pickle."""
        arrays = {"losses": self.losses, "start": self.start}
        arrays |= {f"candidates.{name}": values for name, values in self.candidates.items()}
        arrays |= {name: mask for name in ("success", "missing") if (mask := getattr(self, name)) is not None}
        header = json.dumps({"schema": SCHEMA, "provenance": dict(self.provenance)}, sort_keys=True)
        save_npz(path, arrays | {"header": np.array(header)})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "LossTable":
        """A table written by `save`, checked as if it were new."""
        arrays = load_npz(path)
        try:
            header = json.loads(str(arrays["header"]))
            schema, provenance = header["schema"], header["provenance"]
        except (KeyError, TypeError, ValueError):
            schema = "none"
        if schema != SCHEMA or not {"losses", "start"} <= arrays.keys():
            raise StorageError(
                f"{os.fspath(path)} has the schema {schema} and the arrays {', '.join(sorted(arrays))}.",
                f"This version of pacopt reads {SCHEMA}.",
                "Numbers of another layout could be taken for something that they are not.",
                "Read it with the version of pacopt that wrote it.",
            )
        prefix = "candidates."
        return LossTable(
            losses=arrays["losses"],
            start=arrays["start"],
            candidates={k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)},
            success=arrays.get("success"),
            missing=arrays.get("missing"),
            provenance=provenance,
        )


def refuse_bad_losses(losses: np.ndarray, start: np.ndarray, *, first_instance: int = 0) -> None:
    """Raise for a start that is negative or not finite and for a negative final loss; name the cell.

    `first_instance` says where a part of a table stands in the whole.
    """
    bad = np.flatnonzero(~np.isfinite(start) | (start < 0))
    if len(bad):
        raise TableError(
            f"The start loss of instance {first_instance + bad[0]} is {start[bad[0]]}; {len(bad)} are like this.",
            "A start loss is finite and not negative.",
            "Every statement is relative to the start, so without one nothing can be said about the instance.",
            "Check the data of that instance and the start of the problem; a loss bounded below by "
            "another value than 0 needs its minimum subtracted (AbstractKnownMinimum).",
        )
    rows, columns = np.nonzero(losses < 0)
    if len(rows):
        raise TableError(
            f"The loss of candidate {rows[0]} on instance {first_instance + columns[0]} is "
            f"{losses[rows[0], columns[0]]}; {len(rows)} are negative.",
            "Losses are not negative.",
            "Ratios of losses, on which every certificate rests, mean nothing for negative values.",
            "Subtract a lower bound in the loss, or give the problem a minimum (AbstractKnownMinimum); if it has one, "
            "that minimum is too large for this instance.",
        )


def _json(provenance: Any) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(json.dumps(dict(provenance)))
    except (TypeError, ValueError) as error:
        raise TableError(
            f"The provenance cannot be written as JSON: {error}.",
            "It is a mapping of names to plain values.",
            "It is stored and hashed with the table.",
            "Leave out what is no number, text or list of these.",
        ) from error
    return value


def _real(name: str, array: Any) -> np.ndarray:
    try:
        result = np.asarray(array)
    except ValueError as error:
        raise TableError(
            f"{name} is no array: {error}.", "Every row has the same length.", "", "Use NaN for a run that failed."
        ) from error
    if result.dtype.kind not in "fiu" and result.size:
        raise TableError(
            f"{name} holds {result.dtype} values.", "Losses are real numbers.", "", "Pass an array of floats."
        )
    return frozen(result, np.float64)


def _mask(name: str, array: Any, shape: tuple[int, ...]) -> np.ndarray | None:
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


def _named_candidates(candidates: Mapping[str, Any], rows: int) -> dict[str, np.ndarray]:
    named = {name: _real(f"candidates[{name!r}]", values) for name, values in sorted(candidates.items())}
    for name, values in named.items():
        if values.shape != (rows,):
            raise TableError(
                f"candidates[{name!r}] has shape {values.shape}, and the table has {rows} rows.",
                f"Each hyperparameter has one value for each candidate: shape ({rows},).",
                "Otherwise a row would be certified under another candidate's name.",
                "Pass the candidates in the order of the rows.",
            )
    return named or {"candidate": frozen(np.arange(rows, dtype=np.float64))}
