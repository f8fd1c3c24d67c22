import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.engines.description import described, restored, stored
from pacopt.errors import AlgorithmError
from pacopt.priors.trials import Trials
from pacopt.problems.base import Objective
from pacopt.provenance import Code

RNG = np.random.default_rng(0)


class Layers(pacopt.AbstractProblem):
    """1/2 x'Hx - b'x + scale * quartic, at a point of two arrays, from a start that is not zero."""

    quartic: float = 0.0

    def start(self, instance):
        return {"one": jnp.ones(2), "two": jnp.full((2, 1), -1.0)}

    def loss(self, x, instance):
        flat = jnp.concatenate([x["one"], x["two"].ravel()]) - instance["b"]
        return instance["scale"] * (0.5 * flat @ instance["H"] @ flat + self.quartic * jnp.sum(flat**4))


def quadratics(count, hessian, seed=1, scale=None):
    rng = np.random.default_rng(seed)
    return pacopt.Instances(
        {
            "H": np.tile(hessian, (count, 1, 1)),
            "b": rng.normal(size=(count, 4)),
            "scale": np.ones(count) if scale is None else scale,
        }
    )


def parts(instances):
    third = len(instances) // 3
    return pacopt.Split(
        prior=instances[:third], train=instances[third : 2 * third], test=instances[2 * third :], allow_duplicates=True
    )


HESSIAN = np.array([[50.0, 3.0, 0.0, 1.0], [3.0, 40.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.2], [1.0, 0.0, 0.2, 0.3]])
SPLIT = parts(quadratics(12, HESSIAN))
METRICS = (pacopt.whitening, pacopt.diagonal_scaling, pacopt.layer_scaling)


def losses(algorithm, candidate, steps=4, problem=None, instances=SPLIT.test):
    return pacopt.tabulate(problem or Layers(), algorithm, candidate, instances, steps=steps).losses[0]


