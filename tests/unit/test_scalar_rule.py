import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective

STEPS = 12
RULE = pacopt.ScalarRule(steps=STEPS, width=5)


class Shifted(pacopt.AbstractProblem):
    """scale / 2 |A x / stretch - b|^2, from a start that is given."""

    def start(self, instance):
        return instance["x0"]

    def loss(self, x, instance):
        return 0.5 * instance["scale"] * jnp.sum((instance["A"] @ (x / instance["stretch"]) - instance["b"]) ** 2)


def some_rule(seed=3):
    """A rule whose network matters, and whose numbers differ from step to step."""
    rng, hyper = np.random.default_rng(seed), RULE.initial(seed)
    hyper["network"]["last"] = rng.normal(size=(5, 2)) * 0.3
    hyper["schedule"] = hyper["schedule"] + rng.normal(size=(STEPS, 2)) * 0.3
    hyper["first"] = np.asarray(-0.4)
    return hyper


def quadratics(count=6, n=7, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "A": rng.normal(size=(count, n, n)),
        "b": rng.normal(size=(count, n)),
        "x0": rng.normal(size=(count, n)),
        "scale": np.ones(count),
        "stretch": np.ones(count),
    }


def curves(fields, hyper=None, problem=None, rule=RULE, steps=STEPS):
    candidate = jax.tree.map(lambda array: array[None], hyper or some_rule())
    instances = pacopt.Instances(fields)
    return pacopt.loss_curves(
        problem or Shifted(), rule, candidate, instances, steps=steps, at=tuple(range(steps + 1))
    )[0]


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=0)


def test_the_network_is_what_these_tests_are_about():
    plain = curves(quadratics(), RULE.initial(3))
    assert np.abs(curves(quadratics()) / plain - 1)[:, -1].min() > 1e-3
    assert np.all(plain[:, -1] < 0.5 * plain[:, 0])


def test_rotated_coordinates_change_nothing():
    fields = quadratics()
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(7, 7)))[0]
    same(curves(fields | {"A": fields["A"] @ Q, "x0": fields["x0"] @ Q}), curves(fields))


@pytest.mark.parametrize("scale", [3e-60, 0.07, 1e5, 7e60])
def test_a_loss_that_is_multiplied_by_a_number_changes_nothing(scale):
    fields = quadratics()
    same(curves(fields | {"scale": np.full(6, scale)}) / scale, curves(fields))


@pytest.mark.parametrize("stretch", [3e-60, 0.07, 1e5, 7e60])
def test_coordinates_that_are_multiplied_by_a_number_change_nothing(stretch):
    fields = quadratics()
    same(curves(fields | {"stretch": np.full(6, stretch), "x0": fields["x0"] * stretch}), curves(fields))


def test_coordinates_that_do_not_matter_change_nothing():
    fields = quadratics()
    wide = np.concatenate([fields["A"], np.zeros((6, 7, 30))], axis=2)
    start = np.concatenate([fields["x0"], np.random.default_rng(2).normal(size=(6, 30))], axis=1)
    same(curves(fields | {"A": wide, "x0": start}), curves(fields))


def test_many_copies_of_a_problem_side_by_side_do_what_one_does():
    fields = quadratics()
    copies = {
        "A": np.stack([np.kron(np.eye(4), A) for A in fields["A"]]),
        "b": np.tile(fields["b"], 4),
        "x0": np.tile(fields["x0"], 4),
    }
    same(curves(fields | copies) / 4, curves(fields))


def test_adding_a_number_to_the_loss_changes_the_first_step_alone():
    class Raised(Shifted):
        def loss(self, x, instance):
            return 1.0 + Shifted.loss(self, x, instance)

    fields = quadratics()
    raised = curves(fields, problem=Raised()) - 1.0
    start, gradient = (
        curves(fields)[:, 0],
        np.array([A.T @ (A @ x - b) for A, b, x in zip(fields["A"], fields["b"], fields["x0"], strict=True)]),
    )
    length = np.exp(-0.4) * (1 + start) / np.sum(gradient**2, axis=1)
    moved = fields["x0"] - length[:, None] * gradient
    expected = [0.5 * np.sum((A @ x - b) ** 2) for A, b, x in zip(fields["A"], fields["b"], moved, strict=True)]
    np.testing.assert_allclose(raised[:, 1], expected, rtol=1e-9)


