"""Lambda from a whole interval: what a cover of it costs, and the certified global minimum of a bound over it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from pacopt.bounds.grids import Grid, check_epsilon
from pacopt.errors import AssumptionError, DesignError
from pacopt.measure import DiscreteMeasure


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
    check_epsilon(epsilon)
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
    check_epsilon(epsilon)
    if not 0 <= largest_risk < np.inf:
        raise AssumptionError(
            "No bound on the risk of the candidates is declared.",
            "One-sided cells need a number that no candidate's risk exceeds.",
            "Within a cell the exponent may grow by width times the risk.",
            "Declare it, or use a finite grid, which needs nothing.",
        )
    _check_interval(low, high, width)
    return float(np.log(max(1, int(np.ceil((high - low) / width))) / epsilon) + width * largest_risk)


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
