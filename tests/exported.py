"""Algorithms to be exported, with numbers that make them move, and what they reach inside of pacopt."""

from dataclasses import replace
from functools import cache

import numpy as np
import optax

import pacopt
from cases import Logistic, _sample_logistic
from pacopt.algorithms.base import initial_of
from pacopt.engines.traced.nesting import flattened
from pacopt.exporting.rule import rule_of

N, STEPS = 6, 9
LAW = pacopt.VaryingCurvature.draw(seed=0, n=N)
INSTANCES = LAW.sample(3, seed=1)
CURVATURE = (
    float(min((INSTANCES.fields["diagonal"] ** 2).min(axis=1))),
    float((INSTANCES.fields["diagonal"] ** 2).max()),
)
CONSTANT = {"step_size": 1 / CURVATURE[1], "momentum": 0.5}


def moving(rule):
    """Numbers of a network that matter."""
    rng, hyper = np.random.default_rng(0), rule.initial(seed=0)
    hyper["network"]["last"] = 0.1 * rng.normal(size=hyper["network"]["last"].shape)
    return hyper


SCALAR, QUASI = pacopt.ScalarRule(steps=STEPS, width=5), pacopt.QuasiNewtonRule(steps=STEPS, width=5)
CONJUGATE = pacopt.ConjugateRule(steps=STEPS, memory=2, width=5)
PAIRS = pacopt.QuasiNewtonRule(steps=STEPS, width=5, memory=3)
SCHEDULE = pacopt.Schedule(pacopt.HeavyBall(), steps=STEPS, start=CONSTANT)
METRIC = np.linspace(0.5, 2.0, N) / np.sqrt(CURVATURE[1])
LOW_RANK = pacopt.Preconditioned(pacopt.HeavyBall(), dimension=N, rank=2)
LOW = LOW_RANK.initial(0) | CONSTANT
RATE = pacopt.Interval(1e-3, 10.0, log=True)
ADAM = {"step_size": 0.3, "b1": 0.8, "b2": 0.99}

#: By name: the algorithm, and its hyperparameters.
QUICK = {
    "GradientDescent": (pacopt.GradientDescent(), pacopt.GradientDescent().standard(*CURVATURE)),
    "HeavyBall": (pacopt.HeavyBall(), CONSTANT),
    "Nesterov": (pacopt.Nesterov(), pacopt.Nesterov().standard(*CURVATURE)),
    "FISTA": (pacopt.FISTA(), pacopt.FISTA().standard(*CURVATURE)),
    "Adam": (pacopt.Adam(), ADAM),
    "ConjugateGradients": (pacopt.ConjugateGradients(), {}),
    "BarzilaiBorwein": (pacopt.BarzilaiBorwein(), {}),
    "ScalarRule": (SCALAR, moving(SCALAR)),
    "Schedule": (SCHEDULE, SCHEDULE.initial(0)),
    "Preconditioned": (pacopt.Preconditioned(pacopt.HeavyBall(), METRIC), {"step_size": 0.4, "momentum": 0.5}),
    "Optax": (pacopt.Optax(optax.adam, learning_rate=RATE, b1=0.8), {"learning_rate": 0.3}),
}
LONG = {
    "LBFGS": (pacopt.LBFGS(memory=3), {}),
    "NonlinearConjugateGradients": (pacopt.NonlinearConjugateGradients(), {}),
    "ConjugateRule": (CONJUGATE, moving(CONJUGATE)),
    "QuasiNewtonRule": (QUASI, moving(QUASI)),
    "QuasiNewtonRule with pairs": (PAIRS, moving(PAIRS)),
    "Preconditioned LBFGS": (pacopt.Preconditioned(pacopt.LBFGS(memory=3), METRIC), {}),
    "Preconditioned of low rank": (LOW_RANK, LOW | {"right": 0.2 * LOW["left"]}),
    "Optax with a choice": (
        pacopt.Optax(optax.sgd, learning_rate=RATE, momentum=0.5, nesterov=pacopt.Choice(False, True)),
        {"learning_rate": 1e-4, "nesterov": True},
    ),
    "Optax with the loss": (pacopt.Optax(optax.polyak_sgd, max_learning_rate=RATE), {"max_learning_rate": 1e-3}),
}
ALL = QUICK | LONG

#: A problem whose points have two arrays, bias and weights, and algorithms that treat each array by itself, or not.
PAIR, PAIRED = Logistic(), _sample_logistic(3, seed=0)
BY_ARRAY = {
    "BarzilaiBorwein": (pacopt.BarzilaiBorwein(), {}),
    "lamb": (pacopt.Optax(optax.lamb, learning_rate=RATE), {"learning_rate": 0.3}),
    "adafactor": (pacopt.Optax(optax.adafactor, learning_rate=RATE), {"learning_rate": 0.3}),
}


@cache
def learned(problem=LAW.problem, algorithm=None, **options):
    """A small run, for its certificate."""
    split = pacopt.split(LAW.sample(150, seed=0), prior=30, train=100, test=20, seed=0)
    search = pacopt.priors.Search(candidates=4, explore=1, rounds=1)
    return pacopt.learn(problem, algorithm or pacopt.HeavyBall(), split, steps=STEPS, prior=search, **options)


def rule(algorithm, hyper=None, problem=LAW.problem, steps=STEPS):
    """What would be exported if this algorithm had been learned with these numbers."""
    given = initial_of(algorithm, 0) if hyper is None else hyper
    values = flattened(algorithm, given)
    return replace(rule_of(learned()), algorithm=algorithm, problem=problem, values=values, steps=steps)


def paired(algorithm, hyper):
    """The same for the problem whose points have two arrays."""
    fields = {name: f"{array.dtype}{list(array.shape[1:])}" for name, array in PAIRED.fields.items()}
    return replace(rule(algorithm, hyper, problem=PAIR), origin=replace(learned().origin, fields=fields))


def reached(algorithm, hyper, steps=STEPS, problem=LAW.problem, instances=INSTANCES):
    """Losses at the starts, and where runs end, as a table has them."""
    engine = pacopt.Traced(problem, algorithm, steps)
    found = [engine.solve(flattened(algorithm, hyper), instance) for instance in instances]
    return np.array([each.start_loss for each in found]), np.array([each.run_loss for each in found])
