"""Any function is an engine: learned, certified, saved, verified and deployed like an algorithm in JAX."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import pytest

import pacopt
from pacopt import BlackBox, Choice, Effort, Instances, Interval, Ranged, Result
from pacopt.auditing import audit
from pacopt.engines import Metric
from pacopt.errors import DesignError, EngineError, StorageError, TableError
from pacopt.priors import Search
from pacopt.testing import check_engine

SPACE = {"damping": Interval(0.2, 0.99), "variant": Choice("plain", "eager")}
QUICK = Search(candidates=16, explore=1, rounds=2)


def fixed_point(hyper, instance):
    """Halving by damping; the eager variant fails on large instances, and some never converge."""
    x, iterations = float(instance["x"]), 0
    if hyper["variant"] == "eager" and x > 3:
        raise ArithmeticError(f"diverged at {x}")
    factor = hyper["damping"] ** (2 if hyper["variant"] == "eager" else 1)
    start, curve = x, [x]
    while x > 1e-4 * start and iterations < 300:
        x, iterations = x * factor, iterations + 1
        curve.append(x)
    return Result(x, start, iterations, success=x <= 1e-4 * start, curve=curve, x=np.array([x]))


def parts(count=240, seed=0):
    x = np.random.default_rng(seed).lognormal(size=count)
    return pacopt.split(Instances({"x": x}), prior=40, train=160, test=40, seed=0)


def engine():
    return BlackBox(fixed_point, SPACE, defaults={"damping": 0.9, "variant": "plain"})


@pytest.fixture(scope="module")
def learned():
    score = Effort("solved", 150, unit="iterations")
    return pacopt.learn(engine(), parts(), score=score, prior=QUICK, claims=[pacopt.Budget("solved", part=0.8)])


def test_a_solver_is_learned_certified_saved_verified_and_deployed(learned, tmp_path):
    certificate = learned.certificate
    assert learned.hyper["variant"] == "plain"
    assert learned.hyper["damping"] < 0.5
    text = str(certificate)
    assert "Run until solved, and for at most" in text
    assert "iterations, it uses on average at most" in text
    assert (
        "times smaller than that of the defaults, where a run that takes more than 150 iterations counts as 150."
        in text
    )
    assert "It needs fewer iterations than the defaults on at least" in text
    assert f"Within {certificate.deployed.budget:g} iterations at least 80 % of instances are solved." in text
    assert "safeguard" not in text
    assert certificate.deployed.gain > 2
    place = learned.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=5, seed=0, engine=engine()).passed
    with pytest.raises(
        StorageError, match=r"your own function, which is not stored .* pass it: .*rerun=20, engine=\.\.\."
    ):
        pacopt.verify(place, rerun=5)
    again = pacopt.Learned.load(place, engine=engine())
    assert str(again.certificate) == str(learned.beside(place).certificate)
    solution = again.solve({"x": np.float64(2.0)})
    assert solution.time == solution.steps == fixed_point(learned.hyper, {"x": 2.0}).iterations
    monitor = again.monitor("risk")
    assert again.solve({"x": np.float64(2.0)}, monitor=monitor).time <= certificate.design.score.cap
    assert monitor.count == 1
    report = (place / "report.html").read_text()
    assert "fixed_point" in re.search(r"<title>(.*?)</title>", report, flags=re.DOTALL)[1]


def test_failures_are_counted_by_kind_and_never_end_a_job(tmp_path):
    split = parts()
    support = {"damping": np.array([0.3, 0.5, 0.6]), "variant": np.array(["plain", "eager", "plain"])}
    found = pacopt.learn(
        engine(),
        split,
        prior=lambda trials: pacopt.DiscreteMeasure.uniform(support),
        score=Effort("solved", 150, unit="iterations"),
    )
    large = split.train.fields["x"] > 3
    assert large.any()
    assert np.isinf(found.table.losses[1, large]).all()
    assert np.isfinite(found.table.losses[1, ~large]).all()
    assert found.origin.failures == {"ArithmeticError": int(large.sum())}
    first = f"diverged at {split.train.fields['x'][large][0]}"
    assert found.origin.messages == {"ArithmeticError": f"ArithmeticError: {first}"}
    report = (found.save(tmp_path / "run") / "report.html").read_text()
    assert f'<th scope="row">ArithmeticError</th><td>{large.sum()}</td><td>{first}</td>' in report


def test_a_start_loss_makes_ratios_and_curves_make_steps():
    ratios = pacopt.learn(engine(), parts(), prior=QUICK, budget=[0.1, 0.01])
    assert ratios.table.start is not None
    assert ratios.certificate.budget.steps(0.5, 0.1) is not None
    assert audit(ratios.certificate.to_dict(), ratios.table).passed
    steps = pacopt.learn(engine(), parts(), prior=QUICK, score=Effort(0.01, unit="iterations"))
    assert steps.certificate.deployed.risk < 30
    assert audit(steps.certificate.to_dict(), steps.table).passed


def test_a_bare_loss_needs_a_declared_range():
    def error_rate(hyper, instance):
        return 100 * abs(hyper["threshold"] - float(instance["x"]))

    box = BlackBox(error_rate, {"threshold": Interval(0.0, 1.0)}, metric=Metric("error rate", "%", 100.0))
    instances = Instances({"x": np.random.default_rng(0).uniform(0.4, 0.6, 240)})
    split = pacopt.split(instances, prior=40, train=160, test=40, seed=0)
    found = pacopt.learn(box, split, prior=QUICK)
    assert found.certificate.sentences["risk"].startswith("Its mean error rate is at most ")
    assert 0.4 < found.hyper["threshold"] < 0.6
    plain = BlackBox(error_rate, {"threshold": Interval(0.0, 1.0)})
    assert pacopt.learn(plain, split, prior=QUICK, score=Ranged(100)).certificate.deployed.risk < 20
    with pytest.raises(TableError, match="a run has no start losses"):
        pacopt.learn(plain, split, prior=QUICK)


def test_racing_and_resuming_change_nothing(learned, tmp_path):
    score = Effort("solved", 100, unit="iterations")
    options = {"score": score, "prior": QUICK}
    whole = pacopt.learn(engine(), parts(), **options)
    kept = pacopt.learn(engine(), parts(), checkpoint=tmp_path / "kept", **options)
    again = pacopt.learn(engine(), parts(), checkpoint=tmp_path / "kept", **options)
    assert whole.certificate.to_dict() == kept.certificate.to_dict() == again.certificate.to_dict()
    assert pacopt.learn(engine(), parts(), racing=True, **options).hyper == whole.hyper


def test_an_engine_of_a_function_passes_the_checks_of_engines():
    check_engine(engine(), Instances({"x": np.linspace(0.5, 2.0, 30)}))
    check_engine(engine().counting("iterations", 100), Instances({"x": np.linspace(0.5, 2.0, 30)}))


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ((1.0, 2.0), "returned (1.0, 2.0)"),
        (None, "returned None"),
        ({"lost": 1.0}, "returned {'lost': 1.0}"),
        (-1.0, "loss = -1.0"),
        (Result(loss="small"), "loss = 'small'"),
        (Result(iterations=5), "A result without a loss"),
    ],
)
def test_what_is_no_result_is_refused(returned, words):
    box = BlackBox(lambda hyper, instance: returned, {"a": Interval(0.0, 1.0)})
    with pytest.raises(EngineError) as told:
        box.table({"a": [0.5]}, Instances({"x": np.arange(3.0)}))
    assert words in str(told.value)


def test_a_loss_that_is_no_number_is_a_failure_of_that_run():
    def solve(hyper, instance):
        return np.nan if instance["x"] > 1.5 else 0.3

    table = BlackBox(solve, {"a": Interval(0.0, 1.0)}).table({"a": [0.5]}, Instances({"x": np.arange(3.0)}))
    assert table.losses.tolist() == [[0.3, 0.3, np.inf]]
    assert table.provenance["failures"] == {"the loss is no number": 1}


def test_results_of_different_kinds_are_refused():
    def sometimes(hyper, instance):
        return Result(0.1, start_loss=1.0 if instance["x"] > 1 else None)

    with pytest.raises(EngineError, match="Some runs have a start loss and others have none"):
        BlackBox(sometimes, {"a": Interval(0.0, 1.0)}).table({"a": [0.5]}, Instances({"x": np.arange(4.0)}))

    def flagged(hyper, instance):
        return Result(0.1, success=True if instance["x"] > 1 else None)

    with pytest.raises(EngineError, match="Some runs have a verdict of success"):
        BlackBox(flagged, {"a": Interval(0.0, 1.0)}).table({"a": [0.5]}, Instances({"x": np.arange(4.0)}))


def test_where_nothing_runs_at_all_the_reason_is_said():
    def broken(hyper, instance):
        raise ValueError("rho must be positive")

    with pytest.raises(EngineError, match=r"All of the first .* runs failed; the first said 'ValueError: rho must be"):
        BlackBox(broken, {"a": Interval(0.0, 1.0)}).table(
            {"a": np.linspace(0, 1, 8)}, Instances({"x": np.arange(20.0)})
        )


def test_what_a_score_needs_is_asked_of_the_solver():
    bare = BlackBox(lambda hyper, instance: 0.5, {"a": Interval(0.0, 1.0)})
    instances = Instances({"x": np.arange(4.0)})
    with pytest.raises(EngineError, match="without iterations"):
        bare.counting("iterations", 10).table({"a": [0.5]}, instances)
    with pytest.raises(EngineError, match="without a curve"):
        bare.until(0.1, 10).table({"a": [0.5]}, instances)
    with pytest.raises(EngineError, match="An effort in furlongs was requested"):
        bare.counting("furlongs", 10)
    with pytest.raises(EngineError, match="An object of type int was given"):
        BlackBox(5, {"a": Interval(0.0, 1.0)})
    with pytest.raises(DesignError, match="counts up to"):
        pacopt.learn(engine(), parts(), score=Effort(0.1, 10.5))


def treacherous(hyper, instance):
    """Crashes, hangs in native code, raises, or leaves the directory, depending on the instance."""
    import ctypes
    import os

    number = int(instance["number"])
    if number % 20 == 3:
        ctypes.string_at(0)
    if number % 20 == 7:
        ctypes.CDLL(None).sleep(60)
    if number % 20 == 11:
        raise ValueError("not today")
    os.chdir("/")
    return Result(loss=hyper["a"] * number, iterations=number, x=lambda: "cannot be sent")


NUMBERS = Instances({"number": np.arange(20.0)})
TWO = {"a": np.array([0.25, 0.75])}


def box(function, **options):
    return BlackBox(function, {"a": Interval(0.0, 1.0)}, **options)


@pytest.mark.parametrize(
    "workers", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(8, marks=pytest.mark.slow)]
)
def test_runs_that_crash_or_hang_are_failures_and_the_others_are_as_they_would_be(workers):
    table = box(treacherous, workers=workers, limit=2.0).table(TWO, NUMBERS)
    good = np.setdiff1d(np.arange(20), [3, 7, 11])
    np.testing.assert_array_equal(table.losses[:, good], np.outer(TWO["a"], good))
    assert np.isinf(table.losses[:, [3, 7, 11]]).all()
    assert table.provenance["failures"] == {"ValueError": 2, "the process died": 2, "time limit": 2}


def test_who_makes_the_calls_changes_nothing(tmp_path):
    serial = engine().table({"damping": [0.3, 0.5], "variant": ["plain", "eager"]}, parts().test)
    shared = BlackBox(fixed_point, SPACE, defaults=engine().defaults, workers=2)
    other = shared.table({"damping": [0.3, 0.5], "variant": ["plain", "eager"]}, parts().test)
    np.testing.assert_array_equal(serial.losses, other.losses)
    assert dict(serial.provenance) == dict(other.provenance)
    with ThreadPoolExecutor(3) as executor:
        third = BlackBox(fixed_point, SPACE, defaults=engine().defaults, executor=executor)
        found = third.table({"damping": [0.3, 0.5], "variant": ["plain", "eager"]}, parts().test)
    np.testing.assert_array_equal(serial.losses, found.losses)
    with pytest.raises(EngineError, match="The executor takes no calls"):
        third.table({"damping": [0.3], "variant": ["plain"]}, parts().test)


def test_what_cannot_be_sent_to_a_worker_is_said():
    lock = Lock()
    with pytest.raises(EngineError, match="The function cannot be sent to a worker"):
        box(lambda hyper, instance: float(lock.locked()), workers=2).table(TWO, NUMBERS)
    with pytest.raises(EngineError, match="returned"):
        box(lambda hyper, instance: "nothing", workers=2).table(TWO, NUMBERS)


@pytest.mark.parametrize(
    "options", [{"workers": 0}, {"workers": 1.5}, {"limit": 0}, {"limit": "5"}, {"executor": 3}, {"limit": np.inf}]
)
def test_what_is_no_worker_is_refused(options):
    with pytest.raises(EngineError):
        box(treacherous, **options)


def test_what_is_deployed_has_the_safeguard_that_the_certificate_speaks_of():
    def jump(hyper, instance):
        """Ends far above its start where the instance is large."""
        x = float(instance["x"])
        if x > 4:
            raise ArithmeticError("overflow")
        return Result(loss=9.0 if x > 2 else 0.1, start_loss=1.0, x="end", start="start")

    jumping = box(jump)
    good, bad, failed = (jumping.solve({"a": 0.5}, {"x": x}, 0) for x in (1.0, 3.0, 5.0))
    assert (good.x, good.loss, good.returned_start) == ("end", 0.1, False)
    assert (bad.x, bad.loss, bad.run_loss, bad.returned_start) == ("start", 1.0, 9.0, True)
    assert failed.run_loss == np.inf  # a monitor hears of it


def test_a_run_in_use_that_takes_longer_than_the_limit_has_failed():
    def slow(hyper, instance):
        time.sleep(float(instance["x"]))
        return Result(loss=0.1, start_loss=1.0, x="end", start="start")

    engine = box(slow, limit=0.2)
    assert engine.solve({"a": 0.5}, {"x": 0.0}, 0).run_loss == 0.1
    late = engine.solve({"a": 0.5}, {"x": 0.3}, 0)
    assert (late.x, late.run_loss) == ("end", np.inf)


def test_a_run_that_takes_longer_than_its_cap_has_not_met_its_target_in_use_either():
    late = box(lambda hyper, instance: Result(loss=0.0, iterations=50, success=True)).counting("iterations", 20)
    assert late.solve({"a": 0.5}, {"x": 1.0}, 0).time == np.inf
