"""Confidence intervals of what a test split measures: honest for few instances and for heavy tails."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import bdtr, bdtrc, betaincinv

#: How often an interval may miss, half of it at each end.
MISS = 0.05
#: Betting fractions of each interval, all with the same weight.
FRACTIONS = 16
#: The largest odds t / (1 - t) of a betting fraction: small means need bold bets.
BOLDEST = 1e4
#: A factor beyond this is unbounded.
LARGEST = 1e12
#: Halvings after which a bisection is exact to ten digits; what is left goes to the outer side.
HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Factor:
    """How many times smaller one mean is than another: as measured, and a 95 % interval, which may be unbounded."""

    measured: float
    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float, float]:
        """As measured, and both ends of the interval."""
        return self.measured, self.low, self.high

    @property
    def sure(self) -> bool:
        """Whether the interval tells which of the two means is smaller."""
        return self.low > 1 or self.high < 1


def mean_interval(z: Float[np.ndarray, " instance"], *, miss: float = MISS) -> tuple[float, float]:
    """A confidence interval of the mean of values in [0, 1], from independent draws.

    **Theorem** (betting with a mixture over t, docs/theory.md). e(m) = sum_k w_k prod_j (1 - t_k z_j) / (1 - t_k m)
    has mean 1 at m = E z and increases in m, so E z < sup {m : e(m) < 2 / miss} with probability 1 - miss / 2. The
    lower end is the same for 1 - z.
    **Needs** z in [0, 1]; nothing about its distribution, and no large number of draws.

    >>> [round(end, 3) for end in mean_interval(np.full(200, 0.25))]
    [0.245, 0.265]
    """
    return 1.0 - _upper(1.0 - z, miss / 2), _upper(z, miss / 2)


def difference_interval(
    smaller: Float[np.ndarray, " instance"], larger: Float[np.ndarray, " instance"]
) -> tuple[float, float]:
    """A 95 % confidence interval of E larger - E smaller, from values in [0, 1] on the same instances.

    **Theorem** That of `mean_interval`: (1 + larger - smaller) / 2 is in [0, 1].

    >>> [round(end, 3) for end in difference_interval(np.full(200, 0.2), np.full(200, 0.7))]
    [0.47, 0.51]
    """
    low, high = mean_interval((1 + larger - smaller) / 2)
    return 2 * low - 1, 2 * high - 1


def share_interval(successes: int, runs: int, *, miss: float = MISS) -> tuple[float, float]:
    """A confidence interval of a probability, from how often it came true in independent draws.

    **Theorem** (Clopper & Pearson 1934): the ends are quantiles of Beta distributions, half of the miss beyond each.

    >>> [round(end, 4) for end in share_interval(200, 200)]
    [0.9817, 1.0]
    """
    low = float(betaincinv(successes, runs - successes + 1, miss / 2)) if successes else 0.0
    high = float(betaincinv(successes + 1, runs - successes, 1 - miss / 2)) if successes < runs else 1.0
    return low, high


def quantile_interval(
    values: Float[np.ndarray, " instance"], level: float, *, miss: float = MISS
) -> tuple[float, float]:
    """A confidence interval of a quantile, from independent draws: two of them, or unbounded where there are too few.

    **Theorem** (order statistics). The number of draws at or below the quantile is at least, and that of draws below it
    at most, binomial with this level: the ends are the ranks beyond which half of the miss lies.

    >>> quantile_interval(np.arange(1.0, 101.0), 0.9)
    (84.0, 96.0)
    """
    ordered, n = np.sort(values), len(values)
    ranks = np.arange(1, n + 1)
    early = np.flatnonzero(bdtr(ranks - 1, n, level) <= miss / 2)
    late = np.flatnonzero(bdtrc(ranks - 1, n, level) <= miss / 2)
    return (float(ordered[early[-1]]) if len(early) else -np.inf), (float(ordered[late[0]]) if len(late) else np.inf)


def factor_interval(
    smaller: Float[np.ndarray, " instance"], larger: Float[np.ndarray, " instance"], *, miss: float = MISS
) -> Factor:
    """E larger / E smaller with its confidence interval, from values in [0, 1] on the same instances.

    **Theorem** e(r) = sum_k w_k prod_j (1 - t_k (a_j - r b_j)) has mean 1 at r = E a / E b, since each factor has, and
    increases in r. So E a <= sup {r : e(r) < 2 / miss} E b with probability 1 - miss / 2; once for each direction.
    **Needs** a and b in [0, 1], so that all factors are positive; they may depend on each other in any way.

    >>> found = factor_interval(np.full(500, 0.1), np.full(500, 0.5))
    >>> round(found.measured, 6), round(found.low, 2), round(found.high, 2)
    (5.0, 4.62, 5.08)
    """
    low, high = 1 / _most_times(smaller, larger, miss / 2), _most_times(larger, smaller, miss / 2)
    means = float(smaller.mean()), float(larger.mean())
    measured = means[1] / means[0] if means[0] > 0 else (np.inf if means[1] > 0 else 1.0)
    return Factor(measured, low, high)


def fractions(instances: int) -> Float[np.ndarray, " grid"]:
    """Betting fractions for so many instances: odds in equal ratios, from what the largest variance asks for."""
    odds = np.geomspace(min(1.0, 4 / np.sqrt(instances)), BOLDEST, FRACTIONS)
    bets: np.ndarray = odds / (1 + odds)
    return bets


def mean_wealth(z: Float[np.ndarray, " instance"], t: Float[np.ndarray, " grid"], m: float) -> np.ndarray:
    """log prod_j (1 - t z_j) / (1 - t m) for each betting fraction; its exponential has mean 1 at m = E z."""
    wealth: np.ndarray = np.array([np.log1p(-bet * z).sum() for bet in t]) - len(z) * np.log1p(-t * m)
    return wealth


def factor_wealth(
    a: Float[np.ndarray, " instance"], b: Float[np.ndarray, " instance"], t: Float[np.ndarray, " grid"], r: float
) -> np.ndarray:
    """log prod_j (1 - t (a_j - r b_j)) for each betting fraction; its exponential has mean 1 at r = E a / E b."""
    return np.array([np.log1p(bet * (r * b - a)).sum() for bet in t])


def excluded(wealth: Float[np.ndarray, " grid"], instances: int, miss: float) -> bool:
    """Whether the mean of the wealth over the fractions, with equal weights, has reached 1 / miss."""
    top = wealth.max()
    log_e = top + np.log(np.exp(wealth - top).mean())
    rounding = 1e-12 * (1 + np.abs(wealth).max()) + 4e-16 * instances  # more than the sums may have lost
    return bool(log_e >= -np.log(miss) + rounding)


def _upper(z: np.ndarray, miss: float) -> float:
    """The largest mean that the values do not exclude, from above."""
    t, n = fractions(len(z)), len(z)
    at_zero, low, high = mean_wealth(z, t, 0.0), 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        wealth = at_zero - n * np.log1p(-t * middle)
        low, high = (low, middle) if excluded(wealth, n, miss) else (middle, high)
    return high


def _most_times(a: np.ndarray, b: np.ndarray, miss: float) -> float:
    """The largest r with E a = r E b that the values do not exclude, from above; infinite if they exclude none."""
    t, n = fractions(len(a)), len(a)
    if not excluded(factor_wealth(a, b, t, LARGEST), n, miss):
        return np.inf
    low, high = 1 / LARGEST, LARGEST
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if excluded(factor_wealth(a, b, t, middle), n, miss) else (middle, high)
    return high
