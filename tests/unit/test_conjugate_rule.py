"""Conjugate gradients whose steps are guessed, and corrected one step later."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective
from rules import RULES, STEPS, Shifted, curves, quadratics, same, some_numbers


def by_hand(A, b, x, hyper, memory):
    """The rule in NumPy, as its docstring says it."""
    losses, known, kappas = [0.5 * np.sum((A @ x - b) ** 2)], [], []
    last = image = d = np.zeros_like(x)
    step = guess = remaining = 0.0
    for k in range(STEPS):
        g = A.T @ (A @ x - b)
        if k > 0:
            q = (image - (g - last)) / step
            known = [*known, (d, q)][-memory:]
            kappas.append(d @ q / (d @ d))
        r, correction, image = g, np.zeros_like(x), np.zeros_like(x)
        for p, q in known:
            part = p @ r / (p @ q)
            r, correction, image = r - part * q, correction - part * p, image - part * q
        d = r
        for p, q in known:
            d = d - q @ d / (p @ q) * p
        if k == 0:
            step, more = np.exp(hyper["first"]) * losses[0] / (g @ g), 1.0
        else:
            p, q = known[-1]
            logs = [
                np.log(kappas[-1] / max(kappas)),
                np.log(kappas[-1] / kappas[-2]) if k > 1 else 0.0,
                2 * np.log(np.linalg.norm(q) / np.linalg.norm(p) / kappas[-1]),
                np.log(kappas[-1] / guess) if k > 1 else 0.0,
                np.log(np.linalg.norm(r) / remaining),
                np.log(np.linalg.norm(d) / np.linalg.norm(r)),
            ]
            cos = r @ p / np.linalg.norm(r) / np.linalg.norm(p)
            hidden = np.array([*(0.25 * np.array(logs)), cos, k / STEPS, np.cos(np.pi * k / STEPS)])
            for name in ("first", "second"):
                layer = hyper["network"][name]
                hidden = np.tanh(hidden @ layer[:-1] + layer[-1])
            out = hidden @ hyper["network"]["last"] + hyper["schedule"][k]
            guess, more = np.exp(np.mean(np.log(kappas[-3:]))) * np.exp(-out[0]), 1 + out[1]
            step = max(d @ r / (guess * d @ d), 0.3 * np.linalg.norm(correction) / np.linalg.norm(d))
        x, image, last, remaining = x + more * correction - step * d, more * image, g, np.linalg.norm(r)
        losses.append(0.5 * np.sum((A @ x - b) ** 2))
    return losses


@pytest.mark.parametrize("memory", [2, 5])
def test_it_does_what_its_docstring_says(memory):
    rule, fields = RULES[f"conjugate, memory {memory}"], quadratics()
    rows = zip(fields["A"], fields["b"], fields["x0"], strict=True)
    same(curves(rule, fields), np.array([by_hand(*row, some_numbers(rule), memory) for row in rows]))


@pytest.mark.parametrize("memory", [2, 5])
def test_however_wrong_the_guesses_are_a_corrected_point_is_that_of_conjugate_gradients(memory):
    rule, fields = RULES[f"conjugate, memory {memory}"], quadratics()
    wrong = rule.initial(0)
    wrong["schedule"][:, 0] = np.random.default_rng(4).uniform(-0.7, 0.7, STEPS)  # steps half or twice as long
    exact = pacopt.loss_curves(
        Shifted(), pacopt.ConjugateGradients(), {}, pacopt.Instances(fields), steps=STEPS, at=range(STEPS + 1)
    )[0]

    def run(wrong, instance):
        objective = Objective(Shifted(), instance)

        def step(state, _):
            following = rule.step(state, wrong, objective)
            corrected = following.x + following.step * following.d
            return following, (objective.loss(state.x), objective.loss(corrected))

        state = rule.init(objective.problem.start(instance), wrong, objective)
        return jax.lax.scan(step, state, None, length=STEPS)[1]

    with jax.enable_x64(True):
        hyper, instances = jax.tree.map(jnp.asarray, (wrong, fields))
        guessed, corrected = map(np.asarray, jax.jit(jax.vmap(run, in_axes=(None, 0)))(hyper, instances))
    np.testing.assert_allclose(corrected, exact[:, :STEPS], rtol=1e-6)
    assert np.mean(guessed / exact[:, :STEPS] - 1) > 0.05


def test_a_spectrum_with_outliers_is_no_obstacle_where_l_bfgs_has_one():
    rng = np.random.default_rng(0)
    eigenvalues = [np.concatenate([rng.uniform(50, 100, 5), rng.uniform(0.5, 1.5, 95)]) for _ in range(30)]
    instances = pacopt.Instances({"diagonal": np.sqrt(eigenvalues), "b": rng.normal(size=(30, 100))})
    rule = pacopt.ConjugateRule(steps=20, memory=5)
    untrained = jax.tree.map(lambda array: array[None], rule.initial(0))
    means = {
        name: pacopt.tabulate(pacopt.DiagonalQuadratic(), algorithm, hyper, instances, steps=20).ratios().mean()
        for name, algorithm, hyper in [("rule", rule, untrained), ("L-BFGS", pacopt.LBFGS(), {})]
    }
    assert means["rule"] < 0.1 * means["L-BFGS"]


def test_negative_curvature_is_not_remembered():
    class Saddle(pacopt.AbstractProblem):
        def start(self, instance):
            return instance["x"]

        def loss(self, x, instance):
            return 5.0 + 0.5 * (x[0] ** 2 - x[1] ** 2)

    rule = RULES["conjugate, memory 2"]
    with jax.enable_x64(True):
        objective = Objective(Saddle(), {"x": jnp.asarray([0.1, 1.0])})
        state = rule.init(objective.instance["x"], rule.initial(0), objective)
        for _ in range(3):
            state = rule.step(state, rule.initial(0), objective)
        assert not np.any(state.directions.weights)
        assert np.all(np.isfinite(state.x))


def test_a_memory_that_is_none_is_refused():
    with pytest.raises(AlgorithmError, match="memory is 0"):
        pacopt.ConjugateRule(steps=5, memory=0)
