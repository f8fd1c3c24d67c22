"""Logistic regression from a fitted start: does a trained rule add anything to L-BFGS in the metric?

`python -m benchmarks.fitted_starts [seed]`: the start is a cubic in the logarithm of the penalty for each class that is
told from the rest, fitted to the solutions of prior instances; both methods begin there, in the metric of the mean
Hessian of these solutions, and take ten gradients. The rule has the recipe of the family. Certified with 99 %
confidence from 5,000 instances; minutes for each table.
"""

import sys
import time

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import pacopt
from benchmarks.other_means import powers
from pacopt.families import breast_cancer, digits, wine
from pacopt.families.logistic_minima import lower_bounds
from pacopt.families.resamples import RECIPE, LogisticRegression, Resamples
from pacopt.problems.base import AbstractKnownMinimum, AbstractProblem, Instance

GRADIENTS, TOP = 10, 12
SIZES = {"prior": 1500, "train": 5000, "test": 1000}


class KnownTask(AbstractProblem, AbstractKnownMinimum):
    """Logistic regression whose penalty is given by `about`: the powers of its logarithm, in the row of the class."""

    inner: LogisticRegression

    def start(self, instance: Instance) -> Float[Array, " unknown"]:
        """Zero."""
        return self.inner.start(instance)

    def loss(self, x: Float[Array, " unknown"], instance: Instance) -> Float[Array, ""]:
        """The penalised mean loss."""
        return self.inner.loss(x, {**instance, "penalty": penalty_of(instance["about"], jnp)})

    def minimum(self, instance: Instance) -> Float[Array, ""]:
        """A proven lower bound on the minimum."""
        return jnp.asarray(instance["minimum"])


def penalty_of(about, numpy=np):
    """What `powers` was called with."""
    return numpy.exp(2.3 * (about[..., 2].sum(axis=-1) - 2))


def sample(table, count, seed):
    """Resamples of the table that say which class is told from the rest."""
    fields = Resamples(table, min(200, len(table.features)))(count, seed=seed).fields
    rows, labels = fields["rows"], fields["labels"]
    tasks = np.argmax([(known[rows] == labels).all(axis=1) for known in table.labels], axis=0)
    about = np.zeros((count, len(table.labels), 4))
    about[np.arange(count), tasks] = powers(fields["penalty"])
    lowest = lower_bounds(table.features, rows, labels, penalty_of(about))
    return pacopt.Instances({"rows": rows, "labels": labels, "about": about, "minimum": lowest})


def compared(table, seed):
    """What is certified of the rule, over L-BFGS from the same start and over L-BFGS from zero."""
    clock, problem = time.perf_counter(), KnownTask(LogisticRegression(table.features))
    split = pacopt.split(sample(table, sum(SIZES.values()), seed), **SIZES, seed=seed)
    metric = pacopt.whitening(problem, split)
    fit = pacopt.fitted_start(problem, split, reads=("about",))

    def from_there(algorithm):
        return pacopt.WarmStart(pacopt.Preconditioned(algorithm, metric), reads=("about",), weights=fit)

    learned = pacopt.learn(
        problem,
        from_there(pacopt.QuasiNewtonRule(GRADIENTS)),
        split,
        steps=GRADIENTS,
        prior=RECIPE,
        score=pacopt.Digits(TOP),
        baseline={
            "L-BFGS from there": pacopt.Baseline(algorithm=from_there(pacopt.LBFGS(20))),
            "L-BFGS from zero": pacopt.Baseline(algorithm=pacopt.Preconditioned(pacopt.LBFGS(20), metric)),
        },
        seed=seed,
    )
    print(f"{table.name}, {time.perf_counter() - clock:.0f} s\n{learned.certificate}", flush=True)
    for row, scores in zip(learned.comparison.rows, learned.comparison.scores, strict=True):
        gained = np.clip(-np.log10(np.maximum(scores, 1e-300)), 0, TOP)
        print(f"{row.name}: {gained.mean():.2f} digits on {len(gained)} test instances", flush=True)


if __name__ == "__main__":
    for table in (breast_cancer(), wine(), digits()):
        compared(table, int(sys.argv[1]) if len(sys.argv) > 1 else 0)
