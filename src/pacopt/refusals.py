"""What `learn` refuses before it wastes anybody's time, or certifies something wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil, log
from typing import Any

import numpy as np

from pacopt.errors import DesignError, PacoptError, PriorError, SplitError
from pacopt.informed import FAVOURITE
from pacopt.instances import Instances
from pacopt.splits import Split
from pacopt.support.numbers import is_whole


def checked_seed(split: Any, seed: Any, progress: Any) -> int:
    """The seed; what is no split, no seed and no progress is refused."""
    if not isinstance(split, Split):
        raise SplitError(
            f"An object of type {type(split).__name__} was given.",
            "Instances divided into prior, train and test are needed.",
            "Candidates have to be chosen on other instances than those that certify them.",
            "Use pacopt.split(instances, prior=200, train=1000, test=200, seed=0).",
        )
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


def refuse_training(split: Split, instances: Instances) -> None:
    """Refuse a prior that brings training instances along and runs its candidates on them."""
    if instances is split.prior or split.allow_duplicates:
        return
    used = np.flatnonzero(np.isin(instances.fingerprints, split.train.fingerprints))
    if len(used):
        raise PriorError(
            f"The prior ran candidates on {len(used)} instances that are in the training split (first: index "
            f"{used[0]}).",
            "A prior is a function of the prior split.",
            "The bound needs candidates and weights chosen before the training instances were seen; otherwise the "
            "certificate is void.",
            "Run candidates with trials.table(candidates), or draw a new split.",
        )


def refuse_unreachable(min_success: float | None, train: int, level: float, weight: float) -> None:
    """Raise if `min_success` could not be certified even if all runs succeeded."""
    if min_success is None or (level * weight) ** (1 / train) >= min_success:
        return
    best = (level * weight) ** (1 / train)
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
