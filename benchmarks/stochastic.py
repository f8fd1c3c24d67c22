"""What random numbers cost: a stochastic algorithm beside its deterministic twin. python -m benchmarks.stochastic

Minibatches of 8 of 40 rows on least squares, rows drawn anew in each step or taken in turn; and noise in every
coordinate of the gradient of the paper's quadratics, where drawing costs as much as the step of many candidates.
Medians of alternating rounds.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import pacopt
from pacopt.engines.traced.engine import Traced

STEPS, ROUNDS = 50, 9
SPACE = {"step_size": pacopt.Interval(1e-5, 1e-1, log=True)}


class Regression(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(instance["A"].shape[-1])

    def loss(self, x, instance):
        return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


def descended(x, hyper, objective, rows):
    A, b = objective.instance["A"][rows], objective.instance["b"][rows]
    return x - hyper["step_size"] * (A.T @ (A @ x - b)) * 5


class Sampled(pacopt.AbstractStochasticAlgorithm):
    hyperparameters = SPACE

    def init(self, x, hyper, objective, key):
        return x

    def step(self, x, hyper, objective, key):
        return descended(x, hyper, objective, jax.random.randint(key, (8,), 0, 40))

    def read(self, x):
        return x


class InTurn(pacopt.AbstractAlgorithm):
    hyperparameters = SPACE

    def init(self, x, hyper, objective):
        return x, 0

    def step(self, state, hyper, objective):
        x, k = state
        return descended(x, hyper, objective, (8 * k + jnp.arange(8)) % 40), k + 1

    def read(self, state):
        return state[0]


class Noisy(pacopt.AbstractStochasticAlgorithm):
    hyperparameters = SPACE

    def init(self, x, hyper, objective, key):
        return x

    def step(self, x, hyper, objective, key):
        return x - hyper["step_size"] * (objective.gradient(x) + jax.random.normal(key, x.shape))

    def read(self, x):
        return x


class Shifted(pacopt.AbstractAlgorithm):
    hyperparameters = SPACE

    def init(self, x, hyper, objective):
        return x

    def step(self, x, hyper, objective):
        return x - hyper["step_size"] * (objective.gradient(x) + 0.5)

    def read(self, x):
        return x


def compare(name, problem, random, twin, instances, candidates):
    engines = [Traced(problem, algorithm, STEPS) for algorithm in (random, twin)]
    rates = {"step_size": np.geomspace(1e-6, 1e-4, candidates)}
    seconds = np.empty((ROUNDS, 2))
    for engine in engines:
        engine.table(rates, instances)
    for row in seconds:
        for k, engine in enumerate(engines):
            begin = time.perf_counter()
            engine.table(rates, instances)
            row[k] = time.perf_counter() - begin
    ratio = np.median(seconds[:, 0] / seconds[:, 1])
    print(f"{name}, {candidates} candidates: {ratio:.2f} times its twin ({np.median(seconds[:, 1]):.2f} s)", flush=True)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    A = rng.normal(size=(1000, 40, 20))
    data = pacopt.Instances({"A": A, "b": A @ rng.normal(size=20) + rng.normal(size=(1000, 40))})
    law = pacopt.VaryingCurvature.draw(seed=0)
    for count in (64, 256):
        compare("minibatches", Regression(), Sampled(), InTurn(), data, count)
    for count in (256, 1000):
        compare("noise in every coordinate", law.problem, Noisy(), Shifted(), law.sample(1000, seed=1), count)
