"""What was learned does in optax and in SciPy what it does here, and says what of it is certified."""

import re
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import Bounds, OptimizeWarning, minimize

import exported
import pacopt
from exported import ALL, BY_ARRAY, INSTANCES, LAW, LONG, PAIR, PAIRED, STEPS, learned, paired, reached, rule
from pacopt.errors import ExportError
from pacopt.exporting.rule import rule_of
from pacopt.exporting.to_optax import transformation_of
from pacopt.exporting.to_scipy import Method

EACH = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in ALL]
)

#: Algorithms that take a gradient at the start, before their first step.
BEGINNING = (
    *("ConjugateGradients", "BarzilaiBorwein", "LBFGS", "NonlinearConjugateGradients", "QuasiNewtonRule"),
    *("QuasiNewtonRule with pairs", "Preconditioned LBFGS"),
)


def loop(transformation, loss, x, updates=None):
    """The loop that everybody writes, from its first line on within one compiled function."""

    @jax.jit
    def run(x):
        def one(carry, _):
            x, state = carry
            value, gradient = jax.value_and_grad(loss)(x)
            moves, state = transformation.update(gradient, state, x, value=value)
            return (optax.apply_updates(x, moves), state), None

        steps = transformation.updates if updates is None else updates
        (x, state), _ = jax.lax.scan(one, (x, transformation.init(x)), length=steps)
        return x, transformation.read(state, x)

    return run(x)


def by_hand(instance):
    """Loss and gradient without JAX."""
    diagonal, b = instance["diagonal"], instance["b"]
    return lambda x: 0.5 * np.sum((diagonal * x - b) ** 2), lambda x: diagonal * (diagonal * x - b)


def rounded(jac, seed):
    """Gradients whose last bit may be another."""
    rng = np.random.default_rng(seed)
    return lambda x: jac(x) * (1 + np.finfo(float).eps * rng.integers(-1, 2, size=len(x)))


@EACH
def test_optax_reaches_the_losses_of_the_table(name):
    algorithm, hyper = ALL[name]
    start, losses = reached(algorithm, hyper)
    transformation = transformation_of(rule(algorithm, hyper))
    with jax.enable_x64(True):
        for column, instance in enumerate(INSTANCES):
            _, x = loop(transformation, lambda x, i=instance: LAW.problem.loss(x, i), jnp.zeros(exported.N))
            found = LAW.problem.loss(x, instance)
            # Conjugate gradients end at 1e-30 of the start, where digits are rounding.
            np.testing.assert_allclose(found, losses[column], rtol=1e-12, atol=1e-15 * start[column])


@EACH
def test_scipy_reaches_the_losses_of_the_table_with_as_many_gradients(name):
    algorithm, hyper = ALL[name]
    start, losses = reached(algorithm, hyper)
    assert np.all(losses < start), "the safeguard has a test of its own"
    method = Method(rule(algorithm, hyper))
    for column, instance in enumerate(INSTANCES):
        fun, jac = by_hand(instance)
        result = minimize(fun, np.zeros(exported.N), jac=jac, method=method)
        nudged = [minimize(fun, np.zeros(exported.N), jac=rounded(jac, seed), method=method) for seed in range(10)]
        rounding = max(abs(other.fun - result.fun) for other in nudged)  # 1e-11 of the loss for ConjugateRule
        atol = max(10 * rounding, 1e-15 * start[column])
        np.testing.assert_allclose(result.fun, losses[column], rtol=1e-12, atol=atol)
        assert result.fun == fun(result.x)
        assert result.success
        assert result.nit == STEPS
    assert result.njev == STEPS + (name in BEGINNING)


def test_only_gradients_are_evaluated_where_only_they_are_used():
    fun, jac = by_hand(INSTANCES[0])
    result = minimize(fun, np.zeros(exported.N), jac=jac, method=Method(rule(*ALL["HeavyBall"])))
    assert (result.nfev, result.njev) == (2, STEPS), "the loss at the start and at the end are for the safeguard"


