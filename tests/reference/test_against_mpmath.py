"""Every bound agrees with 50-digit arithmetic, and where it is a numerical inverse lies on the safe side of it."""

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

from pacopt import DiscreteMeasure, Grid, LossTable, bounds
from pacopt.bounds.exponential_family import posterior_bound
from pacopt.bounds.kl import kl_lower, kl_price, kl_upper
from pacopt.bounds.success import PosteriorSuccess
from pacopt.bounds.sums import log_wealth
from reference import exact

GRID = Grid(np.array([0.05, 0.6, 0.97]), np.array([0.2, 0.5, 0.3]))
LAMS = {bounds.Catoni: 0.7, bounds.Bernstein: 0.4, bounds.Betting: 0.6}


def make(seed, rows=3, n=25):
    """A table with failures, ties, a start of 0, and a prior and a posterior that are not uniform."""
    rng = np.random.default_rng(seed)
    start = rng.lognormal(size=n)
    losses = start * rng.beta(0.5, 4, size=(rows, n)) * 1.2
    losses[rng.random((rows, n)) < 0.08] = np.nan
    losses[0, 0] = start[0]
    start[1], losses[:, 1] = 0.0, [0.0, 1.0, 0.0]
    support = {"candidate": np.arange(rows)}
    prior, posterior = (DiscreteMeasure.of(support, rng.dirichlet(np.ones(rows))) for _ in range(2))
    return LossTable(losses=losses, start=start), prior, posterior


def weights(measure):
    return [mp.exp(mp.mpf(float(w))) for w in measure.log_weights]


def price_of(prior, posterior, level):
    return exact.divergence(weights(posterior), weights(prior)) - mp.log(level)


def linear_value(bound, table, prior, posterior, lam, level, risk, spread, eta):
    """(ours, exact) for bounds of the form E_Q Rhat + eta' / eta_1 E_Q T' + price / eta_1."""
    ours = posterior_bound(bound, posterior, prior, bound.statistics(table), lam, table.shape[1], -np.log(level))
    q = weights(posterior)
    first, second = eta
    total = mp.fsum(w * (a + second / first * s) for w, a, s in zip(q, risk, spread, strict=True))
    return [(ours, total + price_of(prior, posterior, mp.mpf(level)) / first)]


def guaranteed(table, prior, posterior, level):
    start = table.start + 0.5
    table = LossTable(losses=np.nan_to_num(table.losses, nan=0.1) * 0.1, start=start)
    rho = (table.losses / start).max(axis=1) * 1.1
    bound = bounds.GuaranteedConvergence(rho, 7.0, 1.5)
    n, lam = table.shape[1], 3.0
    risk = [exact.mean(mp.mpf(float(x)) for x in row) for row in table.losses]
    eta = (mp.mpf(lam), mp.mpf(lam) ** 2 / 2 * mp.mpf("2.25") * 7 / n)
    return linear_value(
        bound,
        table,
        prior,
        posterior,
        lam,
        level,
        risk,
        [(mp.mpf(float(r)) + mp.mpf("1e-12") / mp.mpf("1.5")) ** 2 for r in rho],
        eta,
    )


def success_losses(table, r):
    """The losses, and ratios, of the successes of each candidate."""
    rows = []
    for row in table.losses:
        kept = [(x, s) for x, s in zip(row, table.start, strict=True) if np.isfinite(x) and x <= r * s]
        rows.append([(mp.mpf(float(x)), exact.ratio(x, s)) for x, s in kept])
    return rows


def conditional(table, prior, posterior, level):
    r, p, n, lam = 0.5, np.array([0.3, 0.5, 0.9]), table.shape[1], 2.0
    kept = success_losses(table, r)
    risk = [mp.fsum(x for x, _ in row) / n / mp.mpf(float(a)) for row, a in zip(kept, p, strict=True)]
    eta = (mp.mpf(lam), mp.mpf(lam) ** 2 / 2 * mp.mpf("0.25") * 7 / n)
    bound = bounds.ConditionalOnSuccess(p, 7.0, r)
    spread = [1 / mp.mpf(float(a)) ** 2 for a in p]
    return linear_value(bound, table, prior, posterior, lam, level, risk, spread, eta)


def self_normalised(table, prior, posterior, level):
    r, lam = 0.5, 9.0
    kept = success_losses(table, r)
    risk = [exact.mean(z for _, z in row) for row in kept]
    spread = [mp.mpf("0.25") / (4 * len(row)) for row in kept]
    eta = (mp.mpf(lam), mp.mpf(lam) ** 2 / 2)
    return linear_value(bounds.SelfNormalised(r), table, prior, posterior, lam, level, risk, spread, eta)


