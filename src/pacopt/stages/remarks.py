"""What a user should know before using what was learned."""

from collections.abc import Mapping

from pacopt.comparison import Comparison, Curves, Raw, times
from pacopt.provenance import Origin
from pacopt.space import Domain, Interval

#: A mean ratio above the first that fell by less than to this part in the last half of the steps has come to a stop.
PLATEAU = 0.01, 0.98
#: A hyperparameter in the outermost two per cent of its domain is at its edge.
EDGE = 0.02
#: A value counts as outside of its domain from here on.
ROUNDING = 1e-9
#: A worst ratio this many times above the textbook's, and above the start, is worth a remark of its own.
FAR = 10.0


def remarks_on(
    hyper: Mapping[str, float],
    origin: Origin,
    curves: Curves | None,
    comparison: Comparison | None,
    training: tuple[Raw, Raw | None],
) -> tuple[str, ...]:
    """Warnings: a value at the edge of its domain, a loss that stopped far from 0, failed runs, a better textbook.

    How the deployed candidate and the textbook's did in training is looked at where there is no test split.
    """
    found = _edges(hyper, origin.domain)
    if not origin.seeds_matter:
        found.append(
            "runs with different seeds end alike, to the last digit: the algorithm seems to ignore its key; if it is "
            "not random, derive it from pacopt.AbstractAlgorithm (or leave out random = True)"
        )
    if curves is not None and not origin.known_minimum:
        found += _plateau(curves)
    if comparison is None:
        found += _failures("training", *training)
    else:
        rows = {row.name: Raw(comparison.instances, row.failures, row.worst) for row in comparison.rows}
        found += _failures("test", rows["learned"], rows.get("standard")) + _behind(comparison)
    return tuple(found)


def _edges(hyper: Mapping[str, float], domain: Domain) -> list[str]:
    found = []
    for name, interval in domain.items():
        if not isinstance(interval, Interval):
            continue  # the ends of a range of whole numbers are values like others, and so are those of a choice
        part, least = interval.position(hyper[name]), interval.low == 0 and not interval.log
        outside = part < -ROUNDING or part > 1 + ROUNDING
        if outside or part > 1 - EDGE or (part < EDGE and not least):
            place = "outside of" if outside else "at the edge of"
            more = ", and nothing was tried around it: to look there" if outside else ": to look further"
            found.append(
                f"{name} = {hyper[name]:.4g} is {place} where it was looked for, [{interval.low:g}, "
                f"{interval.high:g}]{more}, learn with new training instances and "
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


def _failures(part: str, learned: Raw, standard: Raw | None) -> list[str]:
    """More runs without the safeguard that ended above their start than with the textbook's values, or far higher."""
    allowed, usual = (0, 1.0) if standard is None else (standard.failures, max(1.0, standard.worst))
    if learned.failures <= allowed and not learned.worst > FAR * usual:
        return []
    beside = ""
    if standard is not None:
        beside = f"; with the textbook's hyperparameters, {standard.failures or 'none'} did"
        beside += f", {standard.told}" if standard.failures else ""
    return [
        f"without the safeguard, {learned.failures} of {learned.runs} {part} runs ended above their start or failed, "
        f"{learned.told}{beside}. learned.solve returns the start there; code of your own has to do the same"
    ]


def _behind(comparison: Comparison) -> list[str]:
    if "standard" not in comparison:
        return []
    factor = comparison.factor("standard", "learned")
    if factor.low <= 1:
        return []
    return [f"on the test split the textbook does better: its mean ratio is {times(factor)} lower (95 % interval)"]
