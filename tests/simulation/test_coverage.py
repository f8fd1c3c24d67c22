"""Whole certificates fail no more often than they say, and the simulation notices mistakes.

Every statement, law and pipeline is simulated by `make coverage`, a part of `make slow`; here stands what has power
within seconds. Forty repetitions of a statement at 0.2 noticed twice the nominal rate with probability 0.21, and twelve
calls of `learn` with probability 0.015: they failed only from 19 and from 9 violations on.
"""

from dataclasses import replace

import numpy as np
import pytest

from pacopt import Design, LossTable, bounds, certify
from pacopt.bounds.sums import log_wealth
from pacopt.columns import columns_of
from pacopt.design import default_t_grid
from simulation.pipelines import LEAKING
from simulation.simulate import ORDINARY, REPETITIONS, certificate_violated, pipeline_violations, plausible, power

EPSILON, COUNT = 0.2, REPETITIONS[0.2]


@pytest.mark.parametrize("epsilon", REPETITIONS)
def test_twice_the_nominal_rate_is_noticed_and_the_nominal_rate_is_not(epsilon):
    assert power(REPETITIONS[epsilon], epsilon) > 0.99
    assert power(REPETITIONS[epsilon], epsilon, rate=epsilon) <= 1e-4
    assert plausible(round(epsilon * REPETITIONS[epsilon]), REPETITIONS[epsilon], epsilon)
    assert not plausible(round(2 * epsilon * REPETITIONS[epsilon]), REPETITIONS[epsilon], epsilon)


@pytest.mark.slow  # a small part of what `make coverage` does
def test_whole_certificates_fail_no_more_often_than_they_say():
    """With weights from a prior split, as `learn` gives them."""
    rng, false = np.random.default_rng(1), 0
    for _ in range(COUNT):
        prior, train = ORDINARY.draw(30, rng), ORDINARY.draw(40, rng)
        design = Design.informed(prior, train=40, epsilon=EPSILON)
        false += certificate_violated(train, ORDINARY, EPSILON, design)
    assert plausible(false, COUNT, EPSILON)


def test_the_simulation_notices_training_instances_that_leak_into_the_prior():
    """No candidate of the lottery is better than another: a search on the training split certifies luck."""
    assert not plausible(pipeline_violations(LEAKING, 0.5, repetitions=20), 20, 0.5)


def test_the_simulation_notices_a_bound_without_its_union():
    """The best of 500 fair coins certified as if it had been the only one: false nearly always."""
    rng, grid = np.random.default_rng(0), default_t_grid()

    def violated():
        table = LossTable(losses=(rng.random((500, 40)) < 0.5).astype(float), start=np.ones(40))
        return bounds.MixtureBetting(grid).upper(log_wealth(table, grid.points), 40, np.zeros(500), 0.05).min() < 0.5

    assert not plausible(sum(violated() for _ in range(20)), 20, 0.05)


def pooled_and_averaged(rng, problems=50, seeds=10):
    """Two certificates of one candidate on problems with several random runs each, and what both speak of: the mean.

    A run ends below its start on easy problems and above it on hard ones; seeds change little.
    """
    hard = rng.random(problems) < 0.3
    noise = rng.uniform(-0.05, 0.05, (problems, seeds))
    losses = np.clip(np.where(hard[:, None], 0.9, 0.1) + noise, 0.0, 1.0).reshape(1, -1)
    pooled = LossTable(losses, np.ones(problems * seeds))
    averaged = replace(pooled, columns=columns_of(np.arange(problems), np.zeros(problems), seeds))
    return [certify(table, confidence=0.95) for table in (pooled, averaged)], 0.3 * 0.9 + 0.7 * 0.1


@pytest.mark.slow  # tests/theorem/test_columns.py finds the same out by sums
def test_replicates_that_pass_as_instances_are_noticed_and_averaged_ones_are_fine():
    rng = np.random.default_rng(0)
    false = np.zeros(2)
    for _ in range(200):
        certificates, mean = pooled_and_averaged(rng)
        false += [c.deployed.risk < mean for c in certificates]
    assert not plausible(int(false[0]), 200, 0.05), "fifty problems with ten seeds each are fifty draws"
    assert plausible(int(false[1]), 200, 0.05)
