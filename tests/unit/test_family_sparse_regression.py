"""Sparse regression: minima that prove themselves, solvers against independent code, and a rule that is learned."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import pacopt
from pacopt.errors import ProblemError
from pacopt.families import lasso_minima
from pacopt.families import sparse_regression as sparse
from stepping import path

SMALL = np.random.default_rng(3).standard_normal((12, 30))


def loss_of(A, x, b, penalty):
    return 0.5 * np.sum((A @ x - b) ** 2) + penalty * np.abs(x).sum()


def small(count, seed=0):
    rng = np.random.default_rng(seed)
    return sparse.with_minima(SMALL, 3 * rng.standard_normal((count, 12)), rng.uniform(1.0, 4.0, count))


def by_coordinates(A, b, penalty):
    """The minimiser by coordinate descent, which shares nothing with the code under test."""
    x, residual, squares = np.zeros(A.shape[1]), b.copy(), np.sum(A**2, axis=0)
    for _ in range(600):
        for k, column in enumerate(A.T):
            pull = column @ residual + squares[k] * x[k]
            new = np.sign(pull) * max(abs(pull) - penalty, 0.0) / squares[k]
            residual += column * (x[k] - new)
            x[k] = new
    return x


def test_minima_are_lower_bounds_that_prove_themselves():
    fields = small(40).fields
    proven = lasso_minima.proven_minima(SMALL, fields["b"], fields["penalty"])
    start = 0.5 * np.sum(fields["b"] ** 2, axis=1)
    losses = [loss_of(SMALL, *each) for each in zip(proven.x, fields["b"], fields["penalty"], strict=True)]
    np.testing.assert_allclose(proven.lower + proven.gap, losses, rtol=1e-13)
    assert np.all(proven.gap > 0)
    assert np.all(proven.gap < 1e-12 * start)


def test_no_other_solver_ends_below_the_bound():
    instances = small(3)
    for each in instances:
        found = loss_of(SMALL, by_coordinates(SMALL, each["b"], each["penalty"]), each["b"], each["penalty"])
        start = 0.5 * np.sum(each["b"] ** 2)
        assert 0 <= found - each["minimum"] < 1e-9 * start


def test_the_bound_of_any_point_is_below_the_loss_of_any_other():
    """Weak duality, by points that are nowhere near the minimum."""
    rng, instances = np.random.default_rng(0), small(5)
    b, penalty = instances.fields["b"], instances.fields["penalty"]
    for _ in range(20):
        one, other = rng.standard_normal((2, 5, 30)) * rng.exponential(size=(2, 5, 1))
        assert np.all(lasso_minima.bounds(SMALL, b, penalty, one)[1] < lasso_minima.bounds(SMALL, b, penalty, other)[0])


def test_a_lower_bound_in_place_of_the_minimum_makes_ratios_larger_and_by_next_to_nothing():
    """(l - m) / (l0 - m) falls in m for l <= l0: what is certified with a bound below the minimum holds with it."""
    problem, instances = sparse.Lasso(SMALL), small(8)
    hyper = {"step_size": np.array([1 / sparse.curvature_of(SMALL)])}
    best = lasso_minima.proven_minima(SMALL, instances.fields["b"], instances.fields["penalty"])
    above = pacopt.Instances(instances.fields | {"minimum": best.lower + best.gap})
    counted, true = (
        pacopt.tabulate(problem, pacopt.ProximalGradient(), hyper, each, steps=15).ratios()
        for each in (instances, above)
    )
    assert np.all(counted >= true)
    assert np.all(counted - true < 1e-12)
    lowered = pacopt.Instances(instances.fields | {"minimum": best.lower - 0.1})
    assert np.all(pacopt.tabulate(problem, pacopt.ProximalGradient(), hyper, lowered, steps=15).ratios() > counted)


def test_a_penalty_above_the_largest_correlation_has_its_minimum_at_zero():
    b = np.random.default_rng(0).standard_normal((3, 12))
    proven = lasso_minima.proven_minima(SMALL, b, 1.01 * np.abs(b @ SMALL).max(axis=1))
    np.testing.assert_array_equal(proven.x, 0)
    np.testing.assert_allclose(proven.lower, 0.5 * np.sum(b**2, axis=1), rtol=1e-14)


def test_with_an_orthonormal_dictionary_the_minimum_is_a_closed_form():
    A, b = np.eye(6), np.random.default_rng(1).standard_normal((4, 6))
    shrunk = np.sign(b) * np.maximum(np.abs(b) - 0.3, 0)
    proven = lasso_minima.proven_minima(A, b, np.full(4, 0.3))
    np.testing.assert_allclose(proven.x, shrunk, atol=1e-14)
    problem = sparse.Lasso(A)
    after = path(pacopt.ProximalGradient(), problem, {"b": b[0], "penalty": np.float64(0.3)}, 1, step_size=1.0)
    np.testing.assert_allclose(after[1], shrunk[0], atol=1e-15)


def test_a_minimum_that_cannot_be_proven_is_an_error(monkeypatch):
    monkeypatch.setattr(lasso_minima, "PROVEN", 1e-30)
    monkeypatch.setattr(lasso_minima, "ATTEMPTS", 2)
    with pytest.raises(ProblemError, match="are not proven"):
        small(3)


@pytest.mark.parametrize("family", [sparse.lasso(), sparse.sparse_coding()], ids=lambda family: family.name)
def test_draws_are_determined_by_the_seed_and_are_what_the_page_says(family):
    one, again, other = (family.sample(60, seed=seed) for seed in (1, 1, 2))
    A = family.problem.dictionary
    for name in ("b", "penalty", "minimum"):
        np.testing.assert_array_equal(one.fields[name], again.fields[name])
    assert not np.any(np.all(one.fields["b"] == other.fields["b"], axis=1))
    assert family.problem.dictionary.shape == {"lasso": (70, 350), "sparse_coding": (256, 512)}[family.name]
    penalty = one.fields["penalty"]
    if family.name == "lasso":
        assert 5 <= penalty.min() < 6 < 9 < penalty.max() <= 10
        # 5 entries of variance 1 and noise of variance 0.49, seen by columns of independent N(0, 1) entries.
        assert np.mean(one.fields["b"] ** 2) == pytest.approx(5.49, rel=0.2)
    else:
        np.testing.assert_allclose(np.linalg.norm(A, axis=0), 1)
        np.testing.assert_array_equal(penalty, 0.1)
        assert np.mean(np.sum(one.fields["b"] ** 2, axis=1)) == pytest.approx(51.2, rel=0.2)
    start = 0.5 * np.sum(one.fields["b"] ** 2, axis=1)
    assert np.all((one.fields["minimum"] > 0) & (one.fields["minimum"] < start))
    assert sparse.curvature_of(A) == pytest.approx(np.linalg.eigvalsh(A @ A.T)[-1], rel=1e-12)


def test_l_bfgs_b_has_its_evaluations_and_no_more_and_is_scipys():
    instance, steps = small(1)[0], 12
    counted = []

    def both(w):
        x = w[:30] - w[30:]
        counted.append(loss_of(SMALL, x, instance["b"], instance["penalty"]))
        g = SMALL.T @ (SMALL @ x - instance["b"])
        return 0.5 * np.sum((SMALL @ x - instance["b"]) ** 2) + instance["penalty"] * w.sum(), np.r_[
            instance["penalty"] + g, instance["penalty"] - g
        ]

    options = {"maxcor": 20, "ftol": 0, "gtol": 0, "maxls": 50}
    minimize(both, np.zeros(60), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 60, options=options)
    ours = sparse.SplitLBFGSB(SMALL, steps)({}, instance).loss
    assert ours == pytest.approx(min(counted[: steps + 1]) - instance["minimum"], rel=1e-9)
    # With as many evaluations as it likes it ends at the minimum: the formulation with split variables is right.
    assert sparse.SplitLBFGSB(SMALL, 3000)({}, instance).loss < 1e-9 * counted[0]


def test_usual_solvers_run_as_baselines_and_the_textbook_comes_first():
    family = sparse.lasso(steps=5)
    assert family.textbook == "ISTA"
    assert list(family.usual) == ["ISTA", "FISTA with restart", "SpaRSA", "L-BFGS-B"]
    L = sparse.curvature_of(family.problem.dictionary)
    assert family.usual["ISTA"].hyper == {"step_size": 1 / L}


# ---------------------------------------------------------------------------------------------------------- the rule


RULE = pacopt.ProximalRule(6, width=5, curvature=sparse.curvature_of(SMALL))


def some_rule(rule=RULE, seed=3):
    """A rule whose network matters, and whose numbers differ from step to step."""
    rng, hyper = np.random.default_rng(seed), rule.initial(seed)
    hyper["network"]["last"] = rng.normal(size=(5, 4)) * 0.1
    hyper["schedule"] = hyper["schedule"] + rng.normal(size=(6, 4)) * 0.1
    return hyper


def run(rule, hyper, instance, problem=None, steps=6):
    """The states after 0, 1, ..., steps steps."""
    with jax.enable_x64(True):
        named, fields = (jax.tree.map(jnp.asarray, dict(each)) for each in (hyper, instance))
        stacked = jax.tree.map(np.asarray, _run(rule, problem or sparse.Lasso(SMALL), named, fields, steps))
    return [jax.tree.map(lambda leaf, k=k: leaf[k], stacked) for k in range(steps + 1)]


@eqx.filter_jit
def _run(rule, problem, hyper, fields, steps):
    objective = pacopt.Objective(problem, fields)
    first = rule.init(problem.start(fields), hyper, objective)

    def step(state, _):
        moved = rule.step(state, hyper, objective)
        return moved, moved

    _, states = jax.lax.scan(step, first, None, length=steps)
    return jax.tree.map(lambda one, rest: jnp.concatenate([jnp.asarray(one)[None], rest]), first, states)


def by_hand(A, b, penalty, hyper, L, steps=6):
    """The rule in NumPy, as its docstring says it; the points, and the lowest loss after each step."""

    def soft(v, t):
        return np.sign(v) * np.maximum(np.abs(v) - t * penalty, 0)

    def log(a, c):
        return np.clip(0.25 * np.log(a / c), -5, 5) if a > 0 and c > 0 else 0.0

    def cos(a, c):
        return a @ c / np.linalg.norm(a) / np.linalg.norm(c) if a.any() and c.any() else 0.0

    n = A.shape[1]
    xs, gs = [np.zeros(n)] * 3, [-A.T @ b] * 3
    first = last = xs[0] - soft(-gs[0] / L, 1 / L)
    ahead = -gs[0] / L
    threshold = np.abs(ahead - soft(ahead, 1 / L)).max() / np.abs(ahead).max()
    F = F0 = best = loss_of(A, xs[0], b, penalty)
    place, points = (xs[0], gs[0]), [xs[0]]
    for k in range(steps):
        (x, x1, x2), (g, g1, g2) = xs, gs
        s, y, p, before, on, was = x - x1, (g - g1) / L, x - soft(x - g / L, 1 / L), x1 - x2, x != 0, x1 != 0
        size = np.linalg.norm
        seen = [
            log(s @ y, s @ s), log(y @ y, s @ y), log((s * on) @ y, (s * on) @ s), log((y * on) @ y, (s * on) @ y),
            cos(p, s), cos(p * on, s * on), cos(p, last), cos(s, before),
            log(size(p), size(last)), log(size(p), size(first)), log(size(s), size(p)), log(size(p * on), size(p)),
            log(size(s), size(before)), np.sqrt(on.mean()), 4 * (on.mean() - was.mean()), np.sqrt((on != was).mean()),
            log(threshold, 1.0), k / 6, np.cos(np.pi * k / 6),
        ]  # fmt: skip
        hidden = np.array(seen)
        for name in ("first", "second"):
            hidden = np.tanh(hidden @ hyper["network"][name][:-1] + hyper["network"][name][-1])
        out = hidden @ hyper["network"]["last"] + hyper["schedule"][min(k, 5)]
        t, theta, b1, b2 = np.exp(out[0]), np.exp(out[3]), 3 * np.tanh(out[1] / 3), 3 * np.tanh(out[2] / 3)
        z, slope = x + b1 * s + b2 * before, g + b1 * (g - g1) + b2 * (g1 - g2)
        np.testing.assert_allclose(slope, A.T @ (A @ z - b), atol=1e-9)
        if best + 0.03 * (F0 - best) < F:
            t, theta, (z, slope), (x, g), (x1, g1) = 1.0, 1.0, place, place, place
        new = soft(z - t * slope / L, t * theta / L)
        xs, gs, last = [new, x, x1], [A.T @ (A @ new - b), g, g1], p
        F = loss_of(A, new, b, penalty)
        if best > F:
            best, place = F, (new, gs[0])
        points.append(new)
    return np.array(points), best


@pytest.mark.parametrize("wild", [False, True])
def test_the_rule_is_what_its_docstring_says(wild):
    hyper = some_rule()
    if wild:
        hyper["schedule"][1] = [1.5, 2.0, 0.0, 0.0]  # a step that goes far too far, so that the guard is needed
    for instance in small(4, seed=5):
        points, best = by_hand(SMALL, instance["b"], instance["penalty"], hyper, RULE.curvature)
        states = run(RULE, hyper, instance)
        np.testing.assert_allclose([state.points[0] for state in states], points, rtol=1e-8, atol=1e-11)
        assert loss_of(SMALL, states[-1].best[0], instance["b"], instance["penalty"]) == pytest.approx(best, rel=1e-12)
        values = [float(state.value) for state in states]
        assert (max(values[2:]) > min(values) + 0.03 * (values[0] - min(values))) or not wild


def test_a_rule_with_a_wild_step_is_brought_back():
    hyper = RULE.initial(0)
    hyper["schedule"][2] = [3.0, 9.0, 9.0, -3.0]
    for instance in small(4, seed=6):
        states = run(RULE, hyper, instance)
        lowest = [float(state.best[2]) for state in states]
        assert float(states[3].value) > lowest[0]
        assert lowest[4] < lowest[3] == lowest[2]


def test_units_do_not_matter_if_the_rule_finds_the_curvature_itself():
    rule = pacopt.ProximalRule(6, width=5)
    hyper, instance = some_rule(rule), small(1)[0]
    plain = run(rule, hyper, instance)[-1]
    A, b, penalty = 100 * SMALL, 7 * instance["b"], 700 * instance["penalty"]
    scaled = run(rule, hyper, {"b": b, "penalty": penalty}, sparse.Lasso(A))[-1]
    np.testing.assert_allclose(scaled.best[0], 0.07 * plain.best[0], rtol=1e-9, atol=1e-12)


def test_without_a_proximal_map_the_rule_is_a_gradient_method_with_one_gradient_a_step():
    calls = []

    class Bowl(pacopt.AbstractProblem):
        def start(self, instance):
            return {"a": jnp.zeros(2), "b": jnp.zeros(3)}

        def loss(self, x, instance):
            jax.debug.callback(lambda: calls.append(1))
            both = jnp.concatenate([x["a"], x["b"]])
            return 0.5 * jnp.sum((jnp.linspace(1, 2, 5) * both - 1) ** 2)

    rule = pacopt.ProximalRule(6, width=5)
    states = run(rule, rule.initial(0), {}, Bowl())
    jax.effects_barrier()
    assert len(calls) == 7
    assert float(states[-1].best[2]) < 1e-2 * float(states[0].value)


@pytest.mark.slow
def test_a_rule_is_learned_with_a_certified_gain_over_the_best_usual_solver():
    parts = pacopt.split(small(420), prior=60, train=330, test=30, seed=0)
    problem = sparse.Lasso(SMALL)
    rule = pacopt.ProximalRule(6, width=4, curvature=sparse.curvature_of(SMALL))
    usual = {name: each for name, each in sparse.usual_solvers(SMALL, 6).items() if name in ("ISTA", "SpaRSA")}
    quick = replace(sparse.RECIPE, updates=60, batch=16, restarts=1, candidates=4)
    learned = pacopt.learn(
        problem, rule, parts, steps=6, prior=quick, score=pacopt.Digits(8), baseline=usual, progress=False
    )
    gained = 8 - learned.certificate.deployed.risk
    measured = -np.log10(learned.table.ratios()[learned.certificate.deployed.index]).mean()
    assert 0.3 < gained < measured
