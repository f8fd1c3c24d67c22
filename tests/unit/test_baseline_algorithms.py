"""Methods that everybody has, by independent code: what each does, and that a step of it is one gradient."""

import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import minimize

import pacopt
from cases import ALGORITHMS, BASELINES, Logistic, _logistic_gradient, _logistic_margin, _sample_logistic
from pacopt import (
    FISTA,
    LBFGS,
    Adam,
    BarzilaiBorwein,
    ConjugateGradients,
    NonlinearConjugateGradients,
    Objective,
    ProximalBarzilaiBorwein,
    ProximalGradient,
    ProximalNesterov,
)
from pacopt.errors import AlgorithmError
from stepping import by_name, hyper_of, path

ROOT = Path(__file__).parents[2]
#: Those that are invariant to rotations, and to the units of x and of the loss.
INVARIANT = [ConjugateGradients(), NonlinearConjugateGradients(), LBFGS(), BarzilaiBorwein()]

#: Those that use the proximal map of a problem that has one.
PROXIMAL = (FISTA, ProximalGradient, ProximalNesterov, ProximalBarzilaiBorwein)


class Dense(pacopt.AbstractProblem):
    """1/2 |A x - b|^2 from a start that is given."""

    def start(self, instance):
        return instance["start"]

    def loss(self, x, instance):
        return instance["unit"] * 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


def dense(n, *, seed=0, largest=70.0, smallest=0.2, start=0.0):
    """A rotated quadratic with the paper's spectrum: square roots of the curvatures in equal steps."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    A = left * np.linspace(smallest, largest, n) @ right
    return {"A": A, "b": 5 * rng.standard_normal(n), "start": start * rng.standard_normal(n), "unit": np.float64(1)}


def losses_of(instance, points):
    return 0.5 * np.sum((points @ instance["A"].T - instance["b"]) ** 2, axis=1)


def textbook_cg(instance, steps):
    """Conjugate gradients as in Hestenes and Stiefel (1952), with products with A'A."""
    A, x = instance["A"].T @ instance["A"], instance["start"].copy()
    residual = instance["A"].T @ instance["b"] - A @ x
    direction, points = residual, [x]
    for _ in range(steps):
        product = A @ direction
        length = residual @ residual / (direction @ product)
        x, reduced = x + length * direction, residual - length * product
        direction = reduced + (reduced @ reduced) / (residual @ residual) * direction
        residual = reduced
        points.append(x)
    return np.array(points)


class Counter:
    """How often something was evaluated."""

    count = 0

    def tick(self):
        self.count += 1


class Counted(pacopt.AbstractProblem):
    """A quadratic that counts, while it runs, how often its loss is evaluated, with or without a gradient."""

    counter: Counter = eqx.field(static=True)

    def start(self, instance):
        return jnp.zeros(8)

    def loss(self, x, instance):
        jax.debug.callback(self.counter.tick)
        return 0.5 * jnp.sum((jnp.linspace(0.5, 5, 8) * x - 1) ** 2)


@pytest.mark.parametrize("algorithm", [*(each for each, _ in ALGORITHMS), *BASELINES], ids=by_name)
def test_a_step_is_one_gradient_and_the_table_of_the_docs_says_what_the_start_takes(algorithm):
    page = (ROOT / "docs/api/algorithms.md").read_text()
    row = re.search(rf"^\| \[`{by_name(algorithm)}`\].*\| (K|K \+ 1) \|", page, flags=re.MULTILINE)
    counter, counts = Counter(), []
    objective, hyper = Objective(Counted(counter), {}), hyper_of(algorithm)
    state = jax.jit(lambda x: algorithm.init(x, hyper, objective))(jnp.zeros(8))
    step = jax.jit(lambda state: algorithm.step(state, hyper, objective))
    for _ in range(12):
        jax.block_until_ready(state)
        jax.effects_barrier()
        counts.append(counter.count)
        state = step(state)
    assert counts[0] == {"K": 0, "K + 1": 1}[row[1]]
    np.testing.assert_array_equal(np.diff(counts), 1)


