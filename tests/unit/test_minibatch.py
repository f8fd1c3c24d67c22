"""Minibatches: rows drawn by the key of a run, the same problem with these rows."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import pacopt
from pacopt import GradientDescent, Minibatch, Objective
from pacopt.errors import AlgorithmError

SHORT = pacopt.Interval(1e-4, 1.0, log=True)


class Line(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(3)

    def loss(self, x, instance):
        return jnp.mean((instance["a"] @ x - instance["b"]) ** 2)


def instance(rows=8, seed=0):
    rng = np.random.default_rng(seed)
    return {"a": rng.normal(size=(rows, 3)), "b": rng.normal(size=rows), "shared": np.zeros(3)}


def batches(size, **named):
    return Minibatch(GradientDescent(), batch=size, rows=named.get("rows", ("a", "b")))


def test_a_step_takes_the_gradient_of_the_rows_that_its_key_draws():
    data, x, key = instance(), np.array([1.0, -2.0, 0.5]), jax.random.key(3)
    drawn = np.asarray(jax.random.permutation(key, 8))[:3]
    a, b = data["a"][drawn], data["b"][drawn]
    objective = Objective(Line(), jax.tree.map(jnp.asarray, data))
    stepped = batches(3).step(jnp.asarray(x), {"step_size": 0.1}, objective, key)
    np.testing.assert_allclose(stepped, x - 0.1 * 2 * a.T @ (a @ x - b) / 3, rtol=1e-6)


def test_batches_have_different_rows_and_average_to_the_full_gradient():
    with jax.enable_x64(True):  # the same rows in another order differ in the last digits
        data, x = jax.tree.map(jnp.asarray, instance()), jnp.ones(3)
        objective = Objective(Line(), data)
        keys = jax.random.split(jax.random.key(0), 4000)
        moves = np.asarray(jax.vmap(lambda key: batches(2).step(x, {"step_size": 1.0}, objective, key) - x)(keys))
        gradient = np.asarray(objective.gradient(x))
    assert len(np.unique(np.round(moves, 9), axis=0)) == 28  # pairs of 8 rows
    off = np.abs(moves.mean(axis=0) + gradient)
    assert np.all(off < 5 * np.std(moves, axis=0) / np.sqrt(4000))


def test_a_batch_of_all_rows_is_the_algorithm_itself():
    rows = pacopt.Instances({name: np.stack([instance(seed=s)[name] for s in range(4)]) for name in ("a", "b")})
    hyper = {"learning_rate": np.array([0.03, 0.1])}
    adam = pacopt.Optax(optax.adam, learning_rate=SHORT)
    whole = Minibatch(adam, batch=8, rows=("a", "b"))
    drawn = pacopt.Split(prior=rows[:1], train=rows[1:], test=rows[:0]).drawn(root=1, replicates=1).train
    found = pacopt.Traced(Line(), whole, 20).table(hyper, drawn).losses
    np.testing.assert_allclose(found, pacopt.tabulate(Line(), adam, hyper, rows[1:], steps=20).losses, rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: batches(9), "A batch has 9"),
        (lambda: batches(2, rows=("a", "shared")), "a: 8, shared: 3"),
        (lambda: batches(2, rows=("a", "nobody")), "nobody: none"),
    ],
)
def test_fields_that_have_no_such_rows_are_refused(make, says):
    objective = Objective(Line(), instance())
    with pytest.raises(AlgorithmError, match=says):
        make().step(jnp.zeros(3), {"step_size": 0.1}, objective, jax.random.key(0))


def test_what_is_no_batch_is_refused():
    with pytest.raises(AlgorithmError, match="batch is 0"):
        batches(0)
    with pytest.raises(AlgorithmError, match="draws no random numbers"):
        Minibatch(batches(2), batch=2, rows=("a", "b"))
