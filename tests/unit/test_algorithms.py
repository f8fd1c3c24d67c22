import numpy as np
import pytest

import pacopt
from cases import ALGORITHMS
from pacopt.errors import AlgorithmError


def test_standard_hyperparameters_are_those_of_the_literature():
    hyper = pacopt.HeavyBall().standard(0.05, 5000.0)
    assert hyper["step_size"] == pytest.approx(7.949641e-4, rel=1e-6)  # spec/reference.md
    assert hyper["momentum"] == pytest.approx(0.9874304, rel=1e-6)
    assert pacopt.GradientDescent().standard(1.0, 3.0) == {"step_size": 0.5}
    assert pacopt.Nesterov().standard(1.0, 4.0) == {"step_size": 0.25, "momentum": pytest.approx(1 / 3)}


@pytest.mark.parametrize("algorithm", [algorithm for algorithm, _ in ALGORITHMS])
def test_standard_hyperparameters_reach_the_rate_that_theory_promises(algorithm):
    mu, L, steps = 1.0, 100.0, 200
    diagonal = np.sqrt(np.linspace(mu, L, 20))[None]
    instances = pacopt.Instances({"diagonal": diagonal, "b": np.ones((1, 20))})
    table = pacopt.tabulate(pacopt.DiagonalQuadratic(), algorithm, algorithm.standard(mu, L), instances, steps=steps)
    kappa = L / mu
    rate = {"GradientDescent": (kappa - 1) / (kappa + 1), "Nesterov": 1 - np.sqrt(1 / kappa)}
    # The loss shrinks with the square of the distance; momentum adds a factor polynomial in the number of steps.
    factor = rate.get(type(algorithm).__name__, (np.sqrt(kappa) - 1) / (np.sqrt(kappa) + 1)) ** (2 * steps)
    assert table.losses[0, 0] <= 10 * steps**2 * factor * table.start[0] + 1e-25


@pytest.mark.parametrize(("mu", "L"), [(2.0, 1.0), (-1.0, 1.0), (0.0, 0.0), (1.0, np.inf), (np.nan, 1.0)])
def test_a_curvature_range_that_cannot_be_is_refused(mu, L):
    for algorithm, _ in ALGORITHMS:
        with pytest.raises(AlgorithmError, match="curvature"):
            algorithm.standard(mu, L)


@pytest.mark.parametrize(("low", "high", "log"), [(1.0, 1.0, False), (0.0, 1.0, True), (np.nan, 1.0, False)])
def test_an_empty_domain_is_refused(low, high, log):
    with pytest.raises(AlgorithmError, match="domain"):
        pacopt.Interval(low, high, log=log)