@pytest.mark.parametrize(("n", "start"), [(200, 1.0), pytest.param(1000, 0.0, marks=pytest.mark.slow)])
def test_conjugate_gradients_are_those_of_the_textbook_though_they_see_gradients_only(n, start):
    instance = dense(n, start=start)
    ours = losses_of(instance, path(ConjugateGradients(), Dense(), instance, 50))
    np.testing.assert_allclose(ours, losses_of(instance, textbook_cg(instance, 50)), rtol=1e-9)


def test_in_few_dimensions_rounding_parts_conjugate_gradients_from_the_textbook_as_it_parts_the_textbook_from_itself():
    """With 50 steps in 50 dimensions no two codes agree: rounding costs the directions their conjugacy."""
    ours, other, textbook = [], [], []
    for seed in range(20):
        instance = dense(50, seed=seed)
        swapped = instance | {
            "A": np.linalg.qr(instance["A"])[1],
            "b": np.linalg.qr(instance["A"])[0].T @ instance["b"],
        }
        ours.append(losses_of(instance, path(ConjugateGradients(), Dense(), instance, 50)))
        textbook.append(losses_of(instance, textbook_cg(instance, 50)))
        other.append(losses_of(instance, textbook_cg(swapped, 50)))
    ours, other, textbook = np.array(ours), np.array(other), np.array(textbook)
    np.testing.assert_allclose(ours[:, :26], textbook[:, :26], rtol=1e-6)
    start = textbook[:, 0]
    apart = np.mean(np.abs(ours - textbook)[:, -1] / start)
    assert apart < 2 * np.mean(np.abs(other - textbook)[:, -1] / start)
    assert np.mean(ours[:, -1] / start) == pytest.approx(np.mean(textbook[:, -1] / start), rel=0.02)


def test_conjugate_gradients_end_after_as_many_steps_as_there_are_dimensions():
    instance = dense(7, largest=3.0, smallest=1.0, start=1.0)
    losses = losses_of(instance, path(ConjugateGradients(), Dense(), instance, 30))
    assert losses[6] > 1e-9 * losses[0]
    assert losses[7:].max() < 1e-26 * losses[0]


def test_no_method_in_the_span_of_its_gradients_ends_below_conjugate_gradients():
    instance, steps = dense(100), 12
    A, basis = instance["A"].T @ instance["A"], [instance["A"].T @ instance["b"]]
    for _ in range(steps - 1):
        basis.append(A @ basis[-1] / np.linalg.norm(A @ basis[-1]))
    span = np.linalg.qr(np.array(basis).T)[0]
    coordinates = np.linalg.lstsq(instance["A"] @ span, instance["b"], rcond=None)[0]
    lowest = losses_of(instance, (span @ coordinates)[None])[0]
    ends = {by_name(each): losses_of(instance, path(each, Dense(), instance, steps))[-1] for each in INVARIANT}
    assert ends["ConjugateGradients"] == pytest.approx(lowest, rel=1e-9)
    assert all(end >= lowest * (1 - 1e-9) for end in ends.values())


@pytest.mark.parametrize("algorithm", INVARIANT, ids=by_name)
@pytest.mark.parametrize("unit", [2.0**-60, 2.0**60])
def test_the_units_of_the_loss_and_of_x_and_a_rotation_change_nothing(algorithm, unit):
    instance, steps = dense(20, start=1.0), 15
    ratios = losses_of(instance, path(algorithm, Dense(), instance, steps)) / losses_of(
        instance, instance["start"][None]
    )
    other_loss = instance | {"unit": np.float64(unit)}
    found = losses_of(instance, path(algorithm, Dense(), other_loss, steps))
    np.testing.assert_allclose(found / found[0], ratios, rtol=1e-6)
    other_x = instance | {"A": instance["A"] / unit, "start": instance["start"] * unit}
    found = losses_of(other_x, path(algorithm, Dense(), other_x, steps))
    np.testing.assert_allclose(found / found[0], ratios, rtol=1e-6)
    turn = np.linalg.qr(np.random.default_rng(9).standard_normal((20, 20)))[0]
    turned = instance | {"A": instance["A"] @ turn.T, "start": turn @ instance["start"]}
    found = losses_of(turned, path(algorithm, Dense(), turned, steps))
    np.testing.assert_allclose(found / found[0], ratios, rtol=1e-6)


