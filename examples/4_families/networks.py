"""One small network, many small data sets: Adam with minibatches, tuned and certified for the next data set.

An instance is a data set with the random weights that the network starts from. Put your own arrays into `Instances`:
an axis of data sets first, then an axis of rows. Batches are drawn again in each run, so the certificate is about
a new data set and a fresh seed.
"""

import jax.numpy as jnp
import numpy as np
import optax

import pacopt

SETS, ROWS, UNITS = 760, 40, 16


class Curve(pacopt.AbstractProblem):
    def start(self, instance):
        return {name: instance[name] for name in ("inner", "shift", "outer")}

    def loss(self, x, instance):  # a mean over rows
        units = jnp.tanh(instance["x"][:, None] * x["inner"] + x["shift"])
        return jnp.mean((units @ x["outer"] - instance["y"]) ** 2)


rng = np.random.default_rng(0)
x = rng.uniform(-2, 2, (SETS, ROWS))
y = np.sin(rng.uniform(1, 3, (SETS, 1)) * x + rng.uniform(0, 6, (SETS, 1))) + 0.1 * rng.normal(size=(SETS, ROWS))
weights = {name: rng.normal(size=(SETS, UNITS)) for name in ("inner", "shift")}
weights["outer"] = rng.normal(size=(SETS, UNITS)) / np.sqrt(UNITS)
split = pacopt.split(pacopt.Instances({"x": x, "y": y, **weights}), prior=60, train=600, test=100, seed=0)

adam = pacopt.Optax(optax.adam, learning_rate=pacopt.Interval(1e-3, 1.0, log=True), b1=pacopt.Interval(0.5, 0.95))
batches = pacopt.Minibatch(adam, batch=8, rows=("x", "y"))
learned = pacopt.learn(
    Curve(),
    batches,
    split,
    steps=40,
    prior=pacopt.priors.Search(candidates=8),
    baseline={"Adam's defaults": {"learning_rate": 1e-3, "b1": 0.9}},
    progress=False,
)
print(learned.certificate)
print(f"\nLearned: learning rate {learned.hyper['learning_rate']:.3f}, b1 {learned.hyper['b1']:.2f}")
