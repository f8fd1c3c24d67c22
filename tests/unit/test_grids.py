import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacopt import AbstractLinearBound, DiscreteMeasure, Grid, LossTable, bounds, search_grid
from pacopt.bounds import certified_minimum, covered_interval_price, one_sided_price, second_moment_grid
from pacopt.errors import AssumptionError, DesignError


class Hoeffding(AbstractLinearBound):
    """A reviewer's bound in a few lines."""

    theorem, assumptions = "Hoeffding 1963", ()

    def statistics(self, table):
        z = table.safeguarded()
        return np.stack([-z.mean(axis=1), np.ones(len(z))], axis=1)

    def natural_parameters(self, lam, n):
        return np.array([lam, -(lam**2) / (8 * n)])


def a_table(rows=30, n=200, seed=0):
    rng = np.random.default_rng(seed)
    return LossTable(losses=rng.beta(1, 6, (rows, 1)) * rng.random((rows, n)), start=np.ones(n))


def test_a_users_bound_gets_everything_else_for_free():
    table = a_table()
    prior = DiscreteMeasure.uniform(table.candidates)
    found = search_grid(Hoeffding(), table, prior, Grid.geometric(1, 1000, 20), 0.05)
    means, n = table.safeguarded().mean(axis=1), 200
    # The same by hand, for the posterior that was found.
    price = found.posterior.kl(prior) + np.log(20 / 0.05)
    by_hand = found.posterior.expectation(means) + found.lam / (8 * n) + price / found.lam
    assert found.value == pytest.approx(by_hand, rel=1e-12)
    assert found.value > found.posterior.expectation(means)
    assert not found.at_edge


def test_the_size_of_a_grid_is_its_price():
    assert Grid.uniform([1.0, 2.0, 3.0]).prices(0.1) == pytest.approx(np.log(30) * np.ones(3))
    for points, weights in (
        ([1.0], [0.5]),
        ([-1.0, 2.0], [0.5, 0.5]),
        ([1.0, 2.0], [1.5, -0.5]),
        ([], []),
        ([1.0], [1, 2]),
    ):
        with pytest.raises(DesignError):
            Grid(np.array(points), np.array(weights))


def test_a_failure_probability_outside_its_range_is_refused():
    for epsilon in (0.0, 1.0, -0.1, np.nan):
        with pytest.raises(DesignError, match="epsilon is"):
            Grid.uniform([1.0]).prices(epsilon)


def test_a_candidate_with_infinite_statistics_gets_no_weight():
    table = LossTable(losses=[[0.1] * 50, [5.0] * 50], start=np.ones(50))
    found = search_grid(
        bounds.SelfNormalised(), table, DiscreteMeasure.uniform(table.candidates), Grid.uniform([5.0]), 0.1
    )
    assert found.posterior.weights.tolist() == [1.0, 0.0]
    nothing = LossTable(losses=[[5.0] * 50], start=np.ones(50))
    found = search_grid(
        bounds.SelfNormalised(), nothing, DiscreteMeasure.uniform(nothing.candidates), Grid.uniform([5.0]), 0.1
    )
    assert found.value == np.inf


def test_a_grid_for_second_moments_spans_the_minimisers():
    grid = second_moment_grid(epsilon=0.01, v_min=0.5, v_max=2.0, least_weight=0.1, count=5)
    assert grid.points[0] == pytest.approx(np.sqrt(2 * np.log(100) / 2.0))
    assert grid.points[-1] == pytest.approx(np.sqrt(2 * np.log(1000) / 0.5))
    with pytest.raises(DesignError, match="v_min"):
        second_moment_grid(epsilon=0.01, v_min=0.0, v_max=1.0)


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_the_certified_minimum_is_below_every_value_and_within_its_gap(seed):
    rng = np.random.default_rng(seed)
    prior = DiscreteMeasure.of({"a": np.arange(6.0)}, rng.dirichlet(np.ones(6)))
    risk, t = rng.uniform(0, 2, 6), rng.uniform(0.1, 3, 6)
    t[0] = np.inf  # a candidate that never succeeds
    v, price = 0.01, 6.0
    found = certified_minimum(prior, risk, t, v=v, price=price, low=0.1, high=100.0)

    def value(lam):
        exponents = -lam * risk[1:] - lam**2 / 2 * v * t[1:]
        return (price - np.log(np.sum(prior.weights[1:] * np.exp(exponents)))) / lam

    lams = np.geomspace(0.1, 100.0, 5000)
    values = np.array([value(lam) for lam in lams])
    assert found.value == pytest.approx(value(found.lam), rel=1e-10)
    assert values.min() >= found.value - found.gap - 1e-9
    assert found.gap <= 1.01e-6 * found.value


def test_continuous_lambda_costs_what_the_lemma_says_and_is_refused_where_it_fails():
    price = covered_interval_price(low=1.0, high=3.0, radius=0.1, epsilon=0.05, v=0.01, t_max=4.0, scale=1.0)
    assert price == pytest.approx(np.log(10 / 0.05) + 0.1 + 0.1 * 3 * 0.01 * 4)
    with pytest.raises(AssumptionError, match="bounded losses"):
        covered_interval_price(low=1.0, high=3.0, radius=0.1, epsilon=0.05, v=0.01, t_max=4.0, scale=np.inf)
    one = one_sided_price(low=1.0, high=3.0, width=0.5, epsilon=0.05, largest_risk=7.0)
    assert one == pytest.approx(np.log(4 / 0.05) + 3.5)
    with pytest.raises(AssumptionError, match="declared"):
        one_sided_price(low=1.0, high=3.0, width=0.5, epsilon=0.05, largest_risk=np.inf)
    with pytest.raises(DesignError, match="interval"):
        one_sided_price(low=3.0, high=1.0, width=0.5, epsilon=0.05, largest_risk=1.0)


def test_the_cover_pays_for_every_lambda_between_its_points():
    """Exactly: E sup over a fine grid of lambdas of the exponent, less the price without eps, is at most 1."""
    from laws import COIN

    low, high, radius, n = 0.5, 4.0, 0.25, 3
    price = covered_interval_price(low=low, high=high, radius=radius, epsilon=0.5, v=1 / n, t_max=1.0, scale=1.0)
    price += np.log(0.5)  # without epsilon
    lams = np.linspace(low, high, 400)

    def worst(table):
        gap = COIN.mu[0] - table.safeguarded().mean()
        return float(np.exp(np.max(lams * gap - lams**2 / 2 / n) - price))

    assert COIN.expectation(n, worst) <= 1
