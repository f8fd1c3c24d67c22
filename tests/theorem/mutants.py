"""Plausible mistakes, one or more for each theorem. Each returns what it does on a law and what would be allowed.

A test that could not tell these from the real thing would be worth nothing.
"""

from dataclasses import dataclass

import numpy as np

from laws import ASYMMETRIC, COIN, HALVES, HUGE_START, RARE, TWINS
from pacopt import Grid, bounds
from pacopt.bounds.exponential_family import AbstractLinearBound
from pacopt.bounds.guaranteed import GuaranteedConvergence
from pacopt.bounds.sums import log_products, log_wealth
from statements import FRACTIONS, LAMBDAS, LEVEL, T_GRID, R, absolute_bound, exponential_violation, kl_moment, linear


def largest_moment(bound, risk, law, n, grid):
    """E max over the grid: what is needed if lambda is chosen on the training table and not paid for."""

    def value(table):
        statistics = bound.statistics(table)
        return max(
            float(law.weights @ np.exp(bound.exponents(statistics, float(lam), n) + risk(float(lam), n)))
            for lam in grid.points
        )

    return law.expectation(n, value)


def guaranteed_with_training_second_moment():
    def violated(table):
        bound = GuaranteedConvergence(np.array([0.5]), float(np.mean(table.start**2)))
        risk = HUGE_START.mean(HUGE_START.losses)
        return float(exponential_violation(bound, risk, table, HUGE_START, 0.05, LAMBDAS))

    return HUGE_START.expectation(60, violated), 0.05


def conditional_with_training_second_moment():
    def violated(table):
        bound = bounds.ConditionalOnSuccess(HUGE_START.p(R), float(np.mean(table.start**2)), R)
        risk = HUGE_START.conditional(R, relative=False)
        return float(exponential_violation(bound, risk, table, HUGE_START, 0.05, LAMBDAS))

    return HUGE_START.expectation(60, violated), 0.05


def self_normalised_with_lambda_from_the_training_counts():
    bound = bounds.SelfNormalised(1.0)
    risk = FAIR.conditional(1.0, relative=True)
    return largest_moment(bound, lambda lam, n: lam * risk, FAIR, 4, Grid.geometric(0.01, 20, 60)), 1.0


def self_normalised_with_a_constant_off_by_ten():
    @dataclass(frozen=True, eq=False)
    class Wrong(AbstractLinearBound):
        def statistics(self, table):
            return bounds.SelfNormalised(1.0).statistics(table)

        def natural_parameters(self, lam, n):
            return np.array([lam, -(lam**2) / 20])

    risk = TWINS.conditional(1.0, relative=True)
    return largest_moment(Wrong(), lambda lam, n: lam * risk, TWINS, 4, LAMBDAS), 1.0


def self_normalised_with_half_of_hoeffdings_constant():
    @dataclass(frozen=True, eq=False)
    class Wrong(AbstractLinearBound):
        def statistics(self, table):
            return bounds.SelfNormalised(1.0).statistics(table)

        def natural_parameters(self, lam, n):
            return np.array([lam, -(lam**2) / 4])

    risk = FAIR.conditional(1.0, relative=True)
    return FAIR.expectation(4, lambda table: linear(Wrong(), risk, table, FAIR, Grid.uniform([1.0]))), 1.0


def conditional_betting_divided_by_all_instances():
    rho = COIN_OF_HALF_LOSSES.conditional(1.0, relative=True)[:, None]

    def moment(table):
        wealth, _ = bounds.ConditionalBetting(T_GRID).wealth(table)
        return float(COIN_OF_HALF_LOSSES.weights @ np.exp(wealth - 4 * np.log1p(-T_GRID.points * rho)) @ T_GRID.weights)

    return COIN_OF_HALF_LOSSES.expectation(4, moment), 1.0


def kl_without_its_square_root():
    def moment(table):
        return kl_moment(table.safeguarded().mean(axis=1), COIN.mu, COIN, 4) * 2 * np.sqrt(4)

    return COIN.expectation(4, moment), 1.0


def posterior_success_without_its_square_root():
    def moment(table):
        return kl_moment(table.succeeded().mean(axis=1), COIN.p(), COIN, 4) * 2 * np.sqrt(4)

    return COIN.expectation(4, moment), 1.0


def catoni_with_a_in_place_of_one_minus_exp():
    def moment(table):
        return float(np.exp(-0.3 * 4 * table.safeguarded().mean() - 4 * np.log1p(-0.3 * COIN.mu[0])))

    return COIN.expectation(4, moment), 1.0


def bernstein_with_the_gaussian_psi():
    @dataclass(frozen=True, eq=False)
    class Wrong(AbstractLinearBound):
        def statistics(self, table):
            return bounds.Bernstein(0.3).statistics(table)

        def natural_parameters(self, lam, n):
            return np.array([lam * n, -(lam**2) / 2 * n])

    return largest_moment(Wrong(), lambda b, n: b * n * COIN.mu, COIN, 1, FRACTIONS), 1.0


