"""Speed against safety: pick from the frontier after looking at it.

Curvatures are log-normal, so a bold step pays on most instances and diverges on some. The right compromise depends on
what a failure costs you.
"""

import jax.numpy as jnp
import numpy as np

import pacopt
from pacopt.statement import down, up  # rounding to the safe side


class Slope(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(())

    def loss(self, x, instance):
        return 0.5 * instance["curvature"] * (x - 1.0) ** 2


curvature = np.exp(np.random.default_rng(0).standard_normal(2400))
split = pacopt.split(pacopt.Instances({"curvature": curvature}), prior=200, train=2000, test=200, seed=0)
learned = pacopt.learn(Slope(), pacopt.GradientDescent(), split, steps=5)

# All lines hold together with the confidence of the certificate, so looking at them first costs nothing.
frontier = pacopt.frontier(learned)
print(frontier)

# The fastest choice certified to succeed on 98 % of the instances.
choice = next(choice for choice in frontier.choices if choice.success >= 0.98)
print()
print(f"Chosen: step size {choice.hyper['step_size']:.4g}.")
print(f"Its ratio is at most {up(choice.risk)}, its success probability at least {down(choice.success)}.")

# The second argument deploys its hyperparameters.
solution = learned.solve(split.test[0], choice.hyper)
print(f"First test instance: loss {solution.start_loss:.4g} -> {solution.loss:.4g}.")
