"""Finite grids of lambda: what the choice among their points costs, and the best bound on one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from pacopt.assumptions import Assumption
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.exponential_family import AbstractExponentialBound, best_bound, gibbs_posterior, posterior_bound
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.support.arrays import frozen
from pacopt.support.numbers import is_real, is_whole


@dataclass(frozen=True, eq=False)
class Grid:
    """Finitely many parameters fixed in advance, with weights: point k may fail with eps times its weight."""

    points: Float[np.ndarray, " grid"]
    weights: Float[np.ndarray, " grid"]

    def __post_init__(self) -> None:
        """Check and freeze."""
        points, weights = frozen(self.points, np.float64), frozen(self.weights, np.float64)
        good = points.ndim == 1 and points.shape == weights.shape and points.size > 0
        if not good or not np.all(np.isfinite(points)) or not np.all(points > 0):
            raise DesignError(
                f"A grid has points of shape {points.shape} and weights of shape {weights.shape}.",
                "A grid is a list of positive numbers with one weight each.",
                "",
                "Use Grid.uniform(points) or Grid.geometric(low, high, count).",
            )
        if not np.all(weights > 0) or abs(weights.sum() - 1) > 1e-9:
            raise DesignError(
                f"The weights of a grid sum to {weights.sum():.12g}, the smallest is {weights.min()}.",
                "The weights of a grid are positive and sum to one.",
                "They divide the failure probability between the points.",
                "Divide them by their sum.",
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "weights", weights)

    @staticmethod
    def uniform(points: Sequence[float] | np.ndarray) -> "Grid":
        """Equal weights: the price is log(number of points / eps)."""
        points = np.asarray(points, dtype=np.float64)
        return Grid(points, np.full(len(points), 1 / len(points)))

    @staticmethod
    def geometric(low: float, high: float, count: int) -> "Grid":
        """Points in equal ratios from low to high, equal weights."""
        if not (is_real(low) and is_real(high) and 0 < low <= high < np.inf) or not is_whole(count, 1):
            raise DesignError(
                f"A grid of {count!r} points from {low!r} to {high!r} is asked for.",
                "It has at least one point, from a positive number to a larger one.",
                "",
                "Use Grid.geometric(0.001, 1.0, 20), for example.",
            )
        return Grid.uniform(np.geomspace(low, high, count))

    def prices(self, epsilon: float) -> Float[np.ndarray, " grid"]:
        """log(1 / (eps weight)) for each point."""
        check_epsilon(epsilon)
        prices: np.ndarray = -np.log(epsilon * self.weights)
        return prices


@dataclass(frozen=True, eq=False)
class Found:
    """The smallest bound, where it was found, and the posterior that attains it."""

    value: float
    lam: float
    posterior: DiscreteMeasure
    at_edge: bool


def search_grid(
    bound: AbstractExponentialBound, table: LossTable, prior: DiscreteMeasure, grid: Grid, epsilon: float
) -> Found:
    """The minimum of F over a grid, valid for all of its points at once with probability 1 - epsilon."""
    n = table.shape[1]
    statistics = bound.statistics(table)
    prices = grid.prices(epsilon)
    values = [
        best_bound(bound, prior, statistics, float(lam), n, p) for lam, p in zip(grid.points, prices, strict=True)
    ]
    best = int(np.argmin(values))
    lam = float(grid.points[best])
    exponents = bound.exponents(statistics, lam, n)
    posterior = gibbs_posterior(prior, exponents) if np.isfinite(values[best]) else prior
    return Found(float(values[best]), lam, posterior, at_edge=best in (0, len(values) - 1))


@dataclass(frozen=True, eq=False)
class OnGrid(AbstractBound):
    """A theorem of the exponential-family form with its grid of lambdas: a bound like any other."""

    family: AbstractExponentialBound
    grid: Grid

    @property
    def theorem(self) -> str:  # type: ignore[override]
        """That of the family."""
        return self.family.theorem

    @property
    def assumptions(self) -> tuple[Assumption, ...]:  # type: ignore[override]
        """Those of the family."""
        return self.family.assumptions

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound of a posterior on one candidate, for each of them, with the best lambda of the grid."""
        statistics, n = self.family.statistics(table), table.shape[1]
        best = np.full(len(prior), np.inf)
        for lam, price in zip(self.grid.points.tolist(), self.grid.prices(epsilon).tolist(), strict=True):
            values = price - prior.log_weights - self.family.exponents(statistics, lam, n)
            linked = [self.family.link(value, lam, n) if value < np.inf else np.inf for value in values.tolist()]
            best = np.minimum(best, linked)
        return best

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The bound of this posterior, with the best lambda of the grid."""
        statistics, n = self.family.statistics(table), table.shape[1]
        pairs = zip(self.grid.points.tolist(), self.grid.prices(epsilon).tolist(), strict=True)
        return min(posterior_bound(self.family, posterior, prior, statistics, lam, n, p) for lam, p in pairs)


def check_epsilon(epsilon: float) -> None:
    """Refuse what is no failure probability."""
    if not 0 < epsilon < 1:
        raise DesignError(
            f"epsilon is {epsilon}.", "It lies strictly between 0 and 1.", "It is a failure probability.", "Use 0.01."
        )
