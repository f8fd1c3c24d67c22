"""The points of a run, step by step, without an engine."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from pacopt import Objective

USUAL = {"step_size": 1e-3, "momentum": 0.5, "b1": 0.9, "b2": 0.999, "threshold": 1.0}


def by_name(algorithm):
    return type(algorithm).__name__


def hyper_of(algorithm, **given):
    return {name: (USUAL | given)[name] for name in algorithm.hyperparameters}


def path(algorithm, problem, instance, steps, **hyper):
    """The points after 0, 1, ..., steps steps, compiled, in float64; leaves have a first axis for the steps."""
    with jax.enable_x64(True):
        instance = {name: jnp.asarray(value) for name, value in instance.items()}
        named = {name: jnp.asarray(value) for name, value in hyper_of(algorithm, **hyper).items()}
        return jax.tree.map(np.asarray, _run(algorithm, problem, instance, named, steps))


@eqx.filter_jit
def _run(algorithm, problem, instance, hyper, steps):
    objective, start = Objective(problem, instance), jax.tree.map(jnp.asarray, problem.start(instance))

    def step(state, _):
        state = algorithm.step(state, hyper, objective)
        return state, algorithm.read(state)

    _, points = jax.lax.scan(step, algorithm.init(start, hyper, objective), None, length=steps)
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, points)
