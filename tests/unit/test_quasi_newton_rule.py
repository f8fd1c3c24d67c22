import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective

STEPS = 8
RULE = pacopt.QuasiNewtonRule(STEPS, width=5)


class Bent(pacopt.AbstractProblem):
    """scale * (sum of r^2 / 10 + log cosh(r) + raised), r = A x / stretch - b: convex, no quadratic; a given start."""

    raised: float = 0.0

    def start(self, instance):
        return instance["x0"]

    def loss(self, x, instance):
        residual = instance["A"] @ (x / instance["stretch"]) - instance["b"]
        bent = 0.1 * residual**2 + jnp.logaddexp(residual, -residual) - jnp.log(2.0)
        return instance["scale"] * (jnp.sum(bent) + self.raised)


def some_rule(first=(-0.7, 1.0), seed=3):
    """A rule whose network matters, and whose numbers differ from step to step."""
    rng, hyper = np.random.default_rng(seed), RULE.initial(seed)
    hyper["network"]["last"] = rng.normal(size=(5, 5)) * 0.2
    hyper["schedule"] = rng.normal(size=(STEPS - 1, 5)) * 0.1
    hyper["first"] = np.array(first)
    return hyper


def instances(count=6, n=5, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "A": 0.5 * rng.normal(size=(count, 2 * n, n)),
        "b": rng.normal(size=(count, 2 * n)),
        "x0": rng.normal(size=(count, n)),
        "scale": np.ones(count),
        "stretch": np.ones(count),
    }


def curves(fields, hyper=None, problem=None, rule=RULE, steps=STEPS):
    """The lowest loss after each step."""
    candidate = jax.tree.map(lambda array: array[None], hyper or some_rule())
    at = tuple(range(steps + 1))
    return pacopt.loss_curves(problem or Bent(), rule, candidate, pacopt.Instances(fields), steps=steps, at=at)[0]


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=0)


def test_the_network_is_what_these_tests_are_about():
    plain = curves(instances(), RULE.initial(3))
    assert np.abs(curves(instances()) / plain - 1)[:, 3].min() > 1e-3
    assert np.all(plain[:, -1] < 0.6 * plain[:, 0])


@pytest.mark.parametrize("rule", [RULE, pacopt.QuasiNewtonRule(STEPS, width=5, memory=3)])
def test_rotated_coordinates_change_nothing(rule):
    fields = instances()
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    same(curves(fields | {"A": fields["A"] @ Q, "x0": fields["x0"] @ Q}, rule=rule), curves(fields, rule=rule))


@pytest.mark.parametrize("scale", [3e-60, 0.07, 7e60])
def test_a_loss_that_is_multiplied_by_a_number_changes_nothing(scale):
    fields = instances()
    for first in ((-0.7, 1.0), (-0.7, 0.4)):
        scaled = curves(fields | {"scale": np.full(6, scale)}, some_rule(first))
        same(scaled / scale, curves(fields, some_rule(first)))


@pytest.mark.parametrize("stretch", [3e-60, 0.07, 7e60])
def test_coordinates_that_are_multiplied_by_a_number_change_nothing_if_the_first_step_is_polyaks(stretch):
    fields = instances()
    stretched = fields | {"stretch": np.full(6, stretch), "x0": fields["x0"] * stretch}
    same(curves(stretched), curves(fields))
    other = some_rule((-0.7, 0.4))
    assert np.abs(curves(stretched, other) / curves(fields, other) - 1)[:, 1].max() > 0.01


def test_coordinates_that_do_not_matter_change_nothing():
    fields = instances()
    wide = np.concatenate([fields["A"], np.zeros((6, 10, 9))], axis=2)
    start = np.concatenate([fields["x0"], np.random.default_rng(2).normal(size=(6, 9))], axis=1)
    same(curves(fields | {"A": wide, "x0": start}), curves(fields))


