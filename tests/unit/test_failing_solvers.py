"""Solvers that fail: what nobody knows is never counted in favour of what is certified."""

import numpy as np
import pytest

import pacopt
from pacopt import Baseline, BlackBox, Digits, Effort, Instances, Interval, LossTable, Result
from pacopt.bounds.baselines import baseline_table, wins
from pacopt.engines.ended import failed_candidates_of
from pacopt.engines.racing import race
from pacopt.engines.work import Collected
from pacopt.errors import DesignError, EngineError, PacoptError
from pacopt.priors import Search
from pacopt.scores import Ratio
from pacopt.support.cells import UNKNOWN_START, shared_start

FEW = Search(candidates=4, explore=1, rounds=0)
SPACE = {"part": Interval(0.05, 0.9)}
UNLUCKY = 0.3


def parts(count=420):
    x = np.random.default_rng(0).uniform(1, 10, count)
    return pacopt.split(Instances({"x": x}), prior=60, train=count - 120, test=60, seed=0)


def unlucky(instance):
    return float(instance["x"]) * 1000 % 1 < UNLUCKY


def solve(hyper, instance):
    """Ends at a part of its start, wherever it does not fail."""
    if unlucky(instance):
        raise ValueError("no licence")
    x = float(instance["x"])
    return Result(loss=x * hyper["part"], start_loss=x, iterations=int(100 * hyper["part"]), success=True)


def rival(hyper, instance):
    """Ends at a twentieth of the start."""
    return Result(loss=0.05 * float(instance["x"]), start_loss=float(instance["x"]))


def learned(split, **options):
    engine = BlackBox(solve, SPACE, defaults={"part": 0.8})
    return pacopt.learn(engine, split, prior=FEW, **options)


@pytest.fixture(scope="module")
def beside_a_rival():
    split = parts()
    return split, learned(split, baseline={"rival": Baseline(engine=BlackBox(rival, {}))})


def test_a_start_that_nobody_told_is_no_gain_and_no_win_over_another_solver(beside_a_rival):
    split, found = beside_a_rival
    unknown = np.array([unlucky(instance) for instance in split.train])
    assert 50 < unknown.sum() < 130
    assert np.array_equal(found.table.start == UNKNOWN_START, unknown)
    z = Ratio().of(baseline_table(found.table, "rival"))[0]
    assert z[unknown].max() < 1e-300
    assert np.allclose(z[~unknown], 0.05)
    assert not wins(found.table, "rival", Ratio())[:, unknown].any()
    values = found.certificate.deployed.values
    truth = 0.05 / Ratio().of(found.table)[found.certificate.deployed.index].mean()
    assert truth < 1
    assert values["gain"] is None
    assert values["gain_measured"] <= truth


def test_what_is_certified_beside_unknown_starts_is_verified(beside_a_rival, tmp_path):
    _, found = beside_a_rival
    place = found.save(tmp_path / "run")
    again = pacopt.verify(place, rerun=40, engine=BlackBox(solve, SPACE, defaults={"part": 0.8}))
    assert again.passed, str(again)


@pytest.mark.parametrize("score", [None, Digits(2)])
def test_digits_and_ratios_of_a_rival_count_nothing_where_the_start_is_unknown(score):
    start = np.array([10.0, UNKNOWN_START])
    table = LossTable(np.array([[1.0, np.inf]]), start, baselines={"rival": np.array([5.0, 5.0])})
    z = (score or Ratio()).of(baseline_table(table, "rival"))[0]
    assert z[1] < 1e-300
    assert (score or Ratio()).of(table)[0, 1] == 1.0
    assert wins(table, "rival", score or Ratio()).tolist() == [[True, False]]


def test_an_unknown_start_counts_as_the_level_of_an_absolute_claim():
    split = parts()
    found = learned(split, truncation=pacopt.Truncation(10.0, 0.0, "start losses are at most 10"))
    starts = np.array([float(instance["x"]) for instance in split.train])
    failed = np.array([unlucky(instance) for instance in split.train])
    deployed = found.certificate.deployed
    assert deployed.values["absolute"] > np.where(failed, starts, starts * deployed.hyper["part"]).mean()
    assert deployed.values["absolute"] < 10.0


def test_a_run_that_ends_without_a_start_where_others_tell_theirs_is_an_error():
    losses = np.array([[[1.0], [np.inf], [2.0]]])
    about = {"candidates": {"part": np.array([0.1])}, "fingerprints": None, "provenance": {}, "columns": None}
    failed = Collected(losses, np.array([4.0, np.nan, 4.0]), None, 0).table(0, **about)
    assert failed.start is not None
    assert failed.start.tolist() == [4.0, UNKNOWN_START, 4.0]
    with pytest.raises(EngineError, match="Runs on instance 2 ended without a start loss"):
        Collected(losses, np.array([4.0, np.nan, np.nan]), None, 0).table(0, **about)


