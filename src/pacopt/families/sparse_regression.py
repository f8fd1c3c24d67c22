"""Sparse regression: a signal is explained by a few columns of a dictionary that all instances share."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pacopt.algorithms import FISTA, ProximalBarzilaiBorwein, ProximalGradient, ProximalNesterov, ProximalRule
from pacopt.engines import BlackBox, Result
from pacopt.families.base import Family, Sampler, Sizes
from pacopt.families.lasso_minima import proven_minima
from pacopt.families.limited import lowest_loss
from pacopt.instances import Instances
from pacopt.priors.train import Train
from pacopt.problems.base import AbstractKnownMinimum, AbstractProblem, AbstractProximable, Instance
from pacopt.scores import Digits
from pacopt.stages.baselines import Baseline
from pacopt.support.machine import cores

#: The seed for the dictionaries, which belong to the problem and are the same for all draws.
DICTIONARY = 20
#: LASSO: rows and columns, nonzeros in a signal, standard deviation of the noise, range of the penalty.
ROWS, COLUMNS, NONZERO, NOISE, PENALTY = 70, 350, 5, 0.7, (5.0, 10.0)
#: Sparse coding: rows and columns, probability that an entry is nonzero, noise over signal (40 dB), penalty.
CODE_ROWS, CODE_COLUMNS, CHANCE, CODE_NOISE, CODE_PENALTY = 256, 512, 0.1, 1e-2, 0.1
#: How a rule is trained: ratios are so small that it is mostly their logarithm that is minimised.
RECIPE = Train(updates=2000, batch=32, rate=1e-2, restarts=2, candidates=8, clip=0.6, logs=0.2)
#: The number of pairs L-BFGS-B remembers: all that 20 steps give.
MEMORY = 20


class Lasso(AbstractProblem, AbstractProximable, AbstractKnownMinimum):
    """1/2 |A x - b|^2 + penalty |x|_1 from x = 0. The `dictionary` A is shared; an instance has b and the penalty.

    `minimum` is a lower bound on the minimal loss, proven by a dual point (`proven_minima`), and below it by at most
    1e-12 of the start loss. Using this bound instead of the minimum can only increase the ratio of final to initial
    gap, by less than 1e-12, so claims about it hold for the true ratio. Without the field `minimum`, the losses
    themselves are used.
    """

    dictionary: np.ndarray

    def start(self, instance: Instance) -> Float[Array, " n"]:
        """Zero."""
        return jnp.zeros(self.dictionary.shape[1])

    def smooth(self, x: Float[Array, " n"], instance: Instance) -> Float[Array, ""]:
        """1/2 |A x - b|^2."""
        return 0.5 * jnp.sum((self.dictionary @ x - instance["b"]) ** 2)

    def loss(self, x: Float[Array, " n"], instance: Instance) -> Float[Array, ""]:
        """The sum of both parts."""
        return self.smooth(x, instance) + jnp.asarray(instance["penalty"]) * jnp.sum(jnp.abs(x))

    def prox(self, x: Float[Array, " n"], step_size: Float[Array, ""], instance: Instance) -> Float[Array, " n"]:
        """The entries moved towards zero by step_size times the penalty, but not past zero."""
        threshold = step_size * instance["penalty"]
        return x - jnp.clip(x, -threshold, threshold)

    def minimum(self, instance: Instance) -> Float[Array, ""]:
        """A proven lower bound on the minimal loss; 0 if there is none."""
        return jnp.asarray(instance.get("minimum", 0.0))


def curvature_of(dictionary: np.ndarray) -> float:
    """The largest eigenvalue of A'A, which is L for every instance."""
    return float(np.linalg.norm(dictionary, 2) ** 2)


def with_minima(dictionary: np.ndarray, b: np.ndarray, penalty: np.ndarray) -> Instances:
    """Instances of `Lasso` for these data, one for each row of b, with proven lower bounds on their minima."""
    b, penalty = np.asarray(b, dtype=np.float64), np.asarray(penalty, dtype=np.float64)
    return Instances({"b": b, "penalty": penalty, "minimum": proven_minima(dictionary, b, penalty).lower})


def stream(seed: int) -> np.random.Generator:
    """The random numbers of a sampler, never those of which a dictionary is made."""
    # Only the two seeds of the dictionaries go elsewhere, so that draws with any other seed are what they always were.
    return np.random.default_rng((seed, 1) if seed in (DICTIONARY, DICTIONARY + 1) else seed)


