"""How many instances a claim needs, and how to split them."""

from bisect import bisect_left
from collections.abc import Callable
from math import ceil, floor, log

import numpy as np
from scipy.special import betaincinv

from pacopt.bounds.informed import FAVOURITE, informed_grid
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.success import ClopperPearson
from pacopt.claims import Shares
from pacopt.errors import DesignError
from pacopt.support.numbers import is_real
from pacopt.support.sizes import CEILING, PART, Sizes, recommended_split


def split_for(train: int, min_success: float | None = None) -> Sizes:
    """The smallest recommended split with so many training instances."""
    high = smallest(lambda total: total >= 3 and recommended_split(total, min_success).train >= train)
    # Rounding may give one training instance less to a larger number of instances.
    near = range(max(3, (high or CEILING) - 2 * ceil(1 / PART)), high or CEILING)
    total = next((total for total in near if recommended_split(total, min_success).train >= train), high or CEILING)
    return recommended_split(total, min_success)


def certifiable_success(train: int, confidence: float, failure_rate: float = 0.0) -> float:
    """The success probability that `learn` certifies for its favourite if so large a part of the runs fail."""
    successes = train - ceil(failure_rate * train - 1e-9)
    return float(ClopperPearson().lower(np.array([float(successes)]), train, np.zeros(1), success_level(confidence))[0])


def needed_for_success(success: float, confidence: float, failure_rate: float = 0.0) -> int | None:
    """The smallest number of training instances with which that is certified; None if none will do.

    >>> needed_for_success(0.99, 0.99)
    688
    """
    _probability("success", success)
    if failure_rate == 0:
        return ceil(log(success_level(confidence) * (1 - 1e-9)) / log(success))
    if failure_rate >= 1 - success:
        return None

    def fewest(failures: int) -> int:
        """The smallest number of runs of which so many fail."""
        return floor((failures - 1) / failure_rate + 1e-9) + 1

    def certified(train: int) -> bool:
        return certifiable_success(train, confidence, failure_rate) >= success

    # With each failure the bound falls, and rises again until the next; the values to which it falls rise as well.
    failures = smallest(lambda failures: certified(fewest(failures)))
    if failures is None:
        return None
    before = range(1 if failures == 1 else fewest(failures - 1), fewest(failures))
    first = bisect_left(before, True, key=certified)
    return before[first] if first < len(before) else fewest(failures)


def predicted_risk(mean: float, variation: float, train: int, confidence: float) -> float:
    """The bound on the mean ratio to be expected if ratios are Beta distributed with this mean and variation.

    `variation` is the coefficient of variation: standard deviation over mean. A prediction, not a bound: what the
    betting certificate of the favourite gives for a sample whose average log-wealth is the expected one.
    """
    _probability("mean", mean)
    if not is_real(variation) or not 0 < variation < np.sqrt((1 - mean) / mean):
        raise DesignError(
            f"The coefficient of variation is {variation!r}, for a mean of {mean}.",
            f"It is positive and below {np.sqrt((1 - mean) / mean):.4g}, the largest that ratios between 0 and 1 "
            "with this mean can have.",
            "",
            "Use about 1, or measure it: standard deviation over mean of the ratios of one candidate.",
        )
    epsilon = (1 - confidence) * Shares().risk
    points = 1 / (1 + np.geomspace(1e-3, 1e2, 60))
    single = -np.expm1(_growth(mean, variation, points) + np.log(epsilon * FAVOURITE) / train) / points
    grid = informed_grid(float(points[single.argmin()]))
    wealth = train * _growth(mean, variation, grid.points)
    found = float(MixtureBetting(grid).upper(wealth[None], train, np.log([FAVOURITE]), epsilon)[0])
    if not (np.isfinite(wealth).all() and found > mean):
        raise DesignError(
            f"For a mean of {mean!r} with a coefficient of variation of {variation!r} nothing can be predicted.",
            "A mean ratio above about 1e-9 is needed, and a variation that is not much smaller than that.",
            "The quantiles of the Beta distribution cannot be computed there.",
            "With so small a ratio the bound is about 5.8 divided by the number of instances, at a confidence of 0.99.",
        )
    return found


def needed_for_risk(risk: float, mean: float, variation: float, confidence: float) -> int | None:
    """The smallest number of training instances for which that is predicted; None if the mean itself is as large."""
    _probability("risk", risk)
    if risk <= mean:
        return None
    return smallest(lambda train: predicted_risk(mean, variation, train, confidence) <= risk)


def _growth(mean: float, variation: float, points: np.ndarray) -> np.ndarray:
    """E log(1 - t z) for a Beta distribution, by Gauss-Legendre quadrature over its quantiles."""
    total = (1 - mean) / (mean * variation**2) - 1
    nodes, weights = np.polynomial.legendre.leggauss(64)
    ends = np.array([0.0, 0.1, 0.9, 0.99, 0.999, 0.9999, 1.0])
    u = (ends[:-1, None] + np.diff(ends)[:, None] * (nodes + 1) / 2).ravel()
    z = betaincinv(mean * total, (1 - mean) * total, u)
    growth: np.ndarray = np.log1p(-points[:, None] * z[None]) @ np.outer(np.diff(ends), weights / 2).ravel()
    return growth


def smallest(enough: Callable[[int], bool]) -> int | None:
    """The smallest number that is enough, if all larger ones are; None if none is."""
    high = 1
    while not enough(high):
        high *= 2
        if high > CEILING:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def success_level(confidence: float) -> float:
    """The failure probability of the statement on the success of the favourite."""
    _probability("confidence", confidence)
    return (1 - confidence) * Shares().success * FAVOURITE


def _probability(name: str, value: float) -> None:
    if not is_real(value) or not 0 < value < 1:
        raise DesignError(f"{name} is {value!r}.", "It lies strictly between 0 and 1.", "", "Use 0.9, for example.")