def scipy_lowest(value_and_gradient, x, steps, units=1.0):
    """The lowest of the first 1, 2, ..., steps + 1 losses that SciPy's L-BFGS-B evaluates, in units of x."""
    seen = []

    def counted(u):
        value, gradient = value_and_gradient(units * u)
        seen.append(value)
        return value, units * gradient

    options = {"maxcor": 10, "ftol": 0, "gtol": 0, "maxfun": steps + 30, "maxiter": 10_000}
    minimize(counted, x / units, jac=True, method="L-BFGS-B", options=options)
    seen += [min(seen)] * (steps + 1 - len(seen))  # it may end before: it has converged
    return np.minimum.accumulate(seen[: steps + 1])


def quadratic(instance):
    def value_and_gradient(x):
        residual = instance["diagonal"] * x - instance["b"]
        return 0.5 * residual @ residual, instance["diagonal"] * residual

    return value_and_gradient


def logistic(instance):
    def value_and_gradient(x):
        loss = np.mean(np.logaddexp(0, -_logistic_margin(x, instance))) + 0.1 * np.sum(x[:-1] ** 2)
        return loss, _logistic_gradient(x, instance)

    return value_and_gradient


LAW = pacopt.VaryingCurvature.draw(seed=0, n=200)


@pytest.mark.parametrize(
    ("problem", "instances", "by_hand", "n", "steps"),
    [(LAW.problem, LAW.sample(5, seed=1), quadratic, 200, 30), (Logistic(), _sample_logistic(5, 1), logistic, 5, 8)],
    ids=["quadratics", "logistic regression"],
)
def test_lbfgs_evaluates_what_scipy_evaluates_where_both_start_with_the_same_trial(
    problem, instances, by_hand, n, steps
):
    for instance in instances:
        value, gradient = by_hand(instance)(np.zeros(n))
        # SciPy's first move has length one; in these units that is ours.
        theirs = scipy_lowest(by_hand(instance), np.zeros(n), steps, units=value / np.linalg.norm(gradient))
        points = path(LBFGS(), problem, instance, steps)
        flat = points if n == 200 else np.concatenate([points["weights"], points["bias"][:, None]], axis=1)
        ours = [by_hand(instance)(x)[0] for x in flat]
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_at_equal_gradients_lbfgs_is_as_good_as_scipys_and_stands_between_conjugate_gradients_and_the_others():
    instances, steps = LAW.sample(200, seed=2), 50
    table = {
        by_name(each): pacopt.tabulate(LAW.problem, each, {}, instances, steps=steps).losses[0] for each in INVARIANT
    }
    start = 0.5 * np.array([instance["b"] @ instance["b"] for instance in instances])
    scipy = np.array([scipy_lowest(quadratic(instance), np.zeros(200), steps)[-1] for instance in instances])
    mean = {name: np.mean(losses / start) for name, losses in table.items()}
    assert mean["LBFGS"] < 1.02 * np.mean(scipy / start)
    assert mean["ConjugateGradients"] < mean["LBFGS"] < mean["NonlinearConjugateGradients"] < mean["BarzilaiBorwein"]


def test_nonlinear_conjugate_gradients_take_at_most_two_gradients_for_what_linear_ones_take_one():
    for seed in range(5):
        instance = dense(200, seed=seed)
        linear = losses_of(instance, textbook_cg(instance, 20))
        ours = losses_of(instance, path(NonlinearConjugateGradients(), Dense(), instance, 40))
        assert np.all(ours[::2] <= linear * (1 + 1e-6))