def test_the_metric_of_a_quadratic_is_its_curvature():
    whole, diagonal, layers = (learn(Layers(), SPLIT) for learn in METRICS)
    np.testing.assert_allclose(whole @ HESSIAN @ whole, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(diagonal, np.diag(HESSIAN) ** -0.5, rtol=1e-9)
    np.testing.assert_allclose(layers, np.array([45.0, 45.0, 0.4, 0.4]) ** -0.5, rtol=1e-9)


def test_in_the_metric_of_the_hessian_one_gradient_step_is_newtons():
    newton = pacopt.Preconditioned(pacopt.GradientDescent(), pacopt.whitening(Layers(), SPLIT))
    assert losses(newton, {"step_size": [1.0]}, steps=1).max() < 1e-18


@pytest.mark.parametrize("M", [RNG.normal(size=(4, 4)), RNG.uniform(0.5, 2.0, 4)])
def test_heavy_ball_in_a_metric_does_what_is_written_by_hand(M):
    found = losses(pacopt.Preconditioned(pacopt.HeavyBall(), M), {"step_size": [0.003], "momentum": [0.6]})
    square = M @ M.T if M.ndim == 2 else np.diag(M**2)
    for row, instance in enumerate(SPLIT.test):
        x = previous = np.array([1.0, 1.0, -1.0, -1.0])
        for _ in range(4):
            gradient = HESSIAN @ (x - instance["b"])
            x, previous = x - 0.003 * square @ gradient + 0.6 * (x - previous), x
        off = x - instance["b"]
        assert found[row] == pytest.approx(0.5 * off @ HESSIAN @ off, rel=1e-9)


@pytest.mark.parametrize(
    "algorithm",
    [
        pacopt.LBFGS(),
        pacopt.BarzilaiBorwein(),
        pacopt.NonlinearConjugateGradients(),
        pacopt.QuasiNewtonRule(4, width=3),
    ],
)
def test_every_method_that_rotation_does_not_change_depends_on_the_metric_alone(algorithm):
    M = RNG.normal(size=(4, 4)) + 2 * np.eye(4)
    Q = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    candidate = {} if not algorithm.hyperparameters else jax.tree.map(lambda a: a[None], algorithm.initial(0))
    here, there = (losses(pacopt.Preconditioned(algorithm, each), candidate) for each in (M, M @ Q))
    np.testing.assert_allclose(here, there, rtol=1e-7)
    assert np.abs(here / losses(algorithm, candidate) - 1).max() > 1e-3


def test_the_metric_of_the_identity_changes_nothing():
    plain = losses(pacopt.BarzilaiBorwein(), {})
    same = losses(pacopt.Preconditioned(pacopt.BarzilaiBorwein(), np.ones(4)), {})
    np.testing.assert_allclose(same, plain, rtol=1e-9)


def test_a_run_that_does_not_move_stays_exactly_at_the_start():
    M = RNG.normal(size=(4, 4))
    still = pacopt.Preconditioned(pacopt.GradientDescent(), M)
    state = still.init(Layers().start({}), {"step_size": 0.0}, Objective(Layers(), SPLIT.test[0]))
    for found, start in zip(jax.tree.leaves(still.read(state)), jax.tree.leaves(Layers().start({})), strict=True):
        np.testing.assert_array_equal(found, start)


def test_training_and_test_instances_are_not_looked_at():
    other = parts(pacopt.Instances({name: a.copy() for name, a in quadratics(12, HESSIAN).fields.items()}))
    strange = quadratics(4, 1e3 * np.eye(4), seed=5)
    replaced = pacopt.Split(prior=other.prior, train=strange, test=other.test, allow_duplicates=True)
    for learn in METRICS:
        np.testing.assert_array_equal(learn(Layers(), replaced), learn(Layers(), SPLIT))


def test_the_units_of_the_loss_of_an_instance_do_not_decide_how_much_it_counts():
    rng = np.random.default_rng(3)
    two = np.where(np.arange(12)[:, None, None] % 2 == 0, np.diag([9.0, 1.0, 1.0, 1.0]), np.diag([1.0, 1.0, 1.0, 9.0]))
    fields = {"H": two, "b": rng.normal(size=(12, 4))}
    even = parts(pacopt.Instances(fields | {"scale": np.ones(12)}))
    odd = parts(pacopt.Instances(fields | {"scale": np.where(np.arange(12) % 2 == 0, 1e6, 1.0)}))
    one, other = pacopt.whitening(Layers(), even), pacopt.whitening(Layers(), odd)
    np.testing.assert_allclose(other / other[0, 0], one / one[0, 0], atol=1e-9)


def test_curvature_is_measured_where_descent_leads():
    start, end = (pacopt.diagonal_scaling(Layers(1.0), SPLIT, steps=steps) for steps in (0, 100))
    np.testing.assert_allclose(end, np.diag(HESSIAN) ** -0.5, rtol=1e-4)
    assert np.all(start < 0.99 * end)


def test_directions_without_curvature_or_with_a_negative_one_have_a_finite_scale():
    flat = parts(quadratics(12, np.diag([4.0, -1.0, 0.0, 0.0])))
    scales = pacopt.diagonal_scaling(Layers(), flat, steps=0)
    np.testing.assert_allclose(scales, [0.5, 1.0, 5e3, 5e3], rtol=1e-9)


def test_it_starts_training_where_the_algorithm_does():
    rule = pacopt.QuasiNewtonRule(3, width=2)
    inside, alone = pacopt.Preconditioned(rule, np.ones(4)).initial(7), rule.initial(7)
    jax.tree.map(np.testing.assert_array_equal, inside, alone)
    assert pacopt.Preconditioned(pacopt.GradientDescent(), np.ones(4)).initial(0) == {"step_size": pytest.approx(1e-3)}


def test_it_is_an_algorithm_like_any_other():
    algorithm = pacopt.Preconditioned(pacopt.HeavyBall(), RNG.normal(size=(4, 4)) / 9)
    pacopt.testing.check_algorithm(algorithm, Layers(), quadratics(20, HESSIAN))


def test_what_is_inside_is_part_of_what_it_is():
    one, other, third = (
        described(pacopt.Preconditioned(each, scale * np.ones(4)))
        for each, scale in ((pacopt.GradientDescent(), 1), (pacopt.FISTA(), 1), (pacopt.GradientDescent(), 2))
    )
    assert len({one["fields"], other["fields"], third["fields"]}) == 3


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_an_algorithm_in_an_algorithm_is_stored_and_found_again_if_nothing_has_changed(scale):
    inner = pacopt.Schedule(pacopt.HeavyBall(), 3, {"step_size": 0.1, "momentum": 0.5})
    algorithm = pacopt.Preconditioned(inner, np.arange(1.0, 5.0))
    description, arrays = stored(algorithm, "algorithm")
    arrays = {name: scale * array for name, array in arrays.items()}
    before = Code.of(described(algorithm))
    again = restored(json.loads(json.dumps(description)), arrays, "algorithm", pacopt.AbstractAlgorithm, before)
    if scale == 1.0:
        assert described(again) == described(algorithm)
        assert again.algorithm.start == inner.start
    else:
        assert again is None


@pytest.mark.parametrize("metric", [np.ones((3, 4)), np.ones(()), np.ones((2, 2, 2)), np.arange(3), np.array([np.nan])])
def test_what_is_no_metric_is_refused(metric):
    with pytest.raises(AlgorithmError, match=r"square matrix|not finite"):
        pacopt.Preconditioned(pacopt.LBFGS(), metric)


def test_a_metric_for_another_number_of_unknowns_is_refused():
    with pytest.raises(AlgorithmError, match="4 unknowns, but the metric is for 3"):
        losses(pacopt.Preconditioned(pacopt.LBFGS(), np.ones(3)), {})


def test_what_is_no_split_is_refused():
    with pytest.raises(AlgorithmError, match="certificate would be void"):
        pacopt.whitening(Layers(), SPLIT.train)


def test_a_problem_with_a_proximal_map_is_refused():
    class Sparse(Layers, pacopt.AbstractProximable):
        def smooth(self, x, instance):
            return self.loss(x, instance)

        def prox(self, x, step_size, instance):
            return x

    with pytest.raises(AlgorithmError, match="proximal map"):
        losses(pacopt.Preconditioned(pacopt.LBFGS(), np.ones(4)), {}, problem=Sparse())
    with pytest.raises(AlgorithmError, match="proximal map"):
        pacopt.whitening(Sparse(), SPLIT)


TRAINED = ({}, {"rank": 0}, {"rank": 2})


def one(algorithm, seed=0):
    """Where training starts, as a table of one candidate."""
    return jax.tree.map(lambda array: np.asarray(array)[None], algorithm.initial(seed))


@pytest.mark.parametrize("rank", TRAINED)
@pytest.mark.parametrize("metric", [None, RNG.uniform(0.5, 2.0, 4), RNG.normal(size=(4, 4))])
def test_a_metric_that_is_trained_is_at_first_the_one_that_was_given(rank, metric):
    trained = pacopt.Preconditioned(pacopt.HeavyBall(), metric, dimension=4, **rank)
    fixed = pacopt.HeavyBall() if metric is None else pacopt.Preconditioned(pacopt.HeavyBall(), metric)
    numbers = {"step_size": np.array([0.003]), "momentum": np.array([0.6])}
    np.testing.assert_allclose(losses(trained, one(trained) | numbers), losses(fixed, numbers), rtol=1e-12)


@pytest.mark.parametrize("rank", TRAINED)
@pytest.mark.parametrize("metric", [None, RNG.uniform(0.5, 2.0, 4), RNG.normal(size=(4, 4))])
def test_what_is_trained_is_multiplied_by_the_metric(rank, metric):
    trained = pacopt.Preconditioned(pacopt.GradientDescent(), metric, dimension=4, **rank)
    rng = np.random.default_rng(5)
    shapes = {name: space.shape for name, space in trained.hyperparameters.items() if space.shape}
    C = {name: rng.uniform(0.5, 1.5, size=shape) for name, shape in shapes.items()}
    matrix = C["matrix"] if "matrix" in C else np.diag(C["scale"])
    if "left" in C:
        matrix = matrix + C["left"] @ C["right"].T
    M = np.eye(4) if metric is None else metric if metric.ndim == 2 else np.diag(metric)
    fixed = pacopt.Preconditioned(pacopt.GradientDescent(), M @ matrix)
    step = {"step_size": np.array([1e-4])}
    found = losses(trained, step | {name: array[None] for name, array in C.items()})
    np.testing.assert_allclose(found, losses(fixed, step), rtol=1e-10)


@pytest.mark.parametrize("rank", TRAINED)
def test_a_trained_metric_ends_far_below_every_step_size_without_one(rank):
    split = parts(quadratics(90, HESSIAN))
    engine = pacopt.Traced(Layers(), pacopt.Preconditioned(pacopt.GradientDescent(), dimension=4, **rank), 3)
    trials = Trials(engine.table, split.prior, engine.space, train=30, seed=0, steps=3, trains=engine.training)
    measure = pacopt.priors.Train(updates=300, batch=8, restarts=1, candidates=4, rate=0.05)(trials)
    found = {name: values[:1] for name, values in measure.support.items()}
    assert all(np.any(found[name] != array) for name, array in one(engine.algorithm).items())
    steps = {"step_size": np.geomspace(1e-4, 1.0, 60)}
    plain = pacopt.tabulate(Layers(), pacopt.GradientDescent(), steps, split.test, steps=3)
    assert engine.table(found, split.test).safeguarded().mean() < 0.5 * plain.safeguarded().mean(axis=1).min()


def test_another_seed_is_another_start_of_a_metric_of_low_rank():
    algorithm = pacopt.Preconditioned(pacopt.GradientDescent(), dimension=4, rank=1)
    assert np.any(algorithm.initial(0)["left"] != algorithm.initial(1)["left"])
    np.testing.assert_array_equal(algorithm.initial(3)["left"], algorithm.initial(3)["left"])


@pytest.mark.parametrize("rank", TRAINED)
def test_a_trained_metric_is_stored_and_is_an_algorithm_like_any_other(rank):
    algorithm = pacopt.Preconditioned(pacopt.GradientDescent(), np.ones(4), dimension=4, **rank)
    pacopt.testing.check_algorithm(algorithm, Layers(), quadratics(20, HESSIAN))
    description, arrays = stored(algorithm, "algorithm")
    before = Code.of(described(algorithm))
    again = restored(json.loads(json.dumps(description)), arrays, "algorithm", pacopt.AbstractAlgorithm, before)
    assert (again.dimension, again.rank) == (4, algorithm.rank)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "neither a metric nor a dimension"),
        ({"dimension": 0}, "dimension of Preconditioned is 0"),
        ({"dimension": 4.0}, "dimension of Preconditioned is 4.0"),
        ({"dimension": 4, "rank": -1}, "rank of Preconditioned is -1"),
        ({"dimension": 4, "rank": 4}, "below the number of unknowns"),
        ({"metric": np.ones(4), "rank": 2}, "Only a trained metric has a rank"),
        ({"metric": np.ones(4), "dimension": 5}, "the metric is for 4 unknowns"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(given, message):
    with pytest.raises(AlgorithmError, match=message):
        pacopt.Preconditioned(pacopt.HeavyBall(), **given)


def test_a_dimension_that_is_not_that_of_the_points_is_refused():
    algorithm = pacopt.Preconditioned(pacopt.GradientDescent(), dimension=3)
    with pytest.raises(AlgorithmError, match=r"4 unknowns, but the metric is for 3.*dimension=4"):
        losses(algorithm, one(algorithm))


def test_a_trained_metric_around_a_trained_metric_is_refused():
    inner = pacopt.Preconditioned(pacopt.GradientDescent(), dimension=4)
    with pytest.raises(AlgorithmError, match="both have a hyperparameter 'matrix'"):
        pacopt.Preconditioned(inner, dimension=4)


def test_the_certificate_says_that_the_metric_is_vouched_for():
    metric = pacopt.whitening(Layers(), SPLIT)
    split = parts(quadratics(60, HESSIAN))
    learned = pacopt.learn(Layers(), pacopt.Preconditioned(pacopt.LBFGS(), metric), split, steps=3, progress=False)
    line = "arrays built into the algorithm (metric) were not computed from training instances (declared)"
    assert line in str(learned.certificate)


def test_lists_of_numbers_are_arrays_so_that_the_ledger_speaks_of_them():
    metric = pacopt.Preconditioned(pacopt.HeavyBall(), [1.0, 2.0])
    start = pacopt.WarmStart(pacopt.HeavyBall(), reads=("b",), weights=[[1.0, 2.0], [3.0, 4.0]])
    assert isinstance(metric.metric, np.ndarray)
    assert isinstance(start.weights, np.ndarray)
    with pytest.raises(AlgorithmError, match="not an array"):
        pacopt.Preconditioned(pacopt.HeavyBall(), [[1.0, 2.0], [3.0]])