def conditional_betting(table, prior, posterior, level):
    r, pairs = 0.5, []
    kept = [[z / mp.mpf("0.5") for _, z in row] for row in success_losses(table, r)]
    bound = bounds.ConditionalBetting(GRID, r)
    for ours, row, pi in zip(bound.upper(table, prior, level), kept, weights(prior), strict=True):
        values = [
            (1 - mp.exp((exact.wealth(row, t) + mp.log(mp.mpf(level) * mp.mpf(float(w)) * pi)) / len(row)))
            / mp.mpf(float(t))
            for t, w in zip(GRID.points, GRID.weights, strict=True)
        ]
        pairs.append((ours, r * min(1, *values)))
    total = exact.posterior_mean(
        kept, [len(row) for row in kept], GRID, weights(posterior), price_of(prior, posterior, mp.mpf(level))
    )
    return [*pairs, (bound.posterior_upper(table, prior, posterior, level), r * total)]


def small_kl(table, prior, posterior, level):
    n = table.shape[1]
    risk = mp.fsum(w * exact.mean(row) for w, row in zip(weights(posterior), exact.z_of(table), strict=True))
    price = (price_of(prior, posterior, mp.mpf(level)) + mp.log(2 * mp.sqrt(n))) / n
    return [(bounds.SmallKL().upper(table, prior, posterior, level), exact.kl_upper(risk, price))]


def catoni(table, prior, posterior, level):
    a, n, bound = LAMS[bounds.Catoni], table.shape[1], bounds.Catoni()
    risk = mp.fsum(w * exact.mean(row) for w, row in zip(weights(posterior), exact.z_of(table), strict=True))
    ours = posterior_bound(bound, posterior, prior, bound.statistics(table), a, n, -np.log(level))
    a = mp.mpf(a)
    value = (1 - mp.exp(-a * risk - price_of(prior, posterior, mp.mpf(level)) / n)) / (1 - mp.exp(-a))
    return [(ours, min(1, value))]


def bernstein(table, prior, posterior, level):
    b, n, z = LAMS[bounds.Bernstein], table.shape[1], exact.z_of(table)
    eta = (mp.mpf(b) * n, (-mp.log(1 - mp.mpf(b)) - mp.mpf(b)) * n)
    risk = [exact.mean(row) for row in z]
    spread = [exact.mean((x - mp.mpf(0.25)) ** 2 for x in row) for row in z]
    pairs = linear_value(bounds.Bernstein(0.25), table, prior, posterior, b, level, risk, spread, eta)
    return [(ours, min(1, value)) for ours, value in pairs]


def betting(table, prior, posterior, level):
    t, n, bound = LAMS[bounds.Betting], table.shape[1], bounds.Betting(GRID.points)
    ours = posterior_bound(bound, posterior, prior, bound.statistics(table), t, n, -np.log(level))
    total = mp.fsum(w * exact.wealth(row, t) for w, row in zip(weights(posterior), exact.z_of(table), strict=True))
    value = (1 - mp.exp((total - price_of(prior, posterior, mp.mpf(level))) / n)) / mp.mpf(t)
    return [(ours, min(1, value))]


def mixture(table, prior, posterior, level):
    n, z, bound = table.shape[1], exact.z_of(table), bounds.MixtureBetting(GRID)
    wealth = log_wealth(table, GRID.points)
    singles = bound.upper(wealth, n, prior.log_weights, level)
    pairs = [
        (ours, exact.largest_mean(row, GRID, n, mp.mpf(level) * pi))
        for ours, row, pi in zip(singles, z, weights(prior), strict=True)
    ]
    total = exact.posterior_mean(z, [n] * 3, GRID, weights(posterior), price_of(prior, posterior, mp.mpf(level)))
    return [*pairs, (bound.posterior_upper(wealth, n, prior, posterior, level), total)]


def clopper_pearson(table, prior, posterior, level):
    n, counts = table.shape[1], table.succeeded(0.2).sum(axis=1)
    ours = bounds.ClopperPearson().lower(counts.astype(float), n, prior.log_weights, level)
    return [
        (-o, -exact.clopper_pearson(int(k), n, mp.mpf(level) * pi))
        for o, k, pi in zip(ours, counts, weights(prior), strict=True)
    ]


def posterior_success(table, prior, posterior, level):
    n, counts = table.shape[1], table.succeeded(0.2).sum(axis=1)
    price = (price_of(prior, posterior, mp.mpf(level)) + mp.log(2 * mp.sqrt(n))) / n
    frequency = mp.fsum(w * int(k) for w, k in zip(weights(posterior), counts, strict=True)) / n
    ours = PosteriorSuccess().lower(counts.astype(float), n, prior, posterior, level)
    return [(-ours, -exact.kl_lower(frequency, price))]