def textbook_bb(gradient, loss, x, steps):
    """Both step sizes in turn, and a trial that must lie below the highest of the last ten losses."""
    g, value = gradient(x), loss(x)
    t, recent, lowest, long = value / (g @ g), [value] * 10, [value], False
    for _ in range(steps):
        trial = x - t * g
        reached = loss(trial)
        lowest.append(min(lowest[-1], reached))
        if reached > max(recent) - 1e-4 * t * (g @ g):
            t = np.clip(t * t * (g @ g) / (2 * (reached - value + t * (g @ g))), 0.1 * t, 0.5 * t)
            continue
        s, y = trial - x, gradient(trial) - g
        t = (s @ s) / (s @ y) if long else (s @ y) / (y @ y)
        x, g, value, recent, long = trial, gradient(trial), reached, [*recent[1:], reached], not long
    return np.array(lowest)


def test_barzilai_borwein_steps_are_those_of_the_papers():
    instance = dense(30, start=1.0)
    ours = losses_of(instance, path(BarzilaiBorwein(), Dense(), instance, 40))
    theirs = textbook_bb(
        lambda x: instance["A"].T @ (instance["A"] @ x - instance["b"]),
        lambda x: losses_of(instance, x[None])[0],
        instance["start"],
        40,
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


class Lasso(pacopt.AbstractProblem, pacopt.AbstractProximable):
    """1/2 |A x - b|^2 + |x|_1."""

    def start(self, instance):
        return jnp.zeros(instance["A"].shape[1])

    def smooth(self, x, instance):
        return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)

    def prox(self, x, step_size, instance):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size, 0.0)

    def loss(self, x, instance):
        return self.smooth(x, instance) + jnp.sum(jnp.abs(x))


def test_fista_keeps_within_its_bound_with_and_without_a_proximal_map():
    rng = np.random.default_rng(0)
    lasso = {"A": rng.standard_normal((20, 40)), "b": 3 * rng.standard_normal(20)}
    curvature = np.linalg.norm(lasso["A"], 2) ** 2
    points = path(FISTA(), Lasso(), lasso, 3000, step_size=1 / curvature)
    losses = losses_of(lasso, points) + np.abs(points).sum(axis=1)
    # Optimal: the gradient is minus the sign where x is not zero, and at most one elsewhere.
    slack = -lasso["A"].T @ (lasso["A"] @ points[-1] - lasso["b"])
    np.testing.assert_allclose(slack[points[-1] != 0], np.sign(points[-1][points[-1] != 0]), atol=1e-9)
    assert np.abs(slack).max() < 1 + 1e-9
    k = np.arange(1, 200)
    bound = 2 * curvature * np.sum(points[-1] ** 2) / (k + 1) ** 2
    assert np.all(losses[1:200] - losses[-1] <= bound)
    smooth = dense(60)
    points = path(FISTA(), Dense(), smooth, 200, step_size=1 / 70.0**2)
    nearest = np.linalg.solve(smooth["A"], smooth["b"])
    k = np.arange(1, 201)
    assert np.all(losses_of(smooth, points)[1:] <= 2 * 70.0**2 * np.sum(nearest**2) / (k + 1) ** 2)


def test_fista_restarts_where_its_momentum_points_uphill():
    instance, x, points, t = dense(30, largest=10.0, smallest=1.0, start=1.0), None, [], 1.0
    x = y = instance["start"]
    restarts = 0
    for _ in range(150):
        points.append(x)
        gradient = instance["A"].T @ (instance["A"] @ y - instance["b"])
        new = y - gradient / 100
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        if gradient @ (new - x) > 0:  # O'Donoghue and Candès (2015, sec. 3.2)
            x, y, t, restarts = new, new, 1.0, restarts + 1
        else:
            x, y, t = new, new + (t - 1) / following * (new - x), following
    assert restarts > 2
    ours = path(FISTA(), Dense(), instance, 149, step_size=0.01)
    np.testing.assert_allclose(ours, points, rtol=1e-9, atol=1e-12)
    assert FISTA().standard(1.0, 100.0) == {"step_size": 0.01}


