"""What a user should know before using what was learned."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pacopt.comparison import Comparison, Curves, Raw
from pacopt.provenance import Origin
from pacopt.space import Array, Domain, Interval, Whole
from pacopt.support.rounding import counted
from pacopt.support.values import short

#: A ratio above the first number that did not fall below this fraction over the last half of the steps has stalled.
PLATEAU = 0.01, 0.98
#: A hyperparameter in the outermost two percent of its domain is at its edge.
EDGE = 0.02
#: Beyond this, a value counts as outside its domain.
ROUNDING = 1e-9
#: A worst ratio this many times above the textbook's, and above the start, is worth a remark of its own.
FAR = 10.0


def remarks_on(
    hyper: Mapping[str, Any],
    origin: Origin,
    curves: Curves | None,
    comparison: Comparison | None,
    training: tuple[Raw, Raw | None],
    *,
    job: bool = False,
) -> tuple[str, ...]:
    """Warnings: a value at the edge of its domain, a loss that stopped far from 0, failed runs.

    Without a test split, the training runs of the deployed candidate and the textbook are used. For what was learned
    from a job file, remarks use the words of job files.
    """
    found = _edges(hyper, origin.domain, studied=origin.study is not None, job=job)
    if not origin.seeds_matter:
        found.append(
            "runs with different seeds end alike, to the last digit: the algorithm seems to ignore its key. If it is "
            "not random, derive it from pacopt.AbstractAlgorithm (or leave out random = True)"
        )
    found += [f"in training {remark}" for remark in origin.training]
    if curves is not None and not origin.known_minimum:
        found += _plateau(curves)
    found += [
        f"{counted(count, 'training run')} of {name} failed, which counts as the worst possible"
        for name, count in origin.failed_baselines.items()
    ]
    if comparison is None:
        found += _failures("training", *training, origin.usual)
    else:
        count, relative = comparison.runs, comparison.relative
        rows = {row.name: Raw(count, row.failures, row.worst, relative) for row in comparison.rows}
        found += _failures("test", rows["learned"], rows.get("standard"), origin.usual)
    return tuple(found)


def _edges(hyper: Mapping[str, Any], domain: Domain, *, studied: bool, job: bool = False) -> list[str]:
    """Values at or beyond an end of their search range; a lower end of 0 (for whole numbers, also 1) is natural."""
    found = []
    for name, space in domain.items():
        if not isinstance(space, Interval | Whole | Array):
            continue  # a choice has no ends
        entries = np.ravel(hyper[name])
        if isinstance(space, Whole):
            low, high, least = entries == space.low, entries == space.high, space.low in (0, 1)
            outside = (entries < space.low) | (entries > space.high)
        else:
            part, least = np.ravel(space.position(hyper[name])), space.low == 0 and not space.log
            low, high, outside = part < EDGE, part > 1 - EDGE, (part < -ROUNDING) | (part > 1 + ROUNDING)
        odd = outside | high | (low & (not least))
        if odd.any():
            beyond = bool(outside.any())
            what = (
                f"{name} = {short(hyper[name])} is"
                if not space.shape
                else f"{name} has {odd.sum()} of {odd.size} entries"
            )
            more = ", and nothing was tried around it: to look there" if beyond else ": to look further"
            wider = (
                "make a study of a wider range, and certify it with new training instances"
                if studied
                else f"learn with new training instances and {_wider(name, space, job)}"
            )
            found.append(
                f"{what} {'outside' if beyond else 'at the edge of'} the range that was searched, [{space.low:g}, "
                f"{space.high:g}]{more}, {wider}"
            )
    return found


def _wider(name: str, space: Interval | Whole | Array, job: bool) -> str:
    """How to ask for a wider range, in a job file or in Python."""
    if job and isinstance(space, Array):
        return f"a wider {name} in the space of your algorithm"
    if job:
        flags = f"{', log = true' if space.log else ''}{', whole = true' if isinstance(space, Whole) else ''}"
        return f"[domain] {name} = {{ low = ..., high = ...{flags} }}"
    example = space.example.removesuffix(")") + (", log=True)" if space.log else ")")
    return f'prior=pacopt.priors.Search({{"{name}": pacopt.{example}}})'


def _plateau(curves: Curves) -> list[str]:
    """A loss that has stopped moving far from 0 may have reached a minimum that was not stated."""
    if len(curves.steps) < 5:
        return []
    half = len(curves.steps) // 2
    for curve in (curves.median[0], curves.mean[0]):  # failed runs hold up the mean but not the median
        middle, end = float(curve[half]), float(curve[-1])
        if not (end > PLATEAU[0] and PLATEAU[1] * middle < end < 1.0):
            return []
    return [
        f"the loss hardly moved over the last half of the steps, at {end:.3g} of its start: if its minimum is not "
        "0, state it (AbstractKnownMinimum); otherwise fewer steps or another algorithm may do; either way you need "
        "new training instances"
    ]


def _failures(part: str, learned: Raw, standard: Raw | None, usual: str) -> list[str]:
    """Without the safeguard, more runs ended above their start than with the textbook settings, or far higher."""
    allowed, high = (0, 1.0) if standard is None else (standard.failures, max(1.0, standard.worst))
    if learned.failures <= allowed and not (learned.relative and learned.worst > FAR * high):
        return []
    if not learned.relative:
        beside = "" if standard is None else f"; with the {usual}, {standard.failures or 'none'} did"
        return [f"{learned.failures:,} of {learned.runs:,} {part} runs failed{beside}"]
    beside = ""
    if standard is not None:
        whose = usual if usual.endswith("s") else f"{usual}'s hyperparameters"
        beside = f"; with the {whose}, {standard.failures or 'none'} did"
        alike = not np.isfinite(standard.worst) and not np.isfinite(learned.worst)
        beside += f", {'at least one likewise' if alike else standard.told}" if standard.failures else ""
    return [
        f"without the safeguard, {learned.failures} of {learned.runs} {part} runs ended above their start or failed, "
        f"{learned.told}{beside}. learned.solve returns the start there; code of your own has to do the same"
    ]