def quantile(table, prior, posterior, level):
    ours = bounds.OrderStatistics(0.6).for_candidates(table, prior, level)
    pairs = []
    for o, row, pi in zip(ours, table.losses, weights(prior), strict=True):
        ratios = [exact.ratio(x, s) for x, s in zip(row, table.start, strict=True)]
        pairs.append((o, exact.order_statistic(ratios, 0.6, mp.mpf(level) * pi)))
    return pairs


def absolute(table, prior, posterior, level):
    cut, n = 1.25, table.shape[1]
    bound = bounds.AbsoluteLoss(bounds.Truncation.from_second_moment(cut, 7.0), GRID)
    values = [
        [
            mp.mpf(float(min(np.inf if np.isnan(x) else x, s, cut))) / mp.mpf(cut)
            for x, s in zip(row, table.start, strict=True)
        ]
        for row in table.losses
    ]
    excess = mp.mpf(7) / (4 * mp.mpf(cut))
    pairs = [
        (ours, mp.mpf(cut) * exact.largest_mean(row, GRID, n, mp.mpf(level) * pi) + excess)
        for ours, row, pi in zip(bound.upper(table, prior, level), values, weights(prior), strict=True)
    ]
    total = exact.posterior_mean(values, [n] * 3, GRID, weights(posterior), price_of(prior, posterior, mp.mpf(level)))
    return [*pairs, (bound.posterior_upper(table, prior, posterior, level), mp.mpf(cut) * total + excess)]


def hold_out(table, prior, posterior, level):
    value = exact.largest_mean(exact.z_of(table)[2], GRID, table.shape[1], mp.mpf(level))
    return [(bounds.HoldOut(GRID).upper(table, 2, level), value)]


def with_baseline(table):
    """The table with a baseline that fails now and then, and its scores."""
    other = np.where(np.arange(table.shape[1]) % 9 == 0, np.inf, np.roll(table.start, 3) * 0.7)
    whole = LossTable(table.losses, table.start, baselines={"it": other})
    return whole, exact.z_of(LossTable(other[None], table.start))[0]


def gain(table, prior, posterior, level):
    table, other = with_baseline(table)
    ours = bounds.GainBetting(GRID, "it").for_candidates(table, prior, level)
    pairs = []
    for found, z, pi in zip(ours, exact.z_of(table), weights(prior), strict=True):
        threshold = -mp.log(mp.mpf(level) * pi)

        def excess(r, z=z, threshold=threshold):
            terms = [
                mp.mpf(float(w))
                * mp.exp(mp.fsum(mp.log(1 - mp.mpf(float(t)) * (a - r * b)) for a, b in zip(z, other, strict=True)))
                for t, w in zip(GRID.points, GRID.weights, strict=True)
            ]
            return mp.log(mp.fsum(terms)) - threshold

        pairs.append((found, exact.bisect(excess, mp.mpf(0), mp.mpf(1)) if excess(mp.mpf(1)) > 0 else mp.inf))
    return pairs


def difference(table, prior, posterior, level):
    table, other = with_baseline(table)
    ours, n = bounds.Difference(GRID, "it").for_candidates(table, prior, level), table.shape[1]
    return [
        (
            found,
            2
            * exact.largest_mean([(1 + a - b) / 2 for a, b in zip(z, other, strict=True)], GRID, n, mp.mpf(level) * pi)
            - 1,
        )
        for found, z, pi in zip(ours, exact.z_of(table), weights(prior), strict=True)
    ]


def win(table, prior, posterior, level):
    table, _ = with_baseline(table)
    ours, n = bounds.WinProbability("it").for_candidates(table, prior, level), table.shape[1]
    ends = [[min(x, s) if np.isfinite(x) else s for x, s in zip(row, table.start, strict=True)] for row in table.losses]
    other = [min(x, s) for x, s in zip(table.baselines["it"], table.start, strict=True)]
    counts = [sum(a < b for a, b in zip(row, other, strict=True)) for row in ends]
    return [
        (-o, -exact.clopper_pearson(k, n, mp.mpf(level) * pi))
        for o, k, pi in zip(ours, counts, weights(prior), strict=True)
    ]