def test_many_copies_of_a_problem_side_by_side_do_what_one_does():
    fields = instances()
    copies = {
        "A": np.stack([np.kron(np.eye(3), A) for A in fields["A"]]),
        "b": np.tile(fields["b"], 3),
        "x0": np.tile(fields["x0"], 3),
    }
    same(curves(fields | copies) / 3, curves(fields))


def test_adding_a_number_to_the_loss_changes_nothing_if_the_first_step_does_not_look_at_it():
    blind = some_rule((-0.7, 0.0))
    same(curves(instances(), blind, Bent(5.0)) - 5.0, curves(instances(), blind))
    raised, plain = curves(instances(), problem=Bent(5.0)) - 5.0, curves(instances())
    assert np.abs(raised / plain - 1)[:, 1].max() > 0.01


def by_hand(A, b, x, hyper, steps=STEPS):
    """The rule in NumPy, as its docstring says it: H is formed as a whole, and anew from all pairs at each step."""

    def evaluated(x):
        r = A @ x - b
        return np.sum(0.1 * r**2 + np.logaddexp(r, -r) - np.log(2.0)), A.T @ (0.2 * r + np.tanh(r))

    def bfgs(H, pairs, added):
        for s, y in pairs:
            P = np.eye(len(s)) - np.outer(s, y) / (s @ y)
            H = P @ H @ P.T + added * np.outer(s, s) / (s @ y)
        return H

    norm = np.linalg.norm
    value, g = evaluated(x)
    losses, pairs, top, first, decrement = [value], [], 0.0, norm(g), None
    s = -np.exp(hyper["first"][0]) * (value / norm(g)) ** hyper["first"][1] * g / norm(g)
    for k in range(1, steps + 1):
        x, last = x + s, g
        value, g = evaluated(x)
        losses.append(value)
        y, time = g - last, min(k / STEPS, 1.0)
        pairs.append((s, y))
        top = max(0.9 * top, norm(y) / norm(s))
        u = s @ y / (y @ y) * bfgs(np.eye(len(x)), pairs, 0.0) @ g
        v = bfgs(np.zeros((len(x), len(x))), pairs, 1.0) @ g
        H, before = bfgs(s @ y / (y @ y) * np.eye(len(x)), pairs, 1.0), decrement
        np.testing.assert_allclose(u + v, H @ g, rtol=1e-9)
        decrement = g @ H @ g
        logs = [
            s @ y / (s @ s) / top,
            y @ y / (s @ y) / top,
            norm(g) / norm(last),
            norm(g) / first,
            norm(u) * top / norm(g),
            norm(v) * top / norm(g),
            norm(u) / norm(s),
            norm(v) / norm(s),
            1.0 if before is None else decrement / before,
        ]
        logs = 0.25 * np.log(logs)
        cosines = [one @ other / norm(one) / norm(other) for one, other in [(s, y), (g, s), (g, last), (g, u), (g, v)]]
        scalars = [*logs[:2], *cosines, *logs[2:], time, np.cos(np.pi * time)]
        for name in ("first", "second"):
            layer = hyper["network"][name]
            scalars = np.tanh(np.asarray(scalars) @ layer[:-1] + layer[-1])
        out = scalars @ hyper["network"]["last"] + hyper["schedule"][min(k, STEPS - 1) - 1]
        move = -np.exp(out[0]) * u - np.exp(out[1]) * v + out[2] * s - out[3] * g / top
        s = move * min(1.0, 20 * np.exp(out[4]) * norm(s) / norm(move))
    return np.minimum.accumulate(losses)


def test_it_does_what_its_docstring_says():
    fields = instances()
    rows = zip(fields["A"], fields["b"], fields["x0"], strict=True)
    same(curves(fields), np.array([by_hand(*row, some_rule()) for row in rows]))


