"""What keeps JAX from running, or stops it half-way, is said in words."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pacopt import AbstractAlgorithm, AbstractProblem, Instances, Interval, tabulate
from pacopt.errors import ProblemError

FORK = """
import multiprocessing
import pacopt
law = pacopt.VaryingCurvature.draw(seed=0, n=3)
def run(method):
    try:
        candidates = {"step_size": 1e-4}
        return pacopt.tabulate(law.problem, pacopt.GradientDescent(), candidates, law.sample(4, seed=1), steps=2).shape
    except pacopt.errors.EngineError as error:
        return str(error)
if __name__ == "__main__":
    used = run(None) if %s else None
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.map_async(run, [None]).get(60)[0])
"""


class Measured(AbstractProblem):
    """Reads a sensor that is off for some instances, at the start already or only later."""

    off_at_start: bool

    def start(self, instance):
        return jnp.zeros(())

    def loss(self, x, instance):
        def sensor(x, number):
            if number == 7 and (self.off_at_start or x > 0):
                raise OSError("sensor offline")
            return np.asarray(number, dtype=np.float64)

        read = jax.pure_callback(
            sensor, jax.ShapeDtypeStruct((), np.float64), x, instance["number"], vmap_method="sequential"
        )
        return (x - jax.lax.stop_gradient(read)) ** 2


class Walk(AbstractAlgorithm):
    hyperparameters = {"step_size": Interval(0.01, 1.0)}

    def init(self, start, hyper, objective):
        return start

    def step(self, x, hyper, objective):
        return x + hyper["step_size"]

    def read(self, x):
        return x


@pytest.mark.parametrize(("at_start", "where"), [(True, "at the starts"), (False, "on instances 0 to 9")])
@pytest.mark.filterwarnings("ignore")
def test_a_callback_that_raises_on_some_instances_is_a_mistake_that_is_explained(at_start, where):
    instances = Instances({"number": np.arange(1.0, 11.0)})
    with pytest.raises(ProblemError) as error:
        tabulate(Measured(at_start), Walk(), {"step_size": 0.1}, instances, steps=2)
    assert where in error.value.found
    assert error.value.found.endswith("OSError: sensor offline.")
    assert ("Leave out" if at_start else "Return NaN") in error.value.remedy


@pytest.mark.parametrize(
    ("used", "answer"),
    [
        (True, "was forked after JAX had been used"),
        pytest.param(False, "(1, 4)", marks=pytest.mark.slow),
    ],
)
def test_a_process_that_was_forked_after_jax_was_used_says_so_and_does_not_hang(used, answer, tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(FORK % used)
    told = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=120)
    assert answer in told.stdout
