"""How many instances a claim needs, and how to split them."""

from bisect import bisect_left
from collections.abc import Callable
from math import ceil, floor, log

import numpy as np
from scipy.special import betaincinv

from pacopt.bounds.grids import Grid
from pacopt.bounds.informed import FAVOURITE, informed_grid
from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.success import PADDING, ClopperPearson
from pacopt.claims import Shares
from pacopt.errors import DesignError
from pacopt.support.numbers import is_real
from pacopt.support.sizes import CEILING, PART, Sizes, recommended_split

#: More instances than anybody has.
BEYOND = CEILING + 1
#: For smaller coefficients of variation the quantiles of a Beta distribution cannot be computed.
NARROWEST = 1e-6
#: What somebody might give for a mean ratio, where other probabilities are close to 1.
EXAMPLES = {"risk": 0.05, "mean": 0.05}


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
    check_probability("success", success)
    if failure_rate == 0:
        return ceil(log(success_level(confidence) * PADDING) / log(success))
    return first_that_certifies(
        lambda train: certifiable_success(train, confidence, failure_rate) >= success, 1 - success, failure_rate
    )


def first_that_certifies(certified: Callable[[int], bool], room: float, rate: float) -> int | None:
    """The smallest number of runs from which on a claim is certified if this positive part of them fails.

    None if no number will do, because more fail than the claim leaves `room` for.
    """
    if rate >= room * (1 - 1e-12):  # 1 - 0.99 is a little more than 0.01
        return None

    def fewest(failures: int) -> int:
        """The smallest number of runs of which so many fail."""
        return floor((failures - 1) / rate + 1e-9) + 1

    # With each failure the bound falls, and rises again until the next; the values to which it falls rise as well.
    failures = smallest(lambda failures: certified(fewest(failures)))
    if failures is None:
        return BEYOND
    before = range(1 if failures == 1 else fewest(failures - 1), fewest(failures))
    first = bisect_left(before, True, key=certified)
    return before[first] if first < len(before) else fewest(failures)


def predicted_risk(mean: float, variation: float, train: int, confidence: float) -> float:
    """The bound on the mean ratio to be expected if ratios are Beta distributed with this mean and variation.

    `variation` is the coefficient of variation: standard deviation over mean. A prediction, not a bound: what the
    betting certificate of the favourite gives for a sample whose average log-wealth is the expected one.
    """
    grid, epsilon = expected_grid(mean, variation, train, confidence), (1 - confidence) * Shares().risk
    wealth = train * _growth(mean, variation, grid.points)
    found = float(MixtureBetting(grid).upper(wealth[None], train, np.log([FAVOURITE]), epsilon)[0])
    if not found > mean:
        raise _unpredictable(mean, variation)
    return found


def expected_grid(mean: float, variation: float, train: int, confidence: float) -> Grid:
    """The betting fractions that `learn` chooses on a prior split with Beta distributed ratios."""
    check_law(mean, variation)
    price = np.log((1 - confidence) * Shares().risk * FAVOURITE) / train
    points = 1 / (1 + np.geomspace(1e-3, 1e2, 60))
    single = -np.expm1(_growth(mean, variation, points) + price) / points
    return informed_grid(float(points[single.argmin()]))


def needed_for_risk(risk: float, mean: float, variation: float, confidence: float) -> int | None:
    """The smallest number of training instances for which that is predicted; None if the mean itself is as large."""
    check_probability("risk", risk)
    if risk <= mean:
        return None
    return smallest(lambda train: predicted_risk(mean, variation, train, confidence) <= risk) or BEYOND


def _growth(mean: float, variation: float, points: np.ndarray) -> np.ndarray:
    """E log(1 - t z) for a Beta distribution, by Gauss-Legendre quadrature over its quantiles."""
    u, weights = panels(64)
    growth: np.ndarray = np.log1p(-points[:, None] * beta_quantiles(mean, variation, u)[None]) @ weights
    return growth


def panels(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Levels between 0 and 1 with weights, denser where scores are large."""
    inner, weights = np.polynomial.legendre.leggauss(nodes)
    ends = np.array([0.0, 0.1, 0.9, 0.99, 0.999, 0.9999, 1.0])
    u = (ends[:-1, None] + np.diff(ends)[:, None] * (inner + 1) / 2).ravel()
    return u, np.outer(np.diff(ends), weights / 2).ravel()


def beta_quantiles(mean: float, variation: float, u: np.ndarray) -> np.ndarray:
    """The quantiles at levels u of a Beta distribution with this mean and coefficient of variation."""
    if variation < NARROWEST:
        raise _unpredictable(mean, variation)
    total = (1 - mean) / (mean * variation**2) - 1
    found: np.ndarray = betaincinv(mean * total, (1 - mean) * total, u)
    if not np.isfinite(found).all():
        raise _unpredictable(mean, variation)
    return found


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
    check_probability("confidence", confidence)
    return (1 - confidence) * Shares().success * FAVOURITE


def check_law(mean: float, variation: float) -> None:
    """Refuse a mean and a coefficient of variation that no scores between 0 and 1 have."""
    check_probability("mean", mean)
    largest = np.sqrt((1 - mean) / mean)
    if not is_real(variation) or not 0 < variation < largest:
        raise DesignError(
            f"The coefficient of variation is {variation!r}, for a mean of {mean}.",
            f"It is positive and below {largest:.4g}, the largest that ratios between 0 and 1 with this mean can have.",
            "",
            "Use about 1, or measure it: standard deviation over mean of the ratios of one candidate.",
        )


def check_rate(name: str, rate: float) -> None:
    """Refuse what is no part of the runs."""
    if not is_real(rate) or not 0 <= rate < 1:
        raise DesignError(
            f"{name} is {rate!r}.", "It is a share of the runs: at least 0 and below 1.", "", "Use 0.01, for example."
        )


def check_probability(name: str, value: float) -> None:
    """Refuse what is no probability strictly between 0 and 1."""
    if not is_real(value) or not 0 < value < 1:
        raise DesignError(
            f"{name} is {value!r}.",
            "It lies strictly between 0 and 1.",
            "",
            f"Use {EXAMPLES.get(name, 0.99)}, for example.",
        )


def _unpredictable(mean: float, variation: float) -> DesignError:
    return DesignError(
        f"For a mean of {mean!r} with a coefficient of variation of {variation!r} nothing can be predicted.",
        f"A mean ratio above about 1e-9 is needed, and a variation of at least {NARROWEST}.",
        "The quantiles of the Beta distribution cannot be computed there.",
        "For a ratio this small the bound is about 5.8 divided by the number of instances, at a confidence of 0.99.",
    )