def test_what_learn_returned_is_exported_with_its_certificate():
    made = learned()
    method, transformation = made.as_scipy_method(), made.as_optax()
    index = made.certificate.deployed.index
    for column in range(3):
        fun, jac = by_hand(made.train[column])
        result = minimize(fun, np.zeros(exported.N), jac=jac, method=method)
        assert result.fun == pytest.approx(min(made.table.losses[index, column], made.table.start[column]), rel=1e-12)
    identity = made.certificate.to_dict()["hash"]
    assert result.certificate == method.certificate == transformation.certificate == identity
    assert method.steps == transformation.updates == STEPS
    for words in (method.__doc__, transformation.__doc__):
        assert identity in words
        assert f"after {STEPS} steps" in words
        assert "Not covered: other problems, other starts" in words


def test_without_the_safeguard_only_claims_hold_that_need_none():
    sentences = learned().certificate.sentences
    assert set(learned().as_scipy_method().claims) == set(sentences.values())
    held = learned().as_optax().claims
    assert sentences["quantile"] in held
    assert len(held) == 2
    assert held[0].startswith("It ends at or below its start with probability")
    assert "what needs the safeguard (risk, gain, win)" in learned().as_optax().__doc__


class Judged(pacopt.AbstractProblem, pacopt.AbstractMetric):
    """Judged by something that no other library knows."""

    quantity = "error"

    def start(self, instance):
        return jnp.zeros(exported.N)

    def loss(self, x, instance):
        return LAW.problem.loss(x, instance)

    def metric(self, x, instance):
        return jnp.max(jnp.abs(x - 1.0))


def test_where_a_metric_judges_there_is_no_safeguard_by_the_loss():
    method = Method(rule(pacopt.GradientDescent(), {"step_size": 1.0}, problem=Judged()))
    assert len(method.claims) == 2
    fun, jac = by_hand(INSTANCES[0])
    result = minimize(fun, np.zeros(exported.N), jac=jac, method=method)
    assert result.fun > fun(np.zeros(exported.N))
    assert not result.success


def test_a_run_that_ends_above_its_start_returns_the_start():
    method = Method(rule(pacopt.GradientDescent(), {"step_size": 1.0}))
    fun, jac = by_hand(INSTANCES[0])
    x0 = np.full(exported.N, 0.5)
    result = minimize(fun, x0, jac=jac, method=method)
    np.testing.assert_array_equal(result.x, x0)
    assert result.fun == fun(x0)
    assert not result.success
    assert "The start is returned" in result.message
    assert not minimize(lambda x: np.nan if x[0] else 1.0, x0 * 0, jac=lambda x: x + 1, method=method).success


@pytest.mark.parametrize("name", BY_ARRAY)
def test_points_that_are_pytrees_go_to_optax_as_they_are_and_to_scipy_as_vectors(name):
    made = paired(*BY_ARRAY[name])
    _, losses = reached(*BY_ARRAY[name], problem=PAIR, instances=PAIRED)
    with jax.enable_x64(True):
        start = PAIR.start(PAIRED[0])
        flat, as_point = jax.flatten_util.ravel_pytree(start)
        _, x = loop(transformation_of(made), lambda x: PAIR.loss(x, PAIRED[0]), start)
        both = jax.jit(jax.value_and_grad(lambda x: PAIR.loss(as_point(x), PAIRED[0])))
        result = minimize(both, np.asarray(flat), jac=True, method=Method(made))
        np.testing.assert_allclose([float(PAIR.loss(x, PAIRED[0])), result.fun], losses[0], rtol=1e-12)


def test_optax_refuses_parameters_that_are_no_point_of_the_problem():
    transformation = transformation_of(paired(*BY_ARRAY["lamb"]))
    needed = "A point of Logistic is bias of the shape [], weights of the shape [4]"
    assert f"{needed}, in this order." in transformation.__doc__
    others = {
        "an array of the shape [5]": jnp.zeros(5),
        "b of the shape [], w of the shape [4]": {"w": jnp.zeros(4), "b": jnp.zeros(())},
        "bias of the shape [], weights of the shape [3]": {"weights": jnp.zeros(3), "bias": jnp.zeros(())},
    }
    for words, params in others.items():
        with pytest.raises(ExportError, match=re.escape(f"The parameters are {words}. {needed}.")):
            transformation.init(params)


