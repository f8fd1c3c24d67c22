"""What somebody who had never seen it did to black boxes, so that it cannot be done again."""

import dataclasses
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import pacopt
from pacopt import Array, BlackBox, Effort, Instances, Interval, Ranged, Result
from pacopt.engines import Command
from pacopt.engines.blackbox.workers import close_idle
from pacopt.engines.description import described
from pacopt.errors import EngineError, InstancesError, PriorError, StorageError
from pacopt.priors import Search

FEW = Search(candidates=4, explore=1, rounds=0)
SPACE = {"h": Interval(0.0, 1.0)}


def parts(count=140):
    x = np.random.default_rng(0).random(count)
    return pacopt.split(Instances({"x": x}), prior=20, train=count - 40, test=20, seed=0)


def distance(hyper, instance):
    return abs(hyper["h"] - float(instance["x"]))


def read(hyper, instance):
    return abs(hyper["h"] - float(Path(instance["file"]).read_text()))


def files(folder, count=140):
    folder.mkdir()
    for number, x in enumerate(np.random.default_rng(0).random(count)):
        (folder / f"{number:03}").write_text(str(float(x)))
    return pacopt.split(Instances.of_files(sorted(folder.iterdir())), prior=20, train=count - 40, test=20, seed=0)


def test_files_that_change_before_or_during_the_run_are_refused(tmp_path):
    split = files(tmp_path / "before")
    for row in split.train:
        Path(row["file"]).write_text("0.5")
    with pytest.raises(InstancesError, match="100 of 100 files are gone or have other bytes"):
        pacopt.learn(BlackBox(read, SPACE), split, prior=FEW, score=Ranged(1.0))
    during = files(tmp_path / "during")

    def vanish(stage, done, total):
        if stage == "train" and done == total:
            for row in during.train[:50]:
                Path(row["file"]).unlink(missing_ok=True)

    with pytest.raises(InstancesError, match="50 of 100 files are gone"):
        pacopt.learn(BlackBox(read, SPACE), during, prior=FEW, score=Ranged(1.0), baseline={"h": 0.45}, progress=vanish)


def test_runs_of_a_baseline_that_fail_are_remarked_on():
    def fragile(hyper, instance):
        if hyper["h"] == 0.77 and instance["x"] > 0.5:
            raise ArithmeticError("overflow")
        return distance(hyper, instance)

    learned = pacopt.learn(BlackBox(fragile, SPACE), parts(), prior=FEW, score=Ranged(1.0), baseline={"h": 0.77})
    failed = int((parts().train.fields["x"] > 0.5).sum())
    expected = f"{failed} training runs of the baseline failed, which counts as the worst possible"
    assert expected in learned.remarks


def test_failed_runs_that_somebody_made_perfect_are_found_though_others_met_a_limit(tmp_path):
    x = parts().train.fields["x"]
    slow = float(x[np.argmax(x > 0.5)])

    def solve(hyper, instance):
        if instance["x"] == slow:
            time.sleep(30)
        if instance["x"] < 0.3:
            raise ValueError("no")
        return distance(hyper, instance)

    engine = BlackBox(solve, SPACE, limit=0.7)
    support = {"h": np.array([0.6])}
    measure = pacopt.DiscreteMeasure.uniform(support)
    learned = pacopt.learn(engine, parts(), prior=measure, score=Ranged(1.0), baseline=None)
    assert learned.origin.failures == {"ValueError": int((x < 0.3).sum()), "time limit": 1}
    assert pacopt.verify(learned.save(tmp_path / "honest"), rerun=5, engine=engine).passed

    def tampered(about):
        losses = np.where(np.isfinite(learned.table.losses), learned.table.losses, 0.0)
        provenance = {name: value for name, value in learned.table.provenance.items() if name not in about}
        table = dataclasses.replace(learned.table, losses=losses, provenance=provenance)
        certificate = pacopt.certify(table, learned.certificate.design)
        whole = {name: value for name, value in learned.provenance.items() if name not in about}
        return dataclasses.replace(learned, table=table, certificate=certificate, provenance=whole)

    told = pacopt.verify(tampered(()).save(tmp_path / "counted"))
    assert "the table holds fewer failed runs than its provenance counts" in told.problems
    told = pacopt.verify(tampered(("failures", "messages")).save(tmp_path / "uncounted"), rerun=5, engine=engine)
    assert any("when run again" in problem for problem in told.problems)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (lambda: Result(iterations=3, success="failed: infeasible"), "success = 'failed: infeasible'"),
        (lambda: Result(iterations=3, success=float("nan")), "success = nan"),
        (lambda: Result(iterations=3, success=np.array([True, False])), "It is True or False"),
        (lambda: Result(loss=np.array("a"), iterations=3), "It is a number"),
        (lambda: Result(loss=np.array(1j), iterations=3), "It is a number"),
        (lambda: Result(iterations=3, success=True, curve=iter([1.0])), "curve = "),
        (lambda: Result(iterations=3, success=True, curve=["a"]), "curve = "),
        (lambda: Result(iterations=3, success=True, curve=3.0), "curve = "),
        (lambda: Result(iterations=3, success=True, curve=[[1.0, 0.5], [0.2, 0.1]]), "curve = "),
        (lambda: Result(iterations=3, success=True, curve=[1.0, -3.0]), "curve = "),
    ],
)
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_odd_results_are_refused_whoever_makes_the_calls(result, words, workers):
    engine = BlackBox(lambda hyper, instance: result(), SPACE, workers=workers).counting("iterations", 50)
    with pytest.raises(EngineError) as told:
        engine.table({"h": [0.5]}, Instances({"x": np.arange(3.0)}))
    assert words in str(told.value)


