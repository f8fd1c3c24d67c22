"""How the learned hyperparameters do on the test split, beside others: final losses, and losses on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from pacopt.claims.foreign import ForeignClaim
from pacopt.claims.over import Over
from pacopt.claims.standard import REQUIRED
from pacopt.design import Design
from pacopt.loss_table import LossTable
from pacopt.support.arrays import frozen
from pacopt.support.cells import start_or
from pacopt.support.intervals import Factor, factor_interval, mean_interval, share_interval
from pacopt.support.rounding import between as between
from pacopt.support.rounding import percentages as percentages
from pacopt.support.rounding import times as times
from pacopt.support.values import named

if TYPE_CHECKING:
    from pandas import DataFrame

#: At most so many steps of a run are recorded for a curve.
RECORDED = 200
#: Levels of the quantiles that are always given.
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Row:
    """One choice of hyperparameters on the test split.

    `mean`, `median` and `mean_loss` are with the safeguard; `quantiles` (by their levels), `success`, `failures` and
    `worst` without it. All but `mean_loss` are relative to the start. `interval` is a 95 % confidence interval of the
    mean, and `success_interval` one of the probability of success; `mean_loss` has none, since losses are unbounded.
    `failures` counts the runs that ended above their start or failed, and `worst` is the largest ratio, infinite if a
    run failed.
    `values` are the measured counterparts of the claims. Where losses have no start, `mean` and `median` are in the
    unit of the score, `failures` counts failed runs, and `mean_loss` is NaN. A baseline with another algorithm is
    `described` in words, and has neither `hyper` nor `values`.
    """

    name: str
    hyper: dict[str, Any]
    mean: float
    median: float
    quantiles: dict[float, float]
    success: float
    mean_loss: float
    interval: tuple[float, float]
    failures: int
    worst: float
    values: Mapping[str, float]
    success_interval: tuple[float, float]
    described: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Methods compared on the same test instances, which were used for nothing else: measured, not certified.

    `scores` are the safeguarded ratios of each row; `columns` are headings for claims whose measured values are printed
    beside mean, median and success. Each interval misses the true value in at most 5 % of all test splits. `averaged`
    is what is averaged, "ratio" unless losses have no start; `usual` names the row of textbook settings or defaults.
    `runs` counts the runs of a row: more than `instances` if those are groups, or have several seeds.
    """

    instances: int
    runs: int
    rows: tuple[Row, ...]
    scores: Float[np.ndarray, "row instance"] = field(repr=False, compare=False)
    columns: Mapping[str, str] = field(default_factory=dict)
    noun: str = "instances"
    averaged: str = "ratio"
    usual: str = "textbook"

    @staticmethod
    def of(table: LossTable, names: Sequence[str], design: Design) -> "Comparison":
        """A comparison of the candidates of a table, in the quantities that a design claims and a few more."""
        score, relative, whole = design.score, table.start is not None, _with_baselines(table)
        z, scale = (whole.safeguarded(), 1.0) if relative else (score.of(whole), score.scale)
        outcomes, success = whole.outcomes(), _succeeded(table, whole, design.target_ratio)
        # A row is compared with the baselines by standing beside them.
        claims = [claim for claim in design.claims if not isinstance(claim, ForeignClaim | Over)]
        measured = {claim.name: (claim, claim.measured(table, design)) for claim in claims}
        runs = whole.run_ratios() if relative else np.where(np.isfinite(whole.losses), whole.losses, np.inf)
        good = whole.losses <= whole.starts if relative else np.isfinite(whole.losses)
        starts = start_or(whole.starts, np.inf) if relative else np.nan
        returned = whole.averaged(np.where(good & relative, whole.losses, starts))
        about, own = table.provenance.get("baselines", {}), len(table.losses)
        rows = (
            Row(
                name=name,
                hyper=table.hyper(i) if i < own else {},
                mean=scale * float(z[i].mean()),
                median=scale * float(np.quantile(z[i], 0.5, method="inverted_cdf")),  # as the quantiles beside it
                # Order statistics: between two of them, one of which may be infinite, nothing is interpolated.
                quantiles={level: float(np.quantile(outcomes[i], level, method="inverted_cdf")) for level in LEVELS},
                success=float(success[i].mean()),
                mean_loss=float(returned[i].mean()),
                interval=_scaled(mean_interval(z[i]), scale),
                failures=int((~good[i]).sum()),
                worst=float(runs[i].max()),
                values={
                    name: float(found[i]) for name, (_, found) in measured.items() if found is not None and i < own
                },
                success_interval=share_interval(int(success[i].sum()), success.shape[1]),
                described="" if i < own else about[name]["text"],
            )
            for i, name in enumerate((*names, *table.baselines))
        )
        headings = {name: claim.heading(design).removesuffix(" at most") for name, (claim, _) in measured.items()}
        shown = {name: heading for name, heading in headings.items() if name not in (design.objective.name, REQUIRED)}
        replicates = 1 if table.origin.seeds is None else table.origin.seeds.replicates
        grouped = table.losses.shape[1] != table.shape[1] * replicates
        noun, averaged = "groups" if grouped else "instances", "ratio" if relative else score.noun
        usual = table.origin.usual
        return Comparison(table.shape[1], whole.losses.shape[1], tuple(rows), frozen(z), shown, noun, averaged, usual)

    @property
    def of_the_usual(self) -> str:
        """The possessive of the usual choice: "the textbook's", "the defaults'"."""
        return f"the {self.usual}'" if self.usual.endswith("s") else f"the {self.usual}'s"

    @property
    def relative(self) -> bool:
        """Whether losses are relative to a start."""
        return self.averaged == "ratio"

    @property
    def title(self) -> str:
        """What its numbers are."""
        what = "final loss relative to the start" if self.relative else self.averaged
        return f"{self.instances} test {self.noun}: {what}"

    @property
    def note(self) -> str:
        """An explanation of the columns of its table."""
        if not self.relative:
            return "Success: its 95 % interval."
        return (
            "Mean with the safeguard; the rest without it. Success: its 95 % interval. Above start: runs that ended "
            "there, or failed. Worst: the largest ratio."
        )

    @property
    def failing(self) -> str:
        """The heading for the failures of a row."""
        told = "above start" if self.relative else "failed"
        return told if self.runs == self.instances else f"{told} (of {self.runs})"

    def factor(self, name: str, to: str) -> Factor:
        """How many times smaller the mean of one row is than that of another, with its 95 % confidence interval."""
        names = [row.name for row in self.rows]
        one, other = (self.scores[names.index(self[each].name)] for each in (name, to))
        return factor_interval(one, other)

    def __getitem__(self, name: str) -> Row:
        """The row of this name, as it is printed: "learned", "textbook" or "defaults", or that of a baseline."""
        for row in self.rows:
            if name in (row.name, self.called(row)):
                return row
        raise KeyError(f"There is no row {name!r}; there are {', '.join(self.called(row) for row in self.rows)}.")

    def __contains__(self, name: object) -> bool:
        return any(name in (row.name, self.called(row)) for row in self.rows)

    def called(self, row: Row) -> str:
        """The printed name of a row."""
        return self.usual if row.name == "standard" else row.name

    def __str__(self) -> str:
        columns, lines = self.printed, [self.lead]
        wide = max(14, *(len(name) + 2 for name in columns[0][2]))
        widths = [max(width, len(heading) + 2) for heading, width, _ in columns[1:-1]]
        for cells in zip(*((heading, *texts) for heading, _, texts in columns), strict=True):
            padded = (f"{cell:>{width}}" for cell, width in zip(cells[1:-1], widths, strict=True))
            lines.append(f"{cells[0]:<{wide}}{''.join(padded)}  {cells[-1]}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from pacopt.report.notebook import comparison_html

        return comparison_html(self)

    @property
    def lead(self) -> str:
        """The text above its rows."""
        return f"{self.title}{'; mean and median with the safeguard' if self.relative else ''}"

    @property
    def printed(self) -> list[tuple[str, int, list[str]]]:
        """The printed columns: a heading, the least width, and a text for each row."""
        rows = self.rows
        extra = [name for name in self.columns if name in rows[0].values]
        return [
            ("", 0, [self.called(row) for row in rows]),
            ("mean", 10, [f"{row.mean:.4g}" for row in rows]),
            ("95 % interval", 20, [between(row.interval) for row in rows]),
            ("median", 12, [f"{row.median:.4g}" for row in rows]),
            *(
                (self.columns[name], 16, [f"{row.values[name]:.4g}" if name in row.values else "" for row in rows])
                for name in extra
            ),
            ("success", 10, [f"{100 * row.success:.4g} %" for row in rows]),
            ("95 % interval", 20, [percentages(row.success_interval) for row in rows]),
            (self.failing, 13, [f"{row.failures}" for row in rows]),
            ("worst", 12, [f"{row.worst:.3g}" for row in rows]),
            ("hyperparameters", 0, [row.described or named(row.hyper) for row in rows]),
        ]

    def to_dataframe(self) -> "DataFrame":
        """One row for each row, in pandas: means, quantiles, successes, intervals, `measured_...` of claims, params."""
        from pacopt.report.notebook import comparison_frame

        return comparison_frame(self)


def _with_baselines(table: LossTable) -> LossTable:
    """The rows of a table, and its baselines as rows below them."""
    if not table.baselines:
        return table
    losses = np.concatenate([table.losses, *(row[None] for row in table.baselines.values())])
    return LossTable(losses, table.start, columns=table.columns)


def _succeeded(table: LossTable, whole: LossTable, target_ratio: float) -> np.ndarray:
    """Where runs succeeded; where that is a verdict of the user's own, nobody gave one on baselines."""
    own, all_of_them = table.succeeded(target_ratio), whole.succeeded(target_ratio)
    others = all_of_them[len(own) :]
    return np.concatenate([own, np.zeros_like(others) if table.success is not None else others])


def _scaled(interval: tuple[float, float], scale: float) -> tuple[float, float]:
    return scale * interval[0], scale * interval[1]


class Raw(NamedTuple):
    """Runs without the safeguard: how many, how many failed or ended above their start (if any), the largest ratio."""

    runs: int
    failures: int
    worst: float
    relative: bool = True

    @property
    def told(self) -> str:
        """The worst of them in words."""
        if not np.isfinite(self.worst):
            return "at least one without a finite ratio"
        return f"the worst at {self.worst:.3g} times its start"


def raw_runs(table: LossTable, candidate: int) -> Raw:
    """The runs of one candidate, without those that racing skipped."""
    row = table.select(rows=[candidate]).leads
    run = slice(None) if row.missing is None else ~row.missing[0]
    ratios, reached = row.outcomes()[0, run], row.succeeded()[0, run] if row.start is None else row.reached()[0, run]
    return Raw(len(ratios), int((~reached).sum()), float(ratios.max(initial=0.0)), row.start is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Safeguarded relative losses over the steps, for each row of the comparison: mean, median, 10 % and 90 %.

    Baselines with another number of steps have no curve.
    """

    names: tuple[str, ...]
    steps: Int[np.ndarray, " step"]
    mean: Float[np.ndarray, "row step"]
    median: Float[np.ndarray, "row step"]
    low: Float[np.ndarray, "row step"]
    high: Float[np.ndarray, "row step"]

    @staticmethod
    def of(
        names: Sequence[str], steps: Sequence[int], losses: Float[np.ndarray, "row run step"], table: LossTable
    ) -> "Curves":
        """The curves of losses recorded at these steps, of the runs of a table."""
        start, columns = table.start, table.columns
        recorded = [LossTable(losses[:, :, k], start, columns=columns).safeguarded() for k in range(len(steps))]
        z = np.stack(recorded, axis=2)
        low, median, high = np.quantile(z, [0.1, 0.5, 0.9], axis=1, method="inverted_cdf")
        return Curves(
            tuple(names), frozen(np.asarray(steps)), *(frozen(each) for each in (z.mean(axis=1), median, low, high))
        )


#: The arrays of curves, as a run stores them beside their names.
CURVES = ("steps", "mean", "median", "low", "high")


def recorded_steps(steps: int) -> tuple[int, ...]:
    """The steps at which losses are recorded for a curve: all of them, or some in equal distances."""
    return tuple(np.unique(np.linspace(0, steps, min(steps, RECORDED) + 1).round().astype(int)).tolist())
