"""Checks of what a black box is made of, when it is made."""

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np

from pacopt.errors import EngineError, nearest
from pacopt.space import AbstractSpace
from pacopt.support.numbers import is_real, is_whole

#: The longest limit, in seconds, three years; and the largest memory in GiB.
LONGEST, LARGEST = 1e8, 1e6


def check_space(space: Any, defaults: Any) -> None:
    """Refuse an invalid space, and defaults outside it."""
    if not isinstance(space, Mapping) or not all(isinstance(each, AbstractSpace) for each in space.values()):
        raise EngineError(
            f"The space is {space!r}.",
            "It is an Interval, Whole, Choice or Array for each hyperparameter, by its name.",
            "",
            'Use {"damping": pacopt.Interval(0.05, 1.0)}.',
        )
    if defaults is None:
        return
    found = _wrong(space, defaults)
    if found is not None:
        raise EngineError(
            found[0],
            f"The defaults are a value for each hyperparameter: {', '.join(space)}.",
            "A gain is claimed over them.",
            found[1],
        )


def _wrong(space: Mapping[str, AbstractSpace], defaults: Any) -> tuple[str, str] | None:
    """What is wrong with some defaults, and what to do about it; None if nothing is."""
    if not isinstance(defaults, Mapping):
        return f"The defaults are {defaults!r}.", "Give a mapping from names to values."
    for name in defaults:
        if name not in space:
            near = nearest(str(name), [each for each in space if each not in defaults])
            hint = "Leave it out." if near is None else f"Did you mean {near!r}?"
            return f"A default is given for {name!r}, which is no hyperparameter.", hint
    for name, each in space.items():
        if name not in defaults:
            return f"There is no default for {name!r}.", f"Add one; {name} is {each.words}."
        if not _holds(each, defaults[name]):
            return f"The default of {name!r} is {defaults[name]!r}.", f"Correct it; {name} is {each.words}."
    return None


def _holds(space: AbstractSpace, value: Any) -> bool:
    try:
        return space.holds(np.asarray([value]))
    except (TypeError, ValueError):
        return False


def check_workers(workers: Any, limit: Any, memory: Any, executor: Any) -> None:
    """Refuse invalid numbers of workers, seconds and GiB, and an executor combined with them."""
    if not is_whole(workers, 1):
        raise EngineError(f"workers is {workers!r}.", "It is a whole number, at least 1.", "", "Use workers=2.")
    if limit is not None and not (is_real(limit) and 0 < limit <= LONGEST):
        raise EngineError(f"limit is {limit!r}.", "It is a number of seconds.", "", "Use limit=10.0, or leave it out.")
    if memory is not None and not (is_real(memory) and 0 < memory <= LARGEST):
        raise EngineError(f"memory is {memory!r}.", "It is a number of GiB.", "", "Use memory=4.0, or leave it out.")
    alone = limit is None and memory is None and workers == 1
    if executor is not None and not (isinstance(executor, Executor) and alone):
        raise EngineError(
            f"executor is {executor!r}, with {workers} workers and the limits {limit!r} and {memory!r}.",
            "It is a concurrent.futures.Executor, which has its own workers and whose calls cannot be stopped.",
            "",
            "Use workers=2 and limit=10.0 without an executor, or an executor alone.",
        )
