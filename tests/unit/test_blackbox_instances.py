"""Instances that are files or objects, times that a clock measures, and solvers whose runs depend on each other."""

import pickle
import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import pacopt
from pacopt import BlackBox, Effort, HeavyBall, Instances, Interval, LossTable, Ranged, Result, VaryingCurvature
from pacopt.auditing import audit
from pacopt.engines.blackbox.engine import cores
from pacopt.errors import EngineError, InstancesError, SplitError, StorageError
from pacopt.priors import Search

FEW = Search(candidates=16, explore=1, rounds=0)
CLOCK = "each run's time is an independent draw, on the same machine under the same load"


def box(function, **options):
    return BlackBox(function, {"a": Interval(0.1, 0.9)}, **options)


def read(hyper, instance):
    """Instances are files with a number."""
    with open(instance["file"]) as file:
        return Result(loss=abs(hyper["a"] - float(file.read())), iterations=1)


def write(folder, count=140, seed=0):
    folder.mkdir()
    for number, x in enumerate(np.random.default_rng(seed).uniform(0.3, 0.5, count)):
        (folder / f"{number:03}.txt").write_text(f"{x!r}".removeprefix("np.float64(").removesuffix(")"))
    return sorted(folder.iterdir())


def test_files_are_learned_from_saved_by_name_and_recognised_by_their_bytes(tmp_path):
    paths = write(tmp_path / "files")
    instances = Instances.of_files(paths)
    split = pacopt.split(instances, prior=20, train=100, test=20, seed=0)
    learned = pacopt.learn(box(read, workers=2), split, prior=FEW, score=Ranged(1.0))
    expected = box(lambda hyper, x: abs(hyper["a"] - float(x["x"]))).table(
        learned.table.candidates, Instances({"x": [float(Path(row["file"]).read_text()) for row in split.train]})
    )
    np.testing.assert_array_equal(learned.table.losses, expected.losses)
    assert any("or anything else that runs do not read" in entry.text for entry in learned.certificate.ledger)
    place = learned.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=5, engine=box(read)).passed
    again = pacopt.Learned.load(place, engine=box(read))
    assert again.solve({"file": paths[0]}).loss == pytest.approx(read(again.hyper, {"file": paths[0]}).loss)
    Path(split.train[3]["file"]).write_text("0.25")
    assert pacopt.verify(place).passed  # needs no file
    with pytest.raises(InstancesError, match=r"1 of 100 files are gone or have other bytes than before \(first: .*txt"):
        pacopt.verify(place, rerun=5, engine=box(read))


def test_files_with_the_same_bytes_are_one_instance(tmp_path):
    paths = write(tmp_path / "files", 30)
    paths[7].write_bytes(paths[20].read_bytes())
    instances = Instances.of_files(paths)
    assert instances.fingerprints[7] == instances.fingerprints[20]
    with pytest.raises(SplitError):
        pacopt.split(instances, prior=10, train=10, test=10, seed=0)
    assert repr(instances) == "Instances(30 x {file: file})"
    same = pickle.loads(pickle.dumps(instances[[3, 1]]))
    np.testing.assert_array_equal(same.fingerprints, instances.fingerprints[[3, 1]])
    joined = Instances.concatenate([instances[:3], instances[3:5]])
    np.testing.assert_array_equal(joined.fingerprints, instances.fingerprints[:5])
    instances.save(tmp_path / "kept.npz")
    np.testing.assert_array_equal(Instances.load(tmp_path / "kept.npz").fingerprints, instances.fingerprints)


class Model:
    """An object of a user's own."""

    def __init__(self, x):
        self.x = x


def solve_model(hyper, instance):
    return Result(loss=abs(hyper["a"] - instance["object"].x), iterations=1)


def test_objects_are_recognised_by_what_a_function_says_and_not_stored(tmp_path):
    models = [Model(float(x)) for x in np.random.default_rng(0).uniform(0.3, 0.5, 140)]
    instances = Instances.of_objects(models, fingerprint=lambda model: model.x)
    split = pacopt.split(instances, prior=20, train=100, test=20, seed=0)
    one, two = (
        pacopt.learn(box(solve_model, workers=workers), split, prior=FEW, score=Ranged(1.0)) for workers in (1, 2)
    )
    np.testing.assert_array_equal(one.table.losses, two.table.losses)
    assert "objects with different fingerprints are different instances" in [e.text for e in one.certificate.ledger]
    assert audit(one.certificate.to_dict(), one.table).passed
    place = one.save(tmp_path / "run")
    told = pacopt.verify(place)
    assert told.passed
    assert "there is no instances.npz" in str(told)
    with pytest.raises(StorageError, match="training instances were not stored"):
        pacopt.verify(place, rerun=3, engine=box(solve_model))
    assert pacopt.verify(place, rerun=3, engine=box(solve_model), instances=instances).rerun > 100
    with pytest.raises(StorageError, match="training instances are not among those"):
        pacopt.verify(place, rerun=3, engine=box(solve_model), instances=instances[:50])
    assert pacopt.Learned.load(place, engine=box(solve_model)).solve({"object": models[0]}).loss < 0.2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Instances({"model": [Model(1), Model(2)]}), "Instances.of_objects"),
        (lambda: Instances.of_objects([Model(1)], fingerprint=None), "a function that returns bytes"),
        (lambda: Instances.of_objects([Model(1)], fingerprint=lambda model: model), "is 'Model'"),
        (lambda: Instances.of_objects([], fingerprint=id), "at least one object"),
        (lambda: Instances.of_files("one.txt"), "a list of paths"),
        (lambda: Instances.of_files([]), "a list of paths"),
        (lambda: Instances.of_files(["/nowhere/at/all"]), "cannot be read"),
        (lambda: Instances.of_files([3.5]), "cannot be read"),
        (lambda: Instances.of_objects([1], fingerprint=float).save("x.npz"), "objects, which cannot be stored"),
    ],
)
def test_what_are_no_files_or_objects_is_refused(make, words):
    with pytest.raises(InstancesError, match=words):
        make()


