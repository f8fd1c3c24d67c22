import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.auditing.resting import _algorithm
from pacopt.engines.description import described, restored, stored
from pacopt.engines.traced.provenance import given_arrays, start_reads
from pacopt.errors import AlgorithmError
from pacopt.problems.base import AbstractKnownMinimum, AbstractProximable
from pacopt.problems.reading import fields_of_loss
from pacopt.provenance import Code, Origin

LAW = pacopt.FixedCurvature.draw(seed=0, n=6)
PARTS = pacopt.split(LAW.sample(140, seed=1), prior=60, train=60, test=20, seed=0)
#: The solution of an instance as a linear function of it, by hand.
EXACT = np.column_stack([np.linalg.inv(LAW.A), np.zeros(6)])
CG = pacopt.ConjugateGradients()


class Shifted(pacopt.AbstractProblem, AbstractKnownMinimum):
    """1/2 |x - y - z|^2 + minimum, at a point of two arrays, from a start that the instance says."""

    def start(self, instance):
        return {"one": instance["begin"], "two": jnp.zeros((1, 1))}

    def loss(self, x, instance):
        data = {"y": instance["y"], "z": instance["z"], "minimum": instance["minimum"], "begin": instance["begin"]}
        return _compiled(x, data) + instance["minimum"]

    def minimum(self, instance):
        return instance["known"]


@jax.jit
def _compiled(x, data):
    flat = jnp.concatenate([x["one"], x["two"].ravel()])
    return 0.5 * jnp.sum((flat - data["y"] - data["z"][0, 0]) ** 2)


def shifted(count, seed=0):
    rng = np.random.default_rng(seed)
    level = rng.normal(size=count)
    fields = {
        "y": rng.normal(size=(count, 3)),
        "z": rng.normal(size=(count, 1, 1)),
        "begin": rng.normal(size=(count, 2)),
    }
    return pacopt.Instances(fields | {"minimum": level, "known": level})


def ratios(algorithm, candidate, steps=1, problem=LAW.problem, instances=PARTS.test):
    return pacopt.tabulate(problem, algorithm, candidate, instances, steps=steps).ratios()[0]


def learned_with(algorithm, **options):
    return pacopt.learn(LAW.problem, algorithm, PARTS, steps=2, progress=False, **options)


def test_what_is_fitted_to_instances_with_one_matrix_is_its_inverse():
    W = pacopt.fitted_start(LAW.problem, PARTS, reads=("b",))
    np.testing.assert_allclose(W, EXACT, atol=1e-10 * np.abs(EXACT).max())


def test_from_there_a_step_ends_where_conjugate_gradients_do_not_get():
    warm = pacopt.WarmStart(CG, reads=("b",), weights=pacopt.fitted_start(LAW.problem, PARTS, reads=("b",)))
    assert ratios(warm, {}).max() < 1e-20
    assert ratios(CG, {}).min() > 1e-3


def test_the_start_of_the_problem_is_what_ratios_are_to_and_what_the_safeguard_returns():
    wrong = pacopt.WarmStart(pacopt.GradientDescent(), reads="b", weights=1e3 * EXACT)
    still = {"step_size": [1e-12]}
    table = pacopt.tabulate(LAW.problem, wrong, still, PARTS.test, steps=1)
    b = PARTS.test.fields["b"]
    np.testing.assert_allclose(table.starts, 0.5 * np.sum(b**2, axis=1), rtol=1e-12)
    np.testing.assert_allclose(table.ratios()[0], 999.0**2, rtol=1e-6)
    assert not table.succeeded().any()
    np.testing.assert_array_equal(table.safeguarded(), 1.0)
    engine = pacopt.Traced(LAW.problem, wrong, 1)
    np.testing.assert_array_equal(engine.solve({"step_size": 1e-12}, PARTS.test[0]).x, np.zeros(6))


def test_a_start_that_is_not_finite_is_a_failure_and_the_safeguard_returns_the_problems():
    huge = pacopt.WarmStart(CG, reads="b", weights=np.full((6, 7), 1e308))
    table = pacopt.tabulate(LAW.problem, huge, {}, PARTS.test, steps=1)
    assert not table.succeeded().any()
    np.testing.assert_array_equal(table.safeguarded(), 1.0)
    assert np.isfinite(table.starts).all()


def test_points_of_several_arrays_and_fields_of_any_shape_go_in_the_order_of_their_names():
    instances = shifted(5)
    W = np.column_stack([np.eye(3), np.ones(3), np.zeros(3)])
    # The start of the problem is added, so that a map that is right without it is off by just that.
    warm = pacopt.WarmStart(pacopt.GradientDescent(), reads=("y", "z"), weights=W)
    table = pacopt.tabulate(Shifted(), warm, {"step_size": [1e-30]}, instances, steps=1)
    off = 0.5 * np.sum(instances.fields["begin"] ** 2, axis=1)
    np.testing.assert_allclose(table.losses[0], off, rtol=1e-9)


