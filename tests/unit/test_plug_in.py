"""The published estimate against a plain transcription of the formulas."""

import numpy as np
import pytest

from pacopt import LossTable
from pacopt.errors import TableError
from pacopt.papers import plug_in_bound
from pacopt.papers.sucker_ochs_2023.estimate import minimised, published_lambdas


def transcription(table, epsilon, lambdas, density=None):
    """P section 5.1 and Thm 6.7 in loops, with frequencies and means plugged in."""
    rows, n = table.losses.shape
    risk, p = np.zeros(rows), np.zeros(rows)
    for i in range(rows):
        good = [j for j in range(n) if np.isfinite(table.losses[i, j]) and table.losses[i, j] <= table.start[j]]
        p[i] = len(good) / n
        risk[i] = np.sum(table.losses[i, good]) / n / p[i] if good else np.inf
    moment = np.mean(table.start**2)
    best = (np.inf, None, None)
    for lam in lambdas:
        with np.errstate(divide="ignore"):
            exponents = -lam * risk - lam**2 / 2 * moment / n / p**2
        top = exponents.max()
        kappa = top + np.log(np.mean(np.exp(exponents - top)))
        value = -(kappa - np.log(len(lambdas) / epsilon)) / lam
        if value < best[0]:
            weights = np.exp(exponents - top) * (1 if density is None else density)
            best = (value, lam, weights / weights.sum())
    return best


@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_is_the_published_one(seed):
    rng = np.random.default_rng(seed)
    start = rng.lognormal(sigma=2, size=50) * 10.0 ** rng.integers(-2, 5)
    losses = start * rng.lognormal(size=(12, 50))
    losses[3] = 2 * start  # never succeeds
    losses[4, ::3] = np.inf
    density = rng.random(12)
    table, lambdas = LossTable(losses=losses, start=start), np.geomspace(1e-6, 1, 300)
    for f in (None, density):
        estimate = plug_in_bound(table, epsilon=0.05, lambdas=lambdas, density=f)
        value, lam, weights = transcription(table, 0.05, lambdas, f)
        assert estimate.value == pytest.approx(value, rel=1e-9)
        assert estimate.lam == lam
        np.testing.assert_allclose(estimate.weights, weights, rtol=1e-9, atol=1e-300)
        assert estimate.weights[3] == 0


def test_the_grid_is_the_published_one():
    lambdas = published_lambdas()
    assert (len(lambdas), lambdas[0], lambdas[-1]) == (25_000, 1e-8, 1.0)


def test_what_the_published_bound_cannot_say_is_refused():
    with pytest.raises(TableError, match="No candidate succeeded"):
        plug_in_bound(LossTable(losses=[[2.0]], start=[1.0]))
    for options in ({"epsilon": 0.0}, {"lambdas": np.array([0.0])}, {"lambdas": np.array([])}):
        with pytest.raises(TableError, match="epsilon is"):
            plug_in_bound(LossTable(losses=[[0.5]], start=[1.0]), **options)


@pytest.mark.parametrize("seed", range(5))
def test_leaving_out_blocks_of_the_grid_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    risk, spread = 10 ** rng.uniform(0, 4, 40), 10 ** rng.uniform(-3, 5, 40)
    found = minimised(risk, spread)
    lambdas = published_lambdas()
    exponents = -np.multiply.outer(lambdas, risk) - np.multiply.outer(lambdas**2 / 2, spread)
    values = (np.log(len(lambdas) / 0.01) + np.log(40) - np.logaddexp.reduce(exponents, axis=1)) / lambdas
    assert found.lam == lambdas[np.argmin(values)]
    assert found.value == pytest.approx(values.min(), rel=1e-12)