def test_an_algorithm_in_jax_needs_arrays(tmp_path):
    law = VaryingCurvature.draw(seed=0, n=4)
    split = pacopt.split(Instances.of_files(write(tmp_path / "files", 30)), prior=10, train=10, test=10, seed=0)
    with pytest.raises(InstancesError, match=r"The instances are files\. An algorithm in JAX needs arrays"):
        pacopt.learn(law.problem, HeavyBall(), split, steps=5)


def wait(hyper, instance):
    until = time.perf_counter() + 0.0005 * (1 + hyper["a"])
    while time.perf_counter() < until:
        pass
    return Result(loss=0.0, success=bool(instance["x"] < 0.95))


def test_measured_seconds_are_drawn_anew_and_everybody_says_so(tmp_path):
    instances = Instances({"x": np.random.default_rng(0).uniform(size=140)})
    split = pacopt.split(instances, prior=20, train=100, test=20, seed=0)
    options = {"score": Effort("solved", 60, unit="seconds"), "prior": FEW, "checkpoint": tmp_path / "kept"}
    learned = pacopt.learn(box(wait, workers=min(2, cores())), split, **options)
    texts = [entry.text for entry in learned.certificate.ledger]
    assert CLOCK in texts
    assert not any("gives the same result" in text for text in texts)
    assert "it uses on average at most" in str(learned.certificate)
    assert "seconds" in learned.certificate.sentences["risk"]
    solved = np.isfinite(learned.table.losses)
    np.testing.assert_array_equal(solved, np.tile(split.train.fields["x"] < 0.95, (len(solved), 1)))
    assert (learned.table.losses[solved] >= 0.0005).all()
    place = learned.save(tmp_path / "run")
    told = pacopt.verify(place, rerun=5, engine=box(wait))
    assert told.passed
    assert "measured times are drawn anew" in str(told)
    resumed = pacopt.learn(box(wait), split, **options)  # the stored tiles, and none is compared
    np.testing.assert_array_equal(resumed.table.losses, learned.table.losses)
    with pytest.raises(EngineError, match="Each worker needs a core of its own"):
        pacopt.learn(box(wait, workers=cores() + 1), split, **options)


def test_a_table_of_measured_times_is_not_called_repeatable():
    rng = np.random.default_rng(0)
    table = LossTable(losses=rng.exponential(1.0, (3, 200)), candidates={"solver": ["a", "b", "c"]})
    for score in (Ranged(10, noun="time", unit="seconds"), Ranged(10, noun="wall time", unit="ms")):
        certificate = pacopt.certify(table, pacopt.Design.uniform(table, score=score))
        assert CLOCK in [entry.text for entry in certificate.ledger]
        assert audit(certificate.to_dict(), table).passed
    spoiled = certificate.to_dict()
    spoiled["ledger"] = [entry for entry in spoiled["ledger"] if entry["text"] != CLOCK]
    assert not audit(spoiled, table).passed


def test_a_solver_that_remembers_is_found_before_the_long_run():
    calls = count()
    warm = {"x": 0.0}

    def remembers(hyper, instance):
        next(calls)
        warm["x"] = 0.5 * warm["x"] + float(instance["x"])
        return abs(warm["x"] - hyper["a"])

    def draws(hyper, instance):
        return float(np.random.default_rng().uniform())

    split = pacopt.split(Instances({"x": np.arange(140.0)}), prior=20, train=100, test=20, seed=0)
    for function in (remembers, draws):
        with pytest.raises(EngineError, match=r"Candidate \d on instance \d came to the loss .* in another order"):
            pacopt.learn(box(function), split, prior=FEW, score=Ranged(200.0))
    assert next(calls) == 40


def test_a_run_that_fails_only_after_others_is_found():
    opened = []

    def leaks(hyper, instance):
        opened.append(1)
        if len(opened) > 30:
            raise OSError("too many open files")
        return hyper["a"]

    split = pacopt.split(Instances({"x": np.arange(140.0)}), prior=20, train=100, test=20, seed=0)
    with pytest.raises(EngineError, match="OSError: too many open files"):
        pacopt.learn(box(leaks), split, prior=FEW, score=Ranged(1.0))


def test_runs_that_a_limit_ended_are_not_compared_when_they_are_run_again(tmp_path):
    hurry = tmp_path / "hurry"

    def solve(hyper, instance):
        if 0.3 < hyper["a"] < 0.6 and not hurry.exists() and instance["x"] == 5.0:
            time.sleep(60)
        return Result(loss=0.1 * hyper["a"])

    split = pacopt.split(Instances({"x": np.arange(70.0)}), prior=10, train=50, test=10, seed=0)
    engine = box(solve, limit=1.5)
    support = {"a": np.array([0.2, 0.4])}
    options = {"prior": pacopt.DiscreteMeasure.uniform(support), "score": Ranged(1.0)}
    place = pacopt.learn(engine, split, **options).save(tmp_path / "run")
    hurry.touch()
    assert pacopt.verify(place, rerun=50, engine=engine).passed