def test_an_error_ends_the_workers_although_its_traceback_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = BlackBox(lambda hyper, instance: Result(loss=np.array("a")), SPACE, workers=2)
    with pytest.raises(EngineError) as told:
        engine.table({"h": [0.5]}, Instances({"x": np.arange(600.0)}))
    assert told.tb is not None
    assert not any(tmp_path.iterdir())


def test_a_loss_that_is_no_number_is_not_solved_whatever_the_solver_says():
    engine = BlackBox(lambda hyper, instance: Result(loss=np.nan, iterations=3, success=True), SPACE)
    table = engine.counting("iterations", 50).table({"h": [0.5]}, Instances({"x": np.arange(3.0)}))
    assert np.isinf(table.losses).all()
    assert table.provenance["failures"] == {"the loss is no number": 3}


class Model:
    """An object that is known by where it lies in memory."""

    def __init__(self, x):
        self.x, self.used = x, 0


def test_a_fingerprint_that_recognises_nothing_is_refused():
    models = [Model(float(x)) for x in range(5)]
    counted = iter(range(1000))
    for fingerprint in (repr, id, lambda model: next(counted)):
        with pytest.raises(InstancesError, match="A copy of object 0 has another fingerprint"):
            Instances.of_objects(models, fingerprint=fingerprint)
    with pytest.raises(InstancesError, match="cannot be computed: ZeroDivisionError"):
        Instances.of_objects(models, fingerprint=lambda model: 1 / model.x)
    one, other = (Instances.of_objects([value], fingerprint=lambda value: value) for value in (1, 1.0))
    assert one.fingerprint == other.fingerprint
    for wrong in (None, 7):
        with pytest.raises(InstancesError):
            Instances.of_objects(wrong, fingerprint=id)
        with pytest.raises(InstancesError):
            Instances.of_files(wrong)


def test_objects_that_a_solver_changes_are_as_new_in_the_next_call():
    def uses(hyper, instance):
        instance["object"].used += 1
        return float(instance["object"].used)

    models = Instances.of_objects([Model(float(x)) for x in range(6)], fingerprint=lambda model: model.x)
    for options in ({}, {"workers": 2}):
        assert (BlackBox(uses, SPACE, **options).table({"h": [0.1, 0.2]}, models).losses == 1.0).all()


def threads(hyper, instance):
    return float(os.environ["OMP_NUM_THREADS"])


def test_workers_have_one_thread_for_linear_algebra_whatever_the_shell_says(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    close_idle()
    table = BlackBox(threads, SPACE, workers=2).table({"h": [0.5]}, Instances({"x": np.arange(3.0)}))
    assert table.losses.tolist() == [[1.0, 1.0, 1.0]]
    with ThreadPoolExecutor(16) as executor, pytest.raises(EngineError, match="Seconds are to be counted in calls"):
        BlackBox(distance, SPACE, executor=executor).counting("seconds", 1.0)


def writes(hyper, instance):
    instance["A"][0] = 5.0
    return 1.0


def test_arrays_cannot_be_changed_in_processes_of_an_executor_either():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor,
        pytest.raises(EngineError, match="read-only"),
    ):
        BlackBox(writes, SPACE, executor=executor).table({"h": [0.5]}, Instances({"A": np.ones((20, 2))}))


def test_a_program_does_not_read_what_is_typed_here():
    engine = BlackBox(Command("wc -c", parse=float), SPACE)
    assert engine.table({"h": [0.5]}, Instances({"x": np.arange(2.0)})).losses.tolist() == [[0.0, 0.0]]
    for template in ("echo 'one", "echo {}", "awk { print }"):
        with pytest.raises(EngineError):
            Command(template, parse=float)


def test_keyword_defaults_are_part_of_the_code():
    def made(tol):
        def solve(hyper, instance, *, tol=tol):
            return tol

        return BlackBox(solve, SPACE)

    assert described(made(1.0)) == described(made(1.0)) != described(made(5.0))


