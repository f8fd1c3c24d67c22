"""Four more families: two that helped to find the search, and two that chose nothing."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np

import pacopt
from benchmarks.search_families import MOMENTUM, STEP, Family, least_squares
from pacopt import Interval
from pacopt.space import Choice, Whole


class Adam(pacopt.AbstractAlgorithm):
    hyperparameters: ClassVar = {
        "step_size": STEP,
        "first": Interval(0.0, 1.0),
        "second": Interval(0.0, 1.0),
        "decay": Interval(0.0, 2.0),
    }

    def init(self, x, hyper, objective):
        return x, jnp.zeros_like(x), jnp.zeros_like(x), jnp.zeros_like(x[0])

    def step(self, state, hyper, objective):
        x, m, v, t = state
        g, t = objective.gradient(x), t + 1
        m = hyper["first"] * m + (1 - hyper["first"]) * g
        v = hyper["second"] * v + (1 - hyper["second"]) * g**2
        hat = m / (1 - hyper["first"] ** t), v / (1 - hyper["second"] ** t)
        return x - hyper["step_size"] * t ** -hyper["decay"] * hat[0] / (jnp.sqrt(hat[1]) + 1e-8), m, v, t

    def read(self, state):
        return state[0]


class Robust(pacopt.AbstractProblem):
    """Regression with the Cauchy loss: not convex."""

    def start(self, instance):
        return jnp.zeros(instance["A"].shape[-1])

    def loss(self, x, instance):
        return jnp.mean(jnp.log1p((instance["A"] @ x - instance["b"]) ** 2))


def robust(seed):
    def sample(count, draw):
        rng = np.random.default_rng(draw)
        A = rng.normal(size=(count, 40, 6)) * np.geomspace(0.3, 3.0, 6)
        noise = 0.1 * rng.standard_t(1.5, size=(count, 40))
        return pacopt.Instances({"A": A, "b": np.einsum("nij,nj->ni", A, rng.normal(size=(count, 6))) + noise})

    return Robust(), sample


class Schedule(pacopt.AbstractAlgorithm):
    """Gradient descent with six step sizes, used in turn."""

    hyperparameters: ClassVar = {f"step_{k}": STEP for k in range(6)}

    def init(self, x, hyper, objective):
        return x, jnp.zeros_like(x[0])

    def step(self, state, hyper, objective):
        x, t = state
        sizes = jnp.stack([hyper[name] for name in self.hyperparameters])
        return x - jnp.take(sizes, (t % 6).astype(int)) * objective.gradient(x), t + 1

    def read(self, state):
        return state[0]


class Decaying(pacopt.AbstractAlgorithm):
    """Gradient descent with step_size / (1 + delay t)^power."""

    hyperparameters: ClassVar = {
        "step_size": STEP,
        "delay": Interval(1e-3, 10.0, log=True),
        "power": Interval(0.0, 2.0),
    }

    def init(self, x, hyper, objective):
        return x, jnp.zeros_like(x[0])

    def step(self, state, hyper, objective):
        x, t = state
        size = hyper["step_size"] / (1 + hyper["delay"] * t) ** hyper["power"]
        return x - size * objective.gradient(x), t + 1

    def read(self, state):
        return state[0]


class Distances(pacopt.AbstractProblem):
    """The sum of distances to some points, rounded off at 1e-3: nearly not smooth."""

    def start(self, instance):
        return jnp.zeros(instance["at"].shape[-1])

    def loss(self, x, instance):
        return jnp.mean(jnp.sqrt(1e-6 + jnp.sum((x - instance["at"]) ** 2, axis=-1)))


def distances(seed):
    def sample(count, draw):
        rng = np.random.default_rng(draw)
        return pacopt.Instances(
            {"at": rng.normal(size=(count, 1, 5)) * 5 + rng.standard_t(2, size=(count, 9, 5)) * 0.1}
        )

    return Distances(), sample


class Scaling(pacopt.AbstractAlgorithm):
    """Momentum with the gradient as it is, divided by its norm, or its signs, and a step halved every so many steps."""

    hyperparameters: ClassVar = {
        "step_size": STEP,
        "momentum": MOMENTUM,
        "scaling": Interval(0.0, 2.0),
        "halving": Interval(1.0, 100.0),
    }

    def init(self, x, hyper, objective):
        return x, x, jnp.zeros_like(x[0])

    def step(self, state, hyper, objective):
        x, previous, t = state
        g = objective.gradient(x)
        kinds = (g, g / (jnp.linalg.norm(g) + 1e-12), jnp.sign(g))
        g = jnp.where(hyper["scaling"] < 0.5, kinds[0], jnp.where(hyper["scaling"] < 1.5, kinds[1], kinds[2]))
        size = hyper["step_size"] * 0.5 ** jnp.floor(t / hyper["halving"])
        return x - size * g + hyper["momentum"] * (x - previous), x, t + 1

    def read(self, state):
        return state[0]


SCALED = {
    "step_size": STEP,
    "momentum": MOMENTUM,
    "scaling": Choice("none", "norm", "sign"),
    "halving": Whole(1, 100, log=True),
}


class Quartic(pacopt.AbstractProblem):
    """A quartic valley: gradients grow without bound."""

    def start(self, instance):
        return jnp.zeros_like(instance["b"])

    def loss(self, x, instance):
        r = instance["A"] @ x - instance["b"]
        return jnp.sum(r**2) + jnp.sum(r**4)


def quartics(seed):
    def sample(count, draw):
        rng = np.random.default_rng(draw)
        A = rng.normal(size=(count, 8, 8)) / 3 + np.eye(8)
        return pacopt.Instances({"A": A, "b": rng.normal(size=(count, 8)) * rng.lognormal(0.0, 0.5, (count, 1))})

    return Quartic(), sample


#: They helped to find how many generations and strategies there are.
EXTRA = (
    Family("Adam, robust regression", Adam(), 40, robust),
    Family("six step sizes, least squares", Schedule(), 30, least_squares),
)
#: Nothing was chosen by looking at them.
HELD_OUT = (
    Family("decaying steps, distances", Decaying(), 40, distances),
    Family("mixed, quartics", Scaling(), 40, quartics, SCALED),
)
