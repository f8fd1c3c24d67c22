"""A job file for a solver that is not JAX: a function by its name, its space in [domain], instances in files."""

import json
import sys

import numpy as np
import pytest

import alone
import pacopt
from pacopt.app.job_parts import prepare_job
from pacopt.errors import JobError, TableError

MODULE = """
import time
from pathlib import Path

import pacopt


def solve(hyper, instance):
    x = float(instance["x"]) if "x" in instance else float(Path(instance["file"]).read_text())
    factor = hyper["damping"] if hyper["variant"] == "plain" else hyper["damping"] ** 2
    iterations = 0
    while x > 1e-3 and iterations < 300:
        x, iterations = x * factor, iterations + hyper["batch"]
    return pacopt.Result(loss=x, iterations=iterations, success=x <= 1e-3)


ready = pacopt.BlackBox(solve, {"damping": pacopt.Interval(0.2, 0.9)})
number = 3
"""

JOB = """
solver = "my_solver:solve"
instances = "numbers.npz"
candidates = 16
defaults = { damping = 0.8, variant = "plain", batch = 1 }
score = { effort = "solved", cap = 150, unit = "iterations" }
budget = { solved = 0.8 }
workers = 2
limit = 20.0

[split]
prior = 40
train = 160
test = 40

[domain]
damping = { low = 0.2, high = 0.95, log = true }
variant = { choices = ["plain", "squared"] }
batch = { low = 1, high = 4, whole = true }
"""


@pytest.fixture
def folder(tmp_path):
    x = np.random.default_rng(0).lognormal(size=240)
    np.savez(tmp_path / "numbers.npz", x=x)
    (tmp_path / "numbers").mkdir()
    for number, each in enumerate(x):
        (tmp_path / "numbers" / f"{number}.txt").write_text(str(float(each)))
    (tmp_path / "my_solver.py").write_text(MODULE)
    (tmp_path / "job.toml").write_text(JOB)
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("my_solver", None)


def test_a_solver_in_a_job_gives_what_the_same_call_gives_and_is_verified_from_the_command_line(folder):
    learned = prepare_job(folder / "job.toml").learn()
    space = {
        "damping": pacopt.Interval(0.2, 0.95, log=True),
        "variant": pacopt.Choice("plain", "squared"),
        "batch": pacopt.Whole(1, 4),
    }
    solver = pacopt.BlackBox(
        sys.modules["my_solver"].solve,
        space,
        defaults={"damping": 0.8, "variant": "plain", "batch": 1},
        limit=20.0,
    )
    instances = pacopt.Instances.load(folder / "numbers.npz")
    same = pacopt.learn(
        solver,
        pacopt.split(instances, prior=40, train=160, test=40, seed=0),
        prior=pacopt.priors.Search(space, candidates=16),
        score=pacopt.Effort("solved", 150, unit="iterations"),
        budget=pacopt.Budget("solved", part=0.8),
    )
    assert learned.certificate.to_dict() == same.certificate.to_dict()
    assert learned.hyper["variant"] == "squared"
    assert learned.certificate.deployed.gain > 1
    alone.pacopt("learn", "job.toml", "--out", "run", cwd=folder).check_returncode()
    told = alone.pacopt("verify", "run", "--rerun", "5", "--job", "job.toml", "--json", cwd=folder)
    told.check_returncode()
    assert json.loads(told.stdout)["rerun"] > 160


def test_instances_may_be_files_by_a_pattern(folder):
    (folder / "job.toml").write_text(JOB.replace("numbers.npz", "numbers/*.txt"))
    prepared = prepare_job(folder / "job.toml")
    assert prepared.split.train.kinds == {"file": "file"}
    assert prepared.learn().certificate.deployed.budget < 150


def test_a_solver_without_a_score_is_told_what_to_write_in_the_job(folder):
    text = JOB.replace('score = { effort = "solved", cap = 150, unit = "iterations" }\n', "")
    (folder / "job.toml").write_text(text.replace("budget = { solved = 0.8 }\n", ""))
    with pytest.raises(TableError, match=r'The score is "ratio",') as error:
        prepare_job(folder / "job.toml").learn()
    assert 'score = { effort = "solved", unit = "iterations" }' in error.value.remedy
    assert "pacopt." not in error.value.remedy


def test_a_loss_with_a_declared_range_can_be_the_score(folder):
    text = JOB.replace('{ effort = "solved", cap = 150, unit = "iterations" }', '{ largest = 2.0, noun = "residual" }')
    (folder / "job.toml").write_text(text.replace("budget = { solved = 0.8 }\n", ""))
    found = prepare_job(folder / "job.toml").learn()
    assert found.certificate.sentences["risk"].startswith("Its mean residual is at most ")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("my_solver:solve", "my_solver:solv", "has no 'solv'"),
        ("my_solver:solve", "my_solver:number", "A black box is made of a function"),
        ("my_solver:solve", "my_solver:ready", "set limit where you construct it"),
        ("workers = 2", "workers = 0", "a whole number of processes"),
        ("limit = 20.0", "limit = -1", "a number of seconds"),
        ("limit = 20.0", "memory = 0", "a number of GiB"),
        ("damping = 0.8, variant", "damping = [0.8], variant", "the usual hyperparameters of the solver"),
        ("damping = 0.8, variant", "dampin = 0.8, variant", r"line \d+, defaults: .*'dampin'.* Did you mean 'damping'"),
        (", batch = 1 }", " }", "defaults: There is no default for 'batch'"),
        ("limit = 20.0", "steps = 20", "a solver decides this itself; leave it out, or leave out solver"),
        ('solver = "my_solver:solve"', 'engine = "my_solver:ready"', "is for a solver; leave it out, or name one"),
        ("limit = 20.0", 'engine = "my_solver:ready"', "is given beside an engine; leave out one of them"),
        ("whole = true", "whole = 3", r"\{ low = 1, high = 20, whole = true \}"),
        ('choices = ["plain", "squared"]', "choices = []", r"choices = \[\"a\", \"b\"\]"),
        ("high = 4", "high = 4.5", "whole = true"),
        ("numbers.npz", "nowhere/*.txt", "no file matches 'nowhere/"),
        ("solved = 0.8", "solved = 1.8", r"\{ solved = 0.99 \}"),
        ("cap = 150", "cap = 0", "cap = 200"),
        (JOB[JOB.index("[domain]") :], "", "a solver needs a line for each hyperparameter"),
    ],
)
def test_what_is_wrong_with_a_solver_is_said_with_its_line(folder, old, new, words):
    assert old in JOB
    (folder / "job.toml").write_text(JOB.replace(old, new))
    with pytest.raises(JobError, match=words):
        prepare_job(folder / "job.toml")
