"""Logistic regression on many resamples of a real table, with penalties spanning decades."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pacopt.algorithms import (
    LBFGS,
    BarzilaiBorwein,
    GradientDescent,
    Nesterov,
    NonlinearConjugateGradients,
    Preconditioned,
    QuasiNewtonRule,
)
from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.engines import BlackBox, Result
from pacopt.engines.traced.preconditioners import whitening
from pacopt.errors import ProblemError
from pacopt.families.base import Family, Sizes
from pacopt.families.limited import lowest_loss
from pacopt.families.logistic_minima import lower_bounds
from pacopt.families.tables import Table, breast_cancer, digits, wine
from pacopt.instances import Instances
from pacopt.priors.train import Train
from pacopt.problems.base import AbstractKnownMinimum, AbstractProblem, Instance
from pacopt.scores import Digits
from pacopt.splits import Split
from pacopt.stages.baselines import Baseline
from pacopt.support.machine import cores
from pacopt.support.numbers import is_real, is_whole

#: If the table has at most this many times the rows of a resample, all rows are multiplied first, then selected.
SMALL = 4
#: Ratios are small compared with their logarithms, so training minimises mostly the mean logarithm. Each run's gradient
#: is clipped at 0.6, which is 3 for the logarithm.
RECIPE = Train(updates=1500, batch=32, rate=1e-2, clip=0.6, logs=0.2, candidates=4, restarts=1)


class LogisticRegression(AbstractProblem, AbstractKnownMinimum):
    """The mean logistic loss over some rows of a table, given by row numbers and labels, plus penalty / 2 |x|^2.

    Losses are gaps above `instance["minimum"]`, a lower bound on the minimum proven by `lower_bounds`. So the gap and
    the gap at the start are too large by the same amount, and their ratio is never below the true one: claims about the
    ratio, and about digits gained, hold for the true gaps too.
    """

    features: Float[Array, "row unknown"] | np.ndarray

    def start(self, instance: Instance) -> Float[Array, " unknown"]:
        """Zero."""
        return jnp.zeros(self.features.shape[1])

    def loss(self, x: Float[Array, " unknown"], instance: Instance) -> Float[Array, ""]:
        """The penalised mean loss."""
        rows, features = instance["rows"], jnp.asarray(self.features)
        few = len(features) <= SMALL * len(rows)
        values = (features @ x)[rows] if few else features[rows] @ x
        fit = jnp.mean(jnp.logaddexp(0.0, -instance["labels"] * values))
        return jnp.asarray(fit + 0.5 * instance["penalty"] * jnp.sum(x**2))

    def minimum(self, instance: Instance) -> Float[Array, ""]:
        """A proven lower bound on the minimum."""
        return jnp.asarray(instance["minimum"])


@dataclass(frozen=True, eq=False)
class Resamples:
    """Draws resamples of a table: `Resamples(table)(count, seed=...)` returns instances.

    A draw is a task of the table, chosen uniformly, `rows` of its rows with replacement (a bootstrap), and a penalty
    that is log-uniform between `low` and `high`. With `penalties` above 1, a draw is a regularisation path: that many
    penalties from `low` to `high`, geometrically spaced, for one resample. They form a group, since they are not
    independent.

    >>> table = Table(np.random.default_rng(0).normal(size=(50, 3)), np.resize([1.0, -1.0], (1, 50)))
    >>> paths = Resamples(table, rows=20, penalties=3)(4, seed=0)
    >>> len(paths), paths.count, paths.fields["penalty"][:3]
    (12, 4, array([0.001, 0.01 , 0.1  ]))
    """

    table: Table
    rows: int = 200
    low: float = 1e-3
    high: float = 1e-1
    penalties: int = 1

    def __post_init__(self) -> None:
        """Refuse invalid sizes and penalties."""
        positive = is_real(self.low) and is_real(self.high) and 0 < self.low <= self.high < np.inf
        if not positive or not is_whole(self.rows, 1) or not is_whole(self.penalties, 1):
            raise ProblemError(
                f"Resamples of {self.rows!r} rows with {self.penalties!r} penalties from {self.low!r} to "
                f"{self.high!r} were asked for.",
                "The numbers of rows and penalties must be whole and at least 1, and 0 < low <= high.",
                "Without a penalty there may be no minimum, and none could be proved.",
                "Use Resamples(table, rows=200, low=1e-3, high=1e-1), for example.",
            )

    def __call__(self, count: int, *, seed: int) -> Instances:
        """This many independent draws: instances, or groups of `penalties` instances each."""
        rng, each = np.random.default_rng(seed), self.penalties
        tasks = rng.integers(len(self.table.labels), size=count)
        picked = rng.integers(len(self.table.features), size=(count, self.rows))
        if each == 1:
            penalty = np.exp(rng.uniform(np.log(self.low), np.log(self.high), count))
        else:
            penalty = np.tile(np.geomspace(self.low, self.high, each), count)
        rows = np.repeat(picked, each, axis=0)
        labels = self.table.labels[np.repeat(tasks, each)[:, None], rows]
        lowest = lower_bounds(self.table.features, rows, labels, penalty)
        fields = {"rows": rows.astype(np.int32), "labels": labels, "penalty": penalty, "minimum": lowest}
        return Instances(fields, groups=None if each == 1 else np.repeat(np.arange(count), each))


def logistic_regression(
    table: Table | None = None, *, rows: int | None = None, penalties: int = 1, steps: int = 10
) -> Family:
    """The family of resamples: a quasi-Newton rule in the metric of the mean Hessian, against L-BFGS and others.

    All solvers get the same number of gradients. The table is scikit-learn's breast cancer data by default; pass
    another from `pacopt.families`, or your own. An instance is a resample of `rows` rows, by default 200 or as many as
    there are, with a penalty between 1e-3 and 1e-1. With `penalties` above 1, a draw is a regularisation path with that
    many penalties, and statements are about paths.
    """
    table = breast_cancer() if table is None else table
    law = Resamples(table, min(200, len(table.features)) if rows is None else rows, penalties=penalties)
    problem = LogisticRegression(table.features)

    def learned(parts: Split) -> AbstractAlgorithm:
        return Preconditioned(QuasiNewtonRule(steps), whitening(problem, parts))

    return Family(
        table.name.replace(" ", "_"),
        problem,
        law,
        learned,
        steps,
        title=f"logistic regression on resamples of a table ({table.name})",
        usual=usual_solvers(table, steps),
        tuned=Nesterov(),
        prior=RECIPE,
        score=Digits(12),
        sizes=Sizes(prior=1500, train=5000, test=1000),
        note="Learning helps if you can afford few gradients; if Hessians are cheap, Newton's method beats everything.",
    )


def on_breast_cancer() -> Family:
    """Logistic regression on resamples of scikit-learn's breast cancer data."""
    return logistic_regression(breast_cancer())


