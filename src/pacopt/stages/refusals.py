"""What `learn` refuses before it wastes anybody's time, or certifies something wrong."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log
from typing import Any

import numpy as np

from pacopt.bounds.informed import FAVOURITE
from pacopt.errors import DesignError, PacoptError, PriorError
from pacopt.instances import Instances
from pacopt.splits import Split
from pacopt.support.numbers import is_whole


def checked_seed(seed: Any, progress: Any) -> int:
    """The seed; what is no seed and no progress is refused."""
    if not is_whole(seed) or seed >= 2**31:
        raise PriorError(f"seed is {seed!r}.", "A seed is a whole number from 0 to 2^31 - 1.", "", "Use seed=0.")
    if progress is not None and not callable(progress):
        raise PriorError(
            f"progress is {progress!r}.",
            "It is a function of the stage, the cells that are finished, and all cells.",
            "",
            "Leave it out, or pass progress=print.",
        )
    return int(seed)


@dataclass(frozen=True, eq=False)
class TrainingGuard:
    """Refuses a prior that brings training instances along and runs its candidates on them.

    Instances are compared as the runs see them (`view`), so that a running number does not make a copy another
    instance. Where equal rows are declared to be separate draws, a prior may meet content of the training split in the
    prior split; content that stands in the training split alone, or all of the training split, it cannot have from
    there.
    """

    split: Split
    view: Callable[[Instances], Instances]

    def refuse(self, instances: Instances) -> None:
        """Raise if a prior may not run candidates on these instances."""
        if instances is self.split.prior or not len(instances):
            return
        marks = self.view(instances).fingerprints
        suspect, where = np.isin(marks, self._train), "in the training split"
        if self.split.allow_duplicates and self._is_train(marks):
            where = "in the training split, and they are all of it"
        elif self.split.allow_duplicates:
            suspect, where = suspect & ~np.isin(marks, self._prior), "in the training split and not in the prior split"
        used = np.flatnonzero(suspect)
        if len(used):
            raise PriorError(
                f"The prior ran candidates on {len(used)} instances that are {where} (first: index {used[0]}).",
                "A prior is a function of the prior split.",
                "The bound needs candidates and weights chosen before the training instances were seen; otherwise the "
                "certificate is void.",
                "Run candidates with trials.table(candidates), which takes the prior split.",
            )

    def _is_train(self, marks: np.ndarray) -> bool:
        """Whether these are all training instances again, in some order, and not those of the prior split."""
        return np.array_equal(np.sort(marks), self._train) and not np.array_equal(self._train, self._prior)

    # Sorted, and looked at once: a prior may run candidates many times.
    @cached_property
    def _train(self) -> np.ndarray:
        return self._seen(self.split.train)

    @cached_property
    def _prior(self) -> np.ndarray:
        return self._seen(self.split.prior)

    def _seen(self, part: Instances) -> np.ndarray:
        return np.sort(self.view(part).fingerprints if len(part) else part.fingerprints)


def refuse_unreachable(min_success: float | None, train: int, level: float, weight: float) -> None:
    """Raise if `min_success` could not be certified even if all runs succeeded."""
    if min_success is None or (level * weight) ** (1 / train) >= min_success:
        return
    best = (level * weight) ** (1 / train)
    # No training instance has been run yet, so asking for less, or for another split, takes no new ones.
    # What is enough for the favourite of a search, which is what `pacopt plan` says.
    enough = ceil(log(level * min(weight, FAVOURITE)) / log(min_success)) if min_success < 1 else None
    raise DesignError(
        f"min_success is {min_success}, and there are {train} training instances.",
        "No number of instances can certify certainty."
        if enough is None
        else f"At least {enough} are needed"
        + (" for a candidate with half of the weight, as the favourite of a search." if weight == 1 else "."),
        f"Even if every run succeeded, no more than {best:.4g} could be certified with them"
        + (f" for a candidate of weight {weight:.3g}." if weight < 1 else "."),
        "Ask for less" + ("." if enough is None else f", or split the instances with train = {enough} or more."),
    )


@contextmanager
def named(part: str) -> Iterator[None]:
    """Says in which part of the split an instance is that an error names by its number."""
    try:
        yield
    except PacoptError as error:
        raise type(error)(f"In the {part} split: {error.found}", error.needed, error.why, error.remedy) from error