def test_docstrings_are_not_part_of_the_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    written = {
        "bare": "        return 2.0 * x",
        "said": '        """Twice."""\n        return 2.0 * x',
        "longer": '        """Twice.\n\n        Ünd more.\n        """\n        return 2.0 * x',
        "other": '        """Twice."""\n        return 3.0 * x',
        "text": '        said = """Twice."""\n        return 2.0 * x',
    }
    for name, body in written.items():
        told = "" if name == "bare" else f'    """A class, {name}."""\n'
        (tmp_path / f"written_{name}.py").write_text(f"class Twice:\n{told}    def of(self, x):\n{body}\n")
    found = {name: described(import_module(f"written_{name}").Twice())["source"] for name in written}
    assert found["bare"] == found["said"] == found["longer"]
    assert len({found["said"], found["other"], found["text"]}) == 3


def test_large_hyperparameters_and_large_answers_do_not_wait_for_each_other():
    count = 60_000
    engine = BlackBox(
        lambda hyper, instance: Result(loss=float(hyper["a"][0]), curve=np.zeros(count)),
        {"a": Array((count,), 0.0, 1.0)},
        workers=2,
    )
    values = np.random.default_rng(0).random((4, count))
    table = engine.table({"a": values}, Instances({"x": np.arange(3.0)}))
    np.testing.assert_array_equal(table.losses, np.tile(values[:, :1], 3))


def pid(hyper, instance):
    return float(os.getpid())


def test_workers_are_kept_for_the_next_table():
    close_idle()
    engine, instances = BlackBox(pid, SPACE, workers=1, limit=20.0), Instances({"x": np.arange(3.0)})
    first, second = (engine.table({"h": [0.5]}, instances).losses for _ in range(2))
    np.testing.assert_array_equal(first, second)


def leaves(hyper, instance):
    import tempfile

    Path(tempfile.mkdtemp()).joinpath("large").write_bytes(b"x" * 1000)
    time.sleep(60)


def test_what_a_worker_leaves_when_it_is_stopped_is_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    BlackBox(leaves, SPACE, workers=1, limit=0.3).table({"h": [0.5]}, Instances({"x": np.arange(2.0)}))
    close_idle()
    assert not list(tmp_path.iterdir())


class Panic(BaseException):
    """What a panic in Rust looks like."""


class MuteError(Exception):
    """An error that cannot say what it is."""

    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize("workers", [1, 2])
def test_whatever_a_solver_raises_is_a_failure_of_that_run(workers):
    kinds = (Panic, MuteError, GeneratorExit, SystemExit)

    def raises(hyper, instance):
        number = int(instance["x"])
        if number < 4:
            raise kinds[number]
        return 0.5

    table = BlackBox(raises, SPACE, workers=workers).table({"h": [0.5]}, Instances({"x": np.arange(5.0)}))
    assert table.losses.tolist() == [[np.inf, np.inf, np.inf, np.inf, 0.5]]
    assert table.provenance["failures"] == {"GeneratorExit": 1, "MuteError": 1, "Panic": 1, "SystemExit": 1}


def strange(hyper, instance):
    os.kill(os.getpid(), 40)
    time.sleep(10)


def test_a_worker_may_die_of_any_signal():
    table = BlackBox(strange, SPACE, workers=1, limit=20.0).table({"h": [0.5]}, Instances({"x": np.arange(1.0)}))
    assert table.provenance["messages"] == {"the process died": "the process died: signal 40"}


@pytest.mark.parametrize(
    "options",
    [
        {"defaults": {"k": 1.0}},
        {"defaults": {}},
        {"defaults": {"h": "a"}},
        {"defaults": {"h": 0.5, "k": 1}},
        {"defaults": [1]},
        {"limit": 10**400},
        {"limit": 1e300},
        {"memory": 1e300},
    ],
)
def test_settings_of_a_black_box_are_checked_when_it_is_made(options):
    with pytest.raises(EngineError):
        BlackBox(distance, SPACE, **options)
    for space in (3, {"h": (0, 1)}, None):
        with pytest.raises(EngineError, match="The space is"):
            BlackBox(distance, space)


def test_a_list_of_objects_is_no_instances_for_verify(tmp_path):
    place = pacopt.learn(BlackBox(distance, SPACE), parts(), prior=FEW, score=Ranged(1.0)).save(tmp_path / "run")
    with pytest.raises(StorageError, match="instances is a list"):
        pacopt.verify(place, rerun=3, engine=BlackBox(distance, SPACE), instances=[1, 2])


def test_a_time_limit_below_zero_or_a_score_in_words_is_refused():
    with pytest.raises(EngineError):
        BlackBox(distance, SPACE, limit=-1)
    with pytest.raises(EngineError, match="An effort in words"):
        pacopt.learn(BlackBox(distance, SPACE), parts(), prior=FEW, score=Effort("solved", 10, unit="words"))


def test_a_sampler_that_needs_more_than_a_seed_is_refused_with_an_example():
    import optuna

    grid = pacopt.priors.Study(optuna.samplers.GridSampler, trials=8)
    with pytest.raises(PriorError, match="what makes one from a seed"):
        pacopt.learn(BlackBox(distance, SPACE), parts(), prior=grid, score=Ranged(1.0))
