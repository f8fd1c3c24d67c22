"""Small networks on many small regression tasks: polynomials of degree 5, with noise."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]
from jaxtyping import Array, Float

from pacopt.algorithms import (
    LBFGS,
    AbstractAlgorithm,
    BarzilaiBorwein,
    HeavyBall,
    Minibatch,
    NonlinearConjugateGradients,
    Optax,
    Preconditioned,
    QuasiNewtonRule,
)
from pacopt.engines.blackbox import BlackBox
from pacopt.engines.traced.preconditioners import whitening
from pacopt.families.base import Family, Sizes
from pacopt.families.network_solvers import lbfgs_b
from pacopt.instances import Instances
from pacopt.priors import Search, Train
from pacopt.problems.base import AbstractProblem, Instance, Point
from pacopt.scores import Digits
from pacopt.space import Interval
from pacopt.splits import Split
from pacopt.stages.baselines import Baseline
from pacopt.support.machine import cores

#: The points in a task, the powers of x that the network sees, and the hidden units: 351 weights.
ROWS, POWERS, UNITS = 50, 5, 50
#: The ranges from which x and the coefficients of the polynomials are drawn.
REACH, COEFFICIENT = 2.0, 5.0
#: The number of prior instances whose curvature gives the metric, and of L-BFGS steps before it is measured.
CURVED, LED = 200, 30
#: The most digits that count; few runs gain as many.
DIGITS = 4.0
#: The number of rows in a minibatch.
BATCH = 10


class Network(AbstractProblem):
    """The mean squared error of a network with one hidden layer of tanh units, started from the instance's weights.

    A point has four arrays: `hidden` weights and their `offset`, `output` weights and the `constant`. Losses are
    nonnegative, and 351 weights can fit 50 points exactly, so ratios are measured from 0. A few steps do not reach 0,
    and nobody wants to, since that would mean fitting the noise.
    """

    def start(self, instance: Instance) -> Point:
        """The random weights that come with the instance."""
        return {name: jnp.asarray(instance[name]) for name in ("constant", "hidden", "offset", "output")}

    def loss(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """The mean squared error over the rows of the instance."""
        units = jnp.tanh(instance["inputs"] @ x["hidden"] + x["offset"][None, :])
        return jnp.mean((units @ x["output"] + x["constant"] - instance["targets"]) ** 2)


def polynomials(count: int, *, seed: int) -> Instances:
    """Independent tasks, each 50 noisy values of a random polynomial of degree 5 and initial weights of the network.

    c_0 .. c_5 ~ U[-5, 5], x_i ~ U[-2, 2], y_i = sum_k c_k x_i^k + N(0, 1). `inputs` are x, .., x^5,
    standardised by their mean and standard deviation under the law of x; `targets` are y, standardised within the task.
    The weights are drawn as in torch's `Linear`: uniform within 1 / sqrt(number of inputs of the layer).
    """
    rng = np.random.default_rng(seed)
    coefficients = rng.uniform(-COEFFICIENT, COEFFICIENT, (count, POWERS + 1))
    powers = rng.uniform(-REACH, REACH, (count, ROWS, 1)) ** np.arange(POWERS + 1)
    values = np.einsum("nrk,nk->nr", powers, coefficients) + rng.normal(size=(count, ROWS))
    centre, spread = moments()
    narrow, wide = 1 / np.sqrt(UNITS), 1 / np.sqrt(POWERS)
    return Instances(
        {
            "inputs": (powers[..., 1:] - centre) / spread,
            "targets": (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True),
            "hidden": rng.uniform(-wide, wide, (count, POWERS, UNITS)),
            "offset": rng.uniform(-wide, wide, (count, UNITS)),
            "output": rng.uniform(-narrow, narrow, (count, UNITS)),
            "constant": rng.uniform(-narrow, narrow, count),
        }
    )


def moments() -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Mean and standard deviation of x, .., x^5, for x ~ U[-2, 2]."""
    order = np.arange(1, POWERS + 1)
    mean = np.where(order % 2 == 0, REACH**order / (order + 1), 0.0)
    return mean, np.sqrt(REACH ** (2 * order) / (2 * order + 1) - mean**2)


def networks(steps: int = 10) -> Family:
    """The full-batch family: a trained quasi-Newton rule in a learned metric, against L-BFGS and Adam."""
    return Family(
        name="networks",
        title=f"351-weight networks on polynomials, {steps} gradients",
        problem=Network(),
        sample=polynomials,
        algorithm=lambda parts: in_metric(QuasiNewtonRule(steps, memory=min(steps, 20)), parts),
        steps=steps,
        usual=usual_networks(steps),
        tuned=adam(),
        prior=Train(updates=800, batch=16, clip=0.6, candidates=8, dtype=np.float32),
        score=Digits(DIGITS),
        sizes=Sizes(prior=1000, train=4000, test=1000),
        note="Most of the gain comes from the metric, which L-BFGS can use too. By 50 gradients all reach the noise.",
    )


