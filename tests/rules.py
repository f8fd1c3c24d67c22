"""Rules of scalars with numbers that matter, and quadratics to try them on."""

import jax
import jax.numpy as jnp
import numpy as np

import pacopt

STEPS, N = 12, 30
RULES = {
    "heavy-ball": pacopt.ScalarRule(steps=STEPS, width=5),
    "conjugate, memory 2": pacopt.ConjugateRule(steps=STEPS, memory=2, width=5),
    "conjugate, memory 5": pacopt.ConjugateRule(steps=STEPS, memory=5, width=5),
}


class Shifted(pacopt.AbstractProblem):
    """scale / 2 |A x / stretch - b|^2, from a start that is given."""

    def start(self, instance):
        return instance["x0"]

    def loss(self, x, instance):
        return 0.5 * instance["scale"] * jnp.sum((instance["A"] @ (x / instance["stretch"]) - instance["b"]) ** 2)


def some_numbers(rule, seed=3):
    """Numbers for a rule whose network matters, and which differ from step to step."""
    rng, hyper = np.random.default_rng(seed), rule.initial(seed)
    hyper["network"]["last"] = rng.normal(size=hyper["network"]["last"].shape) * 0.3
    hyper["schedule"] = hyper["schedule"] + rng.normal(size=hyper["schedule"].shape) * 0.3
    hyper["first"] = np.asarray(-0.4)
    return hyper


def quadratics(count=6, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "A": rng.normal(size=(count, N, N)),
        "b": rng.normal(size=(count, N)),
        "x0": rng.normal(size=(count, N)),
        "scale": np.ones(count),
        "stretch": np.ones(count),
    }


def curves(rule, fields, hyper=None, problem=None, steps=STEPS):
    """Losses after each step."""
    candidate = jax.tree.map(lambda array: array[None], hyper or some_numbers(rule))
    instances = pacopt.Instances(fields)
    return pacopt.loss_curves(
        problem or Shifted(), rule, candidate, instances, steps=steps, at=tuple(range(steps + 1))
    )[0]


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=0)
