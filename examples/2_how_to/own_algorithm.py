"""An algorithm of your own: RMSProp, beside gradient descent.

An algorithm is a state: how it starts, how it moves, and where in it the current point is. The hyperparameters are
named, each with the interval in which good values are looked for.
"""

import jax.numpy as jnp
import numpy as np

import pacopt
from pacopt.statement import down, up  # rounding to the safe side


class RMSProp(pacopt.AbstractAlgorithm):
    hyperparameters = {
        "step_size": pacopt.Interval(1e-4, 10.0, log=True),
        "decay": pacopt.Interval(0.0, 1.0),
    }

    def init(self, x, hyper, objective):
        return x, jnp.zeros_like(x)

    def step(self, state, hyper, objective):
        x, size = state
        gradient = objective.gradient(x)
        size = hyper["decay"] * size + (1 - hyper["decay"]) * gradient**2
        return x - hyper["step_size"] * gradient / (jnp.sqrt(size) + 1e-8), size

    def read(self, state):
        return state[0]


class LeastSquares(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(instance["A"].shape[-1])

    def loss(self, x, instance):
        return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


# The columns of the matrices differ in scale by a factor of a hundred, which is where RMSProp helps.
rng = np.random.default_rng(0)
scale = np.geomspace(0.1, 10.0, 6)
A = rng.normal(size=(900, 12, 6)) * scale
instances = pacopt.Instances({"A": A, "b": np.einsum("jik,jk->ji", A, rng.normal(size=(900, 6)) / scale)})
split = pacopt.split(instances, prior=150, train=600, test=150, seed=0)

# RMSProp has no textbook value here, so the comparison has no row for one. Gradient descent is learned beside it.
for algorithm in (RMSProp(), pacopt.GradientDescent()):
    learned = pacopt.learn(LeastSquares(), algorithm, split, steps=40, prior=pacopt.priors.Search(candidates=64))
    deployed = learned.certificate.deployed
    hyper = ", ".join(f"{name} = {value:.3g}" for name, value in learned.hyper.items())
    print(f"{type(algorithm).__name__}: {hyper}")
    print(f"  certified mean ratio at most {up(deployed.risk)}, success at least {down(deployed.success)}")
    low, high = learned.comparison["learned"].interval
    print(f"  on the test split the mean ratio is between {down(low)} and {up(high)} (95 % interval)")