def test_moves_that_are_clipped_are_as_long_as_it_says():
    hyper, fields = some_rule(), instances()
    hyper["schedule"][:, 4] = -3.0
    rows = zip(fields["A"], fields["b"], fields["x0"], strict=True)
    clipped = curves(fields, hyper)
    same(clipped, np.array([by_hand(*row, hyper) for row in rows]))
    assert np.all(np.abs(clipped / curves(fields) - 1).max(axis=1) > 1e-3)


def test_pairs_stand_for_the_matrices_until_the_memory_is_full():
    fields, found = instances(), {}
    for memory in (3, STEPS):
        found[memory] = curves(fields, rule=pacopt.QuasiNewtonRule(STEPS, width=5, memory=memory))
    whole = curves(fields)
    same(found[STEPS], whole)
    same(found[3][:, :5], whole[:, :5])
    assert np.abs(found[3] / whole - 1)[:, 5:].max() > 1e-6


def test_untrained_and_on_a_quadratic_it_is_bfgs_with_steps_of_length_one():
    rng = np.random.default_rng(5)
    diagonal, b = rng.uniform(1, 3, (4, 6)), rng.normal(size=(4, 6))
    data = pacopt.Instances({"diagonal": diagonal, "b": b})
    candidate = jax.tree.map(lambda array: array[None], RULE.initial(0))
    found = pacopt.loss_curves(pacopt.DiagonalQuadratic(), RULE, candidate, data, steps=4, at=range(5))[0]
    for row in range(4):
        x, a = np.zeros(6), diagonal[row]
        g = a * (a * x - b[row])
        s = -0.5 * b[row] @ b[row] / (g @ g) * g
        pairs, losses = [], [0.5 * b[row] @ b[row]]
        for _ in range(4):
            x, last = x + s, g
            g = a * (a * x - b[row])
            losses.append(0.5 * np.sum((a * x - b[row]) ** 2))
            pairs.append((s, g - last))
            y = pairs[-1][1]
            H = s @ y / (y @ y) * np.eye(6)
            for move, change in pairs:
                P = np.eye(6) - np.outer(move, change) / (move @ change)
                H = P @ H @ P.T + np.outer(move, move) / (move @ change)
            s = -H @ g
        same(found[row], np.minimum.accumulate(losses))


def test_a_step_is_one_gradient():
    evaluated = []

    class Counting(pacopt.AbstractProblem):
        def start(self, instance):
            return jnp.ones(3)

        def loss(self, x, instance):
            evaluated.append(x)  # differentiated or not, it is run once each time
            return jnp.sum(x**4)

    objective = Objective(Counting(), {})
    state = RULE.init(jnp.ones(3), some_rule(), objective)
    for _ in range(3):
        state = RULE.step(state, some_rule(), objective)
    assert len(evaluated) == 4


CASES = {
    "start at the minimum": lambda x, x0: jnp.sum((x - x0) ** 2),
    "nothing to minimise": lambda x, x0: 1.0 + 0.0 * jnp.sum(x),
    "one coordinate": lambda x, x0: x[0] ** 2,
    "a loss that is not positive": lambda x, x0: jnp.sum((x - 1.0) ** 2) - 100.0,
    "concave, so that no pair is usable": lambda x, x0: 1e3 - jnp.sqrt(1.0 + jnp.sum(x**2)),
    "linear, so that no gradient changes": lambda x, x0: 5.0 + jnp.sum(x),
    "a minimum that is met exactly": lambda x, x0: 0.5 * jnp.sum(x**2),
}


class Cases(pacopt.AbstractProblem):
    def start(self, instance):
        return instance["x"]

    def loss(self, x, instance):
        return instance["case"] @ jnp.stack([case(x, instance["x"]) for case in CASES.values()])


