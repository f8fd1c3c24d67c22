"""What is finished is kept, whoever is killed, whatever the disk does, and however many work in one place."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import alone
import pacopt
from pacopt import BlackBox, HeavyBall, Instances, Interval, Ranged, VaryingCurvature
from pacopt.engines.store import Checkpoint
from pacopt.errors import StorageError
from pacopt.priors import Search

FEW = Search(candidates=16, explore=1, rounds=0)
LAW = VaryingCurvature.draw(seed=0, n=8)

COMMON = """
import os, sys
from pathlib import Path

import numpy as np

import pacopt
from pacopt import BlackBox, HeavyBall, Instances, Interval, Ranged, VaryingCurvature
from pacopt.engines.store import Checkpoint
from pacopt.errors import StorageError
from pacopt.priors import Search

PLACE = Path(sys.argv[1])
FEW = Search(candidates=16, explore=1, rounds=0)


def solve(hyper, instance):
    return abs(hyper["a"] - float(instance["x"]))


def learned(kind, progress=False):
    if kind == "traced":
        law = VaryingCurvature.draw(seed=0, n=40)
        split = pacopt.split(law.sample(3060, seed=1), prior=40, train=3000, test=20, seed=2)
        parts, options = (law.problem, HeavyBall(), split), {"steps": 20}
    else:
        x = np.random.default_rng(0).uniform(size=260)
        split = pacopt.split(Instances({"x": x}), prior=40, train=200, test=20, seed=2)
        parts = (BlackBox(solve, {"a": Interval(0.0, 1.0)}), split)
        options = {"score": Ranged(1.0)}
    return pacopt.learn(*parts, prior=FEW, checkpoint=PLACE / "kept", progress=progress, **options)
"""


def written(tmp_path, code):
    script = tmp_path / "client.py"
    script.write_text(f"{COMMON}\n\n{code}")
    return script


def client(tmp_path, code, *words):
    """What became of a client in a process of its own."""
    return alone.run_script(written(tmp_path, code), tmp_path, tmp_path, *words)


def tiles(tmp_path):
    return sorted(str(path) for path in (tmp_path / "kept").glob("*/*.npz"))


KILLED = """
def kill(stage, done, total):
    if stage == "train" and 0 < done < total:
        os.kill(os.getpid(), 9)

found = learned(sys.argv[2], kill if sys.argv[3] == "kill" else False)
np.savez(PLACE / sys.argv[4], losses=found.table.losses)
(PLACE / sys.argv[4]).with_suffix(".txt").write_text(str(found.certificate))
"""


@pytest.mark.parametrize("kind", [pytest.param("traced", marks=pytest.mark.slow), "blackbox"])
def test_after_kill_9_nothing_that_was_reported_is_run_again_and_the_certificate_is_the_same(tmp_path, kind):
    killed = client(tmp_path, KILLED, kind, "kill", "first.npz")
    assert killed.returncode == -9
    kept = {path: os.stat(path).st_mtime_ns for path in tiles(tmp_path)}
    assert kept
    client(tmp_path, KILLED, kind, "live", "second.npz").check_returncode()
    assert {path: os.stat(path).st_mtime_ns for path in kept} == kept  # none was written anew
    (tmp_path / "kept").rename(tmp_path / "away")
    client(tmp_path, KILLED, kind, "live", "third.npz").check_returncode()
    assert (tmp_path / "second.txt").read_text() == (tmp_path / "third.txt").read_text()
    np.testing.assert_array_equal(np.load(tmp_path / "second.npz")["losses"], np.load(tmp_path / "third.npz")["losses"])


@pytest.mark.parametrize("kind", [pytest.param("traced", marks=pytest.mark.slow), "blackbox"])
def test_two_clients_in_one_place_do_each_other_no_harm(tmp_path, kind):
    command = [sys.executable, written(tmp_path, KILLED), tmp_path, kind, "live"]
    clients = [subprocess.Popen([*command, f"{k}.npz"]) for k in range(2)]
    assert [each.wait() for each in clients] == [0, 0]
    assert (tmp_path / "0.txt").read_text() == (tmp_path / "1.txt").read_text()
    assert not list((tmp_path / "kept").rglob("*.part"))


FULL = """
import resource

unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

def fill(stage, done, total):
    if stage == "train" and 0 < done < total:  # from now on no file can be larger than this
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, unlimited[1]))

def lose(stage, done, total):
    if stage == "train" and 0 < done < total:
        for folder in (PLACE / "kept").iterdir():
            folder.chmod(0o555)
        if os.getuid() == 0:
            os.seteuid(65534)  # root may write everywhere

try:
    learned(sys.argv[2], {"fill": fill, "lose": lose}[sys.argv[3]])
except StorageError as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    os.seteuid(os.getuid())
    (PLACE / "said").write_text(str(error))
