"""How lambda is chosen, and what the choice costs: finite grids, covered intervals, a certified global minimum."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from pacopt.bounds.exponential_family import AbstractExponentialBound, best_bound, gibbs_posterior
from pacopt.errors import AssumptionError, DesignError
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.support.arrays import frozen


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
        return Grid.uniform(np.geomspace(low, high, count))

    def prices(self, epsilon: float) -> Float[np.ndarray, " grid"]:
        """log(1 / (eps weight)) for each point."""
        _check_epsilon(epsilon)
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


def second_moment_grid(
    *, epsilon: float, v_min: float, v_max: float, least_weight: float = 1.0, count: int = 8
) -> Grid:
    """A grid for bounds of the form lambda v / 2 + (KL + log(1/eps)) / lambda, from values known in advance.

    It spans the minimisers for v between v_min and v_max and KL up to log(1 / least_weight). The values come from a
    declaration or from the prior split: taken from the training instances they would void the bound.
    """
    if not 0 < v_min <= v_max < np.inf or not 0 < least_weight <= 1:
        raise DesignError(
            f"v runs from {v_min} to {v_max}, the least weight is {least_weight}.",
            "0 < v_min <= v_max and 0 < least_weight <= 1 are needed.",
            "",
            "Take them from a declared second moment or from the prior split.",
        )
    price = np.log(1 / epsilon)
    low, high = np.sqrt(2 * price / v_max), np.sqrt(2 * (price - np.log(least_weight)) / v_min)
    return Grid.geometric(low, max(high, np.nextafter(low, np.inf)), count)


def covered_interval_price(
    *, low: float, high: float, radius: float, epsilon: float, v: float, t_max: float, scale: float
) -> float:
    """What replaces log(|Lambda| / eps) if lambda may be any point of [low, high] (P Lemma C.6), two-sided cover.

    For losses between 0 and `scale` (1 for safeguarded ratios, 1/p_min for Rhat_c of P Thm 6.7, r for its
    self-normalised form) and exponents lambda (R - Rhat) - lambda^2/2 v T' with T' <= t_max.
    """
    _check_epsilon(epsilon)
    if not np.isfinite([v, t_max, scale]).all() or min(v, t_max, scale) < 0:
        raise AssumptionError(
            f"v = {v}, max T' = {t_max}, largest loss = {scale}.",
            "A two-sided cover needs bounded losses and a finite T'.",
            "Between the centres the exponent may grow by the empirical risk, which is unbounded.",
            "Use one_sided_price with a declared bound on the risk, a finite grid, or relative losses.",
        )
    _check_interval(low, high, radius)
    cells = int(np.ceil((high - low) / (2 * radius)))
    return float(np.log(max(1, cells) / epsilon) + radius * scale + radius * high * v * t_max)


def one_sided_price(*, low: float, high: float, width: float, epsilon: float, largest_risk: float) -> float:
    """The price of [low, high] for unbounded losses: cells [lam, lam + width], with max R <= largest_risk declared."""
    _check_epsilon(epsilon)
    if not 0 <= largest_risk < np.inf:
        raise AssumptionError(
            "No bound on the risk of the candidates is declared.",
            "One-sided cells need a number that no candidate's risk exceeds.",
            "Within a cell the exponent may grow by width times the risk.",
            "Declare it, or use a finite grid, which needs nothing.",
        )
    _check_interval(low, high, width)
    return float(np.log(max(1, int(np.ceil((high - low) / width))) / epsilon) + width * largest_risk)


def _check_epsilon(epsilon: float) -> None:
    if not 0 < epsilon < 1:
        raise DesignError(
            f"epsilon is {epsilon}.", "It lies strictly between 0 and 1.", "It is a failure probability.", "Use 0.01."
        )


def _check_interval(low: float, high: float, width: float) -> None:
    if not 0 < low < high < np.inf or not width > 0:
        raise DesignError(
            f"The interval is [{low}, {high}], the cell {width}.",
            "0 < low < high and a positive width.",
            "",
            "Correct it.",
        )


@dataclass(frozen=True, slots=True)
class CertifiedMinimum:
    """A value of F, where it is taken, and by how much at most the true minimum lies below it."""

    value: float
    lam: float
    gap: float


def certified_minimum(
    prior: DiscreteMeasure,
    empirical_risk: Float[np.ndarray, " hyper"],
    t: Float[np.ndarray, " hyper"],
    *,
    v: float,
    price: float,
    low: float,
    high: float,
    tolerance: float = 1e-6,
    most_intervals: int = 50_000,
) -> CertifiedMinimum:
    """The global minimum of F(lambda) = (price - kappa(lambda)) / lambda over [low, high], by branch and bound.

    kappa(lambda) = log E_pi exp(-lambda Rhat - lambda^2/2 v T'). Its derivative is minus an average of Rhat + lambda
    v T', so on an interval it lies between minus the largest and minus the smallest of these, which bounds F from
    below.
    """
    _check_interval(low, high, high - low)
    held = (prior.log_weights > -np.inf) & np.isfinite(t) & np.isfinite(empirical_risk)
    if not held.any():
        raise DesignError(
            "No candidate has weight and finite statistics.",
            "At least one is needed.",
            "There is nothing to minimise over.",
            "Use pacopt.certify, which says what can be said.",
        )
    log_pi, risk, slope = prior.log_weights[held], np.asarray(empirical_risk)[held], v * np.asarray(t)[held]

    def in_blocks(function: Callable[[np.ndarray], np.ndarray], lam: np.ndarray) -> np.ndarray:
        """The function of many lambdas, some at a time, so that memory stays bounded."""
        blocks = np.array_split(lam, max(1, len(lam) * len(risk) // 2**22))
        return np.concatenate([function(block) for block in blocks])

    def kappa(lam: np.ndarray) -> np.ndarray:
        exponents = log_pi - np.multiply.outer(lam, risk) - np.multiply.outer(lam**2 / 2, slope)
        return np.asarray(logsumexp(exponents, axis=1))

    def floor(a: np.ndarray, b: np.ndarray, at_a: np.ndarray, at_b: np.ndarray) -> np.ndarray:
        """A lower bound of F on [a, b]: F is at least c / lambda + d, which is monotone, from either end."""
        least = in_blocks(lambda lam: (risk + np.multiply.outer(lam, slope)).min(axis=1), a)
        most = in_blocks(lambda lam: (risk + np.multiply.outer(lam, slope)).max(axis=1), b)
        from_a, from_b = price - at_a - a * least, price - at_b - b * most
        higher: np.ndarray = np.maximum(
            np.minimum(from_a / a, from_a / b) + least, np.minimum(from_b / a, from_b / b) + most
        )
        return higher

    a, b = np.array([low]), np.array([high])
    at_a, at_b = in_blocks(kappa, a), in_blocks(kappa, b)
    ends = np.concatenate([a, b])
    values = (price - np.concatenate([at_a, at_b])) / ends
    lam, value = float(ends[values.argmin()]), float(values.min())
    settled, used = np.inf, 1
    while len(a):
        bottom = floor(a, b, at_a, at_b)
        open_ = bottom < value - tolerance * abs(value)
        settled = min(settled, float(bottom[~open_].min(initial=np.inf)))
        if used + open_.sum() > most_intervals:
            settled = min(settled, float(bottom.min()))
            break
        a, b, at_a, at_b = a[open_], b[open_], at_a[open_], at_b[open_]
        if not len(a):
            break
        middle = np.sqrt(a * b)
        at_middle = in_blocks(kappa, middle)
        candidates = (price - at_middle) / middle
        if candidates.min() < value:
            lam, value = float(middle[candidates.argmin()]), float(candidates.min())
        used += len(middle)
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
        at_a, at_b = np.concatenate([at_a, at_middle]), np.concatenate([at_middle, at_b])
    return CertifiedMinimum(value, lam, gap=max(0.0, value - min(settled, value)))