@dataclass(frozen=True, eq=False)
class SparseSignals:
    """b = A x + noise: A has independent N(0, 1) entries, x has 5 nonzero entries, the penalty is U[5, 10].

    The dictionary and penalties are those of Sucker, Fadili and Ochs (2024). The 5 nonzero entries of 350 are chosen
    uniformly and are N(0, 1); the noise is N(0, 0.49 I).
    """

    dictionary: np.ndarray

    def sample(self, count: int, *, seed: int) -> Instances:
        """This many independent instances."""
        rng, (m, n) = stream(seed), self.dictionary.shape
        x = np.zeros((count, n))
        places = np.argpartition(rng.random((count, n)), NONZERO, axis=1)[:, :NONZERO]
        np.put_along_axis(x, places, rng.standard_normal((count, NONZERO)), axis=1)
        b = x @ self.dictionary.T + NOISE * rng.standard_normal((count, m))
        return with_minima(self.dictionary, b, rng.uniform(*PENALTY, count))


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """b = A x + noise at 40 dB: columns of A have length 1, entries of x are N(0, 1) with probability 0.1, else zero.

    The penalty is 0.1. Unfolded networks are usually compared in this setting, as in Chen et al. (2018).
    """

    dictionary: np.ndarray

    def sample(self, count: int, *, seed: int) -> Instances:
        """This many independent instances."""
        rng, (m, n) = stream(seed), self.dictionary.shape
        x = rng.standard_normal((count, n)) * (rng.random((count, n)) < CHANCE)
        signal = x @ self.dictionary.T
        size = np.sqrt(np.mean(signal**2, axis=1, keepdims=True))
        b = signal + CODE_NOISE * size * rng.standard_normal((count, m))
        return with_minima(self.dictionary, b, np.full(count, CODE_PENALTY))


@dataclass(frozen=True)
class SplitLBFGSB:
    """SciPy's L-BFGS-B for the LASSO: x = u - v with u, v >= 0, where the loss is smooth.

    Called with hyperparameters (there are none) and an instance, it returns the lowest loss among `steps` + 1
    evaluations of loss and gradient, less the minimum.
    """

    dictionary: np.ndarray
    steps: int
    memory: int = MEMORY

    def __call__(self, hyper: object, instance: Instance) -> Result:
        """The lowest loss it sees on an instance, and that of the start, less the minimum."""
        A, b, penalty = self.dictionary, np.asarray(instance["b"]), float(instance["penalty"])
        n = A.shape[1]

        def evaluated(parts: np.ndarray) -> tuple[float, np.ndarray]:
            residual = A @ (parts[:n] - parts[n:]) - b
            gradient = A.T @ residual
            value = float(0.5 * residual @ residual + penalty * parts.sum())
            return value, np.concatenate([penalty + gradient, penalty - gradient])

        def judged(parts: np.ndarray) -> float:
            # |x|_1 is at most the sum of both parts: if both are positive somewhere, x is better than it looks.
            x = parts[:n] - parts[n:]
            return float(0.5 * np.sum((A @ x - b) ** 2) + penalty * np.abs(x).sum())

        start, minimum = np.zeros(2 * n), float(instance["minimum"])
        return lowest_loss(
            evaluated, start, self.steps, memory=self.memory, bounded=True, judged=judged, minimum=minimum
        )


def usual_solvers(dictionary: np.ndarray, steps: int) -> dict[str, Baseline]:
    """The usual solvers for the LASSO, each with `steps` gradients: ISTA, FISTA, SpaRSA, L-BFGS-B."""
    exact = {"step_size": 1.0 / curvature_of(dictionary)}
    return {
        "ISTA": Baseline(exact, ProximalGradient()),
        "FISTA with restart": Baseline(exact, FISTA()),
        "SpaRSA": Baseline(exact, ProximalBarzilaiBorwein()),
        "L-BFGS-B": Baseline(engine=BlackBox(SplitLBFGSB(dictionary, steps), {}, workers=cores())),
    }


def lasso(steps: int = 20) -> Family:
    """The LASSO family, with a 70 x 350 dictionary and penalties in [5, 10]."""
    A = np.random.default_rng(DICTIONARY).standard_normal((ROWS, COLUMNS))
    return _family("lasso", f"LASSO, {ROWS} x {COLUMNS}", A, SparseSignals(A).sample, steps)


def sparse_coding(steps: int = 20) -> Family:
    """The sparse coding family, with a 256 x 512 dictionary at 40 dB."""
    A = np.random.default_rng(DICTIONARY + 1).standard_normal((CODE_ROWS, CODE_COLUMNS))
    A = A / np.linalg.norm(A, axis=0)
    return _family("sparse_coding", f"Sparse coding, {CODE_ROWS} x {CODE_COLUMNS}", A, SparseCodes(A).sample, steps)


def _family(name: str, title: str, A: np.ndarray, sample: Sampler, steps: int) -> Family:
    return Family(
        name,
        Lasso(A),
        sample,
        ProximalRule(steps, curvature=curvature_of(A)),
        steps,
        title=title,
        usual=usual_solvers(A, steps),
        tuned=ProximalNesterov(),
        prior=RECIPE,
        score=Digits(),
        sizes=Sizes(prior=1500, train=3000, test=1000),
        note="It is meant for few gradients; coordinate descent, which needs none, gains as many digits or more.",
    )