def betting_with_t_from_the_training_table():
    bound = bounds.Betting(T_GRID.points)
    return largest_moment(bound, lambda t, n: -n * np.log1p(-t * COIN.mu), COIN, 4, T_GRID), 1.0


def best_of_many_without_the_union():
    def violated(table):
        upper = bounds.MixtureBetting(T_GRID).upper(log_wealth(table, T_GRID.points), 4, np.zeros(20), 0.2)
        best = int(upper.argmin())
        return float(upper[best] < HALVES.mu[best])

    return HALVES.expectation(4, violated), 0.2


def prior_renormalised_after_a_race():
    def violated(table):
        survivors = np.argsort(table.safeguarded().mean(axis=1), kind="stable")[:2]
        wealth = log_wealth(table, T_GRID.points)[survivors]
        upper = bounds.MixtureBetting(T_GRID).upper(wealth, 4, np.log([0.5, 0.5]), 0.5)
        return float(np.any(upper < HALVES.mu[survivors]))

    return HALVES.expectation(4, violated), 0.5


def safeguard_that_lets_nan_pass():
    def moment(table):
        with np.errstate(invalid="ignore"):
            z = np.where(table.losses > table.start, 1.0, np.nan_to_num(table.losses / table.start, posinf=1.0))
        wealth = log_products(z, T_GRID.points)
        return float(ASYMMETRIC.weights @ np.exp(bounds.MixtureBetting(T_GRID).log_e(wealth, 4, ASYMMETRIC.mu)))

    return ASYMMETRIC.expectation(4, moment), 1.0


def success_by_frequency():
    """Keep what succeeded on every training instance and promise that it succeeds in 90 of 100."""
    return HALVES.expectation(4, lambda table: float(np.any(table.succeeded().mean(axis=1) >= 0.9))), 0.2


def clopper_pearson_without_the_union():
    def violated(table):
        counts = table.succeeded().sum(axis=1).astype(float)
        return float(np.any(bounds.ClopperPearson().lower(counts, 4, np.zeros(20), 0.2) > HALVES.p()))

    return HALVES.expectation(4, violated), 0.2


def quantile_one_order_too_low():
    law = COIN_OF_HALF_LOSSES

    def violated(table):
        ratios = np.sort(table.ratios()[0])
        honest = bounds.OrderStatistics(LEVEL).for_candidates(table, law.prior, 0.15)[0]
        below = ratios[max(0, int(np.searchsorted(ratios, honest)) - 1)] if np.isfinite(honest) else ratios[-2]
        return float(law.mean(law.whole.ratios() <= below)[0] < LEVEL)

    return law.expectation(6, violated), 0.15


def absolute_without_the_excess():
    bound = absolute_bound(HUGE_START)

    def violated(table):
        upper = bound.upper(table, HUGE_START.prior, 0.05) - bound.truncation.excess
        return float(upper[0] < HUGE_START.mean(HUGE_START.losses)[0])

    return HUGE_START.expectation(5, violated), 0.05


def hold_out_on_the_instances_of_the_selection():
    def violated(table):
        best = int(table.safeguarded().mean(axis=1).argmin())
        return float(bounds.HoldOut(T_GRID).upper(table, best, 0.2) < HALVES.mu[best])

    return HALVES.expectation(4, violated), 0.2


def normal_interval_on_rare_catastrophes():
    def violated(table):
        z = table.safeguarded()[0]
        return float(z.mean() + 1.645 * z.std(ddof=1) / np.sqrt(len(z)) < RARE.mu[0])

    return RARE.expectation(40, violated), 0.05


#: Fails half of the time, and halves the loss otherwise.
COIN_OF_HALF_LOSSES = type(COIN)("half losses", COIN.probability, COIN.start, np.array([[0.5, 2.0]]), COIN.weights)
#: Ends at its start half of the time, at 0 otherwise.
FAIR = type(COIN)("fair", COIN.probability, COIN.start, np.array([[0.0, 1.0]]), COIN.weights)

#: As good as its baseline on average, which is all or nothing; and one that ties with it half of the time.
STEADY = type(COIN)(
    "steady", np.array([0.7, 0.3]), np.ones(2), np.array([[0.3, 0.3]]), np.ones(1), np.array([0.0, 1.0])
)
TIES = type(COIN)("ties", np.array([0.5, 0.5]), np.ones(2), np.array([[0.2, 0.4]]), np.ones(1), np.array([0.2, 0.6]))


def gain_with_the_mean_of_the_baseline_plugged_in():
    def violated(table):
        other = np.full(table.shape[1], table.baselines["it"].mean())
        claimed = bounds.GainBetting(T_GRID, "it").upper(table.safeguarded(), other, np.zeros(1), 0.1)
        return bool(claimed[0] < 1 - 1e-9)

    return STEADY.expectation(200, violated), 0.1