def budget(table, prior, posterior, level):
    """The parts that reach two targets within some steps; every number of late runs by itself."""
    rng = np.random.default_rng(table.shape[1])
    far = np.where(rng.random(table.losses.shape) < 0.2, np.inf, rng.integers(5, 50, table.losses.shape))
    table, n = replace(table, times={0.1: np.minimum(np.ceil(far / 2), 40), 0.001: far}), table.shape[1]
    bound, pairs = bounds.ReachedWithin((0.1, 0.001), (0.4, 0.6)), []
    for index, pi in enumerate(weights(prior)):
        stairs = bound.stairs(table, index, level * float(prior.weights[index]))
        for m in (4, 17, 33, 60):
            exactly = []
            for target, weight in ((0.1, mp.mpf(0.4)), (0.001, mp.mpf(0.6))):
                d = sum(t > m for t in table.times[target][index])
                exactly.append(exact.clopper_pearson(n - d, n, mp.mpf(level) * pi * weight / ((d + 1) * (d + 2))))
            pairs += [(-stairs.probability(m, 0.001), -exactly[1]), (-stairs.probability(m, 0.1), -max(exactly))]
    return pairs


REFERENCE = {
    bounds.ReachedWithin: budget,
    bounds.GuaranteedConvergence: guaranteed,
    bounds.ConditionalOnSuccess: conditional,
    bounds.SelfNormalised: self_normalised,
    bounds.ConditionalBetting: conditional_betting,
    bounds.SmallKL: small_kl,
    bounds.Catoni: catoni,
    bounds.Bernstein: bernstein,
    bounds.Betting: betting,
    bounds.MixtureBetting: mixture,
    bounds.ClopperPearson: clopper_pearson,
    bounds.PosteriorSuccess: posterior_success,
    bounds.OrderStatistics: quantile,
    bounds.AbsoluteLoss: absolute,
    bounds.HoldOut: hold_out,
    bounds.GainBetting: gain,
    bounds.Difference: difference,
    bounds.WinProbability: win,
}
#: Numerical inverses; the rest are closed formulas and carry the rounding of one.
INVERSES = {
    bounds.ReachedWithin,
    bounds.GainBetting,
    bounds.Difference,
    bounds.WinProbability,
    bounds.SmallKL,
    bounds.MixtureBetting,
    bounds.ClopperPearson,
    bounds.PosteriorSuccess,
    bounds.HoldOut,
}


@pytest.mark.parametrize("bound", REFERENCE, ids=lambda bound: bound.__name__)
@pytest.mark.parametrize("seed", range(2))
def test_a_bound_agrees_with_fifty_digits(bound, seed):
    table, prior, posterior = make(seed)
    for level in (0.05,) if seed else (0.3, 1e-6):
        for ours, value in REFERENCE[bound](table, prior, posterior, level):
            if mp.isinf(value):
                assert ours == np.inf
                continue
            assert abs(ours - value) <= mp.mpf("1e-8") * abs(value)
            slack = 0 if bound in INVERSES else mp.mpf("1e-13") * abs(value)
            assert ours >= value - slack


def test_inverses_of_kl_are_on_the_safe_side_everywhere():
    rng = np.random.default_rng(0)
    for _ in range(100):
        q, price = float(rng.beta(0.3, 1)), float(10 ** rng.uniform(-8, 1))
        upper, lower = exact.kl_upper(mp.mpf(q), mp.mpf(price)), exact.kl_lower(mp.mpf(q), mp.mpf(price))
        assert kl_upper(q, price) >= upper
        assert kl_lower(q, price) <= lower
    assert kl_upper(1.0, 0.1) == 1.0
    assert kl_lower(0.0, 0.1) == 0.0
    assert kl_price(0.0, 4, 0.5) == pytest.approx(np.log(8) / 4)


def test_tails_of_clopper_and_pearson_are_on_the_safe_side_everywhere():
    rng = np.random.default_rng(1)
    for _ in range(60):
        n = int(rng.integers(1, 300))
        k, level = int(rng.integers(1, n + 1)), float(10 ** rng.uniform(-9, -0.1))
        p = float(bounds.ClopperPearson().lower(np.array([float(k)]), n, np.zeros(1), level)[0])
        assert exact.binomial_tail(n, k, mp.mpf(p)) <= level


def test_a_million_tiny_losses_are_bounded_on_the_safe_side():
    """1 - t z rounds to 1 here, a million times; the padding has to cover all of it."""
    grid, n = Grid.uniform([0.5, 0.9]), 10**6
    for z in (5e-17, 1.6e-16, 1e-12):
        table = LossTable(losses=np.full((1, n), z), start=np.ones(n))
        upper = bounds.MixtureBetting(grid).upper(log_wealth(table, grid.points), n, np.zeros(1), 0.01)[0]
        exponents = [
            n * (mp.log1p(-mp.mpf(t) * mp.mpf(z)) - mp.log1p(-mp.mpf(t) * mp.mpf(float(upper)))) for t in (0.5, 0.9)
        ]
        assert mp.fsum(mp.exp(e) / 2 for e in exponents) >= 100
