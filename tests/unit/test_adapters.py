"""Solvers that people have: SciPy's methods, and programs of the command line."""

import sys

import numpy as np
import pytest

import pacopt
from pacopt import BlackBox, Choice, Effort, Instances, Interval, Result, Whole
from pacopt.auditing import audit
from pacopt.engines import Command, scipy_minimize
from pacopt.errors import EngineError
from pacopt.priors import Search

RNG = np.random.default_rng(0)
QUICK = Search(candidates=8, explore=1, rounds=1)


def valley(x, instance):
    """A curved valley, as deep as the instance says."""
    return float((1 - x[0]) ** 2 + instance["depth"] * (x[1] - x[0] ** 2) ** 2)


def slope(x, instance):
    bend = x[1] - x[0] ** 2
    return np.array([-2 * (1 - x[0]) - 4 * instance["depth"] * x[0] * bend, 2 * instance["depth"] * bend])


def rosenbrock(**options):
    space = {"method": Choice("L-BFGS-B", "CG", "Nelder-Mead"), "maxiter": Whole(5, 25)}
    usual = {"method": "Nelder-Mead", "maxiter": 25}
    return scipy_minimize(valley, lambda instance: np.zeros(2), space, gradient=slope, defaults=usual, **options)


def parts(count=200):
    instances = Instances({"depth": RNG.lognormal(3, 0.5, count)})
    return pacopt.split(instances, prior=40, train=130, test=30, seed=0)


@pytest.mark.filterwarnings("ignore:Method Nelder-Mead does not use gradient")
def test_the_method_of_scipy_and_its_options_are_learned_over_what_one_used_before():
    learned = pacopt.learn(rosenbrock(), parts(), prior=QUICK)
    assert learned.hyper["method"] in ("L-BFGS-B", "CG")
    assert "times smaller than that of the defaults" in learned.certificate.sentences["gain"]
    assert audit(learned.certificate.to_dict(), learned.table).passed
    solution = learned.solve({"depth": np.float64(20.0)})
    np.testing.assert_allclose(solution.x, [1.0, 1.0], atol=0.2)
    assert solution.loss < solution.start_loss


def test_iterations_of_scipy_are_an_effort():
    learned = pacopt.learn(
        rosenbrock(), parts(), prior=QUICK, score=Effort("solved", 100, unit="iterations"), baseline=None
    )
    assert 5 < learned.certificate.deployed.risk <= 100


def test_a_program_is_a_solver():
    """Newton's method for a square root, in a program of its own that reads its instance from a file."""
    code = (
        "import sys, numpy as np; a = float(np.load(sys.argv[2])['a']); x, k = float(sys.argv[1]), 0\n"
        "if a > 90: sys.exit('too large')\n"
        "while abs(x * x - a) > 1e-9 and k < 100: x, k = (x + a / x) / 2, k + 1\n"
        "print(abs(x * x - a), k)"
    )
    program = Command(f'{sys.executable} -c "{code}" {{guess}} {{file}}', parse=read)
    engine = BlackBox(program, {"guess": Interval(0.1, 100.0)})
    table = engine.counting("iterations", None).table({"guess": [2.0]}, Instances({"a": np.array([4.0, 2.0, 99.0])}))
    assert table.losses[0, 0] == 0
    assert 3 <= table.losses[0, 1] <= 6
    assert table.losses[0, 2] == np.inf
    assert table.provenance["failures"] == {"RuntimeError": 1}


def read(output):
    loss, iterations = output.split()
    return Result(loss=float(loss), iterations=int(iterations), success=float(loss) < 1e-8)


def test_what_is_no_command_is_refused():
    with pytest.raises(EngineError):
        Command("", parse=float)
    with pytest.raises(EngineError):
        Command("true", parse=3)
    engine = BlackBox(Command("echo {tolerance}", parse=float), {"tol": Interval(0.1, 1.0)})
    with pytest.raises(EngineError, match=r"has \{tolerance\}, but there is no such value"):
        engine.table({"tol": [0.5]}, Instances({"a": np.ones(2)}))


def test_a_program_gets_the_file_that_an_instance_is(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"{number}\n")
    program = Command("awk '{{ print $1 * {a} }}' {file}", parse=float)
    engine = BlackBox(program, {"a": Interval(0.0, 1.0)})
    files = Instances.of_files(sorted(tmp_path.iterdir()))
    assert engine.table({"a": [0.5]}, files).losses.tolist() == [[0.0, 0.5, 1.0]]
