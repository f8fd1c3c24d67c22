"""Intervals of test means and factors cover the truth as often as they say, for few instances and for heavy tails."""

from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
import pytest

from pacopt.support import intervals
from pacopt.support.intervals import (
    MISS,
    factor_interval,
    factor_wealth,
    fractions,
    mean_interval,
    mean_wealth,
    quantile_interval,
)


@dataclass(frozen=True)
class Law:
    """Two values in [0, 1] on the same instance, jointly; few outcomes, so that samples can be enumerated."""

    outcomes: tuple[tuple[float, float], ...]
    chances: tuple[float, ...]

    @property
    def means(self):
        return np.array(self.chances) @ np.array(self.outcomes)

    def samples(self, n):
        """Every sample up to its order, with its probability."""
        for counts in product(range(n + 1), repeat=len(self.outcomes)):
            if sum(counts) == n:
                ways, left = 1.0, n
                for count, chance in zip(counts, self.chances, strict=True):
                    ways *= comb(left, count) * chance**count
                    left -= count
                yield ways, np.repeat(np.array(self.outcomes), counts, axis=0).T


LAWS = {
    "two points": (Law(((0.0, 1.0), (1.0, 0.2)), (0.7, 0.3)), (1, 2, 5, 20)),
    "three points": (Law(((0.05, 0.1), (0.3, 0.9), (1.0, 0.6)), (0.6, 0.3, 0.1)), (1, 3, 10)),
    "heavy": (Law(((0.001, 0.05), (1.0, 0.05)), (0.99, 0.01)), (20, 100, 200)),
    "rare": (Law(((0.0, 0.5), (1.0, 1.0)), (0.995, 0.005)), (50, 200)),
    "opposite": (Law(((0.9, 0.01), (0.01, 0.9), (0.4, 0.0)), (0.4, 0.4, 0.2)), (2, 8, 16)),
}
CASES = [(law, n) for law, sizes in LAWS.values() for n in sizes]


def coverage(law, n, inside):
    return sum(chance for chance, (a, b) in law.samples(n) if inside(a, b))


def covers_mean(law):
    mean = law.means[0]

    def inside(a, _):
        low, high = mean_interval(a)
        return low <= mean <= high

    return inside


def covers_factor(law):
    truth = law.means[1] / law.means[0]

    def inside(a, b):
        found = factor_interval(a, b)
        return found.low <= truth <= found.high

    return inside


@pytest.mark.parametrize(("law", "n"), [(law, n) for law, n in CASES if n <= 100], ids=str)  # 200: overflow
def test_what_is_bet_has_mean_one_at_the_truth(law, n):
    (mean, other), t = law.means, fractions(n)
    for wealth in (
        lambda a, b: mean_wealth(a, t, mean),
        lambda a, b: mean_wealth(1 - a, t, 1 - mean),
        lambda a, b: factor_wealth(a, b, t, mean / other),
        lambda a, b: factor_wealth(b, a, t, other / mean),
    ):
        expected = sum(chance * np.exp(wealth(a, b)) for chance, (a, b) in law.samples(n))
        assert expected == pytest.approx(np.ones(len(t)), rel=1e-9)


@pytest.mark.parametrize(("law", "n"), CASES, ids=str)
def test_an_interval_covers_the_truth_at_least_as_often_as_it_says(law, n):
    assert coverage(law, n, covers_mean(law)) >= 1 - MISS
    assert coverage(law, n, covers_factor(law)) >= 1 - MISS


def test_a_normal_interval_misses_a_rare_catastrophe_more_than_a_third_of_the_time():
    law, n = LAWS["heavy"][0], 100

    def normal(a, _):
        return abs(a.mean() - law.means[0]) <= 1.96 * a.std(ddof=1) / np.sqrt(n)

    assert coverage(law, n, normal) < 2 / 3
    assert coverage(law, n, covers_mean(law)) >= 1 - MISS


def _plug_in(wealth, instances, miss):
    """The best bet in hindsight, in place of the mean over the bets, at a tenth of the price."""
    return bool(wealth.max() >= -np.log(10 * miss))


@pytest.mark.parametrize("covers", [covers_mean, pytest.param(covers_factor, marks=pytest.mark.slow)])
def test_an_interval_that_claims_too_much_is_found_out(covers, monkeypatch):
    monkeypatch.setattr(intervals, "excluded", _plug_in)
    assert min(coverage(law, n, covers(law)) for law, n in CASES) < 1 - MISS


@pytest.mark.parametrize("n", [1, 2, 200, 20_000])
def test_degenerate_samples(n):
    zeros, ones = np.zeros(n), np.ones(n)
    low, high = mean_interval(zeros)
    assert low == 0
    exact = 1 - (MISS / 2) ** (1 / n)  # what Clopper and Pearson have for no successes at all
    assert exact <= high <= min(1.0, 1.5 * exact)
    assert mean_interval(ones) == pytest.approx((1 - high, 1.0))
    nothing = factor_interval(zeros, zeros)
    assert (nothing.measured, nothing.low, nothing.high) == (1.0, 0.0, np.inf)
    assert not nothing.sure
    unbounded = factor_interval(zeros, ones)
    assert unbounded.measured == unbounded.high == np.inf
    assert unbounded.sure == (n > 2)
    same = factor_interval(ones, ones)
    assert same.low <= 1 <= same.high
    assert not same.sure


def test_one_instance_tells_hardly_anything():
    low, high = mean_interval(np.array([0.5]))
    assert low < 0.05
    assert high > 0.95
    assert not factor_interval(np.array([0.01]), np.array([0.9])).sure


def test_a_factor_is_the_other_one_turned_round():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 0.2, 500), rng.uniform(0, 0.9, 500)
    one, other = factor_interval(a, b), factor_interval(b, a)
    assert one.measured == pytest.approx(1 / other.measured)
    assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low))
    assert 3.5 < one.low < one.measured < one.high < 6


def test_more_instances_tell_more():
    rng = np.random.default_rng(1)
    z = rng.beta(0.3, 6, 20_000)
    widths = [np.ptp(mean_interval(z[:n])) for n in (50, 500, 5000, 20_000)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 2 * 3.92 * z.std() / np.sqrt(20_000), "less than two normal intervals, where those are right"


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("n", [1, 4, 8])
def test_an_interval_of_a_quantile_covers_it_whatever_the_law(level, n):
    """Three values, all samples: the quantile is the smallest value that at least this part is at or below."""
    values, chances = np.array([0.1, 0.4, 3.0]), np.array([0.5, 0.35, 0.15])
    truth = values[np.searchsorted(np.cumsum(chances), level - 1e-12)]
    missed = 0.0
    for sample in product(range(3), repeat=n):
        low, high = quantile_interval(values[list(sample)], level)
        missed += np.prod(chances[list(sample)]) * (not low <= truth <= high)
    assert missed <= MISS


def test_ends_of_a_quantile_that_few_draws_do_not_bound_are_infinite():
    assert quantile_interval(np.arange(5.0), 0.9) == (2.0, np.inf)
    assert quantile_interval(np.arange(1.0), 0.5) == (-np.inf, np.inf)
