"""Statements fail no more often than they say; `make coverage` does the same a hundred times longer."""

import numpy as np
import pytest

from pacopt import Design, LossTable, bounds, certify
from pacopt.bounds.sums import log_wealth
from pacopt.design import default_t_grid
from simulation.pipelines import LEAKING, PIPELINES
from simulation.simulate import BERNOULLI, COIN, ORDINARY, STATEMENTS, pipeline_violations, plausible, violations


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("law", [COIN, BERNOULLI], ids=lambda law: law.name)
def test_a_statement_fails_no_more_often_than_it_says(name, law):
    assert plausible(violations(name, law, 0.2, repetitions=40), 40, 0.2)


def test_whole_certificates_fail_no_more_often_than_they_say():
    assert plausible(violations("certificate", ORDINARY, 0.5, repetitions=100), 100, 0.5)


def test_certificates_with_weights_from_a_prior_split_fail_no_more_often_than_they_say():
    rng, false = np.random.default_rng(1), 0
    for _ in range(80):
        prior, train = ORDINARY.draw(30, rng), ORDINARY.draw(40, rng)
        deployed = certify(train, Design.informed(prior, train=40, epsilon=0.5), confidence=0.5).deployed
        false += deployed.risk < ORDINARY.mu[deployed.index] or deployed.success > ORDINARY.p()[deployed.index]
    assert plausible(int(false), 80, 0.5)


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda pipeline: pipeline.name)
def test_whole_pipelines_fail_no_more_often_than_they_say(pipeline):
    assert plausible(pipeline_violations(pipeline, 0.2, repetitions=12, first=5000), 12, 0.2)


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