"""


@pytest.mark.parametrize("kind", [pytest.param("traced", marks=pytest.mark.slow), "blackbox"])
@pytest.mark.parametrize(("fault", "words"), [("fill", "File too large"), ("lose", "Permission denied")])
def test_a_full_disk_and_lost_permissions_are_said_and_lose_nothing(tmp_path, kind, fault, words):
    for parent in (tmp_path, *tmp_path.parents):  # another user has to reach it
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o555)
    client(tmp_path, FULL, kind, fault).check_returncode()
    said = (tmp_path / "said").read_text()
    assert words in said
    assert "Nothing is lost" in said
    kept = tiles(tmp_path)
    assert kept
    assert not list((tmp_path / "kept").rglob("*.part"))
    for folder in (tmp_path / "kept").iterdir():
        folder.chmod(0o755)
    client(tmp_path, KILLED, kind, "live", "after.npz").check_returncode()
    assert set(kept) <= set(tiles(tmp_path))


def solve(hyper, instance):
    return abs(hyper["a"] - float(instance["x"]))


def other(hyper, instance):
    return abs(hyper["a"] - float(instance["x"])) ** 2


def numbers(seed=0):
    x = np.random.default_rng(seed).uniform(size=130)
    return pacopt.split(Instances({"x": x}), prior=20, train=100, test=10, seed=2)


@pytest.mark.parametrize(
    ("function", "high", "seed", "changed"),
    [
        (other, 1.0, 0, "the solver changed"),
        (solve, 0.9, 0, "the space changed"),
        (solve, 1.0, 1, "the instances changed"),
        (other, 0.9, 1, "the solver and the space and the instances changed"),
    ],
)
def test_another_solver_space_or_set_of_instances_is_refused(tmp_path, function, high, seed, changed):
    def run(function, high, seed):
        box = BlackBox(function, {"a": Interval(0.0, high)})
        return pacopt.learn(box, numbers(seed), prior=FEW, score=Ranged(1.0), checkpoint=tmp_path / "kept")

    before = run(solve, 1.0, 0)
    with pytest.raises(StorageError, match=changed):
        run(function, high, seed)
    assert run(solve, 1.0, 0).certificate.to_dict() == before.certificate.to_dict()


def test_another_problem_algorithm_or_number_of_steps_is_refused(tmp_path):
    split = pacopt.split(LAW.sample(130, seed=1), prior=20, train=100, test=10, seed=2)
    options = {"prior": FEW, "checkpoint": tmp_path / "kept"}
    pacopt.learn(LAW.problem, HeavyBall(), split, steps=5, **options)
    for algorithm, steps in ((HeavyBall(), 6), (pacopt.GradientDescent(), 5)):
        with pytest.raises(StorageError, match="the solver"):
            pacopt.learn(LAW.problem, algorithm, split, steps=steps, **options)


def test_runs_that_a_time_limit_ended_are_not_compared_when_work_goes_on(tmp_path):
    hurry = tmp_path / "hurry"

    def solve(hyper, instance):
        import time

        if instance["x"] == 1.0 and not hurry.exists():
            time.sleep(60)
        return hyper["a"] + float(instance["x"])

    box = BlackBox(solve, {"a": Interval(0.0, 1.0)}, limit=1.5)
    candidates, instances = {"a": [0.25, 0.5]}, Instances({"x": np.arange(4.0)})
    first = box.table(candidates, instances, store=Checkpoint(tmp_path / "kept"))
    assert np.isinf(first.losses).tolist() == [[False, True, False, False]] * 2
    hurry.touch()
    again = box.table(candidates, instances, store=Checkpoint(tmp_path / "kept"))
    np.testing.assert_array_equal(first.losses, again.losses)


HASHED = """
import functools, sys
import numpy as np
import pacopt
from scipy import sparse
from pacopt.engines.description import identity

class Model:
    def __init__(self, x):
        self.x = x
    def solve(self, hyper, instance):
        return self.x * hyper["a"]
    def __call__(self, hyper, instance):
        return self.x * hyper["a"]

def general(scale, hyper, instance):
    return scale * hyper["a"]

def made(x):
    model, matrix = Model(x), sparse.csc_matrix(x * np.eye(3))
    def again(n):
        return again(n - 1) if n else x
    def closed(hyper, instance):
        return model.x * again(3) * matrix.sum() * hyper["a"]
    return [closed, Model(x).solve, Model(x), functools.partial(general, x)]

x = float(sys.argv[1])
print([identity(pacopt.BlackBox(each, {"a": pacopt.Interval(0.0, 1.0)})) for each in made(x)])
"""


def test_a_solver_is_recognised_by_another_process_with_all_that_it_encloses(tmp_path):
    (tmp_path / "hashed.py").write_text(HASHED)

    def run(x):
        script = [sys.executable, str(tmp_path / "hashed.py"), x]
        return eval(subprocess.run(script, check=True, capture_output=True, text=True).stdout)

    one, same, other = run("1"), run("1"), run("2")
    assert one == same
    assert not set(one) & set(other)
    assert len(set(one)) == 4