def test_scipy_says_how_a_point_is_a_vector_and_refuses_another_length():
    method = Method(paired(*BY_ARRAY["lamb"]))
    assert "is bias of the shape [], weights of the shape [4], in this order." in method.__doc__
    assert "each array after those of the array before it, row by row" in method.__doc__
    with pytest.raises(ExportError, match=re.escape("x0 has 3 numbers. A point of Logistic has 5: bias of the")):
        minimize(np.sum, np.zeros(3), jac=np.ones_like, method=method)
    preconditioned = Method(rule(*ALL["Preconditioned"]))
    with pytest.raises(ExportError, match="A point of DiagonalQuadratic has 6: an array of the shape"):
        minimize(np.sum, np.zeros(4), jac=np.ones_like, method=preconditioned)


def test_float32_parameters_stay_float32():
    algorithm, hyper = ALL["Adam"]
    _, losses = reached(algorithm, hyper)
    data = {name: jnp.asarray(array, jnp.float32) for name, array in INSTANCES[0].items()}
    transformation = transformation_of(rule(algorithm, hyper))
    with pytest.warns(UserWarning, match="does not cover this run"):
        x, _ = loop(transformation, lambda x: LAW.problem.loss(x, data), jnp.zeros(exported.N))
    assert x.dtype == jnp.float32
    assert float(LAW.problem.loss(x, data)) == pytest.approx(losses[0], rel=1e-4)


def test_a_certificate_is_for_the_precision_of_its_runs():
    made = rule(*ALL["Adam"])
    for words in (transformation_of(made).__doc__, Method(made).__doc__):
        assert f"after {STEPS} steps in float64, with" in words
        assert "another precision than float64" in words
    with pytest.warns(UserWarning, match="Parameters are float32, and the certificate speaks of float64"):
        transformation_of(made).init(jnp.zeros(exported.N))
    with pytest.raises(ExportError, match="The parameters are int32"):
        transformation_of(made).init(jnp.zeros(exported.N, int))


def test_losses_and_gradients_in_float32_are_not_covered_in_scipy():
    fun, jac = by_hand(INSTANCES[0])
    narrow = [(lambda x: np.float32(fun(x)), jac), (fun, lambda x: np.float32(jac(x)))]
    for each in narrow:
        with pytest.warns(OptimizeWarning, match="fewer digits than float64"):
            result = minimize(each[0], np.zeros(exported.N), jac=each[1], method=learned().as_scipy_method())
        assert result.certificate is None
    by_lists = minimize(fun, [0] * exported.N, jac=lambda x: jac(x).tolist(), method=learned().as_scipy_method())
    assert by_lists.certificate == learned().certificate.to_dict()["hash"]


def test_the_state_holds_no_second_copy_of_the_parameters():
    with jax.enable_x64(True):
        state = transformation_of(rule(*ALL["Adam"])).init(jnp.zeros(exported.N))
    assert [leaf.shape for leaf in state.kept] == [(exported.N,), (exported.N,), ()]


def test_after_the_last_number_of_a_schedule_nothing_moves_in_optax():
    transformation = transformation_of(rule(*ALL["Schedule"]))
    assert f"It has numbers for {STEPS} steps: later updates are zero." in transformation.__doc__

    def ended(updates):
        loss = lambda x: LAW.problem.loss(x, INSTANCES[0])  # noqa: E731
        with jax.enable_x64(True):
            return np.asarray(loop(transformation, loss, jnp.zeros(exported.N), updates)[1])

    np.testing.assert_array_equal(ended(STEPS + 3), ended(STEPS))
    assert np.any(ended(STEPS - 1) != ended(STEPS))
    assert "Later updates go on as before, and are not covered." in learned().as_optax().__doc__


def test_more_steps_than_certified_are_refused_for_a_schedule_and_told_for_others():
    fun, jac = by_hand(INSTANCES[0])
    x0 = np.zeros(exported.N)
    with pytest.raises(ExportError, match=f"Schedule has numbers for {STEPS} steps"):
        minimize(fun, x0, jac=jac, method=Method(rule(*ALL["Schedule"])), options={"maxiter": STEPS + 1})
    algorithm, hyper = ALL["HeavyBall"]
    with pytest.warns(OptimizeWarning, match="does not cover this run"):
        longer = minimize(fun, x0, jac=jac, method=Method(rule(algorithm, hyper)), options={"maxiter": 2 * STEPS})
    assert longer.nit == 2 * STEPS
    assert longer.certificate is None
    assert longer.fun == pytest.approx(reached(algorithm, hyper, 2 * STEPS)[1][0], rel=1e-12)


