"""What can be claimed with so many instances, and how many a claim needs: before anything is run."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pacopt.bounds.success import ClopperPearson
from pacopt.errors import DesignError
from pacopt.planning.sizes import (
    certifiable_success,
    needed_for_risk,
    needed_for_success,
    predicted_risk,
    smallest,
    split_for,
    success_level,
)
from pacopt.support.numbers import is_real
from pacopt.support.rounding import down, up
from pacopt.support.sizes import CEILING, Sizes, recommended_split

#: For the tables: success probabilities, numbers of instances, and of runs that fail.
LEVELS = (0.9, 0.95, 0.99, 0.999)
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)
FAILURES = (0, 1, 5)


@dataclass(frozen=True, slots=True)
class SuccessSizes:
    """The numbers of training instances that certify a success probability if 0, 1 and 5 of their runs fail."""

    success: float
    train: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RiskSize:
    """The bound on the mean ratio that is predicted for a number of training instances."""

    train: int
    risk: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be claimed with how many instances. `split` and `needed_train` are None where nothing was asked."""

    confidence: float
    mean: float
    variation: float
    failure_rate: float
    split: Sizes | None
    needed_train: int | None
    possible: bool
    answers: tuple[str, ...]
    levels: tuple[SuccessSizes, ...]
    risks: tuple[RiskSize, ...]
    caution: str


def make_plan(
    *,
    instances: int | None = None,
    success: float | None = None,
    risk: float | None = None,
    confidence: float = 0.99,
    mean: float = 0.05,
    variation: float = 1.0,
    failure_rate: float = 0.0,
) -> Plan:
    """What so many instances can claim, how many the claims need, or whether the one is enough for the other."""
    if not is_real(failure_rate) or not 0 <= failure_rate < 1:
        raise DesignError(
            f"failure_rate is {failure_rate!r}.", "It is a part of the runs, below 1.", "", "Use 0.01, for example."
        )
    fails = "no run fails" if failure_rate == 0 else f"{100 * failure_rate:g} % of the runs fail"
    needs: list[int | None] = []
    answers = []
    if success is not None:
        needs.append(needed_for_success(success, confidence, failure_rate))
        answers.append(_answer(f"A success probability of {success!r}", needs[-1], f"if {fails}"))
    if risk is not None:
        needs.append(needed_for_risk(risk, mean, variation, confidence))
        answers.append(_answer(f"A mean ratio of {risk!r}", needs[-1], f"if it truly is {mean!r}"))
    needed = max((need for need in needs if need is not None), default=None)
    possible = None not in needs and (needed is None or needed <= CEILING)
    parts = None
    if instances is not None:
        parts = recommended_split(instances, success)
        if success is not None and certifiable_success(parts.train, confidence, failure_rate) < success:
            parts = recommended_split(instances)  # a larger part for the search would only lower what can be certified
        certified = certifiable_success(parts.train, confidence, failure_rate)
        expected = predicted_risk(mean, variation, parts.train, confidence)
        answers += [
            f"With {instances:,} instances, of which {parts.train:,} certify: success with probability at least "
            f"{down(certified)} if {fails}; a bound of about {up(expected, 3)} on a mean "
            f"ratio of {mean!r}.",
        ]
        if needed is not None and possible:
            possible = parts.train >= needed and (success is None or certified >= success)
            answers.append(
                "That is enough." if possible else f"That is not enough: {split_for(needed, success).total:,} are."
            )
    elif needed is not None and possible:
        parts = split_for(needed, success)
    if parts is not None:
        answers.append(
            f"Recommended split: prior = {parts.prior}, train = {parts.train}, test = {parts.test} "
            f"({parts.total:,} instances)."
        )
    sizes = sorted({*SIZES, *([parts.train] if parts else [])})
    return Plan(
        confidence=confidence,
        mean=mean,
        variation=variation,
        failure_rate=failure_rate,
        split=parts,
        needed_train=needed,
        possible=possible,
        answers=tuple(answers),
        levels=tuple(SuccessSizes(level, _with_failures(level, confidence)) for level in LEVELS),
        risks=tuple(RiskSize(size, predicted_risk(mean, variation, size, confidence)) for size in sizes),
        caution=f"All with confidence {confidence!r}, for the default certificate of learn, if its favourite is "
        "deployed. Sizes for success are exact; bounds on the ratio are predictions for ratios with a Beta "
        "distribution. None of this is a certificate.",
    )


def _answer(claim: str, needed: int | None, condition: str) -> str:
    if needed is None:
        return f"{claim} cannot be certified with any number of instances {condition}."
    if needed > CEILING:
        return f"{claim} needs more than {CEILING:,} training instances, {condition}, and nobody has so many."
    return f"{claim} needs {needed:,} training instances, {condition}."


def _with_failures(success: float, confidence: float) -> tuple[int, ...]:
    def enough(failures: int) -> Callable[[int], bool]:
        def certified(train: int) -> bool:
            successes = np.array([float(max(0, train - failures))])
            return bool(ClopperPearson().lower(successes, train, np.zeros(1), success_level(confidence))[0] >= success)

        return certified

    return tuple(smallest(enough(failures)) or 0 for failures in FAILURES)
