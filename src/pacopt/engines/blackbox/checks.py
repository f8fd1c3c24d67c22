"""Checks of what a black box is made of, when it is made."""

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np

from pacopt.errors import EngineError
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
    names = set(defaults) if isinstance(defaults, Mapping) else set()
    wrong = [name for name in space if name in names and not _holds(space[name], defaults[name])]
    if not isinstance(defaults, Mapping) or names != set(space) or wrong:
        raise EngineError(
            f"The defaults are {defaults!r}.",
            f"They are a value for each hyperparameter: {', '.join(space)}.",
            "A gain is claimed over them.",
            f"Correct {wrong[0]!r}, which is in {space[wrong[0]]!r}." if wrong else "Give them all, and no others.",
        )


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
