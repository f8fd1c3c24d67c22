"""Logistic regressions, one for each data set: gradient descent and Nesterov's method, learned and certified.

The minimum of a logistic regression's loss is not 0. If you know the minimum, or can compute it beforehand, make it
part of the instance: ratios then say how much of the possible gain is left.
"""

import jax.numpy as jnp
import numpy as np

import pacopt
from pacopt.statement import up  # rounding to the safe side

WEIGHT = 0.02


class Logistic(pacopt.AbstractProblem, pacopt.AbstractKnownMinimum):
    def start(self, instance):
        return jnp.zeros(instance["X"].shape[-1])

    def loss(self, x, instance):
        margins = instance["y"] * (instance["X"] @ x)
        return jnp.mean(jnp.logaddexp(0.0, -margins)) + WEIGHT / 2 * jnp.sum(x**2)

    def minimum(self, instance):
        return instance["minimum"]


def smallest_losses(X, y):
    """The minima of all instances at once, by Newton's method."""
    x = np.zeros((len(X), X.shape[2]))
    for _ in range(20):
        wrong = 1 / (1 + np.exp(y * np.einsum("jik,jk->ji", X, x)))
        gradient = WEIGHT * x - np.einsum("jik,ji->jk", X, y * wrong) / y.shape[1]
        weighted = X * (wrong * (1 - wrong))[:, :, None]
        hessian = WEIGHT * np.eye(X.shape[2]) + np.einsum("jik,jil->jkl", weighted, X) / y.shape[1]
        x -= np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    assert np.abs(gradient).max() < 1e-12
    margins = y * np.einsum("jik,jk->ji", X, x)
    return np.logaddexp(0, -margins).mean(axis=1) + WEIGHT / 2 * np.sum(x**2, axis=1)


rng = np.random.default_rng(0)
X = rng.normal(size=(600, 30, 5)) * np.geomspace(0.3, 3.0, 5)
y = np.sign(np.einsum("jik,jk->ji", X, rng.normal(size=(600, 5))) + rng.normal(size=(600, 30)))
instances = pacopt.Instances({"X": X, "y": y, "minimum": smallest_losses(X, y)})
split = pacopt.split(instances, prior=100, train=400, test=100, seed=0)

small = pacopt.priors.Search(candidates=32, rounds=3)  # finishes in seconds; the default is longer
for algorithm in (pacopt.GradientDescent(), pacopt.Nesterov()):
    learned = pacopt.learn(Logistic(), algorithm, split, steps=15, prior=small)
    print(f"{type(algorithm).__name__}: certified mean ratio at most {up(learned.certificate.deployed.risk)}")
    print(learned.comparison)
    for remark in learned.remarks:
        print(f"Note: {remark}.")
    print()
