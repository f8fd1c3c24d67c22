"""What a user should know before using what was learned."""

from collections.abc import Mapping

import numpy as np

from pacopt.comparison import Comparison, Curves, times
from pacopt.provenance import Origin
from pacopt.space import Domain, Interval

#: A mean ratio above the first that fell by less than to this part in the last half of the steps has come to a stop.
PLATEAU = 0.01, 0.98
#: A hyperparameter in the outermost two per cent of its domain is at its edge.
EDGE = 0.02


def remarks_on(
    hyper: Mapping[str, float], origin: Origin, curves: Curves | None, comparison: Comparison | None
) -> tuple[str, ...]:
    """Warnings: a value at the edge of its domain, a loss that stopped far from 0, failed runs, a better textbook."""
    found = _edges(hyper, origin.domain)
    if not origin.seeds_matter:
        found.append(
            "runs with different seeds end alike, to the last digit: the algorithm seems to ignore its key; if it is "
            "not random, derive it from pacopt.AbstractAlgorithm"
        )
    if curves is not None and not origin.known_minimum:
        found += _plateau(curves)
    if comparison is not None:
        found += _failures(comparison) + _behind(comparison)
    return tuple(found)


def _edges(hyper: Mapping[str, float], domain: Domain) -> list[str]:
    found = []
    for name, interval in domain.items():
        if not isinstance(interval, Interval):
            continue  # the ends of a range of whole numbers are values like others, and so are those of a choice
        part, least = interval.position(hyper[name]), interval.low == 0 and not interval.log
        if part > 1 - EDGE or (part < EDGE and not least):
            found.append(
                f"{name} = {hyper[name]:.4g} is at the edge of where it was looked for, [{interval.low:g}, "
                f"{interval.high:g}]: to look further, learn with new training instances and "
                f'prior=pacopt.priors.Search({{"{name}": pacopt.Interval(...)}})'
            )
    return found


def _plateau(curves: Curves) -> list[str]:
    """A loss that does not move any more, far from 0, may have reached a minimum that nobody stated."""
    if len(curves.steps) < 5:
        return []
    half = len(curves.steps) // 2
    for curve in (curves.median[0], curves.mean[0]):  # runs that failed hold the mean up, and not the median
        middle, end = float(curve[half]), float(curve[-1])
        if not (end > PLATEAU[0] and PLATEAU[1] * middle < end < 1.0):
            return []
    return [
        f"the loss hardly moved over the last half of the steps, at {end:.3g} of its start: if its minimum is not "
        "0, state it (AbstractKnownMinimum); else fewer steps, or another algorithm, may do; either takes new training "
        "instances"
    ]


def _failures(comparison: Comparison) -> list[str]:
    """More runs without the safeguard that ended above their start than with the textbook's hyperparameters."""
    learned = comparison["learned"]
    standard = comparison["standard"].failures if "standard" in comparison else 0
    if learned.failures <= standard:
        return []
    worst = (
        f"the worst at {learned.worst:.3g} times its start"
        if np.isfinite(learned.worst)
        else "at least one without a finite ratio"
    )
    beside = f"; with the textbook's hyperparameters, {standard or 'none'} did" if "standard" in comparison else ""
    return [
        f"without the safeguard, {learned.failures} of {comparison.instances} test runs ended above their start or "
        f"failed, {worst}{beside}. learned.solve returns the start there; code of your own has to do the same"
    ]


def _behind(comparison: Comparison) -> list[str]:
    if "standard" not in comparison:
        return []
    factor = comparison.factor("standard", "learned")
    if factor.low <= 1:
        return []
    return [f"on the test split the textbook does better: its mean ratio is {times(factor)} lower (95 % interval)"]