def gain_over_a_baseline_that_failed_where_it_is_missing():
    """One run in ten of the baseline is missing, and counts as the worst."""

    def violated(table):
        other = np.where(np.arange(table.shape[1]) % 10 == 0, 1.0, table.baselines["it"])
        claimed = bounds.GainBetting(T_GRID, "it").upper(table.safeguarded(), other, np.zeros(1), 0.1)
        return bool(claimed[0] < 1 - 1e-9)

    return STEADY.expectation(200, violated), 0.1


def difference_that_is_not_doubled():
    law = type(COIN)(
        "apart", np.array([0.5, 0.5]), np.ones(2), np.array([[0.8, 1.0]]), np.ones(1), np.array([0.0, 0.2])
    )

    def violated(table):
        claimed = bounds.Difference(T_GRID, "it").for_candidates(table, law.prior, 0.1)
        return bool(claimed[0] / 2 < 0.8 - 1e-9)

    return law.expectation(30, violated), 0.1


def win_by_ties():
    def violated(table):
        counts = (table.losses <= table.baselines["it"]).sum(axis=1).astype(float)
        return bool(bounds.ClopperPearson().lower(counts, table.shape[1], np.zeros(1), 0.1)[0] > 0.5 + 1e-9)

    return TIES.expectation(30, violated), 0.1


#: Ten instances that take two steps, four steps, ... to reach a tenth of their start.
EVEN = type(COIN)("even", np.full(10, 0.1), np.ones(10), np.arange(1.0, 11.0)[None] / 100, np.ones(1))


def _band_exceeded(law, n, level):
    """The probability that a lower bound on P(T <= m), from the number of late runs, is false for some m."""
    truth = law.times[0.1][0]
    steps = np.unique(truth)

    def violated(table):
        times = table.times[0.1][0]
        late = np.array([(times > m).sum() for m in steps])
        return bool((level(late, n) > np.array([law.mean(truth <= m) for m in steps]) + 1e-12).any())

    rng = np.random.default_rng(0)
    return np.mean([violated(law.draw(n, rng)) for _ in range(4000)]), 0.1


def budget_with_one_level_for_all_steps():
    def level(late, n):
        return bounds.ClopperPearson().lower((n - late).astype(float), n, np.zeros(len(late)), 0.1)

    return _band_exceeded(EVEN, 100, level)


def budget_from_frequencies():
    return _band_exceeded(EVEN, 100, lambda late, n: 1 - late / n)


def budget_of_an_easier_target():
    """A half is reached by all that reach a tenth, and not the other way round."""
    law = type(COIN)("half way", np.array([0.5, 0.5]), np.ones(2), np.array([[0.05, 0.3]]), np.ones(1))

    def violated(table):
        claimed = bounds.ReachedWithin((0.5,), (1.0,)).stairs(table, 0, 0.1).probability(np.inf, 0.5)
        return bool(claimed > 0.5 + 1e-9)

    return law.expectation(30, violated), 0.1


MUTANTS = {
    bounds.ReachedWithin: [
        budget_with_one_level_for_all_steps,
        budget_from_frequencies,
        budget_of_an_easier_target,
    ],
    bounds.GuaranteedConvergence: [guaranteed_with_training_second_moment],
    bounds.ConditionalOnSuccess: [conditional_with_training_second_moment],
    bounds.SelfNormalised: [
        self_normalised_with_lambda_from_the_training_counts,
        self_normalised_with_a_constant_off_by_ten,
        self_normalised_with_half_of_hoeffdings_constant,
    ],
    bounds.ConditionalBetting: [conditional_betting_divided_by_all_instances],
    bounds.SmallKL: [kl_without_its_square_root],
    bounds.Catoni: [catoni_with_a_in_place_of_one_minus_exp],
    bounds.Bernstein: [bernstein_with_the_gaussian_psi],
    bounds.Betting: [betting_with_t_from_the_training_table],
    bounds.MixtureBetting: [
        best_of_many_without_the_union,
        prior_renormalised_after_a_race,
        safeguard_that_lets_nan_pass,
    ],
    bounds.ClopperPearson: [success_by_frequency, clopper_pearson_without_the_union],
    bounds.PosteriorSuccess: [posterior_success_without_its_square_root],
    bounds.OrderStatistics: [quantile_one_order_too_low],
    bounds.AbsoluteLoss: [absolute_without_the_excess],
    bounds.GainBetting: [
        gain_with_the_mean_of_the_baseline_plugged_in,
        gain_over_a_baseline_that_failed_where_it_is_missing,
    ],
    bounds.Difference: [difference_that_is_not_doubled],
    bounds.WinProbability: [win_by_ties],
    bounds.HoldOut: [hold_out_on_the_instances_of_the_selection, normal_interval_on_rare_catastrophes],
}
