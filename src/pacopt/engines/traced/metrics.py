"""What a problem is judged by, if that is not its loss."""

import numpy as np

from pacopt.engines.base import Metric
from pacopt.errors import ProblemError
from pacopt.problems.base import AbstractMetric, AbstractProblem
from pacopt.support.numbers import is_real


def metric_of(problem: AbstractProblem) -> Metric | None:
    """The metric of a problem; None if it has none."""
    if not isinstance(problem, AbstractMetric):
        return None
    name, unit, largest = getattr(problem, "quantity", None), problem.unit, problem.largest
    named = isinstance(name, str) and name.strip() and name.isprintable()
    if not named or not isinstance(unit, str) or not unit.isprintable():
        raise ProblemError(
            f"The quantity of {type(problem).__name__} is {name!r}, and its unit {unit!r}.",
            "A metric has a name, and a unit if it has one.",
            "Sentences call it by that.",
            'Write quantity = "validation error" in the class.',
        )
    if largest is not None and not (is_real(largest) and 0 < largest < np.inf):
        raise ProblemError(
            f"The largest value of {type(problem).__name__}'s metric is {largest!r}.",
            "It is positive and finite.",
            "A mean can be bounded only between 0 and a known number.",
            "Write largest = 1.0, or leave it out for ratios to the start.",
        )
    return Metric(f"{name}", unit, None if largest is None else float(largest))