def on_digits() -> Family:
    """Logistic regression on resamples of scikit-learn's handwritten digits."""
    return logistic_regression(digits())


def on_wine() -> Family:
    """Logistic regression on resamples of scikit-learn's wines."""
    return logistic_regression(wine())


def usual_solvers(table: Table, steps: int) -> dict[str, Baseline]:
    """The usual solvers for logistic regression, each with at most `steps` gradients and one at the start."""
    scipys = BlackBox(partial(scipy_lbfgs, table, steps), {}, workers=cores())
    algorithms: dict[str, AbstractAlgorithm] = {
        "gradient descent": GradientDescent(),
        "Nesterov": Nesterov(),
        "Barzilai-Borwein": BarzilaiBorwein(),
        "nonlinear conjugate gradients": NonlinearConjugateGradients(),
        "L-BFGS": LBFGS(),
        "L-BFGS, memory 20": LBFGS(20),
    }
    return {name: Baseline(algorithm=each) for name, each in algorithms.items()} | {
        "SciPy's L-BFGS-B": Baseline(engine=scipys)
    }


def scipy_lbfgs(table: Table, steps: int, hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> Result:
    """The lowest gap among the first steps + 1 evaluations of SciPy's L-BFGS-B, with a memory of 20 pairs."""
    signed = table.features[instance["rows"]] * np.asarray(instance["labels"])[:, None]
    penalty = float(instance["penalty"])

    def evaluated(x: np.ndarray) -> tuple[float, np.ndarray]:
        margin = signed @ x
        value = float(np.logaddexp(0.0, -margin).mean() + 0.5 * penalty * x @ x)
        return value, penalty * x - (0.5 - 0.5 * np.tanh(0.5 * margin)) @ signed / len(signed)

    return lowest_loss(evaluated, np.zeros(signed.shape[1]), steps, minimum=float(instance["minimum"]))