def by_hand(A, b, x, hyper):
    """The rule in NumPy, as its docstring says it."""
    losses, top, s, last = [0.5 * np.sum((A @ x - b) ** 2)], 0.0, np.zeros_like(x), np.zeros_like(x)
    for k in range(STEPS):
        g = A.T @ (A @ x - b)
        if k == 0:
            step, momentum = np.exp(hyper["first"]) * losses[0] / (g @ g), 0.0
        else:
            y = g - last
            top = max(top, y @ y / (s @ y))
            scalars = [
                np.log(s @ y / (s @ s) / top),
                np.log(y @ y / (s @ y) / top),
                g @ s / np.linalg.norm(g) / np.linalg.norm(s),
                g @ last / np.linalg.norm(g) / np.linalg.norm(last),
                np.log(np.linalg.norm(g) / np.linalg.norm(last)),
                k / STEPS,
                np.cos(np.pi * k / STEPS),
            ]
            for name in ("first", "second"):
                layer = hyper["network"][name]
                scalars = np.tanh(np.asarray(scalars) @ layer[:-1] + layer[-1])
            out = scalars @ hyper["network"]["last"] + hyper["schedule"][k]
            step, momentum = np.exp(out[0]) / top, 1 / (1 + np.exp(-out[1]))
        s, last = momentum * s - step * g, g
        x = x + s
        losses.append(0.5 * np.sum((A @ x - b) ** 2))
    return losses


def test_it_does_what_its_docstring_says():
    fields = quadratics()
    rows = zip(fields["A"], fields["b"], fields["x0"], strict=True)
    same(curves(fields), np.array([by_hand(*row, some_rule()) for row in rows]))


def test_a_step_is_one_gradient_and_a_run_one_loss():
    counts = {"losses": 0, "gradients": 0}

    class Counting(pacopt.Objective):
        def loss(self, x):
            counts["losses"] += 1
            return jnp.sum(x**2)

        def gradient(self, x):
            counts["gradients"] += 1
            return 2 * x

    objective = Counting(pacopt.DiagonalQuadratic(), {})
    state = RULE.init(jnp.ones(3), some_rule(), objective)
    for _ in range(5):
        state = RULE.step(state, some_rule(), objective)
    assert counts == {"losses": 1, "gradients": 5}


@pytest.mark.parametrize("case", ["start at the minimum", "nothing to minimise", "one coordinate", "loss of 0"])
def test_nothing_is_nan_where_there_is_nothing_left_to_do(case):
    class Case(pacopt.AbstractProblem):
        def start(self, instance):
            return instance["x"]

        def loss(self, x, instance):
            value = {
                "start at the minimum": jnp.sum((x - instance["x"]) ** 2),
                "nothing to minimise": 1.0 + 0.0 * jnp.sum(x),
                "one coordinate": x[0] ** 2,
                "loss of 0": jnp.abs(jnp.sum(x**2) - jnp.sum(instance["x"] ** 2)) + jnp.sum(x - instance["x"]),
            }
            return 1.0 * value[case]

    hyper = some_rule()

    def final(hyper, x):
        objective = Objective(Case(), {"x": x})
        state = RULE.init(x, hyper, objective)
        state, _ = jax.lax.scan(lambda state, _: (RULE.step(state, hyper, objective), None), state, None, length=100)
        return jnp.sum(RULE.read(state))

    with jax.enable_x64(True):
        x = jnp.asarray([3.0, -1.0])
        value, gradient = jax.jit(jax.value_and_grad(final))(jax.tree.map(jnp.asarray, hyper), x)
        assert np.isfinite(value)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


def test_points_may_be_pytrees():
    class Parts(pacopt.AbstractProblem):
        def start(self, instance):
            return {"one": instance["x0"][:3], "two": instance["x0"][3:].reshape(2, 2)}

        def loss(self, x, instance):
            return Shifted().loss(jnp.concatenate([x["one"], x["two"].ravel()]), instance)

    same(curves(quadratics(), problem=Parts()), curves(quadratics()))


def test_a_longer_run_goes_on_with_the_last_numbers():
    longer = curves(quadratics(), steps=STEPS + 5)
    same(longer[:, : STEPS + 1], curves(quadratics()))
    assert np.isfinite(longer).all()


def test_it_is_an_algorithm_like_any_other():
    law = pacopt.VaryingCurvature.draw(seed=0, n=5)
    pacopt.testing.check_algorithm(pacopt.ScalarRule(steps=3, width=2), law.problem, law.sample(20, seed=1))


@pytest.mark.parametrize("sizes", [{"steps": 0}, {"steps": 2.5}, {"steps": 5, "width": 0}, {"steps": True}])
def test_a_size_that_is_none_is_refused(sizes):
    with pytest.raises(AlgorithmError, match="whole number"):
        pacopt.ScalarRule(**sizes)