def stochastic_networks(steps: int = 100) -> Family:
    """The minibatch family, 10 of 50 rows per gradient: tuned Adam with cosine decay, against Adam and momentum."""
    return Family(
        name="stochastic_networks",
        title=f"351-weight networks on polynomials, {steps} minibatches",
        problem=Network(),
        sample=polynomials,
        algorithm=in_batches(decaying_adam(steps)),
        steps=steps,
        usual=usual_batches(steps),
        tuned=in_batches(decaying_adam(steps)),
        prior=Search(candidates=8),
        score=Digits(DIGITS),
        sizes=Sizes(prior=200, train=2000, test=500),
        note="With the same number of rows, full-batch L-BFGS ends lower.",
    )


def adam() -> Optax:
    """Adam with its learning rate and both decay rates to be learned."""
    return Optax(
        optax.adam,
        learning_rate=Interval(1e-4, 1.0, log=True),
        b1=Interval(0.0, 0.99),
        b2=Interval(0.5, 0.9999),
    )


def falling_adam(learning_rate: float, b1: float, b2: float, steps: int) -> optax.GradientTransformation:
    """Adam whose learning rate falls to zero along a cosine."""
    return optax.adam(optax.cosine_decay_schedule(learning_rate, steps), b1=b1, b2=b2)


def falling_momentum(learning_rate: float, steps: int) -> optax.GradientTransformation:
    """Gradient descent with momentum 0.9 and a learning rate that falls to zero along a cosine."""
    return optax.sgd(optax.cosine_decay_schedule(learning_rate, steps), momentum=0.9)


def decaying_adam(steps: int) -> Optax:
    """Adam to be learned, with a learning rate that falls to zero along a cosine."""
    return Optax(falling_adam, steps=steps, **adam().hyperparameters)


def in_metric(algorithm: AbstractAlgorithm, parts: Split) -> Preconditioned:
    """The algorithm in the metric of the mean Hessian of prior instances."""
    few = Split(prior=parts.prior[:CURVED], train=parts.train, test=parts.test)
    return Preconditioned(algorithm, whitening(Network(), few, steps=LED))


def in_batches(algorithm: AbstractAlgorithm) -> Minibatch:
    """The algorithm with gradients of 10 rows."""
    return Minibatch(algorithm, batch=BATCH, rows=("inputs", "targets"))


def usual_networks(steps: int) -> dict[str, Baseline]:
    """The usual solvers for small networks with full batches."""
    return {
        "Adam, learning rate 0.001": Baseline(ADAM, algorithm=adam()),
        "Adam, learning rate 0.05": Baseline({**ADAM, "learning_rate": 0.05}, algorithm=adam()),
        "momentum 0.5, learning rate 0.2": Baseline({"step_size": 0.2, "momentum": 0.5}, algorithm=HeavyBall()),
        "Barzilai-Borwein": Baseline(algorithm=BarzilaiBorwein()),
        "nonlinear conjugate gradients": Baseline(algorithm=NonlinearConjugateGradients()),
        "L-BFGS": Baseline(algorithm=LBFGS(20)),
        "SciPy's L-BFGS-B": Baseline(engine=BlackBox(partial(lbfgs_b, steps), {}, workers=cores())),
    }


def usual_batches(steps: int) -> dict[str, Baseline]:
    """The usual solvers for networks with minibatches, and L-BFGS with fewer, full gradients at the same cost."""
    constant, falling = in_batches(adam()), in_batches(decaying_adam(steps))
    rate = Interval(1e-4, 1.0, log=True)
    momentum = in_batches(Optax(optax.sgd, learning_rate=rate, momentum=0.9))
    slowing = in_batches(Optax(falling_momentum, learning_rate=rate, steps=steps))
    return {
        "Adam, learning rate 0.001": Baseline(ADAM, algorithm=constant),
        "Adam, learning rate 0.01": Baseline({**ADAM, "learning_rate": 0.01}, algorithm=constant),
        "Adam, cosine from 0.05": Baseline({**ADAM, "learning_rate": 0.05}, algorithm=falling),
        "Adam, cosine from 0.03": Baseline({**ADAM, "learning_rate": 0.03}, algorithm=falling),
        "momentum 0.9, learning rate 0.03": Baseline({"learning_rate": 0.03}, algorithm=momentum),
        "momentum 0.9, cosine from 0.05": Baseline({"learning_rate": 0.05}, algorithm=slowing),
        "L-BFGS with full batches": Baseline(algorithm=LBFGS(20), steps=steps * BATCH // ROWS),
    }


#: The defaults for Adam in its paper (Kingma and Ba 2015), in torch and in optax.
ADAM = {"learning_rate": 1e-3, "b1": 0.9, "b2": 0.999}
