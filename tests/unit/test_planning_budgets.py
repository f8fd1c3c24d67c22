"""A plan for a budget tells beforehand how large a part of all instances can be certified to stay within it."""

import mpmath
import numpy as np
import pytest
from scipy.stats import binomtest

import pacopt
from pacopt.errors import DesignError
from pacopt.planning.budgets import budget_level, certifiable_budget, needed_for_budget
from pacopt.planning.plans import make_plan


def tail(n, least, p):
    """P(Bin(n, p) >= least), summed term by term with fifty digits."""
    with mpmath.workdps(50):
        return float(mpmath.fsum(mpmath.binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(least, n + 1)))


@pytest.mark.parametrize(("train", "late"), [(50, 0), (300, 3), (1000, 10)])
@pytest.mark.parametrize("targets", [1, 4])
def test_what_can_be_certified_would_show_so_few_late_runs_with_the_probability_that_is_allowed(train, late, targets):
    part = certifiable_budget(train, 0.99, late / train, targets)
    level = 0.01 * 0.2 * 0.5 / sum(1 / rank for rank in range(1, targets + 1)) / ((late + 1) * (late + 2))
    assert tail(train, train - late, mpmath.mpf(part)) == pytest.approx(level, rel=1e-7)
    assert tail(train, train - late, mpmath.mpf(part)) <= level


def test_the_price_of_choosing_the_budget_afterwards_is_the_one_of_the_theory():
    assert budget_level(0.99) == pytest.approx(0.001)
    assert 1 - certifiable_budget(1000, 0.99) == pytest.approx(0.0076, abs=5e-5)
    assert 1 - certifiable_budget(1000, 0.99, 10 / 1000) == pytest.approx(0.0312, abs=5e-5)


@pytest.mark.parametrize("confidence", [0.9, 0.99, 0.9999])
@pytest.mark.parametrize("within", [0.5, 0.9, 0.99])
def test_the_size_is_the_smallest_that_certifies(within, confidence):
    needed = needed_for_budget(within, confidence)
    assert certifiable_budget(needed, confidence) >= within > certifiable_budget(needed - 1, confidence)


@pytest.mark.parametrize(("within", "rate"), [(0.9, 0.01), (0.95, 0.01), (0.99, 0.004), (0.5, 0.3)])
def test_the_size_with_late_runs_is_the_smallest_from_which_on_every_size_certifies(within, rate):
    needed = needed_for_budget(within, 0.99, rate)
    assert certifiable_budget(needed - 1, 0.99, rate) < within
    for train in range(needed, needed + round(3 / rate)):
        assert certifiable_budget(train, 0.99, rate) >= within


def test_late_runs_and_further_targets_cost_instances():
    assert needed_for_budget(0.99, 0.99) < needed_for_budget(0.99, 0.99, targets=3)
    assert needed_for_budget(0.99, 0.99) < needed_for_budget(0.99, 0.99, late_rate=0.001)
    assert needed_for_budget(0.99, 0.99, late_rate=0.01) is None


def test_a_budget_that_is_chosen_afterwards_is_kept_as_often_as_is_said():
    rng, train, confidence, repetitions = np.random.default_rng(0), 60, 0.5, 1000
    steps = np.arange(1, 80)
    truth, false = 1 - 0.9**steps, 0
    parts = np.array([certifiable_budget(train, confidence, late / train) for late in range(train + 1)])
    for _ in range(repetitions):
        late = (rng.geometric(0.1, train)[:, None] > steps).sum(axis=0)
        false += bool((parts[late] > truth).any())
    assert false > 0  # the simulation can tell
    assert binomtest(false, repetitions, budget_level(confidence), alternative="greater").pvalue > 1e-4


def test_planning_for_twice_as_many_late_runs_suffices_for_most_samples():
    rng, rate = np.random.default_rng(1), 0.005
    train = needed_for_budget(0.98, 0.99, 2 * rate)
    late = rng.binomial(train, rate, 200)
    assert np.mean([certifiable_budget(train, 0.99, each / train) >= 0.98 for each in late]) > 0.9


def test_a_plan_answers_how_many_and_what_part():
    asked = make_plan(within=0.99, late_rate=0.001)
    # A budget beside the standard claims leaves five sixths of the failure probability to them.
    left = 1 - 0.01 / 1.7  # gain and win have shares too
    assert asked.needed_train == needed_for_budget(0.99, left, 0.001)
    assert asked.possible
    assert "if 0.1 % of the runs are late" in asked.answers[0]
    assert {size.train: size.within for size in asked.budgets}[1000] == certifiable_budget(1000, left, 0.001)
    given = make_plan(instances=1400, targets=3)
    assert "of all instances within the budget if no run is late" in given.answers[0]
    assert not make_plan(instances=1000, within=0.99).possible
    assert make_plan(instances=1400, within=0.99).possible
    assert not make_plan(within=0.99, late_rate=0.02).possible
    assert make_plan().budgets == ()


def test_with_a_budget_the_other_claims_have_less():
    assert make_plan(success=0.99, within=0.5).needed_train > make_plan(success=0.99).needed_train


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"within": 1.0}, "within is 1.0"),
        ({"within": 0.9, "late_rate": 1.0}, "late_rate is 1.0"),
        ({"within": 0.9, "late_rate": -0.1}, "late_rate is -0.1"),
        ({"within": 0.9, "targets": 0}, "targets is 0"),
        ({"within": 0.9, "targets": 1.5}, "targets is 1.5"),
    ],
)
def test_what_is_no_budget_is_refused(wrong, named):
    with pytest.raises(DesignError, match=named):
        make_plan(**wrong)


def test_what_is_planned_is_what_the_claim_certifies():
    """A favourite with half of the weight, three targets, four late runs in a thousand."""
    targets, candidates = (0.5, 0.1, 0.01), {"name": np.array(["favourite", "other"])}
    late = np.where(np.arange(1000) < 4, np.inf, 7.0)
    times = {target: np.stack([late, late]) for target in targets}
    table = pacopt.LossTable(np.full((2, 1000), 0.001), np.ones(1000), candidates, times=times)
    claims = pacopt.claims.claims_with(pacopt.claims.standard_claims(), (), targets)
    design = pacopt.Design(pacopt.DiscreteMeasure.of(candidates, [0.5, 0.5]), claims=claims)
    certified = pacopt.certify(table, design).budget.probability(10, 0.01)
    assert certifiable_budget(1000, 1 - 0.01 / 1.2, 0.004, targets=3) == pytest.approx(certified, rel=1e-9)
