"""What each theorem says, in two forms that can be summed over a law.

`MOMENTS`: a non-negative variable whose mean is at most 1 (exactly 1 for those in `EXACT`), built from the package's
own exponents and the truth. `VIOLATED`: whether the statement made from a table is false. Every theorem stands in both.
"""

from functools import partial

import numpy as np

from pacopt import Grid, Ratio, bounds
from pacopt.bounds.baselines import baseline_table, wins
from pacopt.bounds.exponential_family import gibbs_posterior, posterior_bound
from pacopt.bounds.grids import search_grid
from pacopt.bounds.guaranteed import GuaranteedConvergence
from pacopt.bounds.kl import binary_kl
from pacopt.bounds.success import PosteriorSuccess
from pacopt.bounds.sums import log_wealth
from pacopt.loss_table import LossTable

T_GRID = Grid(np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.3, 0.5]))
LAMBDAS = Grid(np.array([0.3, 2.0, 11.0]), np.array([0.2, 0.3, 0.5]))
FRACTIONS = Grid(np.array([0.05, 0.4, 0.8]), np.array([0.2, 0.3, 0.5]))
R, LEVEL, CUT = 0.5, 0.6, 2.0


def rates(law):
    """The smallest rho for which l <= rho l0 holds on this law, or None if there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(law.start == 0, np.where(law.losses == 0, 0, np.inf), law.losses / law.start)
    return ratios.max(axis=1) if np.isfinite(ratios).all() else None


def exponential(bound, truth, table, law, grid):
    """sum_k w_k E_pi exp(exponent_k), with the unknown risk put in."""
    n = table.shape[1]
    statistics, prior = bound.statistics(table), law.prior
    total = 0.0
    for lam, weight in zip(grid.points, grid.weights, strict=True):
        exponents = bound.exponents(statistics, float(lam), n) + truth(float(lam), n)
        total += weight * float(prior.weights @ np.exp(exponents))
    return total


def linear(bound, risk, table, law, grid=LAMBDAS):
    return exponential(bound, lambda lam, n: bound.natural_parameters(lam, n)[0] * risk, table, law, grid)


def guaranteed(table, law):
    rho = rates(law)
    if rho is None:
        return 1.0
    return linear(GuaranteedConvergence(rho, law.second_moment), law.mean(law.losses), table, law)


def conditional(table, law):
    bound = bounds.ConditionalOnSuccess(law.p(R), law.second_moment, R)
    return linear(bound, law.conditional(R, relative=False), table, law)


def self_normalised(table, law):
    return linear(bounds.SelfNormalised(R), law.conditional(R, relative=True), table, law)


def conditional_betting(table, law):
    wealth, count = bounds.ConditionalBetting(T_GRID, R).wealth(table)
    rho = law.conditional(R, relative=True)[:, None] / R
    return float(law.weights @ np.exp(wealth - count[:, None] * np.log1p(-T_GRID.points * rho)) @ T_GRID.weights)


def kl_moment(frequencies, truth, law, n):
    values = [np.exp(n * binary_kl(q, p)) for q, p in zip(frequencies, truth, strict=True)]
    return float(law.weights @ values) / (2 * np.sqrt(n))


def small_kl(table, law):
    return kl_moment(np.minimum(table.safeguarded().mean(axis=1), 1), np.minimum(law.mu, 1), law, table.shape[1])


def posterior_success(table, law):
    return kl_moment(table.succeeded().mean(axis=1), np.minimum(law.p(), 1), law, table.shape[1])


def catoni(table, law):
    return exponential(
        bounds.Catoni(), lambda a, n: -n * np.log1p(np.expm1(-a) * np.minimum(law.mu, 1)), table, law, LAMBDAS
    )


def betting(table, law):
    return exponential(
        bounds.Betting(T_GRID.points), lambda t, n: -n * np.log1p(-t * np.minimum(law.mu, 1)), table, law, T_GRID
    )


def mixture(table, law, wealth=None, mu=None):
    wealth = log_wealth(table, T_GRID.points) if wealth is None else wealth
    mu = np.minimum(law.mu if mu is None else mu, 1)
    return float(law.weights @ np.exp(bounds.MixtureBetting(T_GRID).log_e(wealth, table.shape[1], mu)))


def absolute_bound(law):
    excess = float(np.maximum(law.start - CUT, 0) @ law.probability)
    return bounds.AbsoluteLoss(bounds.Truncation(CUT, excess, "the law"), T_GRID)


def absolute(table, law):
    truncated = np.fmin(law.losses, np.minimum(law.start, CUT)) / CUT
    return mixture(table, law, absolute_bound(law).wealth(table), law.mean(truncated))


def hold_out(table, law):
    row = LossTable(losses=table.losses[:1], start=table.start)
    e = bounds.MixtureBetting(T_GRID).log_e(log_wealth(row, T_GRID.points), table.shape[1], np.minimum(law.mu[:1], 1))
    return float(np.exp(e[0]))


def baseline_mean(law):
    """E z_b."""
    return float(law.mean(Ratio().of(baseline_table(law.whole, "it")))[0])


def gain(table, law):
    base = baseline_mean(law)
    if base == 0:
        return 1.0
    other = Ratio().of(baseline_table(table, "it"))[0]
    return float(
        law.weights @ np.exp(bounds.GainBetting(T_GRID, "it").log_e(table.safeguarded(), other, law.mu / base))
    )


def gain_violations(table, law, epsilon):
    claimed = bounds.GainBetting(T_GRID, "it").for_candidates(table, law.prior, epsilon)
    shown = np.isfinite(claimed)
    return shown & (law.mu > np.where(shown, claimed, 0.0) * baseline_mean(law) + 1e-12)


def difference(table, law):
    wealth = bounds.Difference(T_GRID, "it").wealth(table)
    return mixture(table, law, wealth, (1 + law.mu - baseline_mean(law)) / 2)


def difference_violations(table, law, epsilon):
    claimed = bounds.Difference(T_GRID, "it").for_candidates(table, law.prior, epsilon)
    return claimed < law.mu - baseline_mean(law) - 1e-12


def win_violations(table, law, epsilon):
    claimed = bounds.WinProbability("it").for_candidates(table, law.prior, epsilon)
    return claimed > law.mean(wins(law.whole, "it", Ratio())) + 1e-12


def within(part=LEVEL):
    return bounds.ReachedWithin((0.5, 0.1), (0.3, 0.7), part)


def budget_violations(table, law, epsilon):
    """Whether any part of any budget is false: all steps, both targets, and the steps for a part of the instances."""
    found = []
    steps = within().for_candidates(table, law.prior, epsilon)
    for index, weight in enumerate(law.weights):
        truth = {target: times[index] for target, times in law.times.items()}
        stairs = within().stairs(table, index, epsilon * weight)
        wrong = any(
            stairs.probability(m, target) > law.mean(times <= m) + 1e-12
            for target, times in truth.items()
            for m in {*times[np.isfinite(times)], 0.0, 3.0, 1e6}
        )
        found.append(wrong or law.mean(truth[0.1] <= steps[index]) < LEVEL - 1e-12)
    return np.array(found)


def by_level(violated, table, law, epsilon=0.3):
    """For statements without an exponent: violations of each candidate over the probability they are allowed."""
    return float(np.sum(violated(table, law, epsilon)[law.weights > 0]) / epsilon)


def success_violations(table, law, epsilon):
    counts = table.succeeded().sum(axis=1).astype(float)
    lower = bounds.ClopperPearson().lower(counts, table.shape[1], law.prior.log_weights, epsilon)
    return lower > law.p()


def quantile_violations(table, law, epsilon):
    upper = bounds.OrderStatistics(LEVEL).for_candidates(table, law.prior, epsilon)
    # The q-quantile is above x exactly if P(ratio <= x) < q.
    at_most = law.mean(law.whole.ratios() <= upper[:, None])
    return at_most < LEVEL - 1e-12


MOMENTS = {
    bounds.GuaranteedConvergence: guaranteed,
    bounds.ConditionalOnSuccess: conditional,
    bounds.SelfNormalised: self_normalised,
    bounds.ConditionalBetting: conditional_betting,
    bounds.SmallKL: small_kl,
    bounds.Catoni: catoni,
    bounds.Bernstein: lambda table, law: linear(bounds.Bernstein(0.3), law.mu, table, law, FRACTIONS),
    bounds.Betting: betting,
    bounds.MixtureBetting: mixture,
    bounds.ClopperPearson: partial(by_level, success_violations),
    bounds.PosteriorSuccess: posterior_success,
    bounds.OrderStatistics: partial(by_level, quantile_violations),
    bounds.AbsoluteLoss: absolute,
    bounds.HoldOut: hold_out,
    bounds.GainBetting: gain,
    bounds.Difference: difference,
    bounds.WinProbability: partial(by_level, win_violations),
    bounds.ReachedWithin: partial(by_level, budget_violations),
}
EXACT = {
    bounds.ConditionalBetting,
    bounds.Betting,
    bounds.MixtureBetting,
    bounds.AbsoluteLoss,
    bounds.HoldOut,
    bounds.GainBetting,
}


def posteriors(prior, exponents):
    """Posteriors that depend on the table as they please: Gibbs, the prior itself, all on the best."""
    best = int(np.argmax(np.where(prior.log_weights > -np.inf, exponents, -np.inf)))
    chosen = [prior, prior.dirac(best)]
    return [*chosen, gibbs_posterior(prior, exponents)] if np.isfinite(exponents).any() else chosen


def spread_posteriors(prior, exponents):
    """Those that are not on one candidate, which the simultaneous bounds for candidates cover."""
    return [q for q in posteriors(prior, exponents) if q.weights.max() < 1]


def exponential_violation(bound, risk, table, law, epsilon, grid):
    n, prior = table.shape[1], law.prior
    statistics = bound.statistics(table)
    for lam, price in zip(grid.points, grid.prices(epsilon), strict=True):
        for q in posteriors(prior, bound.exponents(statistics, float(lam), n)):
            if posterior_bound(bound, q, prior, statistics, float(lam), n, price) < q.expectation(risk) - 1e-12:
                return True
    found = search_grid(bound, table, prior, grid, epsilon)
    return found.value < found.posterior.expectation(risk) - 1e-12


def guaranteed_violation(table, law, epsilon):
    rho = rates(law)
    if rho is None:
        return False
    bound = GuaranteedConvergence(rho, law.second_moment)
    return exponential_violation(bound, law.mean(law.losses), table, law, epsilon, LAMBDAS)


def lower_bounds(table, law, epsilon):
    counts = table.succeeded(R).sum(axis=1).astype(float)
    return bounds.ClopperPearson().lower(counts, table.shape[1], law.prior.log_weights, epsilon)


def conditional_violation(table, law, epsilon):
    """Half of epsilon for p, half for the theorem."""
    bound = bounds.ConditionalOnSuccess(lower_bounds(table, law, epsilon / 2), law.second_moment, R)
    if not bound.p_lo.any():
        return False
    risk = law.conditional(R, relative=False)
    return exponential_violation(bound, risk, table, law, epsilon / 2, LAMBDAS)


def self_normalised_violation(table, law, epsilon):
    relative = bounds.SelfNormalised(R)
    if not table.succeeded(R).any():
        return False
    return exponential_violation(relative, law.conditional(R, relative=True), table, law, epsilon, LAMBDAS)


def single_or_posterior(upper, posterior_upper, truth, prior, exponents):
    if np.any((upper < truth - 1e-12) & (prior.log_weights > -np.inf)):
        return True
    return any(posterior_upper(q) < q.expectation(truth) - 1e-12 for q in spread_posteriors(prior, exponents))


def conditional_betting_violation(table, law, epsilon):
    bound, prior = bounds.ConditionalBetting(T_GRID, R), law.prior
    truth = law.conditional(R, relative=True)
    if np.any(bound.upper(table, prior, epsilon) < truth - 1e-12):
        return True
    wealth, _ = bound.wealth(table)
    return any(
        bound.posterior_upper(table, prior, q, epsilon) < q.expectation(truth) - 1e-12
        for q in spread_posteriors(prior, wealth[:, 1])
    )


def kl_violation(table, law, epsilon):
    prior, z = law.prior, table.safeguarded().mean(axis=1)
    choices = posteriors(prior, -table.shape[1] * z)
    return any(bounds.SmallKL().upper(table, prior, q, epsilon) < q.expectation(law.mu) - 1e-12 for q in choices)


def posterior_success_violation(table, law, epsilon):
    prior, counts = law.prior, table.succeeded().sum(axis=1).astype(float)
    return any(
        PosteriorSuccess().lower(counts, table.shape[1], prior, q, epsilon) > q.expectation(law.p()) + 1e-12
        for q in posteriors(prior, counts)
    )


def mixture_violation(table, law, epsilon):
    bound, prior, n = bounds.MixtureBetting(T_GRID), law.prior, table.shape[1]
    wealth = log_wealth(table, T_GRID.points)
    upper = bound.upper(wealth, n, prior.log_weights, epsilon)
    return single_or_posterior(
        upper, lambda q: bound.posterior_upper(wealth, n, prior, q, epsilon), law.mu, prior, wealth[:, 1]
    )


def absolute_violation(table, law, epsilon):
    bound, prior = absolute_bound(law), law.prior
    truth = law.mean(np.fmin(law.losses, law.start))
    return single_or_posterior(
        bound.upper(table, prior, epsilon),
        lambda q: bound.posterior_upper(table, prior, q, epsilon),
        truth,
        prior,
        bound.wealth(table)[:, 1],
    )


VIOLATED = {
    bounds.GuaranteedConvergence: guaranteed_violation,
    bounds.ConditionalOnSuccess: conditional_violation,
    bounds.SelfNormalised: self_normalised_violation,
    bounds.ConditionalBetting: conditional_betting_violation,
    bounds.SmallKL: kl_violation,
    bounds.Catoni: lambda table, law, epsilon: exponential_violation(
        bounds.Catoni(), law.mu, table, law, epsilon, LAMBDAS
    ),
    bounds.Bernstein: lambda table, law, epsilon: exponential_violation(
        bounds.Bernstein(0.3), law.mu, table, law, epsilon, FRACTIONS
    ),
    bounds.Betting: lambda table, law, epsilon: exponential_violation(
        bounds.Betting(T_GRID.points), law.mu, table, law, epsilon, T_GRID
    ),
    bounds.MixtureBetting: mixture_violation,
    bounds.ClopperPearson: lambda table, law, epsilon: bool(success_violations(table, law, epsilon).any()),
    bounds.PosteriorSuccess: posterior_success_violation,
    bounds.OrderStatistics: lambda table, law, epsilon: bool(quantile_violations(table, law, epsilon).any()),
    bounds.AbsoluteLoss: absolute_violation,
    bounds.HoldOut: lambda table, law, epsilon: bounds.HoldOut(T_GRID).upper(table, 0, epsilon) < law.mu[0] - 1e-12,
    bounds.GainBetting: lambda table, law, epsilon: bool(gain_violations(table, law, epsilon).any()),
    bounds.Difference: lambda table, law, epsilon: bool(difference_violations(table, law, epsilon).any()),
    bounds.WinProbability: lambda table, law, epsilon: bool(win_violations(table, law, epsilon).any()),
    bounds.ReachedWithin: lambda table, law, epsilon: bool(budget_violations(table, law, epsilon).any()),
}
