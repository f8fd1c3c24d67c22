"""The line search, trial by trial, and the methods that use it where it matters."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize._dcsrch import DCSRCH

import pacopt
from pacopt import LBFGS, BarzilaiBorwein, NonlinearConjugateGradients
from pacopt.algorithms import more_thuente
from stepping import by_name, path


@cache
def compiled(curvature):
    return jax.jit(partial(more_thuente.advanced, decrease=1e-3, curvature=curvature))


LINES = {
    # Moré and Thuente (1994, sec. 5, functions 1 and 2), one with many minima, and a parabola.
    "1": lambda a: (-a / (a * a + 2), (a * a - 2) / (a * a + 2) ** 2),
    "2": lambda a: ((a + 0.004) ** 5 - 2 * (a + 0.004) ** 4, 5 * (a + 0.004) ** 4 - 8 * (a + 0.004) ** 3),
    "wavy": lambda a: (a * a - 2.5 * a + 0.3 * np.sin(8 * a), 2 * a - 2.5 + 2.4 * np.cos(8 * a)),
    "parabola": lambda a: ((a - 3) ** 2, 2 * (a - 3)),
}


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("curvature", [0.001, 0.1, 0.9])
@pytest.mark.parametrize("first", [1e-3, 0.1, 10.0, 1e3])
def test_every_trial_of_the_line_search_is_that_of_minpack(line, curvature, first):
    phi, theirs = LINES[line], []
    reference = DCSRCH(None, None, 1e-3, curvature, more_thuente.NARROW, 0.0, 1e300)
    step, *_, task = reference._iterate(first, *phi(0.0), b"START")
    while task[:2] == b"FG" and len(theirs) < more_thuente.MOST_TRIALS:
        theirs.append(float(step))
        step, *_, task = reference._iterate(step, *phi(step), task)
    ours = []
    with jax.enable_x64(True):
        go = compiled(curvature)
        search, ended = more_thuente.searching(*(jnp.asarray(value) for value in phi(0.0)), first), False
        while not ended:
            ours.append(float(search.trial))
            search, accepted, failed = go(search, *(jnp.asarray(value) for value in phi(ours[-1])))
            ended = bool(accepted | failed)
    assert ours == pytest.approx(theirs, rel=1e-9)
    # Like L-BFGS-B, where no step satisfies both conditions we take one that lowers the loss enough.
    enough = phi(ours[-1])[0] <= phi(0.0)[0] + 1e-3 * ours[-1] * phi(0.0)[1]
    assert bool(accepted) == (task[:4] == b"CONV" or (task[:4] == b"WARN" and enough))


class Rosenbrock(pacopt.AbstractProblem):
    """The banana, which is not convex."""

    def start(self, instance):
        return {"x": instance["x"], "y": jnp.ones(())}

    def loss(self, x, instance):
        return (1 - x["x"]) ** 2 + 100 * (x["y"] - x["x"] ** 2) ** 2


@pytest.mark.parametrize(
    ("algorithm", "steps"), [(LBFGS(), 60), (NonlinearConjugateGradients(), 150), (BarzilaiBorwein(), 300)], ids=str
)
def test_the_banana_is_minimised(algorithm, steps):
    points = path(algorithm, Rosenbrock(), {"x": np.float64(-1.2)}, steps)
    assert points["x"][-1] == pytest.approx(1, abs=1e-6)
    assert points["y"][-1] == pytest.approx(1, abs=1e-6)


class Barrier(pacopt.AbstractProblem):
    """x - log x, which is not a number for x < 0 and lowest at 1."""

    def start(self, instance):
        return instance["x"]

    def loss(self, x, instance):
        return jnp.sum(x - jnp.log(x))


@pytest.mark.parametrize("algorithm", [LBFGS(), NonlinearConjugateGradients(), BarzilaiBorwein()], ids=by_name)
def test_a_trial_outside_of_the_domain_is_shortened(algorithm):
    points = path(algorithm, Barrier(), {"x": np.array([1e-3, 9.0, 2.0])}, 60)
    assert np.isfinite(points).all()
    np.testing.assert_allclose(points[-1], 1, rtol=1e-5)
