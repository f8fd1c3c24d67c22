"""A plan tells beforehand what certificates say afterwards."""

import re

import numpy as np
import pytest

from pacopt import Design, DiscreteMeasure, LossTable, certify
from pacopt.bounds.informed import best_fraction, informed_grid
from pacopt.errors import DesignError
from pacopt.planning.plans import make_plan
from pacopt.planning.sizes import (
    certifiable_success,
    needed_for_risk,
    needed_for_success,
    predicted_risk,
    split_for,
)
from pacopt.support.sizes import recommended_split


def certified(train, confidence, failures=0):
    """The success probability that is certified for a candidate of weight 1/2, so many of whose runs fail."""
    losses = np.full((2, train), 0.5)
    losses[:, :failures] = 2.0
    table = LossTable(losses, np.ones(train))
    design = Design(DiscreteMeasure.uniform(table.candidates))
    return certify(table, design, confidence=confidence).deployed.success


@pytest.mark.parametrize("confidence", [0.9, 0.99, 0.9999])
@pytest.mark.parametrize("success", [0.5, 0.9, 0.95, 0.99])
def test_the_size_without_failures_is_the_smallest_that_certifies(success, confidence):
    needed = needed_for_success(success, confidence)
    assert certified(needed, confidence) >= success
    assert certified(needed - 1, confidence) < success


def test_the_table_of_a_plan_holds_the_smallest_sizes_for_each_number_of_failures():
    for row in make_plan().levels[:3]:
        for failures, needed in zip((0, 1, 5), row.train, strict=True):
            # Two thirds of the failure probability: gain and win have the rest.
            assert certified(needed, 1 - 0.01 / 1.5, failures) >= row.success
            assert certified(needed - 1, 1 - 0.01 / 1.5, failures) < row.success


def test_what_is_certifiable_is_what_is_certified():
    for failures in (0, 3, 20):
        assert certifiable_success(500, 0.99, failures / 500) == pytest.approx(
            certified(500, 0.99, failures), rel=1e-12
        )


def test_a_success_probability_that_is_not_there_cannot_be_certified():
    assert needed_for_success(0.99, 0.99, failure_rate=0.01) is None


@pytest.mark.parametrize(
    ("success", "confidence", "rate"), [(0.95, 0.99, 0.01), (0.9, 0.99, 0.01), (0.99, 0.9, 0.004), (0.5, 0.9, 0.3)]
)
def test_the_size_with_failures_is_the_smallest_from_which_on_every_size_certifies(success, confidence, rate):
    needed = needed_for_success(success, confidence, rate)
    assert certifiable_success(needed - 1, confidence, rate) < success
    for train in range(needed, needed + round(3 / rate)):
        assert certifiable_success(train, confidence, rate) >= success


@pytest.mark.parametrize(("mean", "variation"), [(9e-4, 1.0), (1e-12, 1.0), (0.05, 0.01), (1e-6, 100.0)])
def test_a_prediction_is_a_number_above_the_mean_for_small_means_and_variations(mean, variation):
    for train in (100, 1000):
        floor = -np.expm1(np.log(0.01 * 0.6 / 2) / train)
        assert max(mean, floor) < predicted_risk(mean, variation, train, 0.99) < 1.2 * (mean + floor) + 6 * mean


@pytest.mark.parametrize("train", [200, 1000])
@pytest.mark.parametrize(("mean", "variation"), [(0.05, 1.0), (0.3, 0.5), (0.02, 2.0)])
def test_the_predicted_bound_is_the_average_of_real_ones(mean, variation, train):
    total = (1 - mean) / (mean * variation**2) - 1
    risks = []
    for seed in range(12):
        z = np.random.default_rng(seed).beta(mean * total, (1 - mean) * total, size=(2, train + 200))
        z[1] = 1.0  # one candidate is good and has half of the weight, the other one is not
        table = LossTable(z[:, :train], np.ones(train))
        best = best_fraction(z[0, train:], train=train, price=-np.log(0.01 * 0.6 / 2))
        design = Design(DiscreteMeasure.uniform(table.candidates), t_grid=informed_grid(best))
        risks.append(certify(table, design).deployed.risk)
    assert predicted_risk(mean, variation, train, 0.99) == pytest.approx(np.mean(risks), rel=0.05)


def test_the_bound_falls_to_the_mean_as_instances_grow_and_grows_with_the_variation():
    bounds = [predicted_risk(0.05, 1.0, train, 0.99) for train in (100, 1000, 10_000, 10**6)]
    assert bounds == sorted(bounds, reverse=True)
    assert 0.05 < bounds[-1] < 0.0505
    assert predicted_risk(0.05, 0.5, 500, 0.99) < predicted_risk(0.05, 2.0, 500, 0.99)
    needed = needed_for_risk(0.06, 0.05, 1.0, 0.99)
    assert predicted_risk(0.05, 1.0, needed, 0.99) <= 0.06 < predicted_risk(0.05, 1.0, needed - 1, 0.99)
    assert needed_for_risk(0.05, 0.05, 1.0, 0.99) is None


