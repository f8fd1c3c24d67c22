import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.engines.description import described
from pacopt.errors import AlgorithmError
from pacopt.priors import Train
from pacopt.priors.trials import Trials

LAW = pacopt.VaryingCurvature.draw(seed=0, n=6)
SOME = LAW.sample(5, seed=1)
CONSTANT = {
    pacopt.GradientDescent: {"step_size": 3e-4},
    pacopt.HeavyBall: {"step_size": 3e-4, "momentum": 0.7},
    pacopt.Nesterov: {"step_size": 2e-4, "momentum": 0.8},
    pacopt.FISTA: {"step_size": 2e-4},
}


def losses(algorithm, candidate, instances=SOME, steps=6, problem=LAW.problem):
    stacked = {name: np.asarray(value, dtype=float)[None] for name, value in candidate.items()}
    return pacopt.tabulate(problem, algorithm, stacked, instances, steps=steps).losses[0]


@pytest.mark.parametrize("kind", CONSTANT)
def test_a_constant_schedule_is_the_algorithm_itself(kind):
    schedule = pacopt.Schedule(kind(), 6)
    repeated = {name: np.full(6, value) for name, value in CONSTANT[kind].items()}
    np.testing.assert_allclose(losses(schedule, repeated), losses(kind(), CONSTANT[kind]), rtol=1e-12)


def test_each_step_has_numbers_of_its_own_and_a_longer_run_goes_on_with_the_last():
    steps, momenta = np.array([1e-4, 3e-4, 2e-4]), np.array([0.9, 0.1, 0.5])
    schedule = pacopt.Schedule(pacopt.HeavyBall(), 3)
    found = losses(schedule, {"step_size": steps, "momentum": momenta}, steps=5)
    for row, instance in enumerate(SOME):
        a, b = instance["diagonal"], instance["b"]
        x = previous = np.zeros_like(b)
        for k in [0, 1, 2, 2, 2]:
            x, previous = x - steps[k] * a * (a * x - b) + momenta[k] * (x - previous), x
        assert found[row] == pytest.approx(0.5 * np.sum((a * x - b) ** 2), rel=1e-10)


def test_the_steps_of_young_solve_a_quadratic_with_two_curvatures_in_two_steps():
    instances = pacopt.Instances({"diagonal": np.array([[1.0, 3.0]]), "b": np.array([[2.0, -5.0]])})
    schedule = pacopt.Schedule(pacopt.GradientDescent(), 2)
    found = losses(schedule, {"step_size": [1.0, 1 / 9]}, instances, 2, pacopt.DiagonalQuadratic())
    assert found[0] < 1e-25


def test_training_beats_the_constant_pair_that_it_starts_from():
    start = CONSTANT[pacopt.HeavyBall]
    schedule = pacopt.Schedule(pacopt.HeavyBall(), 6, start)
    engine = pacopt.Traced(LAW.problem, schedule, 6)
    prior = LAW.sample(60, seed=2)
    trials = Trials(engine.table, prior, engine.space, train=100, seed=0, steps=6, trains=engine.training)
    support = Train(updates=200, batch=16, restarts=1, candidates=2)(trials).support
    trained = {name: values[0] for name, values in support.items()}
    assert trained["step_size"].shape == (6,)
    fresh = LAW.sample(200, seed=3)
    before = losses(pacopt.HeavyBall(), start, fresh)
    assert losses(schedule, trained, fresh).mean() < 0.9 * before.mean()


def test_training_starts_where_it_is_told_or_in_the_middle():
    told = pacopt.Schedule(pacopt.HeavyBall(), 2, {"step_size": 0.1, "momentum": 0.5}).initial(0)
    np.testing.assert_array_equal(told["step_size"], [0.1, 0.1])
    middle = pacopt.Schedule(pacopt.GradientDescent(), 2).initial(0)
    np.testing.assert_allclose(middle["step_size"], [1e-3, 1e-3])


def test_it_is_an_algorithm_like_any_other():
    pacopt.testing.check_algorithm(pacopt.Schedule(pacopt.Nesterov(), 3), LAW.problem, LAW.sample(20, seed=1))


def test_schedules_of_two_algorithms_are_not_taken_for_each_other():
    one, other = (described(pacopt.Schedule(each, 3)) for each in (pacopt.GradientDescent(), pacopt.FISTA()))
    assert one != other


class Drawing(pacopt.AbstractStochasticAlgorithm):
    hyperparameters = {"step_size": pacopt.Interval(0.0, 1.0)}

    def init(self, x, hyper, objective, key):
        return x

    def step(self, x, hyper, objective, key):
        return x

    def read(self, x):
        return jnp.asarray(x)


@pytest.mark.parametrize("algorithm", [pacopt.LBFGS(), pacopt.ScalarRule(3), Drawing()])
def test_an_algorithm_without_numbers_to_repeat_is_refused(algorithm):
    with pytest.raises(AlgorithmError, match="hyperparameters are intervals"):
        pacopt.Schedule(algorithm, 3)


def test_a_length_or_a_start_that_is_none_is_refused():
    with pytest.raises(AlgorithmError, match="whole number"):
        pacopt.Schedule(pacopt.HeavyBall(), 0)
    with pytest.raises(AlgorithmError, match="step_size, momentum"):
        pacopt.Schedule(pacopt.HeavyBall(), 3, {"step_size": 0.1})