def test_a_baseline_that_fails_on_some_instances_is_not_said_to_start_elsewhere():
    def telling(hyper, instance):
        if float(instance["x"]) * 1000 % 1 > 0.9:
            raise ValueError("singular")
        return Result(loss=0.5 * float(instance["x"]), start_loss=float(instance["x"]))

    found = learned(parts(), baseline={"rival": Baseline(engine=BlackBox(telling, {}))})
    assert found.origin.failed_baselines["rival"] > 0

    def elsewhere(hyper, instance):
        return Result(loss=0.5 * float(instance["x"]), start_loss=2 * float(instance["x"]))

    with pytest.raises(DesignError, match=r"starts at the loss \d+\.\d+, and what is learned at \d+\.\d+\."):
        learned(parts(), baseline={"rival": Baseline(engine=BlackBox(elsewhere, {}))})


def test_a_solver_that_does_not_tell_its_start_is_no_baseline_for_losses():
    """A constant that it forgets to subtract, or another unit, would go unnoticed and be certified as a gain."""
    solved = []

    def counted(hyper, instance):
        solved.append(instance)
        return solve(hyper, instance)

    def silent(hyper, instance):
        return 10.0 + 0.05 * float(instance["x"])

    rivals = {"rival": Baseline(engine=BlackBox(silent, {}))}
    with pytest.raises(DesignError, match="The baseline 'rival' returns losses, but not the loss at the start"):
        pacopt.learn(BlackBox(counted, SPACE), parts(), prior=FEW, baseline=rivals)
    assert len(solved) < 60, "it is refused before anything is learned"
    # Iterations are counted from zero by everybody.
    counts = {"rival": Baseline(engine=BlackBox(lambda hyper, instance: Result(iterations=50, success=True), {}))}
    found = learned(parts(), score=Effort("solved", 100, unit="iterations"), baseline=counts)
    assert found.certificate.deployed.gain > 1


@pytest.mark.parametrize(
    ("start", "refusal"),
    [
        (lambda x: x if x > 5 else None, "Some runs have a start loss and others have none"),
        (lambda x: x if x > 5 else np.nan, "The start loss of instance [0-9]+ is nan"),
        (lambda x: np.inf, "The start loss of instance 0 is inf"),
        (lambda x: 1.001 * x, "the baseline 'rival' starts at the loss"),
    ],
)
def test_a_baseline_tells_the_right_start_on_every_instance(start, refusal):
    def telling(hyper, instance):
        x = float(instance["x"])
        return Result(loss=0.9 * x, start_loss=start(x))

    with pytest.raises(PacoptError, match=refusal):
        learned(parts(), baseline={"rival": Baseline(engine=BlackBox(telling, {}))})


def failing_defaults(hyper, instance):
    if hyper["part"] == 0.8 and unlucky(instance):
        raise ValueError("no licence")
    x = float(instance["x"])
    return Result(loss=x * hyper["part"], start_loss=x, iterations=int(100 * hyper["part"]), success=True)


@pytest.mark.parametrize("options", [{}, {"racing": True}, {"score": Effort("solved", 100, unit="iterations")}])
def test_a_certificate_says_that_the_defaults_failed(options):
    split = parts()
    engine = BlackBox(failing_defaults, SPACE, defaults={"part": 0.8})
    found = pacopt.learn(engine, split, prior=FEW, **options)
    failed = sum(unlucky(instance) for instance in split.train)
    assert found.origin.failed_baselines == {"the defaults": failed}
    assert f"The defaults failed in {failed} training runs" in str(found.certificate)
    assert any(f"{failed} training runs of the defaults failed" in remark for remark in found.remarks)


def test_a_start_is_known_where_any_table_knows_it():
    known = shared_start([np.array([UNKNOWN_START, 2.0]), None, np.array([3.0, UNKNOWN_START])])
    assert known is not None
    assert known.tolist() == [3.0, 2.0]
    assert shared_start([None]) is None


def test_a_race_counts_failures_by_the_numbers_that_candidates_have_in_the_whole():
    instances = pacopt.Instances({"column": np.arange(640)})

    def run(candidates, some):
        numbers = candidates["candidate"].astype(int)
        failures = {f"{row}": len(some) for row in range(len(numbers)) if numbers[row] == 5}
        losses = np.where(numbers[:, None] == 5, np.nan, 0.1 * (1 + numbers[:, None])) * np.ones(len(some))
        return LossTable(losses, np.ones(len(some)), candidates, provenance={"failed_candidates": failures})

    candidates = {"candidate": np.array([6.0, 5.0, 0.0, 3.0])}
    raced = race(run, candidates, instances)
    assert raced.missing is not None
    ran = int((~raced.missing[1]).sum())
    assert raced.provenance["failed_candidates"] == {"1": ran}
    later = [({"failed_candidates": {"0": 2}}, np.array([4])), ({"failed_candidates": {"1": 1}}, np.array([0, 4]))]
    assert failed_candidates_of(later) == {"failed_candidates": {"4": 3}}
