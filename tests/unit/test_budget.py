"""A budget goes from recorded steps to certificate, run, audit and report, and nothing wrong is certified."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

import pacopt
from pacopt import Budget, Design, GradientDescent, HeavyBall, LossTable, Ranged, certify
from pacopt.auditing import audit
from pacopt.claims import shared_out, standard_claims
from pacopt.engines import AbstractCellEngine, Run
from pacopt.engines.traced.engine import Traced
from pacopt.errors import DesignError, EngineError, StorageError, TableError
from pacopt.priors import Search

LAW = pacopt.VaryingCurvature.draw(seed=0, n=10)
QUICK = Search(candidates=16, explore=1, rounds=2)
TARGETS = (0.7, 0.4, 0.2)


def learn(**options):
    parts = pacopt.split(LAW.sample(500, seed=1), prior=80, train=360, test=60, seed=2)
    settings = {
        "steps": 30,
        "prior": QUICK,
        "curvature": LAW.curvature,
        "budget": Budget(TARGETS, part=0.6),
        "baseline": None,
    } | options
    return pacopt.learn(LAW.problem, HeavyBall(), parts, **settings)


@pytest.fixture(scope="module")
def learned():
    return learn()


def test_the_first_step_at_a_target_is_that_of_the_whole_curve():
    instances = LAW.sample(40, seed=3)
    candidates = {"step_size": np.array([1e-4, 5e-4, 2e-3]), "momentum": np.array([0.5, 0.9, 0.95])}
    engine = Traced(LAW.problem, HeavyBall(), 30, targets=TARGETS)
    table, curves = engine.curves(candidates, instances, range(31))
    alone = engine.table(candidates, instances)
    for target in TARGETS:
        below = curves <= target * table.start[:, None]
        first = np.where(below.any(axis=2), below.argmax(axis=2), np.inf)
        np.testing.assert_array_equal(table.times[target], first)
        np.testing.assert_array_equal(alone.times[target], first)
    assert np.isinf(table.times[0.2]).any()
    assert np.isfinite(table.times[0.2]).any()
    plain = pacopt.tabulate(LAW.problem, HeavyBall(), candidates, instances, steps=30)
    assert not plain.times
    np.testing.assert_allclose(alone.losses, plain.losses, rtol=1e-9)


def test_who_starts_at_the_minimum_has_reached_everything():
    instances = pacopt.Instances({"x": np.array([0.0, 1.0])})
    engine = Traced(Parabola(), GradientDescent(), 3, targets=(0.5,))
    table = engine.table({"step_size": [0.1]}, instances)
    np.testing.assert_array_equal(table.times[0.5], [[0.0, 2.0]])


class Parabola(pacopt.AbstractProblem):
    def start(self, instance):
        return instance["x"]

    def loss(self, x, instance):
        return x**2


def test_a_budget_is_certified_saved_verified_and_shown(learned, tmp_path):
    certificate, budget = learned.certificate, learned.certificate.budget
    assert [round(claim.share * 6, 6) for claim in certificate.design.claims] == [3, 1, 1, 1]
    steps = budget.steps(0.6, 0.4)
    assert budget.probability(steps, 0.4) >= 0.6 > budget.probability(steps - 1, 0.4)
    assert certificate.deployed.budget_steps_0_4 == steps
    assert certificate.deployed.budget == budget.steps(0.6, 0.2)
    assert f"Within {certificate.deployed.budget:g} steps at least 60 % of instances reach 0.2" in str(certificate)
    place = learned.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=5, seed=0, problem=LAW.problem, algorithm=HeavyBall()).passed
    again = pacopt.Learned.load(place)
    assert str(again.certificate) == str(learned.beside(place).certificate)
    assert again.certificate.budget.probability(15, 0.2) == budget.probability(15, 0.2)
    assert "budget for 0.2 times the start" in (place / "report.html").read_text()


def test_every_part_of_a_budget_is_the_formula(learned):
    table, design, n = learned.table, learned.certificate.design, 360
    claim, index, budget = design["budget"], learned.certificate.deployed.index, learned.certificate.budget
    assert claim.weights == pytest.approx([2 / 11, 3 / 11, 6 / 11])
    level = 0.01 * claim.share * design.prior.weights[index]
    parts = np.zeros((31, 3))
    for m in range(31):
        for s, (target, weight) in enumerate(zip(TARGETS, claim.weights, strict=True)):
            d = int((table.times[target][index] > m).sum())
            parts[m, s] = 0 if d == n else beta.ppf(level * weight / ((d + 1) * (d + 2)), n - d, d + 1)
    parts = np.maximum.accumulate(np.maximum.accumulate(parts, axis=0)[:, ::-1], axis=1)[:, ::-1]
    found = [[budget.probability(m, target) for target in TARGETS] for m in range(31)]
    np.testing.assert_allclose(found, parts, atol=1e-9)
    assert budget.probability(1e9, 0.5) == budget.probability(30, 0.4)  # who reaches 0.4 has reached 0.5
    assert budget.probability(30, 0.01) == 0.0
    assert budget.steps(1.0, 0.7) is None
    assert budget.steps(0.5, 0.01) is None
    assert budget.probability(-1, 0.7) == 0.0


def test_new_instances_keep_the_budget(learned):
    fresh = LAW.sample(20_000, seed=77)
    engine = Traced(LAW.problem, HeavyBall(), 30, targets=TARGETS)
    table = engine.table({name: np.array([value]) for name, value in learned.hyper.items()}, fresh)
    budget = learned.certificate.budget
    shown = 0
    for target in TARGETS:
        for m in range(31):
            promised = budget.probability(m, target)
            shown += promised > 0.5
            assert np.mean(table.times[target] <= m) >= promised - 4 * np.sqrt(promised * (1 - promised) / 20_000)
    assert shown > 10


def test_a_budget_can_be_the_objective():
    first = learn(budget=Budget([0.4], part=0.7), objective="budget")
    second = learn(budget=Budget([0.4], part=0.7))
    assert first.certificate.design.objective.name == "budget"
    assert first.certificate.deployed.budget <= second.certificate.deployed.budget
    numbers = first.certificate.design.objective.for_candidates(first.table, first.certificate.design, 0.01)
    assert first.certificate.deployed.budget == numbers.min()
    # Steps are whole numbers: among equal ones the mean ratio decides.
    risks = first.certificate.design["risk"].for_candidates(first.table, first.certificate.design, 0.01)
    assert first.certificate.deployed.risk == risks[numbers == numbers.min()].min()
    with pytest.raises(DesignError, match="It is the name of a claim: risk"):
        learn(objective="speed")


def test_racing_and_checkpoints_keep_the_steps(learned, tmp_path):
    raced = learn(racing=True)
    assert raced.table.missing is not None
    assert np.isinf(raced.table.times[0.2][raced.table.missing]).all()
    kept = ~raced.table.missing
    np.testing.assert_array_equal(raced.table.times[0.2][kept], learned.table.times[0.2][kept])
    again = learn(checkpoint=tmp_path / "kept")
    assert learn(checkpoint=tmp_path / "kept").certificate.to_dict() == again.certificate.to_dict()


def test_an_altered_time_is_noticed(learned, tmp_path):
    place = learned.save(tmp_path / "run")
    stored = json.loads((place / "certificate.json").read_text())
    times = {target: array.copy() for target, array in learned.table.times.items()}
    times[0.2][stored["deployed"]["index"]] = np.maximum(times[0.4][stored["deployed"]["index"]], 3)
    assert not audit(stored, replace(learned.table, times=times)).passed
    with pytest.raises(StorageError, match="no certificate of this table"):
        audit(stored, replace(learned.table, times={}))


def test_a_table_of_iterations_has_a_budget_too():
    rng = np.random.default_rng(0)
    iterations = rng.integers(5, 60, (3, 400)).astype(float)
    iterations[:, 0] = np.inf
    claims = shared_out([*standard_claims(), Budget("solved", part=0.8)])
    table = LossTable(iterations)
    certificate = certify(table, Design.uniform(table, score=Ranged(200, unit="iterations"), claims=claims))
    within = certificate.deployed.budget
    assert f"Within {within:g} iterations at least 80 % of instances are solved." in str(certificate)
    assert certificate.budget.probability(within) >= 0.8
    assert audit(certificate.to_dict(), table).passed


def test_a_solver_of_ones_own_that_records_nothing_is_told_so():
    class Mine(AbstractCellEngine):
        space = {"rate": pacopt.Interval(0.1, 0.9)}

        def run(self, hyper, instance, seed):
            return Run(loss=hyper["rate"], start_loss=1.0)

    parts = pacopt.split(pacopt.Instances({"x": np.arange(60.0)}), prior=20, train=40, test=0, seed=0)
    with pytest.raises(EngineError, match=r"Mine does not record when runs reach 0.1 times their start"):
        pacopt.learn(Mine(), parts, budget=[0.1])


@pytest.mark.parametrize(
    "targets", [[], [1.0], [0.0], [0.1, 0.1], ["solved", 0.1], [float("nan")], "", None, [[0.1]], 2, [-0.1]]
)
def test_what_is_no_target_is_refused(targets):
    with pytest.raises((DesignError, TableError)):
        Budget(targets)


@pytest.mark.parametrize("options", [{"part": 1.0}, {"part": 0}, {"weights": (0.5,)}, {"weights": (0.9, 0.9)}])
def test_what_is_no_part_and_no_weights_is_refused(options):
    with pytest.raises(DesignError):
        Budget([0.1, 0.01], **options)


def test_times_that_cannot_be_first_ones_are_refused():
    losses, start = np.ones((1, 3)), np.ones(3)
    for times in (
        {0.1: np.ones((1, 2))},
        {0.1: np.array([[1.0, -1.0, 2.0]])},
        {0.1: np.array([[1.0, np.nan, 2.0]])},
        {0.1: np.array([[1.0, 1.0, 2.0]]), 0.5: np.array([[1.0, 1.0, 3.0]])},
        {2.0: np.ones((1, 3))},
        [1, 2],
    ):
        with pytest.raises(TableError):
            LossTable(losses, start, times=times)
    table = LossTable(losses, start, times={0.1: np.array([[1.0, 1.0, np.inf]])})
    with pytest.raises(TableError, match=r"0.01 times their start was not recorded; recorded are 0.1"):
        certify(table, Design.uniform(table, claims=shared_out([*standard_claims(), Budget([0.01])])))
    with pytest.raises(TableError, match="A word stands for a table whose losses are times"):
        certify(table, Design.uniform(table, claims=shared_out([*standard_claims(), Budget("solved")])))


def test_without_its_table_a_certificate_cannot_tell_its_budget(learned):
    bare = pacopt.Certificate.from_dict(learned.certificate.to_dict())
    with pytest.raises(DesignError, match="loaded without its table"):
        _ = bare.budget


def test_a_single_claim_without_late_runs_is_worth_the_promised_number():
    """N = 1000, weight 0.5, a hundred steps and ten tolerances at once: 99.17 % asked for, 99.25 % hoped for."""
    targets = np.geomspace(0.5, 1e-6, 10)
    rng = np.random.default_rng(0)
    times = dict(zip(targets.tolist(), np.sort(rng.integers(1, 101, (10, 2, 1000)), axis=0), strict=True))
    candidates = {"name": np.array(["favourite", "other"])}
    table = LossTable(np.full((2, 1000), 1e-7), np.ones(1000), candidates, times=times)
    claim = Budget(tuple(targets.tolist()), share=1.0)
    certificate = certify(table, Design(pacopt.DiscreteMeasure.of(candidates, [0.5, 0.5]), claims=[claim]))
    assert certificate.budget.probability(100, float(targets[-1])) > 0.9925
    assert min(certificate.budget.probability(100, float(target)) for target in targets) > 0.9925


def test_a_stored_run_without_its_steps_is_damaged(learned, tmp_path):
    place = learned.save(tmp_path / "run")
    (place / "table.npz").write_bytes(b"")
    with pytest.raises(StorageError):
        pacopt.Learned.load(place)
