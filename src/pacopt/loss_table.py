"""The loss table: what every candidate does on every instance. The algorithms end here and the statistics start."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from pacopt.columns import Columns, grouped_columns
from pacopt.errors import TableError
from pacopt.provenance import Origin
from pacopt.support.arrays import frozen
from pacopt.support.cells import (
    baseline_rows,
    cell_mask,
    column_names,
    first_times,
    named_candidates,
    plain_json,
    real_array,
    refuse_bad_losses,
    refuse_other_verdicts,
)
from pacopt.support.stored_table import load_table, save_table
from pacopt.support.table_views import table_frame, table_html
from pacopt.support.values import value_of

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class LossTable:
    """Final losses of M candidates on N instances, beside the loss at each instance's start, if there is one.

    A loss that is not finite means that the run failed. `success` holds the user's own verdicts on the runs, if any.
    `missing` marks cells that were not evaluated; they count as failed and hold NaN. `fingerprints` identify the
    instances of the runs, if they are known. A candidate has a number, a string, a boolean or an array for each
    hyperparameter. `baselines` are losses of other algorithms on the same runs, by name; infinite for a failed run.
    `times` holds, for each fraction of the start loss, the first step (or second) at which each run reached it;
    infinite for never.

    If several runs belong to one draw (replicates of one instance, rows of one group), `columns` says which: then
    the losses are those of runs, side by side, and N is the number of columns. `safeguarded` is averaged over the runs
    of a column; `ratios`, `outcomes`, `reached` and `succeeded` are those of its leading run.

    >>> table = LossTable(losses=[[1.0, 0.5], [np.inf, 3.0]], start=[2.0, 2.0])
    >>> table.shape
    (2, 2)
    >>> table.succeeded()
    array([[ True,  True],
           [False, False]])
    """

    losses: Float[np.ndarray, "hyper instance"]
    start: Float[np.ndarray, " instance"] | None = None
    candidates: Mapping[str, np.ndarray] = field(default_factory=dict)
    success: Bool[np.ndarray, "hyper instance"] | None = None
    missing: Bool[np.ndarray, "hyper instance"] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    fingerprints: np.ndarray | None = None
    columns: Columns | None = None
    baselines: Mapping[str, np.ndarray] = field(default_factory=dict)
    times: Mapping[float, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        losses = real_array("losses", self.losses)
        if losses.ndim != 2 or 0 in losses.shape:
            raise TableError(
                f"losses has shape {losses.shape}.",
                "A table needs at least one row (candidate) and one column (instance).",
                "There is nothing to learn from an empty one.",
                "Pass an array of shape [candidates, instances].",
            )
        start = None if self.start is None else real_array("start", self.start)
        if start is not None and start.shape != losses.shape[1:]:
            raise TableError(
                f"start has shape {start.shape}, losses has shape {losses.shape}.",
                f"start needs one loss for each instance: shape {losses.shape[1:]}.",
                "Final losses are compared with the start of the same instance.",
                "Check that losses has candidates as rows and instances as columns.",
            )
        missing = cell_mask("missing", self.missing, losses.shape)
        success = cell_mask("success", self.success, losses.shape)
        if missing is not None:
            losses = frozen(np.where(missing, np.nan, losses))
        if success is not None:
            # A run that failed has not succeeded, whatever a predicate made of its last point.
            success = frozen(success & np.isfinite(losses))
        refuse_bad_losses(losses, start)
        if self.columns is not None and self.columns.runs != losses.shape[1]:
            raise TableError(
                f"The columns have {self.columns.runs} runs, and losses has shape {losses.shape}.",
                "Each run belongs to one column.",
                "",
                "Give the sizes of all columns.",
            )
        values = {
            "losses": losses,
            "start": start,
            "candidates": MappingProxyType(named_candidates(self.candidates, len(losses))),
            "success": success,
            "missing": missing,
            "provenance": MappingProxyType(plain_json(self.provenance)),
            "fingerprints": column_names(self.fingerprints, losses.shape[1]),
            "baselines": MappingProxyType(baseline_rows(self.baselines, losses.shape[1])),
            "times": MappingProxyType(_unless_missing(first_times(self.times, losses.shape), missing)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it was made of, for worker processes."""
        values = (dict(self.candidates), self.success, self.missing, dict(self.provenance), self.fingerprints)
        return LossTable, (self.losses, self.start, *values, self.columns, dict(self.baselines), dict(self.times))

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"LossTable({rows} candidates of {', '.join(self.candidates)} x {columns} instances)"

    def _repr_html_(self) -> str:
        return table_html(self)

    @property
    def origin(self) -> Origin:
        """The origin of the table, as far as its provenance tells."""
        return Origin.of(self.provenance)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of candidates and the number of instances, or of groups if there are any."""
        rows, runs = self.losses.shape
        return rows, runs if self.columns is None else len(self.columns)

    @cached_property
    def leads(self) -> "LossTable":
        """The table of the leading runs of the columns; the table itself if each run is a column."""
        if self.columns is None:
            return self
        runs = self.columns.lead
        return LossTable(
            losses=self.losses[:, runs],
            start=None if self.start is None else self.start[runs],
            candidates=self.candidates,
            success=None if self.success is None else self.success[:, runs],
            missing=None if self.missing is None else self.missing[:, runs],
            fingerprints=None if self.fingerprints is None else self.fingerprints[runs],
            baselines={name: row[runs] for name, row in self.baselines.items()},
            times={target: times[:, runs] for target, times in self.times.items()},
        )

    def averaged(self, values: Float[np.ndarray, "hyper run"]) -> Float[np.ndarray, "hyper instance"]:
        """Numbers of runs as numbers of columns: their means."""
        return values if self.columns is None else self.columns.averaged(values)

    def select(self, *, rows: Any = slice(None), columns: Any = slice(None)) -> "LossTable":
        """The table of some candidates or instances, given by a slice, numbers or a mask; without its provenance."""
        kept = None
        if self.columns is not None:
            kept, columns = self.columns.at(np.arange(len(self.columns))[columns])

        def cut(cells: Any) -> Any:
            return None if cells is None else cells[rows][:, columns]

        return LossTable(
            losses=self.losses[rows][:, columns],
            start=None if self.start is None else self.start[columns],
            candidates={name: values[rows] for name, values in self.candidates.items()},
            success=cut(self.success),
            missing=cut(self.missing),
            fingerprints=None if self.fingerprints is None else self.fingerprints[columns],
            columns=kept,
            baselines={name: row[columns] for name, row in self.baselines.items()},
            times={target: cut(times) for target, times in self.times.items()},
        )

    def grouped(self, groups: Any, *, seed: int = 0) -> "LossTable":
        """This table with its columns in groups, labelled by a number or a string; those of a group are consecutive.

        Each group is then one column: averages are taken over it, and counts use one of its runs, drawn by the seed.
        Fix the seed before looking at the losses.
        """
        if self.columns is not None:
            raise TableError("The table already has groups.", "", "", "Group the table that it was made from.")
        return replace(self, columns=grouped_columns(groups, self.losses.shape[1], seed))

    def hyper(self, candidate: int) -> dict[str, Any]:
        """The hyperparameters of one candidate, by name."""
        return {name: value_of(values, candidate) for name, values in self.candidates.items()}

    @property
    def starts(self) -> Float[np.ndarray, " instance"]:
        """The losses at the start; an error if the table has none."""
        if self.start is None:
            raise TableError(
                "The table has no start losses.",
                "A ratio of final to start loss needs both.",
                "Without a start nothing is known about how large a loss can be, and no bound on its mean exists.",
                "Pass start=..., or declare the largest loss with a score: pacopt.Design.uniform(table, "
                'score=pacopt.Ranged(200, unit="iterations")).',
            )
        return self.start

    def reached(self, target_ratio: float = 1.0) -> Bool[np.ndarray, "hyper instance"]:
        """The paper's convergence set: where a run ended, finite, at or below `target_ratio` times its start loss."""
        if not 0.0 < target_ratio <= 1.0:
            raise TableError(
                f"target_ratio is {target_ratio}.",
                "It must be above 0 and at most 1.",
                "A run that ends above its start has not succeeded in any sense the theory covers.",
                "Use 1.0 for 'does not increase the loss', 0.1 for 'reduces it tenfold'.",
            )
        if self.columns is not None:
            return self.leads.reached(target_ratio)
        # Not losses / start: the two differ on ties. A NaN compares as false.
        reached: np.ndarray = np.isfinite(self.losses) & (self.losses <= target_ratio * self.starts)
        return reached

    def succeeded(self, target_ratio: float = 1.0) -> Bool[np.ndarray, "hyper instance"]:
        """The user's verdicts if there are any, else `reached`; without a start, where the run did not fail."""
        if self.columns is not None:
            return self.leads.succeeded(target_ratio)
        if self.success is not None:
            return self.success
        return np.isfinite(self.losses) if self.start is None else self.reached(target_ratio)

    def ratios(self, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """Final over start loss; infinite if the run failed, and for a start of 0 unless the loss stayed there."""
        return self.leads.run_ratios(rows)

    def run_ratios(self, rows: slice = slice(None)) -> Float[np.ndarray, "hyper run"]:
        """Final over start loss of every run, whichever column it belongs to."""
        losses = self.losses[rows]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = np.where(np.isfinite(losses), losses / self.starts, np.inf)
        at_zero = self.starts == 0
        if at_zero.any():
            ratios[:, at_zero] = np.where(losses[:, at_zero] == 0, 0.0, np.inf)
        return ratios

    def outcomes(self, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """How the runs ended, without any safeguard: ratios, or losses where there is no start; failed is infinite."""
        if self.start is not None:
            return self.ratios(rows)
        losses = self.leads.losses[rows]
        return np.where(np.isfinite(losses), losses, np.inf)

    def time_to(self, target: float | str, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """When a target was first met: a fraction of the start loss, or a word if the losses are times."""
        if isinstance(target, str):
            if self.start is not None:
                raise TableError(
                    f"The target is {target!r}, and the table has start losses.",
                    "A word stands for a table whose losses are times: steps, iterations, seconds.",
                    "",
                    "Give a fraction of the start loss, such as 0.001.",
                )
            refuse_other_verdicts(self.losses, self.success)
            return self.outcomes(rows)
        if target not in self.times:
            known = ", ".join(map(repr, self.times)) or "none"
            raise TableError(
                f"When runs reached {target!r} times their start was not recorded; recorded are {known}.",
                "A budget needs the first step at which each run met its target.",
                "",
                "Pass budget=[...] to learn, or times={0.001: steps} to a table of your own.",
            )
        return self.leads.times[target][rows]

    def safeguarded(self, rows: slice = slice(None)) -> Float[np.ndarray, "hyper instance"]:
        """z = min(l / l0, 1): the relative loss, falling back to the start if the loss did not decrease."""
        return self.averaged(np.minimum(self.run_ratios(rows), 1.0))

    def to_dataframe(self) -> "DataFrame":
        """One row for each run, in pandas: candidate, instance, hyperparameters (`params_...`), losses, success."""
        return table_frame(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table as npz, without pickle."""
        save_table(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "LossTable":
        """A table written by `save`, checked as if it were new."""
        parts = load_table(path)
        columns = parts.pop("columns")
        return LossTable(**parts, columns=None if columns is None else Columns(*columns))


def _unless_missing(times: dict[float, np.ndarray], missing: np.ndarray | None) -> dict[float, np.ndarray]:
    """Times of runs; a cell that was not evaluated never reaches a target."""
    if missing is None:
        return times
    return {target: frozen(np.where(missing, np.inf, each)) for target, each in times.items()}
