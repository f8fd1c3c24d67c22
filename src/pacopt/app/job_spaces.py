"""The table [domain] of a job file: the search space of each hyperparameter."""

from collections.abc import Mapping
from typing import Any

from pacopt.errors import AlgorithmError
from pacopt.space import AbstractSpace, Choice, Interval, Whole
from pacopt.support.numbers import is_real

#: Numbers in a job are smaller; TOML has whole numbers of any size, and infinity.
LARGEST = 1e300
EXAMPLES = (
    "[low, high], { low = 1e-6, high = 1.0, log = true }, { low = 1, high = 20, whole = true } or "
    '{ choices = ["a", "b"] }'
)


def is_finite(value: Any) -> bool:
    """Whether a value is a number that is not too large."""
    return is_real(value) and -LARGEST < value < LARGEST


def spaces(content: Any) -> tuple[dict[str, AbstractSpace], dict[str, str]]:
    """The space of each hyperparameter, and what is wrong with the others."""
    if not isinstance(content, dict):
        return {}, {"domain": f"{content!r} is not a table; write [domain] with a line for each hyperparameter"}
    found, mistakes = {}, {}
    for name, given in content.items():
        value = {"low": given[0], "high": given[1]} if isinstance(given, list) and len(given) == 2 else given
        try:
            space = _space(value) if isinstance(value, dict) else None
        except AlgorithmError as error:
            mistakes[f"domain.{name}"] = f"{error.found} {error.needed}"
            continue
        if space is None:
            mistakes[f"domain.{name}"] = f"is {given!r}; it must be {EXAMPLES}"
        else:
            found[name] = space
    return found, mistakes


def _space(value: Mapping[str, Any]) -> AbstractSpace | None:
    """The space that a table describes; None if it describes none."""
    if value.keys() == {"choices"}:
        return Choice(*value["choices"]) if isinstance(value["choices"], list) and value["choices"] else None
    if not {"low", "high"} <= value.keys() <= {"low", "high", "log", "whole"}:
        return None
    ends, log, whole = (value["low"], value["high"]), value.get("log", False), value.get("whole", False)
    flags = isinstance(log, bool) and isinstance(whole, bool)
    if not flags or not all(is_real(end) and (is_finite(end) or abs(end) == float("inf")) for end in ends):
        return None
    if not whole:
        return Interval(float(ends[0]), float(ends[1]), log)
    return Whole(*ends, log) if all(isinstance(end, int) for end in ends) else None
