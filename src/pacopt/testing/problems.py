"""A problem of one's own: a loss that can be differentiated, batched and trusted."""

from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from pacopt.algorithms import BarzilaiBorwein, GradientDescent, ProximalBarzilaiBorwein
from pacopt.engines.traced.engine import Traced
from pacopt.instances import Instances
from pacopt.problems.base import AbstractKnownMinimum, AbstractProblem, AbstractProximable, Objective
from pacopt.testing.checking import need, told

#: So many steps show a loss that falls below zero, or below the minimum that is stated.
DESCENT = 20


def check_problem(problem: AbstractProblem, instances: Instances) -> None:
    """Raise unless start, loss, gradient, and minimum or proximal map if there are any, are what tables need.

    A short descent shows whether the loss falls below zero, or below the minimum.

    >>> from pacopt import VaryingCurvature
    >>> law = VaryingCurvature.draw(seed=0)
    >>> check_problem(law.problem, law.sample(8, seed=1))
    """
    name = type(problem).__name__
    few = instances[: min(8, len(instances))]
    with told(f"a table of {name}"), jax.enable_x64(True):
        table = Traced(problem, GradientDescent(), 2).table({"step_size": np.array([0.0, 1e-9])}, few)
    need(np.array_equal(table.losses[0], table.starts), f"{name}: a run that does not move does not end at its start")
    descent = ProximalBarzilaiBorwein() if isinstance(problem, AbstractProximable) else BarzilaiBorwein()
    with told(f"{DESCENT} steps of descent on {name}"), jax.enable_x64(True):
        Traced(problem, descent, DESCENT).table({}, few)
    with jax.enable_x64(True):
        for row in few:
            _check_row(problem, name, {field: jax.numpy.asarray(array) for field, array in row.items()})


def _check_row(problem: AbstractProblem, name: str, instance: Any) -> None:
    with told(f"{name} outside of a compiled function"):
        start = jax.tree.map(jax.numpy.asarray, problem.start(instance))
        plain, compiled = problem.loss(start, instance), jax.jit(lambda x, data: problem.loss(x, data))(start, instance)
        again = problem.loss(start, instance)
    need(bool(plain == again), f"{name}.loss gives {plain} and then {again} at the same point")
    need(np.allclose(plain, compiled, rtol=1e-9), f"{name}.loss gives {plain}, and {compiled} when it is compiled")
    objective = Objective(problem, instance)
    slope = np.asarray(ravel_pytree(objective.gradient(start))[0])
    need(bool(np.isfinite(slope).all()), f"{name} has no finite gradient at the start")
    _check_slope(problem, name, instance, start, slope)
    if isinstance(problem, AbstractKnownMinimum):
        minimum = problem.minimum(instance)
        need(bool(minimum <= plain * (1 + 1e-12) + 1e-12), f"{name}.minimum is {minimum}, above the loss {plain}")
    if isinstance(problem, AbstractProximable):
        _check_prox(problem, name, instance, start)


def _check_slope(problem: Any, name: str, instance: Any, start: Any, slope: Any) -> None:
    """The derivative by autodiff and by differences, along the gradient and along another direction."""
    loss = problem.smooth if isinstance(problem, AbstractProximable) else problem.loss
    flat, back = ravel_pytree(start)
    length = float(np.linalg.norm(slope))
    other = np.random.default_rng(0).normal(size=flat.shape)
    for direction in (other / np.linalg.norm(other), slope / max(length, 1e-300)):
        step = 1e-6 * max(1.0, float(np.linalg.norm(flat)))
        ahead, behind = (float(loss(back(flat + sign * step * direction), instance)) for sign in (1, -1))
        measured, expected = (ahead - behind) / (2 * step), float(slope @ direction)
        rounding = 1e-14 * abs(float(loss(start, instance))) / step
        need(
            abs(measured - expected) <= 1e-3 * length + rounding + 1e-6 * abs(measured) + 1e-9,
            f"{name}: along a direction the loss changes by {measured:.6g}, and by its gradient it should by "
            f"{expected:.6g}",
        )


def _check_prox(problem: Any, name: str, instance: Any, start: Any) -> None:
    """No point near the proximal one is better."""
    rng = np.random.default_rng(0)
    flat, back = ravel_pytree(start)
    x = flat + rng.normal(size=flat.shape)

    def value(y: Any) -> float:
        rest = problem.loss(back(y), instance) - problem.smooth(back(y), instance)
        return float(rest + np.sum((y - x) ** 2) / (2 * 0.3))

    with told(f"{name}.prox"):
        best = ravel_pytree(problem.prox(back(x), 0.3, instance))[0]
    for _ in range(20):
        other = best + 10 ** rng.uniform(-4, 0) * rng.normal(size=flat.shape)
        need(
            value(best) <= value(other) * (1 + 1e-9) + 1e-9, f"{name}.prox is not where the proximal objective is least"
        )
