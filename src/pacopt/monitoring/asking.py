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
