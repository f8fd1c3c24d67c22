"""How the learned hyperparameters do on the test split, beside others: final losses, and losses on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from pacopt.claims.foreign import ForeignClaim
from pacopt.claims.over import Over
from pacopt.claims.standard import REQUIRED
from pacopt.design import Design
from pacopt.loss_table import LossTable
from pacopt.support.arrays import frozen
from pacopt.support.intervals import Factor, factor_interval, mean_interval, share_interval
from pacopt.support.rounding import down, up
from pacopt.support.values import named

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
    `failures` counts the runs that ended above their start or not at a finite loss, and `worst` is the largest ratio,
    infinite for a run that did not end at a finite loss.
    `values` are what the claims of the certificate speak of, as measured. Where losses have no start, `mean` and
    `median` are in the unit of the score, `failures` counts runs that failed, and `mean_loss` is NaN. A baseline with
    another algorithm is `described` in words, and has neither `hyper` nor `values`.
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
    """Rows side by side on the same test instances, which were used for nothing else: measured, not certified.

    `scores` are the safeguarded ratios of each row; `columns` are headings for claims whose measured values are printed
    beside mean, median and success. Each interval misses in at most 5 % of all test splits. `averaged` is what is
    averaged, "ratio" unless losses have no start; `usual` is what the row "standard" is.
    """

    instances: int
    rows: tuple[Row, ...]
    scores: Float[np.ndarray, "row instance"] = field(repr=False, compare=False)
    columns: Mapping[str, str] = field(default_factory=dict)
    noun: str = "instances"
    averaged: str = "ratio"
    usual: str = "textbook"

    @staticmethod
    def of(table: LossTable, names: Sequence[str], design: Design) -> "Comparison":
        """A comparison of the candidates of a table, in what the claims of a design speak of and in some more."""
        score, relative, whole = design.score, table.start is not None, _with_baselines(table)
        z, scale = (whole.safeguarded(), 1.0) if relative else (score.of(whole), score.scale)
        outcomes, success = whole.outcomes(), _succeeded(table, whole, design.target_ratio)
        # A row is compared with the baselines by standing beside them.
        claims = [claim for claim in design.claims if not isinstance(claim, ForeignClaim | Over)]
        measured = {claim.name: (claim, claim.measured(table, design)) for claim in claims}
        runs = whole.run_ratios() if relative else np.where(np.isfinite(whole.losses), whole.losses, np.inf)
        good = whole.losses <= whole.starts if relative else np.isfinite(whole.losses)
        returned = whole.averaged(np.where(good, whole.losses, whole.starts)) if relative else np.full(z.shape, np.nan)
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
        return Comparison(table.shape[1], tuple(rows), frozen(z), shown, noun, averaged, usual)

    @property
    def of_the_usual(self) -> str:
        """The possessive of what one would use otherwise: "the textbook's", "the defaults'"."""
        return f"the {self.usual}'" if self.usual.endswith("s") else f"the {self.usual}'s"

    @property
    def relative(self) -> bool:
        """Whether losses are compared with a start."""
        return self.averaged == "ratio"

    @property
    def title(self) -> str:
        """What its numbers are."""
        what = "final loss relative to the start" if self.relative else self.averaged
        return f"{self.instances} test {self.noun}: {what}"

    @property
    def note(self) -> str:
        """What the columns of its table say."""
        if not self.relative:
            return "Success: its 95 % interval."
        return (
            "Mean with the safeguard; the rest without it. Success: its 95 % interval. Above start: runs that ended "
            "there, or failed. Worst: the largest ratio."
        )

    @property
    def failing(self) -> str:
        """What is counted of runs that did not do well."""
        return "above start" if self.relative else "failed"

    def factor(self, name: str, to: str) -> Factor:
        """How many times smaller the mean of one row is than that of another, with its 95 % confidence interval."""
        names = [row.name for row in self.rows]
        one, other = (self.scores[names.index(self[each].name)] for each in (name, to))
        return factor_interval(one, other)

    def __getitem__(self, name: str) -> Row:
        """The row of this name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"There is no row {name!r}; there are {', '.join(row.name for row in self.rows)}.")

    def __contains__(self, name: object) -> bool:
        return any(row.name == name for row in self.rows)

    def __str__(self) -> str:
        extra = {name: heading for name, heading in self.columns.items() if name in self.rows[0].values}
        said = [self.usual if row.name == "standard" else row.name for row in self.rows]
        wide = max(14, *(len(name) + 2 for name in said))
        widths = {name: max(16, len(heading) + 2) for name, heading in extra.items()}
        lines = [
            f"{self.title}{'; mean and median with the safeguard' if self.relative else ''}",
            f"{'':<{wide}}{'mean':>10}{'95 % interval':>20}{'median':>12}"
            + "".join(f"{heading:>{widths[name]}}" for name, heading in extra.items())
            + f"{'success':>10}{'95 % interval':>20}{self.failing:>13}{'worst':>12}  hyperparameters",
        ]
        lines += [
            f"{name:<{wide}}{row.mean:>10.4g}{between(row.interval):>20}{row.median:>12.4g}"
            + "".join(
                f"{row.values[key]:>{width}.4g}" if key in row.values else " " * width for key, width in widths.items()
            )
            + f"{row.success:>10.1%}{percentages(row.success_interval):>20}{row.failures:>13}{row.worst:>12.3g}  "
            f"{row.described or named(row.hyper)}"
            for name, row in zip(said, self.rows, strict=True)
        ]
        return "\n".join(lines)


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


def between(interval: tuple[float, float], digits: int = 3) -> str:
    """An interval in words, its ends rounded outwards.

    >>> between((0.028049, 0.056299))
    '0.028 to 0.0563'
    """
    return f"{down(interval[0], digits)} to {up(interval[1], digits)}"


def percentages(interval: tuple[float, float]) -> str:
    """An interval of probabilities in per cent, its ends rounded outwards.

    >>> percentages((0.98345, 1.0))
    '98.3 to 100 %'
    """
    return f"{between((100 * interval[0], 100 * interval[1]))} %"


def times(factor: Factor) -> str:
    """By how much a mean is smaller, in words, rounded outwards.

    >>> times(Factor(10.6, 6.643, 13.911)), times(Factor(np.inf, 6.643, np.inf))
    ('between 6.64 and 14 times', 'at least 6.64 times')
    """
    low = down(factor.low, 3)
    return f"between {low} and {up(factor.high, 3)} times" if np.isfinite(factor.high) else f"at least {low} times"


class Raw(NamedTuple):
    """Runs without the safeguard: how many, how many ended above their start or failed, and the largest ratio.

    Where losses have no start, only runs that failed count.
    """

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
    """The runs of one candidate, but for those that were given up before they were run."""
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
