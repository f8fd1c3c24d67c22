"""Your own problem, with instances from a file: least squares with a new matrix each time."""

import jax.numpy as jnp
import numpy as np

import pacopt


# A problem is a start and a loss. Gradients come from automatic differentiation.
class LeastSquares(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(instance["A"].shape[-1])

    def loss(self, x, instance):
        return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


# A file as your own programs may write it: named arrays, in which row j of each belongs to instance j.
rng = np.random.default_rng(0)
A = rng.normal(size=(1400, 30, 10))
np.savez("instances.npz", A=A, b=A @ rng.normal(size=10))

# Reading it runs no code: only arrays of numbers are accepted.
instances = pacopt.Instances.load("instances.npz")
print(instances)

split = pacopt.split(instances, prior=200, train=1000, test=200, seed=0)
# Ratios fall by decades here. A thousand instances cannot certify a mean ratio of 1e-6, nor a gain in it, but they can
# certify digits: how many decimal digits a run takes off the loss. More than 8 count as 8.
learned = pacopt.learn(LeastSquares(), pacopt.HeavyBall(), split, steps=20, score=pacopt.Digits(8), min_success=0.95)
print(learned.certificate)
print()
print(learned.comparison)

# Deployment: the algorithm with the safeguard that the certificate assumes.
solution = learned.solve(split.test[0])
print()
print(f"First test instance: loss {solution.start_loss:.4g} -> {solution.loss:.4g} in {solution.steps} steps.")
