"""Gains in other scores, exactly: summed over all samples of finite laws, they are false as rarely as they say."""

import numpy as np
import pytest

from laws import random_law
from pacopt import Design, Digits, Grid, LossTable, Rate
from pacopt.bounds.baselines import baseline_table, wins
from pacopt.claims import Gain, Win

GRID = Grid([0.2, 0.6, 0.95], [0.3, 0.4, 0.3])
EPSILON, DRAWS = 0.3, 4


@pytest.mark.parametrize("score", [Rate(3), Digits(2)], ids=repr)
@pytest.mark.parametrize("seed", range(8))
def test_a_gain_and_a_win_are_false_with_probability_at_most_epsilon(score, seed):
    law = random_law(seed)
    mu, base = (law.mean(score.of(each)) for each in (law.whole, baseline_table(law.whole, "it")))
    design = Design(law.prior, GRID, score=score, claims=[Gain(0.5, over="it"), Win(0.5, over="it")])
    certain = law.mean(wins(law.whole, "it", score))

    def false(table):
        gain = design["gain"].for_candidates(table, design, 2 * EPSILON)
        shown = np.isfinite(gain)
        claimed = np.where(shown, gain, 1.0)
        if isinstance(score, Digits):
            wrong = shown & (score.scale * (base - mu) < claimed - 1e-9)
        else:
            wrong = shown & (mu * claimed > base + 1e-9)
        return bool(np.any(wrong))

    def lost(table):
        return bool(np.any(design["win"].for_candidates(table, design, 2 * EPSILON) > certain + 1e-9))

    assert law.expectation(DRAWS, false) <= EPSILON
    assert law.expectation(DRAWS, lost) <= EPSILON


def test_claims_divide_their_share_between_baselines():
    rng = np.random.default_rng(1)
    losses, base = rng.beta(1, 20, (3, 300)), rng.beta(2, 3, 300)
    table = LossTable(losses, np.ones(300), baselines={"a": base, "b": base, "it": base})
    design = Design.uniform(table)
    for kind in (Gain, Win):
        one = kind(0.4, over=("it",)).for_candidates(table, design, 0.01)
        shared = kind(0.4, over=("it", "a", "b")).for_candidates(table, design, 0.03)
        np.testing.assert_allclose(one, shared, rtol=1e-9)
