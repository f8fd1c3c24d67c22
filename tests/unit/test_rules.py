"""What all rules of scalars have in common: what changes nothing, what is counted, and where nothing is left to do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective
from rules import RULES, STEPS, N, Shifted, curves, quadratics, same, some_numbers


@pytest.fixture(params=["heavy-ball", "conjugate, memory 5"])
def rule(request):
    return RULES[request.param]


def test_the_network_is_what_these_tests_are_about(rule):
    plain = curves(rule, quadratics(), rule.initial(3))
    assert np.abs(curves(rule, quadratics()) / plain - 1).max(axis=1).min() > 1e-3
    assert np.all(plain[:, -1] < 0.5 * plain[:, 0])


def test_rotated_coordinates_change_nothing(rule):
    fields = quadratics()
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(N, N)))[0]
    same(curves(rule, fields | {"A": fields["A"] @ Q, "x0": fields["x0"] @ Q}), curves(rule, fields))


@pytest.mark.parametrize("scale", [3e-60, 0.07, 1e5, 7e60])
def test_a_loss_that_is_multiplied_by_a_number_changes_nothing(rule, scale):
    fields = quadratics()
    same(curves(rule, fields | {"scale": np.full(6, scale)}) / scale, curves(rule, fields))


@pytest.mark.parametrize("stretch", [3e-60, 0.07, 1e5, 7e60])
def test_coordinates_that_are_multiplied_by_a_number_change_nothing(rule, stretch):
    fields = quadratics()
    same(curves(rule, fields | {"stretch": np.full(6, stretch), "x0": fields["x0"] * stretch}), curves(rule, fields))


def test_coordinates_that_do_not_matter_change_nothing(rule):
    fields = quadratics()
    wide = np.concatenate([fields["A"], np.zeros((6, N, 40))], axis=2)
    start = np.concatenate([fields["x0"], np.random.default_rng(2).normal(size=(6, 40))], axis=1)
    same(curves(rule, fields | {"A": wide, "x0": start}), curves(rule, fields))


def test_many_copies_of_a_problem_side_by_side_do_what_one_does(rule):
    fields = quadratics()
    copies = {
        "A": np.stack([np.kron(np.eye(4), A) for A in fields["A"]]),
        "b": np.tile(fields["b"], 4),
        "x0": np.tile(fields["x0"], 4),
    }
    same(curves(rule, fields | copies) / 4, curves(rule, fields))


def test_a_step_is_one_gradient_and_a_run_one_loss(rule):
    counts = {"losses": 0, "gradients": 0}

    class Counting(pacopt.Objective):
        def loss(self, x):
            counts["losses"] += 1
            return jnp.sum(x**2)

        def gradient(self, x):
            counts["gradients"] += 1
            return 2 * x

    objective = Counting(pacopt.DiagonalQuadratic(), {})
    state = rule.init(jnp.ones(3), some_numbers(rule), objective)
    for _ in range(5):
        state = rule.step(state, some_numbers(rule), objective)
    assert counts == {"losses": 1, "gradients": 5}


def test_nothing_is_nan_where_there_is_nothing_left_to_do(rule):
    class Case(pacopt.AbstractProblem):
        """At the minimum from the start; flat; with one coordinate that matters; with a loss of 0 at the start."""

        def start(self, instance):
            return instance["x"]

        def loss(self, x, instance):
            there = instance["x"]
            bent = jnp.abs(jnp.sum(x**2) - jnp.sum(there**2)) + jnp.sum(x - there)
            return jnp.stack([jnp.sum((x - there) ** 2), 1.0 + 0.0 * jnp.sum(x), x[0] ** 2, bent])[instance["case"]]

    def final(hyper, x, case):
        objective = Objective(Case(), {"x": x, "case": case})
        state = rule.init(x, hyper, objective)
        state, _ = jax.lax.scan(lambda state, _: (rule.step(state, hyper, objective), None), state, None, length=100)
        return jnp.sum(rule.read(state))

    with jax.enable_x64(True):
        hyper, both = jax.tree.map(jnp.asarray, some_numbers(rule)), jax.jit(jax.value_and_grad(final))
        for case in range(4):
            value, gradient = both(hyper, jnp.asarray([3.0, -1.0]), case)
            assert np.isfinite(value), case
            assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient)), case


def test_points_may_be_pytrees(rule):
    class Parts(pacopt.AbstractProblem):
        def start(self, instance):
            return {"one": instance["x0"][:3], "two": instance["x0"][3:].reshape(9, 3)}

        def loss(self, x, instance):
            return Shifted().loss(jnp.concatenate([x["one"], x["two"].ravel()]), instance)

    same(curves(rule, quadratics(), problem=Parts()), curves(rule, quadratics()))


def test_a_longer_run_goes_on_with_the_last_numbers(rule):
    longer = curves(rule, quadratics(), steps=STEPS + 5)
    same(longer[:, : STEPS + 1], curves(rule, quadratics()))
    assert np.isfinite(longer).all()


@pytest.mark.parametrize("small", [pacopt.ScalarRule(3, width=2), pacopt.ConjugateRule(3, memory=2, width=2)])
def test_it_is_an_algorithm_like_any_other(small):
    law = pacopt.VaryingCurvature.draw(seed=0, n=5)
    pacopt.testing.check_algorithm(small, law.problem, law.sample(20, seed=1))


@pytest.mark.parametrize("sizes", [{"steps": 0}, {"steps": 2.5}, {"steps": 5, "width": 0}, {"steps": True}])
@pytest.mark.parametrize("kind", [pacopt.ScalarRule, pacopt.ConjugateRule])
def test_a_size_that_is_none_is_refused(kind, sizes):
    with pytest.raises(AlgorithmError, match="whole number"):
        kind(**sizes)
