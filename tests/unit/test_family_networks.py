"""Small networks on polynomials: the law, the loss, the usual solvers, and learning from end to end."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import pacopt
from pacopt.families.network_solvers import NAMES, lbfgs_b, value_and_gradient
from pacopt.families.polynomial_tasks import (
    Network,
    adam,
    in_batches,
    in_metric,
    moments,
    networks,
    polynomials,
    stochastic_networks,
)


def test_a_seed_draws_the_same_tasks_and_another_one_others():
    one, again, other = (polynomials(3, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.fingerprints, again.fingerprints)
    assert not set(one.fingerprints.tolist()) & set(other.fingerprints.tolist())


def test_the_network_has_351_weights_and_the_start_is_that_of_torch():
    tasks = polynomials(200, seed=0)
    start = Network().start(tasks[0])
    assert sum(np.size(leaf) for leaf in jax.tree.leaves(start)) == 351
    for name, inputs in {"hidden": 5, "offset": 5, "output": 50, "constant": 50}.items():
        drawn = np.asarray(tasks.fields[name])
        assert np.abs(drawn).max() <= inputs**-0.5
        assert abs(drawn.std() * np.sqrt(3 * inputs) - 1) < 0.1


def test_inputs_are_standardised_by_the_law_and_targets_by_the_task():
    grid = np.linspace(-2, 2, 200_001)[:, None] ** np.arange(1, 6)
    np.testing.assert_allclose(moments(), (grid.mean(axis=0), grid.std(axis=0)), atol=1e-3)
    targets = np.asarray(polynomials(50, seed=0).fields["targets"])
    np.testing.assert_allclose(targets.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(targets.std(axis=1), 1)


def test_a_task_is_a_polynomial_of_degree_5_with_noise_of_its_size():
    tasks = polynomials(400, seed=0)
    inputs, targets = np.asarray(tasks.fields["inputs"]), np.asarray(tasks.fields["targets"])
    left = []
    for a, y in zip(inputs, targets, strict=True):
        design = np.c_[a, np.ones(50)]
        left.append(np.sum((y - design @ np.linalg.lstsq(design, y)[0]) ** 2) / 44)
    # 1 / the variance of a polynomial: 25/3 times the variances of the powers, plus 1, on average.
    assert 0.3 < np.median(left) * (1 + 25 / 3 * np.sum(moments()[1] ** 2)) < 3


def test_loss_and_gradient_are_those_of_numpy():
    task = {name: jnp.asarray(array) for name, array in polynomials(1, seed=3)[0].items()}
    start = Network().start(task)
    value, gradient = jax.value_and_grad(Network().loss)(start, task)
    flat = np.concatenate([np.ravel(start[name]) for name in NAMES])
    wanted, slope = value_and_gradient(task, flat)
    assert float(value) == pytest.approx(wanted, rel=1e-5)
    np.testing.assert_allclose(np.concatenate([np.ravel(gradient[name]) for name in NAMES]), slope, atol=1e-5)


def test_scipys_lbfgs_sees_as_many_points_as_it_may_and_ours_does_as_well():
    tasks = polynomials(20, seed=4)
    assert lbfgs_b(0, {}, tasks[0]).loss == pytest.approx(
        float(Network().loss(Network().start(tasks[0]), tasks[0])), rel=1e-5
    )
    few, many = (np.array([lbfgs_b(steps, {}, task).loss for task in tasks]) for steps in (9, 10))
    assert np.all(many <= few)
    ours = pacopt.tabulate(Network(), pacopt.LBFGS(20), {}, tasks, steps=10).losses[0]
    assert 0.8 < np.exp(np.mean(np.log(ours / many))) < 1.25


def test_adam_is_that_of_kingma_and_ba():
    tasks, hyper = polynomials(2, seed=5), {"learning_rate": 0.05, "b1": 0.8, "b2": 0.95}
    x = np.concatenate([np.ravel(tasks[1][name]) for name in NAMES])
    mean, square = np.zeros(351), np.zeros(351)
    for k in range(1, 6):
        slope = value_and_gradient(tasks[1], x)[1]
        mean, square = 0.8 * mean + 0.2 * slope, 0.95 * square + 0.05 * slope**2
        x = x - 0.05 * mean / (1 - 0.8**k) / (np.sqrt(square / (1 - 0.95**k)) + 1e-8)
    table = pacopt.tabulate(Network(), adam(), {name: [value] for name, value in hyper.items()}, tasks, steps=5)
    assert table.losses[0, 1] == pytest.approx(value_and_gradient(tasks[1], x)[0], rel=1e-9)


@pytest.mark.slow  # a search, of which docs and examples have a smaller one
def test_minibatches_of_adam_are_tuned_and_certified_for_a_fresh_seed():
    family = stochastic_networks(steps=5).sized(prior=12, train=60, test=5)
    parts, few = family.drawn(0), pacopt.priors.Search(candidates=3)
    usual = {name: family.usual[name] for name in ("Adam, learning rate 0.001", "Adam, cosine from 0.03")}
    learned = pacopt.learn(
        family.problem, family.learns(parts), parts, steps=5, prior=few, score=family.score, baseline=usual
    )
    assert "with a fresh seed" in str(learned.certificate)
    assert learned.certificate.deployed.risk < 4  # digits short of 4


@pytest.mark.slow
def test_in_a_metric_of_the_prior_split_10_gradients_go_further():
    family = networks().sized(prior=100, train=300, test=50)
    parts = family.drawn(0)
    rule = family.learns(parts)
    assert np.shape(rule.metric) == (351, 351)
    few = pacopt.priors.Train(updates=40, batch=8, restarts=1, candidates=2)
    learned = pacopt.learn(
        family.problem, rule, parts, steps=10, prior=few, score=family.score, baseline=family.usual["L-BFGS"]
    )
    assert learned.certificate.deployed.gain > 0.1


def test_the_metric_is_made_of_prior_instances_alone():
    tasks = polynomials(12, seed=0)
    parts = pacopt.Split(prior=tasks[:4], train=tasks[4:8], test=tasks[8:])
    other = pacopt.Split(prior=tasks[:4], train=tasks[8:], test=tasks[4:8])
    one, two = (in_metric(pacopt.LBFGS(), each).metric for each in (parts, other))
    np.testing.assert_array_equal(one, two)
    assert ravel_pytree(Network().start(tasks[0]))[0].size == len(one)


def test_the_batches_are_of_10_rows():
    assert in_batches(adam()).batch == 10
    assert set(stochastic_networks().usual) >= {"Adam, learning rate 0.001", "Adam, cosine from 0.03"}
    assert networks().textbook == "Adam, learning rate 0.001"
