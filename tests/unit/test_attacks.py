"""What attackers found around scores, budgets and gains: each of these was certified, or broke, once."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt import Baseline, Budget, Design, Effort, HeavyBall, LossTable, Rate, certify
from pacopt.auditing import audit
from pacopt.claims import Gain, compared_claims, shared_out, standard_claims
from pacopt.errors import PacoptError
from pacopt.monitoring import Monitor
from pacopt.priors import Search

LAW = pacopt.VaryingCurvature.draw(seed=0, n=6)
QUICK = Search(candidates=8, explore=1, rounds=1)
RNG = np.random.default_rng(0)


def learn(**options):
    parts = pacopt.split(LAW.sample(150, seed=1), prior=40, train=100, test=10, seed=2)
    settings = {"steps": 20, "prior": QUICK, "curvature": LAW.curvature} | options
    return pacopt.learn(LAW.problem, HeavyBall(), parts, **settings)


def test_a_rate_is_compared_for_equal_numbers_of_steps_only():
    short = Baseline({"step_size": 1e-4, "momentum": 0.5}, steps=2)
    with pytest.raises(PacoptError, match="has its own number of steps"):
        learn(score=Rate(), baseline={"short": short})
    assert learn(baseline={"short": short}).certificate.design["gain"].over == ("short",)


def test_a_time_beside_the_verdict_of_a_failure_is_refused():
    counts = RNG.integers(1, 50, (2, 80)).astype(float)
    table = LossTable(counts, success=RNG.random((2, 80)) < 0.5)
    for design in (
        Design.uniform(table, score=Effort("solved", 60)),
        Design.uniform(table, score=pacopt.Ranged(60), claims=shared_out([*standard_claims(), Budget("solved")])),
    ):
        with pytest.raises(PacoptError, match="have a time, and the verdict that they did not succeed"):
            certify(table, design)


def test_a_gain_in_effort_says_what_counts_as_what():
    times = RNG.integers(1, 50, (2, 300)).astype(float)
    table = LossTable(times, baselines={"default": 5 * times[0]})
    text = str(certify(table, Design.uniform(table, score=Effort("solved", 60, penalty=10, unit="seconds"))))
    assert "than that of default, where a run that takes more than 60 seconds counts as 600." in text


def test_steps_are_not_called_seconds():
    with pytest.raises(PacoptError, match="is counted in steps"):
        learn(score=Effort(0.5, unit="seconds"))


def test_a_budget_below_where_runs_stop_is_refused():
    with pytest.raises(PacoptError, match="A run that stops at its target never goes below it"):
        learn(score=Effort(0.5), budget=[0.5, 0.2])


def test_a_run_at_the_cap_does_not_win_against_one_that_never_gets_there():
    table = LossTable(np.full((1, 100), 50.0), baselines={"default": np.full(100, np.inf)})
    claims = compared_claims(standard_claims(), ("default",))
    certificate = certify(table, Design.uniform(table, score=Effort("solved", 50), claims=claims))
    assert certificate.deployed.win == 0.0
    assert audit(certificate.to_dict(), table).passed


def test_questions_to_a_budget_that_are_none_are_refused():
    table = LossTable(np.ones((1, 50)), np.ones(50), times={0.1: np.full((1, 50), np.inf)})
    claims = shared_out([*standard_claims(), Budget([0.1])])
    budget = certify(table, Design.uniform(table, claims=claims)).budget
    assert budget.probability(np.inf) == 0.0
    for wrong in (np.nan, None, "ten", [3]):
        with pytest.raises(PacoptError):
            budget.probability(wrong)
        with pytest.raises(PacoptError):
            budget.steps(wrong)
    for target in ([0.1], np.nan):
        with pytest.raises(PacoptError):
            budget.probability(3, target)


@pytest.mark.parametrize(
    "made",
    [
        lambda: LossTable(np.ones((1, 2)), np.ones(2), baselines={1: np.ones(2), "a": np.ones(2)}),
        lambda: LossTable(np.ones((1, 2)), np.ones(2), times={"0.1": np.ones((1, 2))}),
        lambda: LossTable(np.ones((1, 2)), np.ones(2), times={Fraction(1, 10): np.ones((1, 2))}),
        lambda: Budget([0.1], weights=5),
        lambda: Budget([0.1], weights="ab"),
        lambda: Budget([0.1, 0.2], weights=np.array([0.5, 0.5])),
        lambda: Rate(10**400),
        lambda: Gain(over=("a", "measured")),
        lambda: Gain(over=("a",), described=5),
        lambda: learn(baseline=Baseline(hyper=5)),
        lambda: Monitor.of(certify(LossTable(np.full((1, 50), 0.1), np.ones(50))), 5),
    ],
)
def test_nonsense_gets_an_error_of_pacopt(made):
    with pytest.raises(PacoptError):
        made()


def test_baselines_may_have_names_in_any_script():
    losses = RNG.uniform(0, 0.1, (2, 200))
    table = LossTable(losses, np.ones(200), baselines={"方法": np.full(200, 0.5), "方案": np.full(200, 0.4)})
    certificate = certify(table)
    assert certificate.deployed.gain > 3
    assert audit(certificate.to_dict(), table).passed


def test_a_metric_that_raises_is_explained():
    class Wrong(pacopt.AbstractProblem, pacopt.AbstractMetric):
        quantity = "error"

        def start(self, instance):
            return instance["x"]

        def loss(self, x, instance):
            return jnp.sum(x**2)

        def metric(self, x, instance):
            return instance["missing"]

    parts = pacopt.split(pacopt.Instances({"x": RNG.normal(size=(60, 2))}), prior=20, train=30, test=10, seed=0)
    with pytest.raises(PacoptError, match="metric"):
        pacopt.learn(Wrong(), pacopt.GradientDescent(), parts, steps=3)
