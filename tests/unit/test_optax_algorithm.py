"""Transformations of optax run, are swept and are stored like every other algorithm."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
import pytest

import pacopt
from pacopt import Choice, Interval, Optax
from pacopt.engines.naming import named, renamed
from pacopt.errors import AlgorithmError, PacoptError

LAW = pacopt.VaryingCurvature.draw(seed=0, n=6)
RATE = Interval(1e-3, 1.0, log=True)
ADAM = Optax(optax.adam, learning_rate=RATE, b1=Interval(0.0, 0.99), b2=0.99)


def table(algorithm, candidates, steps=30, problem=LAW.problem, instances=None):
    instances = LAW.sample(5, seed=1) if instances is None else instances
    return pacopt.tabulate(problem, algorithm, candidates, instances, steps=steps)


def test_it_does_what_our_own_adam_and_a_plain_loop_do():
    rates, b1 = np.array([0.02, 0.3]), np.array([0.9, 0.7])
    ours = table(pacopt.Adam(), {"step_size": rates, "b1": b1, "b2": [0.99] * 2}).losses
    found = table(ADAM, {"learning_rate": rates, "b1": b1}).losses
    np.testing.assert_allclose(found, ours, rtol=1e-12)
    with jax.enable_x64(True):
        transformation, instance = optax.adam(rates[1], b1=b1[1], b2=0.99), LAW.sample(5, seed=1)[2]
        x, gradient = jnp.zeros(6), jax.jit(jax.grad(LAW.problem.loss))
        state = transformation.init(x)
        for _ in range(30):
            updates, state = transformation.update(gradient(x, instance), state, x)
            x = optax.apply_updates(x, updates)
        np.testing.assert_allclose(found[1, 2], LAW.problem.loss(x, instance), rtol=1e-12)


class Counting(pacopt.AbstractProblem):
    """Counts how often JAX traces its loss."""

    calls = []

    def start(self, instance):
        return {"a": jnp.zeros(3), "b": jnp.zeros(())}

    def loss(self, x, instance):
        self.calls.append(None)
        return jnp.sum((x["a"] - instance["y"]) ** 2) + (x["b"] - 1) ** 2


def test_two_hundred_settings_are_compiled_once():
    def traced(seed, count):
        """How often the loss is traced to check, and to run."""
        rng = np.random.default_rng(seed)
        candidates = {"learning_rate": rng.uniform(0.01, 0.3, count), "b1": rng.uniform(0, 0.9, count)}
        instances = pacopt.Instances({"y": rng.standard_normal((4, 3))})
        before = len(Counting.calls)
        work = pacopt.Tabulation.prepare(Counting(), ADAM, candidates, instances, steps=7)
        checked = len(Counting.calls)
        losses = np.concatenate([tile.losses for tile in work.tiles()])
        assert len(np.unique(losses)) == losses.size, "each setting runs with its own numbers"
        return checked - before, len(Counting.calls) - checked

    checks, first = traced(0, 200)
    assert 0 < first <= 3, "one program, in which start, gradient and final loss are traced"
    assert traced(1, 200) == (checks, 0)


OTHERS = {
    "momentum by a choice": Optax(optax.sgd, learning_rate=RATE, momentum=0.5, nesterov=Choice(False, True)),
    "the loss is given": Optax(optax.polyak_sgd, max_learning_rate=RATE),
    "no line search": Optax(optax.lbfgs, learning_rate=RATE, memory_size=2, linesearch=None),
    "a schedule is fixed": Optax(optax.adam, learning_rate=optax.cosine_decay_schedule(0.1, 30), b1=Interval(0.0, 0.9)),
    "of one's own": Optax(
        lambda norm, rate: optax.chain(optax.clip_by_global_norm(norm), optax.sgd(rate)), norm=RATE, rate=1e-4
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "no line search" else ()) for name in OTHERS]
)
def test_other_transformations_are_algorithms_like_any_other(name):
    pacopt.testing.check_algorithm(OTHERS[name], LAW.problem, LAW.sample(3, seed=1))


def test_points_may_be_pytrees_and_runs_float32():
    instances = pacopt.Instances({"y": np.ones((2, 3))})
    candidates = {"learning_rate": [0.02], "b1": [0.5]}
    wide = table(ADAM, candidates, problem=Counting(), instances=instances).losses
    narrow = pacopt.tabulate(Counting(), ADAM, candidates, instances, steps=30, dtype=np.float32).losses
    np.testing.assert_allclose(narrow, wide, rtol=1e-4)
    assert np.all(narrow != wide)


def learned(algorithm):
    split = pacopt.split(LAW.sample(150, seed=0), prior=30, train=100, test=20, seed=0)
    search = pacopt.priors.Search(candidates=8, explore=1, rounds=1)
    return pacopt.learn(LAW.problem, algorithm, split, steps=8, prior=search)


def test_a_stored_run_finds_functions_of_optax_again(tmp_path):
    made = learned(ADAM)
    made.save(tmp_path / "run")
    loaded = pacopt.Learned.load(tmp_path / "run")
    instance = LAW.sample(1, seed=9)[0]
    assert loaded.missing == ""
    assert loaded.engine.algorithm == ADAM
    assert loaded.solve(instance).loss == made.solve(instance).loss
    stored = json.loads((tmp_path / "run" / "code.json").read_text())["algorithm"]["fields"]
    assert stored["factory"] == {"class": "function", "function": "optax:adam"}


def own(rate):
    return optax.sgd(rate)


def test_a_function_of_ones_own_is_passed_and_another_one_is_refused(tmp_path):
    learned(Optax(own, rate=RATE)).save(tmp_path / "run")
    assert "The algorithm of this run holds your code" in pacopt.Learned.load(tmp_path / "run").missing
    assert pacopt.Learned.load(tmp_path / "run", algorithm=Optax(own, rate=RATE)).missing == ""
    for other in (Optax(lambda rate: optax.adam(rate), rate=RATE), Optax(own, rate=Interval(1e-3, 2.0))):
        with pytest.raises(PacoptError, match="differs in its fields"):
            pacopt.Learned.load(tmp_path / "run", algorithm=other)


def test_a_run_with_a_schedule_is_found_again(tmp_path):
    def decaying():
        return Optax(optax.sgd, learning_rate=optax.cosine_decay_schedule(1e-4, 8), momentum=Interval(0.0, 0.9))

    learned(decaying()).save(tmp_path / "run")
    assert pacopt.Learned.load(tmp_path / "run", algorithm=decaying()).missing == ""


@pytest.mark.parametrize("function", [optax.sgd, optax.nadam, optax.contrib.schedule_free_adamw])
def test_functions_of_optax_are_found_by_name_also_if_arguments_are_filled_in(function):
    assert renamed(json.loads(json.dumps(named(function)))) is function


@pytest.mark.parametrize("name", ["os:system", "optax:jnp", "optax:GradientTransformation", "optax:chain.__globals__"])
def test_a_stored_name_leads_to_nothing_but_functions_of_optax(name):
    assert renamed({"class": "function", "function": name}) is None


BAD = {
    "a transformation": (lambda: Optax(optax.adam(0.1)), "The function that makes it"),
    "no function": (lambda: Optax(3, rate=RATE), "type int"),
    "a name that is none": (lambda: Optax(optax.adam, learning_rat=RATE), "did you mean 'learning_rate'"),
    "an argument that lacks": (lambda: Optax(optax.adam, b1=RATE), "needs 'learning_rate'"),
    "a choice of texts": (lambda: Optax(optax.adam, learning_rate=Choice("a", "b")), "a choice of texts"),
    "a pytree": (lambda: Optax(optax.adam, learning_rate=pacopt.Tree({"a": np.zeros(2)})), "a pytree"),
    "no transformation is made": (lambda: Optax(lambda rate: rate, rate=1.0), "returns float"),
    "it decides by the value": (
        lambda: Optax(lambda rate: optax.sgd(rate if rate > 0 else 1.0), rate=RATE),
        "Python code",
    ),
    "it refuses the value": (lambda: Optax(optax.scale_by_adam, mu_dtype="no type"), "refuses"),
    "a number in quotes": (lambda: Optax(optax.adam, learning_rate="0.1"), "'learning_rate' is '0.1'"),
    "not a number": (lambda: Optax(optax.adam, learning_rate=RATE, b1=float("nan")), "'b1' is nan"),
    "no name": (lambda: Optax(optax.adam, RATE), "1 of the arguments of adam have no name"),
    "a loss": (lambda: Optax(optax.l2_loss, predictions=RATE), "An optax.GradientTransformation is needed"),
    "points of its own": (
        lambda: table(
            Optax(optax.lookahead, fast_optimizer=optax.sgd(0.1), sync_period=3, slow_step_size=RATE),
            {"slow_step_size": [0.1]},
        ),
        "lookahead makes a transformation that fails on a point of DiagonalQuadratic",
    ),
    "random numbers": (
        lambda: table(Optax(optax.noisy_sgd, learning_rate=RATE, key=0), {"learning_rate": [0.1]}),
        "carries a key",
    ),
    "a line search": (
        lambda: table(Optax(optax.lbfgs, learning_rate=RATE), {"learning_rate": [0.1]}),
        "evaluates the loss itself",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_learned_is_refused(name):
    call, words = BAD[name]
    with pytest.raises(AlgorithmError, match=words):
        call()
