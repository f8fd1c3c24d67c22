"""What a monitor is asked for and told, checked."""

import math
from typing import Any

from pacopt.errors import MonitorError
from pacopt.support.numbers import is_real


def mean_of(scores: list[float]) -> float:
    """The mean of the scores of a group."""
    if not scores:
        raise MonitorError("A group without scores was given.", "A group has at least one.", "", "Leave it out.")
    return sum(scores) / len(scores)


def checked_number(score: Any, claims: tuple[str, ...], *, binary: bool) -> float:
    """The score of a run for the only claim that is watched: between 0 and 1, or (`binary`) one of the two."""
    if not is_real(score) or not 0 <= score <= 1:
        raise MonitorError(
            f"The score of an instance is {score!r}.",
            "A score lies between 0 and 1.",
            "Evidence is counted by scores for which the certificate bounds the mean.",
            "Pass what `solve` returned, or z; a run that failed scores 1, one that was not recorded is left out.",
        )
    if len(claims) > 1:
        raise MonitorError(
            f"A number was given, and {', '.join(claims)} are watched.",
            "Each claim has a score of its own.",
            "",
            "Pass what `solve` returned, or make one monitor for each claim.",
        )
    if binary and score not in (0, 1):
        raise MonitorError(
            f"The score of an instance is {score!r}, and the claim {claims[0]!r} is watched.",
            "For this claim a run scores 0 if it went as claimed, and 1 if it did not.",
            "The certificate bounds the share of the runs that did not; a ratio is no share, and would hide them.",
            "Pass 0 or 1; ratios are scores of the claim 'risk'.",
        )
    return float(score)


def amount(value: float) -> str:
    """Evidence as people read it.

    >>> amount(85.3), amount(1e5), amount(0.0123), amount(1e12)
    ('85', '100,000', '0.012', '1e+12')
    """
    return f"{value:,.0f}" if 10 <= value < 1e9 else f"{value:.2g}"


def check_rate(every: Any, ever: Any) -> None:
    """Refuse what says nothing about how often there may be a false alarm."""
    if every is not None and ever is not None:
        raise MonitorError(
            f"every is {every!r} and ever is {ever!r}.",
            "Only one of them can say how often false alarms may occur.",
            "",
            "Leave one out.",
        )
    if every is not None and not (is_real(every) and 1 <= every < math.inf):
        raise MonitorError(
            f"every is {every!r}.",
            "It is the mean number of instances to a false alarm, at least 1.",
            "",
            "Use every=100_000.",
        )
    if ever is not None and not (is_real(ever) and 0 < ever < 1):
        raise MonitorError(
            f"ever is {ever!r}.", "It is a probability between 0 and 1.", "", "Use ever=0.01, for example."
        )