@pytest.mark.parametrize("memory", [None, 3])
def test_nothing_is_nan_where_there_is_nothing_left_to_do(memory):
    rule = pacopt.QuasiNewtonRule(STEPS, width=5, memory=memory)

    def final(hyper, x, case):
        objective = Objective(Cases(), {"x": x, "case": case})
        state = rule.init(x, hyper, objective)
        state, _ = jax.lax.scan(lambda state, _: (rule.step(state, hyper, objective), None), state, None, length=25)
        return jnp.sum(rule.read(state)), state

    with jax.enable_x64(True):
        x, hyper = jnp.asarray([3.0, -1.0]), jax.tree.map(jnp.asarray, some_rule())
        run = jax.vmap(jax.value_and_grad(final, has_aux=True), in_axes=(None, None, 0))
        (_, states), gradients = jax.jit(run)(hyper, x, jnp.eye(len(CASES)))
        for row, name in enumerate(CASES):
            for path, leaf in jax.tree_util.tree_leaves_with_path((states, gradients)):
                assert np.isfinite(leaf[row]).all(), f"{name}: {jax.tree_util.keystr(path)}"


def test_a_move_that_leaves_the_domain_is_made_again_a_tenth_as_long():
    class Root(pacopt.AbstractProblem):
        def start(self, instance):
            return instance["x"]

        def loss(self, x, instance):
            return jnp.sum(x - jnp.log(x))

    objective = Objective(Root(), {"x": jnp.asarray([5.0])})
    hyper = RULE.initial(0) | {"first": np.array([np.log(40.0), 0.0])}
    state = RULE.init(jnp.asarray([5.0]), hyper, objective)
    places = [float(state.place.x[0])]
    for _ in range(3):
        state = RULE.step(state, hyper, objective)
        places.append(float(state.place.x[0]))
    np.testing.assert_allclose(places[:3], [5.0, 5.0, 1.0], rtol=1e-6)
    assert float(state.lowest) == pytest.approx(1.0)


def test_points_may_be_pytrees():
    class Parts(pacopt.AbstractProblem):
        def start(self, instance):
            return {"one": instance["x0"][:3], "two": instance["x0"][3:].reshape(2, 1)}

        def loss(self, x, instance):
            return Bent().loss(jnp.concatenate([x["one"], x["two"].ravel()]), instance)

    same(curves(instances(), problem=Parts()), curves(instances()))


def test_a_longer_run_goes_on_with_the_last_numbers():
    fields, steps = instances(), STEPS + 3
    rows = zip(fields["A"], fields["b"], fields["x0"], strict=True)
    same(curves(fields, steps=steps), np.array([by_hand(*row, some_rule(), steps) for row in rows]))


def test_in_single_precision_it_does_the_same():
    candidate = jax.tree.map(lambda array: array[None], some_rule())
    data = pacopt.Instances(instances())
    table = pacopt.tabulate(Bent(), RULE, candidate, data, steps=4, dtype=np.float32)
    np.testing.assert_allclose(table.losses[0], curves(instances())[:, 4], rtol=1e-4)


def test_it_is_an_algorithm_like_any_other():
    law = pacopt.VaryingCurvature.draw(seed=0, n=3)
    pacopt.testing.check_algorithm(pacopt.QuasiNewtonRule(3, width=2), law.problem, law.sample(2, seed=1))


@pytest.mark.parametrize("sizes", [{"steps": 0}, {"steps": True}, {"steps": 5, "width": 0}, {"steps": 5, "memory": 0}])
def test_a_size_that_is_none_is_refused(sizes):
    with pytest.raises(AlgorithmError, match="whole number"):
        pacopt.QuasiNewtonRule(**sizes)


def test_a_problem_with_a_proximal_map_is_refused():
    class Sparse(pacopt.AbstractProblem, pacopt.AbstractProximable):
        def start(self, instance):
            return instance["x"]

        def loss(self, x, instance):
            return jnp.sum(x**2) + jnp.sum(jnp.abs(x))

        def smooth(self, x, instance):
            return jnp.sum(x**2)

        def prox(self, x, step_size, instance):
            return x

    with pytest.raises(AlgorithmError, match="proximal map"):
        RULE.init(jnp.ones(2), some_rule(), Objective(Sparse(), {"x": jnp.ones(2)}))
