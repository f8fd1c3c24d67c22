"""The steps that a run needs for its target go from learn to certificate, run, audit, report, monitor and solve."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import pacopt
from pacopt import Budget, Design, Effort, GradientDescent, HeavyBall, LossTable, Nesterov, certify
from pacopt.auditing import audit
from pacopt.bounds import MixtureBetting
from pacopt.errors import DesignError, EngineError
from pacopt.priors import Search
from pacopt.testing import check_score

LAW = pacopt.VaryingCurvature.draw(seed=0, n=10)
QUICK = Search(candidates=16, explore=1, rounds=2)


def learn(score, **options):
    parts = pacopt.split(LAW.sample(500, seed=1), prior=80, train=360, test=60, seed=2)
    settings = {"steps": 60, "prior": QUICK, "curvature": LAW.curvature, "score": score} | options
    return pacopt.learn(LAW.problem, HeavyBall(), parts, **settings)


@pytest.fixture(scope="module")
def learned():
    return learn(Effort(0.4), baseline=pacopt.Baseline())


def test_a_score_is_the_part_of_the_cap_that_a_run_needs():
    times = np.array([[0.0, 10.0, 50.0, np.inf, np.nan]])
    table = LossTable(times)
    assert Effort(0.1, 50).of(table).tolist() == [[0, 0.2, 1, 1, 1]]
    assert Effort(0.1, 50, penalty=10).of(table).tolist() == [[0, 0.02, 0.1, 1, 1]]
    assert [Effort("solved", 50, 10).of_run(t, 0.0) for t in times[0]] == [0, 0.02, 0.1, 1, 1]
    for score in (Effort(0.1, 50), Effort("solved", 0.3, 10, "seconds")):
        check_score(score)


def test_steps_to_a_target_are_certified_saved_verified_and_shown(learned, tmp_path):
    certificate = learned.certificate
    cap = certificate.design.score.cap
    assert 0 < cap <= 60
    assert cap == int(cap)
    mean = np.minimum(learned.table.losses[certificate.deployed.index], cap).mean()
    assert mean < certificate.deployed.risk < cap
    text = str(certificate)
    assert f"Run until it reaches 0.4 times its start, and for at most {cap:g} steps, it uses on average at" in text
    assert f"reaches 0.4 times its start within {cap:g} steps with probability at least" in text
    assert "its number of steps to 0.4 of the start is at most" in text
    assert (
        f"times smaller than that of the textbook, where a run that takes more than {cap:g} steps counts as {cap:g}."
        in text
    )
    assert "It needs fewer steps than the textbook on at least" in text
    assert "safeguard" not in text
    place = learned.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=5, seed=0, problem=LAW.problem, algorithm=HeavyBall()).passed
    page = (place / "report.html").read_text()
    assert "mean steps used" in page
    assert str(pacopt.Learned.load(place).certificate) == str(learned.beside(place).certificate)


def test_the_cap_is_twice_the_longest_run_of_the_favourite_on_the_prior_split(learned):
    design, parts = (
        learned.certificate.design,
        pacopt.split(LAW.sample(500, seed=1), prior=80, train=360, test=60, seed=2),
    )
    heaviest = int(design.prior.log_weights.argmax())
    favourite = {name: values[[heaviest]] for name, values in design.prior.support.items()}
    curves = pacopt.loss_curves(LAW.problem, HeavyBall(), favourite, parts.prior, steps=60, at=range(61))[0]
    below = curves <= 0.4 * curves[:, :1]
    longest = below[below.any(axis=1)].argmax(axis=1).max()
    assert design.score.cap == min(60, 2 * longest)
    assert Effort(0.4).fixed(None, 60).cap == 60
    assert Effort("solved").fixed(LossTable([[0.2, 1.7, np.inf]]), None).cap == 3.4
    with pytest.raises(DesignError, match="no run of the prior split met its target"):
        Effort("solved").fixed(LossTable([[np.inf]]), None)


def test_the_table_holds_the_first_steps_at_the_target(learned):
    index, cap = learned.certificate.deployed.index, int(learned.certificate.design.score.cap)
    hyper = {name: np.array([value]) for name, value in learned.hyper.items()}
    curves = pacopt.loss_curves(LAW.problem, HeavyBall(), hyper, learned.train, steps=cap, at=range(cap + 1))[0]
    below = curves <= 0.4 * curves[:, :1]
    first = np.where(below.any(axis=1), below.argmax(axis=1), np.inf)
    assert np.mean(learned.table.losses[index] == first) > 0.99  # a rounding may move a run across its target
    assert learned.table.start is None


def test_solve_stops_at_the_target_and_a_monitor_counts_its_steps(learned, tmp_path):
    place = learned.save(tmp_path / "run")
    again = pacopt.Learned.load(place, problem=LAW.problem, algorithm=HeavyBall())
    monitor = learned.monitor("risk")
    cap, met = learned.certificate.design.score.cap, 0
    for k, instance in enumerate(LAW.sample(30, seed=5)):
        solution = learned.solve(instance, monitor=monitor)
        assert again.solve(instance).time == solution.time
        if np.isfinite(solution.time):
            met += 1
            assert solution.steps == solution.time <= cap
            assert solution.ratio <= 0.4 < 1
        else:
            assert solution.steps == cap
        assert monitor.count == k + 1
    assert met > 20
    assert not monitor.alarm
    for _ in range(200):
        monitor.update(replace(solution, time=np.inf))
    assert monitor.alarm


def test_new_instances_need_no_more_steps_than_certified(learned):
    fresh, cap = LAW.sample(20_000, seed=77), learned.certificate.design.score.cap
    hyper = {name: np.array([value]) for name, value in learned.hyper.items()}
    times = learned.engine.table(hyper, fresh).losses[0]
    deployed = learned.certificate.deployed
    assert np.minimum(times, cap).mean() < deployed.risk
    assert np.isfinite(times).mean() > deployed.success
    assert np.mean(times <= deployed.quantile) > 0.9


def test_a_penalty_makes_late_runs_dearer(learned):
    dearer = learn(Effort(0.4, int(learned.certificate.design.score.cap), penalty=10))
    assert "counts as" in dearer.certificate.sentences["risk"]
    assert dearer.certificate.deployed.success >= learned.certificate.deployed.success - 0.02
    assert audit(dearer.certificate.to_dict(), dearer.table).passed


@pytest.mark.slow
def test_effort_goes_with_a_budget_and_with_racing(learned):
    both = learn(Effort(0.4, 40), budget=[0.7, 0.4], racing=True)
    assert both.certificate.budget.probability(40, 0.4) > 0.3
    assert audit(both.certificate.to_dict(), both.table).passed


def test_iterations_of_a_solver_of_ones_own_are_an_effort():
    rng = np.random.default_rng(0)
    times = np.where(rng.random((3, 500)) < 0.02, np.inf, rng.integers(5, 100, (3, 500)))
    table = LossTable(times)
    score = Effort("solved", 200, unit="iterations")
    certificate = certify(table, Design.uniform(table, score=score, claims=[*pacopt.claims.standard_claims()]))
    assert "Run until solved, and for at most 200 iterations, it uses on average at most" in str(certificate)
    assert "It is solved within 200 iterations with probability at least" in str(certificate)
    assert audit(certificate.to_dict(), table).passed
    # Once more by hand: the root of the mixture, with fractions for the scores.
    index, design = certificate.deployed.index, certificate.design
    z = [float(Fraction(int(t), 200)) if np.isfinite(t) else 1.0 for t in times[index]]
    log_e = MixtureBetting(design.t_grid).log_e
    wealth = np.log1p(-np.outer(design.t_grid.points, z)).sum(axis=1)[None]
    level = np.log(1 / (0.01 * 0.6 / 3))
    assert log_e(wealth, 500, np.array([certificate.deployed.risk / 200]))[0] == pytest.approx(level, abs=1e-6)


def test_the_worst_law_keeps_the_certified_mean_as_often_as_promised():
    """Nine in ten runs need five steps, the others never get there: coverage by simulation."""
    rng, wrong = np.random.default_rng(0), 0
    truth = 0.9 * 5 + 0.1 * 50
    for _ in range(100):
        table = LossTable(np.where(rng.random((2, 60)) < 0.1, np.inf, 5.0))
        design = Design.uniform(table, score=Effort(0.1, 50))
        wrong += certify(table, design, confidence=0.8).deployed.risk < truth
    assert wrong <= 0.2 * 100


@pytest.mark.parametrize(
    "options",
    [
        {"target": 1.0},
        {"target": 2},
        {"target": 0.0},
        {"target": -0.1},
        {"target": float("nan")},
        {"target": ""},
        {"target": None},
        {"cap": 0},
        {"cap": np.inf},
        {"penalty": 0.5},
        {"penalty": np.inf},
        {"unit": ""},
    ],
)
def test_what_is_no_effort_is_refused(options):
    with pytest.raises(DesignError):
        Effort(**({"target": 0.1} | options))


def test_what_effort_has_no_use_for_is_refused():
    with pytest.raises(DesignError, match="and target_ratio is given"):
        learn(Effort(0.1), target_ratio=0.5)
    with pytest.raises(DesignError, match="and truncation is given"):
        learn(Effort(0.1), truncation=pacopt.Truncation.from_bound(1e9))
    with pytest.raises(DesignError, match="and success is given"):
        learn(Effort(0.1), success=lambda x, instance: True)
    with pytest.raises(DesignError, match="counts up to 80 steps, and runs have 60"):
        learn(Effort(0.1, 80))
    with pytest.raises(DesignError, match="has its own number of steps"):
        learn(Effort(0.1), baseline=pacopt.Baseline(algorithm=Nesterov(), steps=10))
    for losses, start, score, words in (
        ([[51.0, 3.0]], None, Effort(0.1, 50), "have times above the cap of 50 steps"),
        ([[0.5, 0.3]], [1.0, 1.0], Effort(0.1, 50), "the table has start losses"),
    ):
        table = LossTable(losses, start)
        design = Design.uniform(table, score=score)
        with pytest.raises(DesignError, match=words):
            certify(table, design)
    with pytest.raises(DesignError, match="Its number is missing"):
        Design.uniform(LossTable([[5.0, 3.0]]), score=Effort(0.1))


def test_an_engine_that_cannot_stop_is_told_so():
    class Mine(pacopt.engines.AbstractCellEngine):
        space = {"rate": pacopt.Interval(0.1, 0.9)}

        def run(self, hyper, instance, seed):
            return pacopt.engines.Run(loss=hyper["rate"], start_loss=1.0)

    parts = pacopt.split(pacopt.Instances({"x": np.arange(60.0)}), prior=20, train=40, test=0, seed=0)
    with pytest.raises(EngineError, match="does not stop runs at"):
        pacopt.learn(Mine(), parts, score=Effort(0.1))


def test_another_algorithm_is_a_baseline_until_the_same_cap():
    both = learn(Effort(0.4, 30), baseline={"plain": pacopt.Baseline(algorithm=GradientDescent())})
    assert (both.table.baselines["plain"][np.isfinite(both.table.baselines["plain"])] <= 30).all()
    assert audit(both.certificate.to_dict(), both.table).passed
    assert Budget("solved").targets == ("solved",)
