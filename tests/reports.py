"""One run for each shape that a report can have, made by `learn` on small streams."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.priors import Search
from streams import SlopeStream

STREAM = SlopeStream()
#: Tests that look at these runs share a worker, so that each is learned once.
GROUP = pytest.mark.xdist_group("reports")


class Damped(pacopt.AbstractAlgorithm):
    """Gradient descent with momentum and shrinking steps: three hyperparameters, and no textbook knows them."""

    hyperparameters = {
        "step_size": pacopt.Interval(1e-3, 1.0, log=True),
        "momentum": pacopt.Interval(0.0, 0.9),
        "decay": pacopt.Interval(0.5, 1.0),
    }

    def init(self, x, hyper, objective):
        return x, x, jnp.ones_like(x)

    def step(self, state, hyper, objective):
        x, before, scale = state
        new = x - scale * hyper["step_size"] * objective.gradient(x) + hyper["momentum"] * (x - before)
        return new, x, scale * hyper["decay"]

    def read(self, state):
        return state[0]


class Hostile(Damped):
    """Four hyperparameters, with names that would break a careless page."""

    hyperparameters = {
        "step_size": pacopt.Interval(1e-3, 1.0, log=True),
        "<img src=x onerror=alert(1)>": pacopt.Interval(0.0, 0.9),
        "{{ 7 * 7 }}": pacopt.Interval(0.5, 1.0),
        "'quoted' & \"named\"": pacopt.Interval(0.0, 1.0),
    }

    def step(self, state, hyper, objective):
        return (state[0] - hyper["step_size"] * objective.gradient(state[0]), *state[1:])


def learn(algorithm=STREAM.algorithm, *, problem=STREAM.problem, sizes=(40, 200, 50), instances=None, **options):
    prior, train, test = sizes
    instances = STREAM.sample(sum(sizes), 0) if instances is None else instances
    split = pacopt.split(instances, prior=prior, train=train, test=test, seed=0)
    options = {"prior": Search(candidates=24, explore=1, rounds=2), "steps": 5} | options
    return pacopt.learn(problem, algorithm, split, **options)


def steps(*sizes):
    """Step sizes of equal weight, chosen without any instance."""
    return pacopt.DiscreteMeasure.uniform({"step_size": np.array(sizes)})


def heavy_ball():
    law = pacopt.VaryingCurvature.draw(seed=0, n=5)
    options = {"instances": law.sample(290, seed=1), "curvature": law.curvature, "steps": 30, "min_success": 0.8}
    return learn(pacopt.HeavyBall(), problem=law.problem, **options)


CASES = {
    "two hyperparameters": heavy_ball,
    "one hyperparameter and a frontier": lambda: learn(sizes=(40, 600, 50)),
    "three hyperparameters and no textbook": lambda: learn(Damped()),
    "four hyperparameters with hostile names": lambda: learn(Hostile()),
    "no test split": lambda: learn(sizes=(40, 200, 0)),
    "one candidate": lambda: learn(prior=steps(0.3)),
    "all runs failed": lambda: learn(prior=steps(1e3, 1e4)),
    "success not attained": lambda: learn(prior=steps(0.8, 1.0, 1.5), min_success=0.9),
    "success as the user sees it": lambda: learn(success=lambda x, instance: jnp.abs(x - 1.0) < 0.5),
    "a target below the start, and an absolute bound": lambda: learn(
        target_ratio=0.25, truncation=pacopt.Truncation.from_second_moment(20.0, 40.0)
    ),
}


@cache
def learned(case):
    """The run of this case, learned once in a process."""
    return CASES[case]()


@cache
def page(case):
    """The report of this case, drawn once in a process."""
    return pacopt.report_html(learned(case))