def test_a_certified_run_that_is_longer_than_its_schedule_goes_on_with_the_last_numbers():
    algorithm, hyper = ALL["Schedule"]
    fun, jac = by_hand(INSTANCES[0])
    method = Method(rule(algorithm, hyper, steps=STEPS + 4))
    result = minimize(fun, np.zeros(exported.N), jac=jac, method=method)
    assert result.fun == pytest.approx(reached(algorithm, hyper, STEPS + 4)[1][0], rel=1e-12)


def test_scipy_passes_arguments_and_callbacks():
    fun, jac = by_hand(INSTANCES[0])
    seen = []

    def old(x):
        seen.append(fun(x))

    def new(intermediate_result):
        assert intermediate_result.fun == fun(intermediate_result.x) == seen.pop(0)
        if len(seen) == STEPS - 4:
            raise StopIteration

    def shifted(x, shift):
        return fun(x) + shift, jac(x)

    method = learned().as_scipy_method()
    result = minimize(shifted, np.zeros(exported.N), args=(7.0,), jac=True, method=method, callback=old)
    assert len(seen) == STEPS
    assert result.fun == pytest.approx(seen[-1] + 7.0)
    stopped = minimize(fun, np.zeros(exported.N), jac=jac, method=method, callback=new)
    assert stopped.nit == 4
    assert stopped.certificate is None
    assert result.certificate == method.certificate
    assert not stopped.success
    assert "callback" in stopped.message


class TwoPoints(pacopt.AbstractAlgorithm):
    """Takes the gradient halfway along a gradient step."""

    hyperparameters = {"step_size": pacopt.Interval(1e-6, 1.0, log=True)}

    def init(self, x, hyper, objective):
        return x

    def step(self, x, hyper, objective):
        half = x - 0.5 * hyper["step_size"] * objective.gradient(x)
        return x - hyper["step_size"] * objective.gradient(half)

    def read(self, x):
        return x


class Elsewhere(TwoPoints):
    """Never looks at the start."""

    def step(self, x, hyper, objective):
        return x - hyper["step_size"] * objective.gradient(x + 1.0)


class Looping(TwoPoints):
    """Evaluates in a loop."""

    def step(self, x, hyper, objective):
        return jax.lax.fori_loop(0, 3, lambda _, y: y - hyper["step_size"] * objective.gradient(y), x)


class Reading(TwoPoints):
    """Starts where the instance says."""

    def init(self, x, hyper, objective):
        return x + objective.instance["b"]


@pytest.mark.parametrize("kind", [TwoPoints, Elsewhere])
def test_scipy_hands_the_loss_over_as_a_function_so_points_may_be_any(kind):
    hyper = {"step_size": exported.CONSTANT["step_size"]}
    start, losses = reached(kind(), hyper)
    fun, jac = by_hand(INSTANCES[1])
    result = minimize(fun, np.zeros(exported.N), jac=jac, method=Method(rule(kind(), hyper)))
    assert result.fun == pytest.approx(min(losses[1], start[1]), rel=1e-12)


class Sparse(pacopt.AbstractProblem, pacopt.AbstractProximable):
    """Half of it is not smooth."""

    def start(self, instance):
        return jnp.zeros(exported.N)

    def loss(self, x, instance):
        return self.smooth(x, instance) + jnp.sum(jnp.abs(x))

    def smooth(self, x, instance):
        return LAW.problem.loss(x, instance)

    def prox(self, x, step_size, instance):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size, 0)


class Noisy(pacopt.AbstractStochasticAlgorithm):
    """Draws."""

    hyperparameters = {"step_size": pacopt.Interval(1e-6, 1.0, log=True)}

    def init(self, x, hyper, objective, key):
        return x

    def step(self, x, hyper, objective, key):
        return x + hyper["step_size"] * jax.random.normal(key, x.shape)

    def read(self, x):
        return x


def begun_elsewhere():
    """From a start that depends on the instance."""
    return pacopt.WarmStart(pacopt.GradientDescent(), reads=("b",), weights=np.zeros((exported.N, exported.N + 1)))


def running(problem=LAW.problem, algorithm=None, **others):
    """What was learned, as if by this engine."""
    return replace(learned(), engine=pacopt.Traced(problem, algorithm or pacopt.HeavyBall(), STEPS, **others))


