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
            f"The quantity of {type(problem).__name__} is {name!r}, and its unit is {unit!r}.",
            "A metric needs a name; a unit is optional. Both are printable strings.",
            "They appear in sentences.",
            'Write quantity = "validation error" in the class.',
        )
    if largest is not None and not (is_real(largest) and 0 < largest < np.inf):
        raise ProblemError(
            f"The largest value of {type(problem).__name__}'s metric is {largest!r}.",
            "It must be positive and finite.",
            "A mean can be bounded only if values lie between 0 and a known number.",
            "Write largest = 1.0, or leave it out for ratios to the start.",
        )
    return Metric(f"{name}", unit, None if largest is None else float(largest))


def checked_count(problem: AbstractProblem, unit: str, cap: float | None, steps: int) -> int:
    """The number of steps of runs that stop once the problem is solved; refused if it does not say when that is."""
    name, tolerance = type(problem).__name__, getattr(problem, "tolerance", None)
    if (
        not isinstance(problem, AbstractMetric)
        or tolerance is None
        or not (is_real(tolerance) and 0 < tolerance < np.inf)
    ):
        raise ProblemError(
            f"Steps are to be counted until {name} is solved, but its tolerance is {tolerance!r}.",
            "The problem must say when it is solved: by a metric with a tolerance above 0.",
            "",
            "Derive it from pacopt.AbstractMetric too, and write tolerance = 1e-3 in the class. Or count up to a "
            "fraction of the start: pacopt.Effort(0.1).",
        )
    if unit == "seconds":
        raise ProblemError(
            "Seconds are to be counted in runs that are computed together.",
            "Such runs are counted in steps.",
            "How long one run takes depends on the others.",
            'Use unit="iterations", or leave it out.',
        )
    if cap is not None and not (float(cap).is_integer() and cap <= steps):
        raise ProblemError(
            f"The score counts up to {cap:g} {unit}, and runs have {steps} steps.",
            "A cap is a whole number, at most the steps of a run.",
            "",
            "Give more steps, or leave the cap out.",
        )
    return steps if cap is None else int(cap)
