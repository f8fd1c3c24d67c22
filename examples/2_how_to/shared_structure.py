"""One camera, many pictures: if instances share a matrix, compute a start from the data before the first step.

The blur is the same for all signals, so solutions are a linear function of what the camera saw. That function is
fitted to 100 prior instances; the certificate says which field of an instance it reads, and by how many digits
conjugate gradients are behind. Losses are measured above the minimum, which is known here.
"""

import jax.numpy as jnp
import numpy as np

import pacopt
from pacopt.statement import down  # rounding to the safe side

N = 32
distance = np.arange(N)[:, None] - np.arange(N)
BLUR = np.exp(-0.5 * (distance / 2.0) ** 2) / np.sqrt(8 * np.pi)


class Deblurring(pacopt.AbstractProblem, pacopt.AbstractKnownMinimum):
    def start(self, instance):
        return jnp.zeros(N)

    def loss(self, x, instance):
        return 0.5 * jnp.sum((BLUR @ x - instance["seen"]) ** 2) + 5e-3 * jnp.sum(x**2)

    def minimum(self, instance):
        return instance["minimum"]


rng = np.random.default_rng(0)
steps = rng.normal(size=(800, 5, 1)) * (np.arange(N) > rng.uniform(0, N, size=(800, 5, 1)))
seen = steps.sum(axis=1) @ BLUR.T + 0.01 * rng.normal(size=(800, N))
solved = np.linalg.solve(BLUR.T @ BLUR + 1e-2 * np.eye(N), BLUR.T @ seen.T).T
minimum = 0.5 * np.sum((seen - solved @ BLUR.T) * seen, axis=1)  # `reads` may not name it: unknown in use
split = pacopt.split(pacopt.Instances({"seen": seen, "minimum": minimum}), prior=100, train=600, test=100, seed=0)

weights = pacopt.fitted_start(Deblurring(), split, reads="seen")
warm = pacopt.WarmStart(pacopt.ConjugateGradients(), reads="seen", weights=weights)
usual = pacopt.Baseline(algorithm=pacopt.ConjugateGradients())
learned = pacopt.learn(Deblurring(), warm, split, steps=2, baseline=usual, score=pacopt.Digits(6))

print(learned.certificate)
gain = learned.certificate.deployed.gain
print(f"\nAfter 2 steps: at least {down(gain)} digits more than conjugate gradients from zero, on average.")