def test_what_the_loss_reads_is_found_by_tracing_through_compiled_functions():
    instance = shifted(1)[0]
    found = fields_of_loss(Shifted(), Shifted().start(instance), instance)
    assert found == ("minimum", "y", "z")
    assert fields_of_loss(LAW.problem, jnp.zeros(6), {**PARTS.test[0], "note": np.zeros(2)}) == ("b",)


@pytest.mark.parametrize("name", ["known", "begin"])
def test_fields_that_only_the_minimum_or_the_start_reads_are_refused(name):
    instances = shifted(12)
    size = instances.fields[name][0].size
    warm = pacopt.WarmStart(CG, reads=(name,), weights=np.zeros((3, size + 1)))
    with pytest.raises(AlgorithmError, match=f"reads the field '{name}', but the loss of Shifted does not.*'y', 'z'"):
        ratios(warm, {}, problem=Shifted(), instances=instances)
    parts = pacopt.split(instances, prior=10, train=1, test=1, seed=0)
    with pytest.raises(AlgorithmError, match="fitted_start reads the field"):
        pacopt.fitted_start(Shifted(), parts, reads=(name,))


def test_unknown_fields_are_refused_with_the_nearest_name():
    warm = pacopt.WarmStart(CG, reads=("bb",), weights=EXACT)
    with pytest.raises(AlgorithmError, match=r"reads the field 'bb'.*did you mean 'b'\?"):
        ratios(warm, {})


@pytest.mark.parametrize("reads", [(), 3, ("b", "b"), (1,)])
def test_names_that_are_none_are_refused(reads):
    with pytest.raises(AlgorithmError, match="reads is"):
        pacopt.WarmStart(CG, reads=reads, weights=EXACT)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "no weights"),
        ({"dimension": 6}, "no weights"),
        ({"dimension": 0, "features": 6}, "dimension of WarmStart is 0"),
        ({"dimension": 6, "features": 1.5}, "features of WarmStart is 1.5"),
        ({"weights": np.zeros(6)}, "matrix of real numbers"),
        ({"weights": np.zeros((6, 7), dtype=int)}, "matrix of real numbers"),
        ({"weights": np.full((6, 7), np.inf)}, "not finite"),
        ({"weights": EXACT, "dimension": 5}, "dimension=5"),
        ({"weights": EXACT, "features": 3}, "features=3"),
    ],
)
def test_weights_and_sizes_that_are_none_are_refused(given, message):
    with pytest.raises(AlgorithmError, match=message):
        pacopt.WarmStart(CG, reads=("b",), **given)


@pytest.mark.parametrize("given", [{"weights": EXACT[:5]}, {"weights": EXACT[:, 1:]}])
def test_weights_for_another_problem_are_refused(given):
    with pytest.raises(AlgorithmError, match=r"6 unknowns, the fields b have 6 numbers"):
        ratios(pacopt.WarmStart(CG, reads="b", **given), {})


def test_algorithms_that_draw_random_numbers_or_have_the_same_names_are_refused():
    class Noisy(pacopt.AbstractStochasticAlgorithm):
        hyperparameters = {"step_size": pacopt.Interval(0.1, 1.0)}

        def init(self, x, hyper, objective, key):
            return x

        def step(self, x, hyper, objective, key):
            return x

        def read(self, x):
            return x

    with pytest.raises(AlgorithmError, match="draws no random numbers"):
        pacopt.WarmStart(Noisy(), reads="b", weights=EXACT)
    trained = pacopt.WarmStart(CG, reads="b", dimension=6, features=6)
    with pytest.raises(AlgorithmError, match="both have a hyperparameter 'start'"):
        pacopt.WarmStart(trained, reads="b", dimension=6, features=6)


def test_what_is_no_split_is_refused_and_so_is_a_proximal_map():
    class Sparse(Shifted, AbstractProximable):
        def smooth(self, x, instance):
            return self.loss(x, instance)

        def prox(self, x, step_size, instance):
            return x

    with pytest.raises(AlgorithmError, match="certificate would be void"):
        pacopt.fitted_start(LAW.problem, PARTS.train, reads="b")
    parts = pacopt.split(shifted(12), prior=10, train=1, test=1, seed=0)
    with pytest.raises(AlgorithmError, match="proximal map"):
        pacopt.fitted_start(Sparse(), parts, reads="y")
    few = pacopt.split(shifted(12), prior=5, train=6, test=1, seed=0)
    with pytest.raises(AlgorithmError, match="At least 8"):
        pacopt.fitted_start(Shifted(), few, reads="y")