ENGINES = {
    "a proximal map": (lambda: running(Sparse(), pacopt.FISTA()), "proximal map"),
    "random numbers": (lambda: running(algorithm=Noisy()), "random numbers"),
    "runs that stop": (lambda: running(goal=0.1), "to its target"),
    "a black box": (
        lambda: replace(learned(), engine=pacopt.BlackBox(lambda h, i: 1.0, {"a": pacopt.Interval(0.0, 1.0)})),
        "BlackBox",
    ),
}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("export", ["as_optax", "as_scipy_method", "as_torch"])
def test_what_has_no_place_elsewhere_is_refused(name, export):
    make, words = ENGINES[name]
    with pytest.raises(ExportError, match=words):
        getattr(make(), export)()


@pytest.mark.parametrize(
    ("kind", "words", "hosts"),
    [
        (TwoPoints, "several points", [transformation_of]),
        (Elsewhere, "is not the start", [transformation_of]),
        (Looping, "within a scan|within a while", [transformation_of, Method]),
        (Reading, "reads 'b' of the instance", [transformation_of, Method]),
        (begun_elsewhere, "of the instance", [transformation_of, Method]),
    ],
)
def test_an_algorithm_that_a_host_cannot_follow_is_refused(kind, words, hosts):
    for host in hosts:
        with pytest.raises(ExportError, match=words):
            host(rule(kind(), {"step_size": 1e-4}))


def test_code_that_was_not_found_cannot_be_exported():
    with pytest.raises(pacopt.PacoptError, match="not imported"):
        rule_of(replace(learned(), engine=None, missing="mine:Problem is not imported, or has changed"))


def test_a_missing_torch_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExportError, match=r"Install pacopt\[torch\]"):
        learned().as_torch()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"jac": None}, "jac is None"),
        ({"bounds": [(0, 1)] * exported.N}, "Bounds"),
        ({"constraints": {"type": "eq", "fun": np.sum}}, "constraints"),
        ({"options": {"maxiter": 2.5}}, "maxiter is 2.5"),
        ({"jac": lambda x: x[:2]}, "jac returns an array of the shape"),
        ({"jac": lambda x: None}, "jac returns NoneType"),
        ({"jac": lambda x: x + 1j}, "jac returns complex128"),
    ],
)
def test_what_scipy_may_ask_and_the_rule_cannot_do_is_refused(options, words):
    fun, jac = by_hand(INSTANCES[0])
    with pytest.raises(ExportError, match=words):
        minimize(fun, np.zeros(exported.N), method=learned().as_scipy_method(), **({"jac": jac} | options))


def test_bounds_that_exclude_nothing_are_none():
    fun, jac = by_hand(INSTANCES[0])
    for bounds in ([(None, None)] * exported.N, Bounds(-np.inf, np.inf)):
        method = learned().as_scipy_method()
        assert minimize(fun, np.zeros(exported.N), jac=jac, method=method, bounds=bounds).success


def test_a_loss_has_to_be_a_number():
    _, jac = by_hand(INSTANCES[0])
    method, x0 = learned().as_scipy_method(), np.zeros(exported.N)
    with pytest.raises(ExportError, match="fun returns NoneType"):
        minimize(lambda x: None, x0, jac=jac, method=method)
    result = minimize(lambda x: np.nan if x.any() else 1.0, x0, jac=jac, method=method)
    assert result.message == f"{STEPS} steps were made, and the loss at the end is not a number. The start is returned."
    assert "the loss at the start is not a number" in minimize(lambda x: np.nan, x0, jac=jac, method=method).message


def test_a_tolerance_is_not_ignored_silently():
    fun, jac = by_hand(INSTANCES[0])
    with pytest.warns(OptimizeWarning, match="tol"):
        minimize(fun, np.zeros(exported.N), jac=jac, method=learned().as_scipy_method(), tol=1e-3)


def test_optax_is_told_what_an_update_needs():
    transformation = transformation_of(rule(*ALL["ScalarRule"]))
    with jax.enable_x64(True):
        x = jnp.zeros(exported.N)
        state = transformation.init(x)
    with pytest.raises(ExportError, match="without params"):
        transformation.update(x, state)
    with pytest.raises(ExportError, match="without value="):
        transformation.update(x, state, x)
