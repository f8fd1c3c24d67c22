"""What theory recommends for an algorithm on instances like these."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStandardHyper, checked_curvature
from pacopt.engines.base import Standard
from pacopt.engines.traced.curvature import estimated_curvature
from pacopt.errors import AlgorithmError
from pacopt.instances import Instances
from pacopt.problems.base import AbstractProblem


def standard_of(
    problem: AbstractProblem, algorithm: AbstractAlgorithm, given: Any, prior: Instances, dtype: np.dtype[Any]
) -> Standard:
    """The textbook settings for the given curvature, which is otherwise estimated on the prior split if needed."""
    if given is not None:
        curvature: tuple[float, float] | None = checked_curvature(given)
    elif isinstance(algorithm, AbstractStandardHyper) and len(prior):
        curvature = estimated_curvature(problem, prior, dtype)
    else:
        curvature = None
    return Standard(_recommended(algorithm, curvature), curvature)


def _recommended(algorithm: AbstractAlgorithm, curvature: tuple[float, float] | None) -> dict[str, float] | None:
    """The textbook settings; None if there are none, or none that are finite."""
    if curvature is None or not isinstance(algorithm, AbstractStandardHyper):
        return None
    with np.errstate(all="ignore"):
        hyper = algorithm.standard(*curvature)
    names = algorithm.hyperparameters.keys()
    if not isinstance(hyper, Mapping) or hyper.keys() != names:
        raise AlgorithmError(
            f"{type(algorithm).__name__}.standard returns {hyper!r}.",
            f"It returns a value for each of {', '.join(names)}.",
            "",
            "Return a dict with these names.",
        )
    values = {name: float(value) for name, value in hyper.items()}
    return values if np.isfinite(list(values.values())).all() else None