def test_training_and_test_instances_are_not_looked_at():
    other = LAW.sample(30, seed=9)
    replaced = pacopt.Split(prior=PARTS.prior, train=other[:20], test=other[20:])
    one, same = (pacopt.fitted_start(LAW.problem, each, reads="b") for each in (PARTS, replaced))
    np.testing.assert_array_equal(one, same)


def test_with_fewer_instances_than_numbers_the_penalty_keeps_the_fit_from_being_wild():
    law = pacopt.FixedCurvature.draw(seed=3, n=30)
    few = pacopt.split(law.sample(60, seed=1), prior=16, train=22, test=22, seed=0)
    warm = pacopt.WarmStart(
        pacopt.GradientDescent(), reads="b", weights=pacopt.fitted_start(law.problem, few, reads="b")
    )
    found = ratios(warm, {"step_size": [1e-12]}, problem=law.problem, instances=few.test)
    assert np.minimum(found, 1.0).mean() < 0.9


def test_a_trained_start_is_at_first_the_problems_or_the_one_that_was_fitted():
    plain = pacopt.WarmStart(pacopt.GradientDescent(), reads="b", dimension=6, features=6)
    fitted = pacopt.WarmStart(pacopt.GradientDescent(), reads="b", weights=EXACT, dimension=6)
    assert plain.hyperparameters["start"].shape == fitted.hyperparameters["start"].shape == (6, 7)
    one, other = (
        ratios(each, {k: np.asarray(v)[None] for k, v in each.initial(0).items()}) for each in (plain, fitted)
    )
    np.testing.assert_array_equal(one, ratios(pacopt.GradientDescent(), {"step_size": plain.initial(0)["step_size"]}))
    assert other.max() < 1e-20


def test_training_finds_a_start_that_is_better_than_none():
    quick = pacopt.priors.Train(updates=60, batch=16, restarts=1, candidates=4, rate=0.02)
    trained = pacopt.WarmStart(pacopt.GradientDescent(), reads="b", dimension=6, features=6)
    learned = learned_with(trained, prior=quick)
    found = {name: values[:1] for name, values in learned.table.candidates.items()}
    none = {**found, "start": np.zeros((1, 6, 7))}
    assert ratios(trained, found, steps=2).mean() < 0.7 * ratios(trained, none, steps=2).mean()


def test_certificate_report_and_verification_name_the_fields_and_what_the_user_vouches_for(tmp_path):
    learned = learned_with(pacopt.WarmStart(CG, reads=("b",), weights=EXACT))
    text = str(learned.certificate)
    assert "Runs begin at a point computed from the instance (b)." in text
    assert "- runs start at a point computed from fields of the instance that the loss reads too (b) (checked)" in text
    assert "arrays built into the algorithm (weights) were not computed from training instances (declared)" in text
    learned.save(tmp_path / "run")
    assert "Runs begin at a point computed from the instance (b)." in (tmp_path / "run" / "report.html").read_text()
    assert pacopt.verify(tmp_path / "run", rerun=5).passed


def test_without_a_start_or_arrays_of_its_own_nothing_is_said_of_them():
    text = str(learned_with(CG).certificate)
    assert "Runs begin" not in text
    assert "arrays that the algorithm" not in text


@pytest.mark.parametrize("note", ["b", {"b": 1}, [1], 3])
def test_a_note_of_somebodys_own_under_the_same_name_is_not_read(note):
    notes = {"start_reads": note, "given_arrays": note}
    assert Origin.of(notes).start_reads == Origin.of(notes).given_arrays == ()
    assert _algorithm(notes) == []


def test_what_is_read_and_given_is_found_in_algorithms_inside_of_others():
    metric = np.ones(6)
    inner = pacopt.WarmStart(pacopt.Preconditioned(CG, metric), reads=("b",), weights=EXACT)
    outer = pacopt.Preconditioned(inner, metric)
    assert start_reads(outer) == ("b",)
    assert set(given_arrays(outer)) == {"metric", "algorithm.weights", "algorithm.algorithm.metric"}
    assert given_arrays(pacopt.QuasiNewtonRule(3)) == ()


def test_it_is_stored_and_found_again():
    algorithm = pacopt.WarmStart(pacopt.HeavyBall(), reads=("y", "z"), weights=EXACT, dimension=6)
    description, arrays = stored(algorithm, "algorithm")
    before = Code.of(described(algorithm))
    again = restored(json.loads(json.dumps(description)), arrays, "algorithm", pacopt.AbstractAlgorithm, before)
    assert again.reads == ("y", "z")
    assert described(again) == described(algorithm)


@pytest.mark.parametrize("trained", [{}, {"dimension": 6}])
def test_it_is_an_algorithm_like_any_other(trained):
    algorithm = pacopt.WarmStart(pacopt.HeavyBall(), reads=("b",), weights=EXACT, **trained)
    pacopt.testing.check_algorithm(algorithm, LAW.problem, LAW.sample(20, seed=5))