def test_proximal_steps_are_those_of_the_papers():
    """ISTA (Beck and Teboulle 2009) and its form with a constant momentum and a threshold, by hand."""
    rng = np.random.default_rng(0)
    lasso = {"A": rng.standard_normal((20, 40)), "b": 3 * rng.standard_normal(20)}
    step = 1 / np.linalg.norm(lasso["A"], 2) ** 2

    def by_hand(momentum, threshold):
        x = last = np.zeros(40)
        points = [x]
        for _ in range(30):
            y = x + momentum * (x - last)
            moved = y - step * lasso["A"].T @ (lasso["A"] @ y - lasso["b"])
            x, last = np.sign(moved) * np.maximum(np.abs(moved) - threshold * step, 0), x
            points.append(x)
        return np.array(points)

    ista = path(ProximalGradient(), Lasso(), lasso, 30, step_size=step)
    np.testing.assert_allclose(ista, by_hand(0, 1), rtol=1e-9, atol=1e-12)
    losses = losses_of(lasso, ista) + np.abs(ista).sum(axis=1)
    assert np.all(np.diff(losses) < 0)
    ours = path(ProximalNesterov(), Lasso(), lasso, 30, step_size=step, momentum=0.7, threshold=1.1)
    np.testing.assert_allclose(ours, by_hand(0.7, 1.1), rtol=1e-9, atol=1e-12)
    assert ProximalGradient().standard(0.0, 4.0) == ProximalBarzilaiBorwein().standard(0.0, 4.0) == {"step_size": 0.25}


def textbook_sparsa(A, b, penalty, t, steps):
    """SpaRSA (Wright, Nowak and Figueiredo 2009): the lowest loss so far, and how many trials were not accepted."""

    def loss(x):
        return 0.5 * np.sum((A @ x - b) ** 2) + penalty * np.abs(x).sum()

    x, refused = np.zeros(A.shape[1]), 0
    recent, lowest = [loss(x)] * 5, [loss(x)]
    for _ in range(steps):
        moved = x - t * A.T @ (A @ x - b)
        trial = np.sign(moved) * np.maximum(np.abs(moved) - t * penalty, 0)
        lowest.append(min(lowest[-1], loss(trial)))
        s = trial - x
        if loss(trial) > max(recent) - 0.005 * (s @ s) / t:
            t, refused = t / 2, refused + 1
            continue
        t = (s @ s) / np.sum((A @ s) ** 2)
        x, recent = trial, [*recent[1:], loss(trial)]
    return np.array(lowest), refused


@pytest.mark.parametrize("first", [1.0, 30.0])
def test_barzilai_borwein_steps_with_a_proximal_map_are_those_of_sparsa(first):
    rng = np.random.default_rng(1)
    lasso = {"A": rng.standard_normal((20, 40)), "b": 3 * rng.standard_normal(20)}
    step = first / np.linalg.norm(lasso["A"], 2) ** 2
    theirs, refused = textbook_sparsa(lasso["A"], lasso["b"], 1.0, step, 40)
    points = path(ProximalBarzilaiBorwein(), Lasso(), lasso, 40, step_size=step)
    ours = losses_of(lasso, points) + np.abs(points).sum(axis=1)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert refused > 0 or first == 1.0


def test_adam_is_optax_adam_step_by_step():
    instance = _sample_logistic(1, 3)[0]
    ours = path(Adam(), Logistic(), instance, 30, step_size=0.1, b1=0.8, b2=0.95)
    with jax.enable_x64(True):
        objective = Objective(Logistic(), {name: jnp.asarray(value) for name, value in instance.items()})
        rule, x = optax.adam(0.1, b1=0.8, b2=0.95), Logistic().start(objective.instance)
        state = rule.init(x)
        for k in range(30):
            updates, state = rule.update(objective.gradient(x), state)
            x = optax.apply_updates(x, updates)
            np.testing.assert_allclose(ours["weights"][k + 1], x["weights"], rtol=1e-12)
            np.testing.assert_allclose(ours["bias"][k + 1], x["bias"], rtol=1e-12)


