"""What the learned hyperparameters are compared with, and how they do on the test split."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStandardHyper, checked_curvature
from pacopt.comparison import Curves, recorded_steps
from pacopt.engines.traced.curvature import estimated_curvature
from pacopt.engines.traced.engine import Traced
from pacopt.errors import AlgorithmError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.problems.base import AbstractProblem
from pacopt.stages.refusals import named


def curvature_of(
    problem: AbstractProblem, algorithm: AbstractAlgorithm, given: Any, prior: Instances, dtype: np.dtype[Any]
) -> tuple[float, float] | None:
    """(mu, L) as given, or as estimated on the prior split where somebody asks for them."""
    if given is not None:
        return checked_curvature(given)
    if isinstance(algorithm, AbstractStandardHyper) and len(prior):
        return estimated_curvature(problem, prior, dtype)
    return None


def standard_hyper(algorithm: AbstractAlgorithm, mu_L: tuple[float, float] | None) -> dict[str, float] | None:
    """What theory recommends; None where there is none, or none that is finite."""
    if mu_L is None or not isinstance(algorithm, AbstractStandardHyper):
        return None
    with np.errstate(all="ignore"):
        hyper = algorithm.standard(*mu_L)
    names = type(algorithm).hyperparameters.keys()
    if not isinstance(hyper, Mapping) or hyper.keys() != names:
        raise AlgorithmError(
            f"{type(algorithm).__name__}.standard returns {hyper!r}.",
            f"It returns a number for each of {', '.join(names)}.",
            "",
            "Return a dict with these names.",
        )
    values = {name: float(value) for name, value in hyper.items()}
    return values if np.isfinite(list(values.values())).all() else None


def median_candidate(table: LossTable, prior: DiscreteMeasure) -> int:
    """The candidate that half of the others beat on the training cells that were run."""
    z = table.safeguarded()
    run = np.ones(table.shape, dtype=bool) if table.missing is None else ~table.missing
    means = np.where(run, z, 0.0).sum(axis=1) / run.sum(axis=1)
    held = np.flatnonzero(prior.log_weights > -np.inf)
    return int(held[np.argsort(means[held], kind="stable")[(len(held) - 1) // 2]])


def evaluated(
    engine: Traced, rows: Mapping[str, Mapping[str, float]], test: Instances
) -> tuple[LossTable | None, Curves | None]:
    """Each row on the test split, and its losses on the way; nothing if the split is empty."""
    if not len(test):
        return None, None
    names = next(iter(rows.values()))
    candidates = {name: np.array([hyper[name] for hyper in rows.values()]) for name in names}
    at = recorded_steps(engine.steps)
    with named("test"):
        table, losses = engine.curves(candidates, test, at)
    table = replace(table, provenance={**table.provenance, "rows": list(rows)})
    return table, Curves.of(tuple(rows), at, losses, table.starts)
