"""What `learn` refuses before it wastes time or certifies something wrong."""

import re
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
from pacopt.priors.best_trials import BestTrials
from pacopt.priors.witness import group_marks, instance_marks
from pacopt.splits import Split
from pacopt.support.numbers import is_whole
from pacopt.support.rounding import counted


def checked_seed(seed: Any, progress: Any) -> int:
    """The seed; an invalid seed or progress is refused."""
    if not is_whole(seed) or seed >= 2**31:
        raise PriorError(f"seed is {seed!r}.", "A seed is a whole number from 0 to 2^31 - 1.", "", "Use seed=0.")
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise PriorError(
            f"progress is {progress!r}.",
            "It is True, False, or a function of the stage, the runs that are finished, and all runs.",
            "",
            "Leave it out for a bar where there is a terminal or a notebook; progress=False shows nothing.",
        )
    return int(seed)


@dataclass(frozen=True, eq=False)
class TrainingGuard:
    """Refuses a prior that brings its own training or test instances and runs candidates on them.

    Instances are compared as runs see them (`view`), so that a serial number does not turn a copy into a different
    instance, and again rounded to float32. If equal rows are declared to be separate draws, a prior may find content
    of the other parts in the prior split; but content found only in another part, or all of another part, cannot come
    from there.
    """

    split: Split
    view: Callable[[Instances], Instances]

    def refuse(self, instances: Instances) -> None:
        """Raise if a prior may not run candidates on these instances."""
        if instances is self.split.prior or not len(instances):
            return
        seen = self.view(instances)
        exact, rounded = seen.fingerprints, _rounded(seen).fingerprints
        own, own_rounded = self._prior
        for part, (marks, near) in (("training", self._train), ("test", self._test)):
            # An instance found in the prior split, to the last digit, is not a rounded copy of something else.
            suspect = np.isin(exact, marks) | (np.isin(rounded, near) & ~np.isin(exact, own))
            where = f"in the {part} split"
            if self.split.allow_duplicates and len(marks) > 1 and _all_of(rounded, near, own_rounded):
                where = f"in the {part} split, and they are all of it"
            elif self.split.allow_duplicates:
                suspect = suspect & ~np.isin(rounded, own_rounded)
                where = f"in the {part} split and not in the prior split"
            used = np.flatnonzero(suspect)
            if len(used):
                raise PriorError(
                    f"The prior ran candidates on {counted(len(used), 'instance')} {where} (first: index {used[0]}).",
                    "A prior is a function of the prior split.",
                    "The bound needs candidates and weights chosen before the training instances were seen; otherwise "
                    "the certificate is void."
                    if part == "training"
                    else "A test shows something only on instances that were used for nothing else.",
                    "Run candidates with trials.table(candidates), which takes the prior split.",
                )

    # Sorted, and computed once: a prior may run candidates many times.
    @cached_property
    def _train(self) -> tuple[np.ndarray, np.ndarray]:
        return self._seen(self.split.train)

    @cached_property
    def _test(self) -> tuple[np.ndarray, np.ndarray]:
        return self._seen(self.split.test)

    @cached_property
    def _prior(self) -> tuple[np.ndarray, np.ndarray]:
        return self._seen(self.split.prior)

    def _seen(self, part: Instances) -> tuple[np.ndarray, np.ndarray]:
        """The fingerprints of a part, as they are and rounded."""
        seen = self.view(part) if len(part) else part
        return np.sort(seen.fingerprints), np.sort(_rounded(seen).fingerprints)


def refuse_seen(prior: Any, split: Split) -> None:
    """Refuse the best trials of a study if any of its trials recorded training or test instances.

    All trials count, however they ended: a sampler learns from each. Rows are compared as they are, and rounded to
    float32; a row of a group that is in another part counts too.
    """
    if not isinstance(prior, BestTrials):
        return
    own = instance_marks(split.prior)
    for part, instances in (("training", split.train), ("test", split.test)):
        exact, rounded = instance_marks(instances), instance_marks(_rounded(instances)) if len(instances) else set()
        marks = (exact | rounded) - own if split.allow_duplicates else exact | (rounded - own)
        found = prior.seen(marks, group_marks(instances))
        if found:
            who, what = next(iter(found.items()))
            more = f", and so did {counted(len(found) - 1, 'more trial')}" if len(found) > 1 else ""
            raise PriorError(
                f"{who} saw {what} of the {part} split{more}.",
                "A study whose best trials become the candidates uses the prior split, or instances of its own.",
                "Trials that were chosen by looking at training instances have been lucky there, and the certificate "
                "would be void."
                if part == "training"
                else "A test shows something only on instances that were used for nothing else.",
                "Make the study on split.prior, or certify this one with new instances, which it never saw.",
            )


def _all_of(marks: np.ndarray, part: np.ndarray, prior: np.ndarray) -> bool:
    """Whether these are all the instances of a part, in some order, and not those of the prior split."""
    return np.array_equal(np.sort(marks), part) and not np.array_equal(part, prior)


def _rounded(instances: Instances) -> Instances:
    """The instances rounded to float32."""
    if instances.content is not None:
        return instances
    narrow = {"f": np.float32, "c": np.complex64}
    with np.errstate(over="ignore", under="ignore"):
        fields = {
            name: array.astype(narrow[array.dtype.kind]) if array.dtype.kind in narrow else array
            for name, array in instances.fields.items()
        }
    return Instances(fields)


def refuse_unreachable(min_success: float | None, train: int, level: float, weight: float) -> None:
    """Raise if `min_success` could not be certified even if all runs succeeded."""
    if min_success is None or (level * weight) ** (1 / train) >= min_success:
        return
    best = (level * weight) ** (1 / train)
    # No training instance has been run yet, so asking for less, or for another split, needs no new ones.
    # The number given is enough for the favourite of a search, as `pacopt plan` says.
    enough = ceil(log(level * min(weight, FAVOURITE)) / log(min_success)) if min_success < 1 else None
    raise DesignError(
        f"min_success is {min_success}, with {counted(train, 'training instance')}.",
        "No number of instances can certify certainty."
        if enough is None
        else f"At least {enough:,} are needed"
        + (" for a candidate with half of the weight, as the favourite of a search." if weight == 1 else "."),
        f"Even if every run succeeded, no more than {best:.4g} could be certified with them"
        + (f" for a candidate of weight {weight:.3g}." if weight < 1 else "."),
        "Ask for less."
        if enough is None
        else f"Ask for less, or train with more: pacopt plan --success {min_success} says how many.",
    )


@contextmanager
def named(part: str, rows: np.ndarray | None = None) -> Iterator[None]:
    """Add the part of the split, and the source row if it is known, to an error that names an instance by number."""
    try:
        yield
    except PacoptError as error:
        found = f"In the {part} split: {error.found}"
        number = re.search(r"\binstance (\d+)\b", found)
        if number and rows is not None and int(number[1]) < len(rows):
            found += f" Instance {number[1]} is row {rows[int(number[1])]} of all instances, counted from 0."
        raise type(error)(found, error.needed, error.why, error.remedy) from error


def rows_of(split: Split, part: str, instances: Instances) -> np.ndarray | None:
    """The source rows of some instances, if they are a part of the split and each is run once; else None."""
    once = instances.draws is None or instances.draws.seeds.shape[1] == 1
    known = split.rows is not None and instances is getattr(split, part) and once
    return split.rows[part] if known and split.rows is not None else None
