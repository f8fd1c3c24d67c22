"""Six families of problems on which searches are compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import pacopt
from pacopt import Interval
from pacopt.space import Choice, Domain, Whole

STEP, MOMENTUM = Interval(1e-8, 1e2, log=True), Interval(0.0, 1.0)


@dataclass(frozen=True)
class Family:
    """`draw(seed)` gives a problem and its sampler: sample(count, seed). `space` is set where the engine knows less."""

    name: str
    algorithm: pacopt.AbstractAlgorithm
    steps: int
    draw: Callable[[int], tuple[pacopt.AbstractProblem, Callable[[int, int], pacopt.Instances]]]
    space: Domain | None = None

    @property
    def searched(self) -> Domain:
        return type(self.algorithm).hyperparameters if self.space is None else self.space

    def encoded(self, candidates: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Candidates as the engine of this branch takes them: a choice by its number, everything a float."""

        def numbers(name):
            kind = self.searched[name]
            if isinstance(kind, Choice):
                return np.array([kind.values.index(value) for value in np.asarray(candidates[name]).tolist()], float)
            return np.asarray(candidates[name], float)

        return {name: numbers(name) for name in candidates}

    def prior(self, search):
        """The search as a prior for `learn`, in the family's own space."""
        if self.space is None:
            return search

        def in_space(trials):
            def run(candidates, instances):
                table = trials.table(self.encoded(candidates))
                return pacopt.LossTable(table.losses, table.start, candidates)

            found = search(replace(trials, run=run, domain=self.space, standard=None))
            return pacopt.DiscreteMeasure(self.encoded(found.support), found.log_weights)

        return in_space


def quadratics(seed):
    law = pacopt.VaryingCurvature.draw(seed=seed)
    return law.problem, lambda count, draw: law.sample(count, seed=draw)


