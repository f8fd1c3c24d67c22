"""Your own family: a law of problems, what is learned for it, and how it compares with the usual solvers."""

import jax.numpy as jnp
import numpy as np

import pacopt
from pacopt.families import Family, contest
from pacopt.families.results import verdict


class RobustFit(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(10)

    def loss(self, x, instance):  # residuals count quadratically near 0, linearly beyond
        return jnp.sum(jnp.sqrt(1 + (instance["A"] @ x - instance["b"]) ** 2) - 1) + 0.05 * jnp.sum(x**2)


def sample(count, *, seed):
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(count, 30, 10)), rng.normal(size=(count, 10, 1))
    return pacopt.Instances({"A": A, "b": (A @ x)[..., 0] + rng.standard_t(2, size=(count, 30))})


# A short search and few instances, for a script that takes seconds; leave out `prior` and `sizes` for a real one.
quick = pacopt.priors.Search(candidates=16, rounds=3)
family = Family("robust_fit", RobustFit(), sample, pacopt.HeavyBall(), steps=15, prior=quick, sizes=(60, 300, 60))
found = contest(family, fresh=300)
for method in found.methods:
    print(f"{method.name:<32}{method.mean:.4f}   {method.text}")
for check in found.checks:
    print(f"{check.claim.name}: certified {check.certified:.4g}, on fresh instances {check.measured:.4g}")
print(verdict(found))
