"""How the learned hyperparameters do on the test split, beside others: final losses, and losses on the way."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from pacopt.loss_table import LossTable
from pacopt.statement import percentage
from pacopt.support.arrays import frozen

#: At most so many steps of a run are recorded for a curve.
RECORDED = 200
#: Levels of the quantiles that are always given.
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Row:
    """One choice of hyperparameters on the test split.

    `mean`, `median` and `mean_loss` are with the safeguard, `quantiles` (by their levels) and `success` without it; all
    but `mean_loss` are relative to the start.
    """

    name: str
    hyper: dict[str, float]
    mean: float
    median: float
    quantiles: dict[float, float]
    success: float
    mean_loss: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows side by side on the same test instances, which were used for nothing else. Point estimates, no bounds."""

    instances: int
    quantile_level: float
    rows: tuple[Row, ...]

    @staticmethod
    def of(table: LossTable, names: Sequence[str], *, target_ratio: float, quantile_level: float) -> "Comparison":
        """A comparison of the candidates of a table."""
        z, ratios, success = table.safeguarded(), table.ratios(), table.successes(target_ratio)
        returned = np.where(table.losses <= table.start, table.losses, table.start)
        rows = (
            Row(
                name=name,
                hyper=table.hyper(i),
                mean=float(z[i].mean()),
                median=float(np.median(z[i])),
                # Order statistics: between two of them, one of which may be infinite, nothing is interpolated.
                quantiles={
                    level: float(np.quantile(ratios[i], level, method="inverted_cdf"))
                    for level in sorted({*LEVELS, quantile_level})
                },
                success=float(success[i].mean()),
                mean_loss=float(returned[i].mean()),
            )
            for i, name in enumerate(names)
        )
        return Comparison(table.shape[1], quantile_level, tuple(rows))

    def __getitem__(self, name: str) -> Row:
        """The row of this name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"There is no row {name!r}; there are {', '.join(row.name for row in self.rows)}.")

    def __contains__(self, name: object) -> bool:
        return any(row.name == name for row in self.rows)

    def __str__(self) -> str:
        quantile = f"{percentage(self.quantile_level)} %"
        lines = [
            f"{self.instances} test instances, final loss relative to the start",
            f"{'':<14}{'mean':>12}{'median':>12}{quantile:>12}{'success':>10}  hyperparameters",
        ]
        lines += [
            f"{row.name:<14}{row.mean:>12.4g}{row.median:>12.4g}{row.quantiles[self.quantile_level]:>12.4g}"
            f"{row.success:>10.1%}  {', '.join(f'{name} = {value:.4g}' for name, value in row.hyper.items())}"
            for row in self.rows
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Safeguarded relative losses over the steps, for each row of the comparison: mean, median, 10 % and 90 %."""

    names: tuple[str, ...]
    steps: Int[np.ndarray, " step"]
    mean: Float[np.ndarray, "row step"]
    median: Float[np.ndarray, "row step"]
    low: Float[np.ndarray, "row step"]
    high: Float[np.ndarray, "row step"]

    @staticmethod
    def of(
        names: Sequence[str], steps: Sequence[int], losses: Float[np.ndarray, "row instance step"], start: np.ndarray
    ) -> "Curves":
        """The curves of losses recorded at these steps."""
        recorded = [LossTable(losses[:, :, k], start).safeguarded() for k in range(len(steps))]
        z = np.stack(recorded, axis=2)
        low, median, high = np.quantile(z, [0.1, 0.5, 0.9], axis=1)
        return Curves(
            tuple(names), frozen(np.asarray(steps)), *(frozen(each) for each in (z.mean(axis=1), median, low, high))
        )


def recorded_steps(steps: int) -> tuple[int, ...]:
    """The steps at which losses are recorded for a curve: all of them, or some in equal distances."""
    return tuple(np.unique(np.linspace(0, steps, min(steps, RECORDED) + 1).round().astype(int)).tolist())