class Scaled(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros_like(instance["b"])

    def loss(self, x, instance):
        return 0.5 * jnp.sum(instance["curvature"] * (x - instance["b"]) ** 2)


def scaled(seed):
    """Curvatures in [0.1, 1], divided by a good step size that is anywhere between 1e-6 and 10."""
    good = 10.0 ** np.linspace(-6, 1, 5)[seed % 5]

    def sample(count, draw):
        rng = np.random.default_rng(draw)
        return pacopt.Instances(
            {"curvature": rng.uniform(0.1, 1.0, (count, 10)) / good, "b": rng.normal(size=(count, 10))}
        )

    return Scaled(), sample


class LeastSquares(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(instance["A"].shape[-1])

    def loss(self, x, instance):
        return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


def least_squares(seed):
    """30 x 10 matrices with heavy-tailed scales of their columns; solvable exactly."""

    def sample(count, draw):
        rng = np.random.default_rng(draw)
        A = rng.normal(size=(count, 30, 10)) * rng.lognormal(0.0, 0.4, (count, 1, 10))
        return pacopt.Instances({"A": A, "b": np.einsum("nij,nj->ni", A, rng.normal(size=(count, 10)))})

    return LeastSquares(), sample


class Lasso(pacopt.AbstractProblem, pacopt.AbstractProximable, pacopt.AbstractKnownMinimum):
    """1/2 |A x - b|^2 + weight |x|_1, with the dictionary shared and the minimum stored in the instance."""

    A: np.ndarray
    weight: float = eqx.field(static=True)

    def start(self, instance):
        return jnp.zeros(self.A.shape[1])

    def smooth(self, x, instance):
        return 0.5 * jnp.sum((self.A @ x - instance["b"]) ** 2)

    def loss(self, x, instance):
        return self.smooth(x, instance) + self.weight * jnp.sum(jnp.abs(x))

    def prox(self, x, step_size, instance):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size * self.weight, 0.0)

    def minimum(self, instance):
        return instance["minimum"]


DICTIONARY = np.random.default_rng(7).normal(size=(70, 350)) / np.sqrt(70)
WEIGHT = 0.1


def lasso(seed):
    return Lasso(DICTIONARY, WEIGHT), sparse


@cache
def sparse(count, draw):
    """Measurements of sparse vectors, with the minimal losses."""
    rng = np.random.default_rng(draw)
    x = rng.normal(size=(count, 350)) * (rng.random((count, 350)) < 0.03)
    b = x @ DICTIONARY.T + 0.01 * rng.normal(size=(count, 70))
    return pacopt.Instances({"b": b, "minimum": minima(DICTIONARY, b, WEIGHT)})


def minima(A, b, weight, steps=1500):
    """The minimal losses, by FISTA restarted for each instance whenever its loss rises."""

    @jax.jit
    def run(b):
        L = jnp.linalg.norm(A, 2) ** 2

        def value(x, seen):
            return 0.5 * jnp.sum((seen - b) ** 2, axis=1) + weight * jnp.abs(x).sum(axis=1)

        def step(_, state):
            x, y, seen, ahead_seen, t, last, best = state
            v = y - (ahead_seen - b) @ A / L
            new = jnp.sign(v) * jnp.maximum(jnp.abs(v) - weight / L, 0.0)
            new_seen = new @ A.T
            now = value(new, new_seen)
            t_next = jnp.where(now > last, 1.0, (1 + jnp.sqrt(1 + 4 * t**2)) / 2)
            ahead = jnp.where(now > last, 0.0, (t - 1) / t_next)[:, None]
            best = jnp.minimum(best, now)
            return new, new + ahead * (new - x), new_seen, new_seen + ahead * (new_seen - seen), t_next, now, best

        x, seen = jnp.zeros((len(b), A.shape[1])), jnp.zeros_like(b)
        state = (x, x, seen, seen, jnp.ones(len(b)), value(x, seen), value(x, seen))
        return jax.lax.fori_loop(0, steps, step, state)[-1]

    with jax.enable_x64(True):
        return np.asarray(run(jnp.asarray(b)))


class Fista(pacopt.AbstractAlgorithm):
    """x_next = prox(y - step_size * gradient(y)) with y = x + momentum (x - x_previous)."""

    hyperparameters: ClassVar = {"step_size": STEP, "momentum": MOMENTUM}

    def init(self, x, hyper, objective):
        return x, x

    def step(self, state, hyper, objective):
        x, previous = state
        ahead = x + hyper["momentum"] * (x - previous)
        return objective.prox(ahead - hyper["step_size"] * objective.gradient(ahead), hyper["step_size"]), x

    def read(self, state):
        return state[0]


class Logistic(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(instance["X"].shape[-1])

    def loss(self, x, instance):
        margins = instance["y"] * (instance["X"] @ x)
        return jnp.mean(jnp.logaddexp(0.0, -margins)) + 1e-3 * jnp.sum(x**2)


def logistic(seed):
    """40 x 8 features whose scales differ tenfold, labels from a plane with noise."""

    def sample(count, draw):
        rng = np.random.default_rng(draw)
        X = rng.normal(size=(count, 40, 8)) * np.geomspace(0.3, 3.0, 8) * rng.lognormal(0.0, 0.3, (count, 1, 1))
        y = np.sign(np.einsum("nij,j->ni", X, np.ones(8)) + rng.normal(size=(count, 40)))
        return pacopt.Instances({"X": X, "y": y})

    return Logistic(), sample


class Restarted(pacopt.AbstractAlgorithm):
    """Heavy-ball or Nesterov's method, at rest again after every `restart` steps; choices come as numbers."""

    hyperparameters: ClassVar = {
        "step_size": STEP,
        "momentum": MOMENTUM,
        "rule": Interval(0.0, 1.0),
        "restart": Interval(1.0, 60.0),
    }

    def init(self, x, hyper, objective):
        return x, x, jnp.zeros_like(x[0])

    def step(self, state, hyper, objective):
        x, previous, count = state
        count = jnp.where(count + 1 >= hyper["restart"], 0.0, count + 1)
        move = jnp.where(count == 0, 0.0, hyper["momentum"]) * (x - previous)
        gradient = objective.gradient(jnp.where(hyper["rule"] > 0.5, x + move, x))
        return x + move - hyper["step_size"] * gradient, x, count

    def read(self, state):
        return state[0]


MIXED = {"step_size": STEP, "momentum": MOMENTUM, "rule": Choice("polyak", "nesterov"), "restart": Whole(1, 60)}


FAMILIES = (
    Family("heavy-ball, quadratics", pacopt.HeavyBall(), 50, quadratics),
    Family("gradient descent, 7 decades", pacopt.GradientDescent(), 20, scaled),
    Family("Nesterov, least squares", pacopt.Nesterov(), 30, least_squares),
    Family("FISTA, LASSO", Fista(), 80, lasso),
    Family("heavy-ball, logistic", pacopt.HeavyBall(), 40, logistic),
    Family("mixed, quadratics", Restarted(), 50, quadratics, MIXED),
)
