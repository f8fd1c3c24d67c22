"""Logistic regressions, one for each data set: gradient descent and Nesterov's method, learned and certified.

The loss of a logistic regression has no minimum of 0. Where the minimum is known, or can be computed beforehand, it
belongs to the instance: ratios then say how much of what can be gained has been gained.
"""

import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

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


def smallest_loss(X, y):
    """The minimum of one instance by another method; the loss of a run may not be below it, so a little less."""

    def loss(x):
        margins = y * (X @ x)
        gradient = WEIGHT * x - X.T @ (y / (1 + np.exp(margins))) / len(y)
        return np.mean(np.logaddexp(0, -margins)) + WEIGHT / 2 * x @ x, gradient

    return minimize(loss, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", tol=1e-14).fun - 1e-9


rng = np.random.default_rng(0)
X = rng.normal(size=(600, 30, 5)) * np.geomspace(0.3, 3.0, 5)
y = np.sign(np.einsum("jik,jk->ji", X, rng.normal(size=(600, 5))) + rng.normal(size=(600, 30)))
minimum = np.array([smallest_loss(*each) for each in zip(X, y, strict=True)])
split = pacopt.split(pacopt.Instances({"X": X, "y": y, "minimum": minimum}), prior=100, train=400, test=100, seed=0)

for algorithm in (pacopt.GradientDescent(), pacopt.Nesterov()):
    learned = pacopt.learn(Logistic(), algorithm, split, steps=15, prior=pacopt.priors.Search(candidates=64))
    print(f"{type(algorithm).__name__}: certified mean ratio at most {up(learned.certificate.deployed.risk)}")
    print(learned.comparison)
    for remark in learned.remarks:
        print(f"Note: {remark}.")
    print()
