"""One list each of problems and algorithms, with an independent NumPy implementation beside each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import pacopt

Instance = dict[str, np.ndarray]


@dataclass(frozen=True)
class ProblemCase:
    """A problem, a sampler, and its start, loss and gradient written by hand for one instance."""

    name: str
    problem: pacopt.AbstractProblem
    sample: Callable[[int, int], pacopt.Instances]
    start: Callable[[Instance], np.ndarray]
    loss: Callable[[np.ndarray, Instance], float]
    gradient: Callable[[np.ndarray, Instance], np.ndarray]
    step_size: float


class Logistic(pacopt.AbstractProblem):
    """A reviewer's problem: ridge logistic regression, one table for each instance."""

    ridge: float = 0.1

    def start(self, instance):
        return {"weights": jnp.zeros(instance["X"].shape[1]), "bias": jnp.zeros(())}

    def loss(self, x, instance):
        margin = instance["y"] * (instance["X"] @ x["weights"] + x["bias"])
        return jnp.mean(jax.nn.softplus(-margin)) + self.ridge * jnp.sum(x["weights"] ** 2)


def _logistic_margin(x, i):
    return i["y"] * (i["X"] @ x[:-1] + x[-1])


def _logistic_gradient(x, i):
    pull = -i["y"] / (1 + np.exp(_logistic_margin(x, i))) / len(i["y"])
    return np.append(i["X"].T @ pull + 0.2 * x[:-1], pull.sum())


def _sample_logistic(count, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], size=(count, 30))
    return pacopt.Instances({"X": rng.standard_normal((count, 30, 4)) + 0.3 * y[:, :, None], "y": y})


_shared = pacopt.FixedCurvature.draw(seed=5, n=7)
_varying = pacopt.VaryingCurvature.draw(seed=6, n=9)

PROBLEMS = [
    ProblemCase(
        "diagonal",
        _varying.problem,
        lambda count, seed: _varying.sample(count, seed=seed),
        lambda i: np.zeros(9),
        lambda x, i: 0.5 * np.sum((i["diagonal"] * x - i["b"]) ** 2),
        lambda x, i: i["diagonal"] * (i["diagonal"] * x - i["b"]),
        2e-4,
    ),
    ProblemCase(
        "shared matrix",
        _shared.problem,
        lambda count, seed: _shared.sample(count, seed=seed),
        lambda i: np.zeros(7),
        lambda x, i: 0.5 * np.sum((_shared.A @ x - i["b"]) ** 2),
        lambda x, i: _shared.A.T @ (_shared.A @ x - i["b"]),
        1e-3,
    ),
    ProblemCase(
        "logistic",
        Logistic(),
        _sample_logistic,
        lambda i: np.zeros(5),
        lambda x, i: np.mean(np.log1p(np.exp(-_logistic_margin(x, i)))) + 0.1 * np.sum(x[:-1] ** 2),
        _logistic_gradient,
        0.5,
    ),
]


def _gradient_descent(gradient, x, hyper, steps):
    for _ in range(steps):
        x = x - hyper["step_size"] * gradient(x)
    return x


def _heavy_ball(gradient, x, hyper, steps):
    previous = x
    for _ in range(steps):
        x, previous = x - hyper["step_size"] * gradient(x) + hyper["momentum"] * (x - previous), x
    return x


def _nesterov(gradient, x, hyper, steps):
    previous = x
    for _ in range(steps):
        y = x + hyper["momentum"] * (x - previous)
        x, previous = y - hyper["step_size"] * gradient(y), x
    return x


ALGORITHMS: list[tuple[pacopt.AbstractAlgorithm, Callable[..., Any]]] = [
    (pacopt.GradientDescent(), _gradient_descent),
    (pacopt.HeavyBall(), _heavy_ball),
    (pacopt.Nesterov(), _nesterov),
]

#: What one would take instead; `unit/test_baseline_algorithms.py` has the independent code beside each.
BASELINES: list[pacopt.AbstractAlgorithm] = [
    pacopt.ConjugateGradients(),
    pacopt.NonlinearConjugateGradients(),
    pacopt.LBFGS(),
    pacopt.Newton(),
    pacopt.BarzilaiBorwein(),
    pacopt.FISTA(),
    pacopt.ProximalGradient(),
    pacopt.ProximalNesterov(),
    pacopt.ProximalBarzilaiBorwein(),
    pacopt.Adam(),
]


def candidates_for(algorithm, step_size, count, seed=0):
    """Random candidates around a step size, some of which diverge."""
    rng = np.random.default_rng(seed)
    drawn = {"step_size": step_size * 10 ** rng.uniform(-1, 1, count), "momentum": rng.uniform(0, 1.2, count)}
    return {name: drawn[name] for name in type(algorithm).hyperparameters}


def numpy_table(case, run, candidates, instances, steps):
    """The loss table by two plain loops."""
    count = len(next(iter(candidates.values())))
    table = np.empty((count, len(instances)))
    for row in range(count):
        hyper = {name: values[row] for name, values in candidates.items()}
        for column, instance in enumerate(instances):
            x = run(lambda x, i=instance: case.gradient(x, i), case.start(instance), hyper, steps)
            table[row, column] = case.loss(x, instance)
    return table