@pytest.mark.parametrize("algorithm", BASELINES, ids=by_name)
def test_a_start_that_is_the_minimum_is_not_left(algorithm):
    instance = dense(5, largest=2.0, smallest=1.0) | {"b": np.zeros(5)}
    np.testing.assert_array_equal(path(algorithm, Dense(), instance, 8), np.zeros((9, 5)))


@pytest.mark.parametrize("algorithm", BASELINES, ids=by_name)
def test_a_run_that_has_arrived_stays_there(algorithm):
    instance = dense(5, largest=2.0, smallest=1.0, start=1.0)
    points = path(algorithm, Dense(), instance, 600, step_size=0.2)
    assert np.isfinite(points).all()
    # Adam does not come to rest with a constant step size.
    tolerance = 1e-2 if isinstance(algorithm, Adam) else 1e-7
    np.testing.assert_allclose(points[-1], np.linalg.solve(instance["A"], instance["b"]), atol=tolerance)


class Halves(Dense):
    """The same quadratic of a point in two parts."""

    def start(self, instance):
        return {"a": instance["start"][:2], "b": (instance["start"][2:].reshape(2, -1),)}

    def loss(self, x, instance):
        whole = jnp.concatenate([x["a"], x["b"][0].ravel()])
        return 0.5 * jnp.sum((instance["A"] @ whole - instance["b"]) ** 2)


@pytest.mark.parametrize("algorithm", BASELINES, ids=by_name)
def test_a_point_may_be_a_tree(algorithm):
    instance = dense(8, largest=4.0, smallest=1.0, start=1.0)
    whole, halves = (path(algorithm, problem, instance, 6, step_size=0.05) for problem in (Dense(), Halves()))
    together = np.concatenate([halves["a"], halves["b"][0].reshape(7, -1)], axis=1)
    np.testing.assert_allclose(together, whole, rtol=1e-9)


@pytest.mark.parametrize("algorithm", [each for each in BASELINES if not isinstance(each, PROXIMAL)], ids=by_name)
def test_a_loss_with_a_proximal_map_is_refused_by_methods_that_would_ignore_a_part_of_it(algorithm):
    instances = pacopt.Instances({"A": np.ones((2, 3, 3)), "b": np.ones((2, 3))})
    with pytest.raises(AlgorithmError, match=r"Lasso has a part .* ignore the other.* pacopt\.FISTA"):
        pacopt.tabulate(Lasso(), algorithm, hyper_of(algorithm), instances, steps=2)


@pytest.mark.wrong_types
@pytest.mark.parametrize("memory", [0, -1, 2.5, None])
def test_a_memory_without_room_is_refused(memory):
    with pytest.raises(AlgorithmError, match=r"memory is .* LBFGS\(memory=10\)"):
        LBFGS(memory=memory)


def test_a_gain_over_a_method_without_hyperparameters_is_certified_and_verified(tmp_path):
    law = pacopt.VaryingCurvature.draw(seed=0, n=10)
    parts = pacopt.split(law.sample(500, seed=1), prior=80, train=360, test=60, seed=2)
    baseline = {
        "two steps of L-BFGS": pacopt.Baseline(algorithm=LBFGS(), steps=2),
        "conjugate gradients": pacopt.Baseline(algorithm=ConjugateGradients()),
    }
    quick = pacopt.priors.Search(candidates=16, explore=1, rounds=2)
    learned = pacopt.learn(
        law.problem, pacopt.HeavyBall(), parts, steps=20, prior=quick, curvature=law.curvature, baseline=baseline
    )
    assert learned.certificate.deployed.gain > 1
    assert "two steps of L-BFGS is LBFGS, 2 steps" in str(learned.certificate)
    learned.save(tmp_path / "run")
    assert pacopt.verify(tmp_path / "run", rerun=1, seed=0).rerun >= 3 * 360
