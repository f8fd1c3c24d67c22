"""What no number of instances shows, because a catastrophe may not be among them."""

import mpmath
import pytest

from pacopt.planning.floors import fewest_for_gain, fewest_for_risk, largest_gain, least_risk, unseen
from pacopt.planning.plans import make_plan
from pacopt.planning.sizes import predicted_risk


@pytest.mark.parametrize("train", [1, 100, 10**6])
@pytest.mark.parametrize("level", [1e-9, 0.006, 0.3])
def test_a_catastrophe_that_cannot_be_excluded_is_unseen_twice_as_often_as_a_claim_may_be_false(train, level):
    with mpmath.workdps(50):
        assert float((1 - mpmath.mpf(unseen(train, level))) ** train) == pytest.approx(2 * level, rel=1e-7)


def test_of_levels_above_one_half_nothing_is_said():
    assert unseen(100, 0.6) == 0.0
    assert least_risk(0.05, 100, 0.6) == 0.05


def test_the_floors_of_the_theory():
    # The mean in the heavy-ball setting, solved for: at a mean of 0.03727 the floor is 1.114.
    assert unseen(1000, 0.006) / (unseen(1000, 0.006) + 0.114) == pytest.approx(0.03727, abs=5e-6)
    assert least_risk(0.03727, 1000, 0.006) / 0.03727 == pytest.approx(1.114, abs=5e-4)
    assert least_risk(0.03727, 1000, 0.01) / 0.03727 == pytest.approx(1.101, abs=5e-4)
    assert least_risk(0.012, 1000, 0.006) / 0.012 == pytest.approx(1.36, abs=5e-3)
    assert least_risk(0.012, 1000, 0.01) / 0.012 == pytest.approx(1.32, abs=5e-3)


def test_a_true_factor_of_1_18_at_a_mean_of_0_012_shows_as_no_more_than_this():
    # With the share of a gain, 0.4 of the failure probability, alone or divided by the sum of all shares, 1.5.
    for share in (0.4, 0.4 / 1.5):
        assert largest_gain(1.18, 0.012, 5000, 0.01 * share) == pytest.approx(1.09, abs=5e-3)
        assert largest_gain(1.18, 0.012, 10_000, 0.01 * share) == pytest.approx(1.13, abs=5e-3)
        assert largest_gain(1.18, 0.012, 1000, 0.01 * share) < 0.85
    # With all of the failure probability the first figure is 0.89.
    assert largest_gain(1.18, 0.012, 1000, 0.01) == pytest.approx(0.89, abs=5e-3)


def test_the_gain_in_the_world_with_catastrophes_is_a_ratio_of_two_means():
    rate = unseen(700, 0.004)
    world = [((0.02, 0.1), 0.5 * (1 - rate)), ((0.08, 0.3), 0.5 * (1 - rate)), ((1.0, 0.0), rate)]
    ours, theirs = (sum(p * scores[k] for scores, p in world) for k in (0, 1))
    assert largest_gain(4.0, 0.05, 700, 0.004) == pytest.approx(theirs / ours, rel=1e-12)


def test_with_the_fewest_instances_the_floor_is_just_low_enough():
    fewest = fewest_for_risk(0.06, 0.05, 0.006)
    assert least_risk(0.05, fewest, 0.006) <= 0.06 < least_risk(0.05, fewest - 1, 0.006)
    fewest = fewest_for_gain(2.0, 2.5, 0.05, 0.004)
    assert largest_gain(2.5, 0.05, fewest, 0.004) >= 2.0 > largest_gain(2.5, 0.05, fewest - 1, 0.004)
    assert fewest_for_risk(0.05, 0.05, 0.006) is None
    assert fewest_for_gain(2.5, 2.5, 0.05, 0.004) is None


@pytest.mark.parametrize("mean", [0.001, 0.05, 0.4])
@pytest.mark.parametrize("variation", [0.3, 1.0])
def test_no_predicted_bound_is_below_the_floor(mean, variation):
    for train in (30, 1000, 30_000):
        assert predicted_risk(mean, variation, train, 0.99) > least_risk(mean, train, 0.006)


def test_a_plan_tells_what_its_instances_can_never_show():
    plan = make_plan(instances=1400, mean=0.012)
    (limit,) = plan.limits
    assert "What 1,000 training instances can never show" in limit
    assert "one instance in 1,443 is absent from half" in limit  # 0.5 ** (1 / 1000) = 1 - 1 / 1443
    assert "one instance in 208 from 0.8 % of them" in limit
    assert "1.396 times as much" in limit
    assert all(size.floor < size.risk for size in plan.risks)
    assert make_plan().limits == ()