@pytest.mark.parametrize("total", [3, 4, 10, 99, 1400, 10**6])
def test_a_recommended_split_uses_every_instance_and_has_no_empty_part(total):
    for success in (None, 0.9, 0.999):
        parts = recommended_split(total, success)
        assert parts.total == total
        assert min(parts.prior, parts.train, parts.test) >= 1
        assert parts.train >= parts.test


def test_the_search_gets_enough_instances_to_see_a_failure():
    assert recommended_split(100_000, 0.999).prior == 1000
    assert recommended_split(100_000, 0.9).prior == 200


@pytest.mark.parametrize("train", [1, 73, 757, 1000, 7598])
def test_the_split_for_a_training_size_is_the_smallest_recommended_one(train):
    parts = split_for(train, 0.9)
    assert parts.train >= train
    if parts.total > 3:
        assert recommended_split(parts.total - 1, 0.9).train < train


def test_a_plan_answers_what_was_asked():
    asked = make_plan(success=0.99)
    assert asked.needed_train == 728
    assert asked.split.train >= 728
    assert asked.possible
    small = make_plan(instances=300, success=0.99)
    assert not small.possible
    assert f"not enough: {asked.split.total:,}" in " ".join(small.answers)
    assert make_plan(instances=asked.split.total, success=0.99).possible
    assert not make_plan(risk=0.05, mean=0.05).possible
    assert make_plan(instances=3000, risk=0.06, mean=0.05).possible
    both = make_plan(success=0.99, risk=0.0501, mean=0.05)
    assert both.needed_train == needed_for_risk(0.0501, 0.05, 1.0, 1 - 0.01 / 1.5)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"instances": 2}, "2 instances"),
        ({"success": 1.0}, "success is 1.0.*Use 0.99, for example"),
        ({"risk": 0.0}, "risk is 0.0.*Use 0.05, for example"),
        ({"confidence": 99}, "confidence is 99"),
        ({"mean": 0.0}, "mean is 0.0.*Use 0.05, for example"),
        ({"variation": 10.0}, "below 4.359"),
        ({"variation": -1.0}, "variation is -1.0"),
        ({"instances": 10**21}, "instances"),
        ({"failure_rate": 1.5, "success": 0.9}, "failure_rate is 1.5"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, named):
    with pytest.raises(DesignError, match=named):
        make_plan(**wrong)


def test_nobody_is_promised_what_a_thousand_million_instances_would_not_do():
    plan = make_plan(success=1 - 1e-15)
    assert not plan.possible
    assert plan.split is None
    assert "needs more than 1,000,000,000 training instances" in plan.answers[0]


def test_where_a_success_cannot_be_attained_the_split_does_not_lower_what_can():
    plan = make_plan(instances=300, success=0.999)
    assert not plan.possible
    assert plan.split == recommended_split(300)


def test_a_plan_speaks_in_the_unit_of_the_score():
    """Twenty of fifty steps are a mean of 0.4 of what a score can be."""
    steps = make_plan(instances=1400, mean=20, risk=22, top=50, unit="steps")
    ratio = make_plan(instances=1400, mean=0.4, risk=0.44)
    assert [size.risk for size in steps.risks] == [size.risk for size in ratio.risks]
    assert steps.needed_train == ratio.needed_train
    text = " ".join(steps.answers + steps.limits)
    assert "A mean of 22 steps needs" in text
    assert "steps on a mean of 20 steps" in text
    assert "ratio" not in text
    for wrong in ({"top": 0}, {"top": np.inf}, {"unit": 3}):
        with pytest.raises(DesignError):
            make_plan(instances=1400, **wrong)


def test_a_plan_in_steps_speaks_of_steps():
    plan = make_plan(instances=1400, mean=10.0, rise=15.0, top=50.0, unit="steps", variation=0.5)
    assert "One (a run that scores 50 steps) that happens" in plan.limits[0]
    assert "bounds on the mean are predictions for scores" in plan.caution
    assert "ratio" not in " ".join((*plan.answers, *plan.limits, plan.caution))


def test_what_is_certified_and_what_is_watched_are_one_number():
    plan = make_plan(instances=1400, rise=0.1, drop=0.9)
    (bound,) = re.findall(r"a bound of about ([\d.]+)", " ".join(plan.answers))
    (success,) = re.findall(r"success with probability at least ([\d.]+)", " ".join(plan.answers))
    assert f"rises from {bound} to 0.1" in " ".join(plan.answers)
    assert f"drops from {success} to 0.9" in " ".join(plan.answers)
    given = make_plan(risk=0.07, rise=0.1, success=0.995, drop=0.9)
    assert "rises from 0.07 to 0.1" in " ".join(given.answers)
    assert "drops from 0.995 to 0.9" in " ".join(given.answers)
