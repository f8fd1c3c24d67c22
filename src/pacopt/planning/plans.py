"""What can be claimed with so many instances, and how many a claim needs: before anything is run."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pacopt.bounds.success import ClopperPearson
from pacopt.planning.answers import caution, delays, expected, needs, never_shown, noticed
from pacopt.planning.budgets import certifiable_budget
from pacopt.planning.delays import Delay
from pacopt.planning.floors import largest_gain, least_risk
from pacopt.planning.gains import EXCESS, Compared, check_gain, predicted_gain
from pacopt.planning.guesses import Guesses
from pacopt.planning.sizes import certifiable_success, predicted_risk, smallest, split_for, success_level
from pacopt.planning.units import Unit
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
    """The bound on the mean ratio that is predicted for a number of training instances, and the least of any method."""

    train: int
    risk: float
    floor: float


@dataclass(frozen=True, slots=True)
class BudgetSize:
    """The part of instances within the budget that a number of training instances certifies."""

    train: int
    within: float


@dataclass(frozen=True, slots=True)
class GainSize:
    """The gain that is predicted for a number of training instances, None for none, and the most of any method."""

    train: int
    gain: float | None
    ceiling: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be claimed with how many instances. What was not asked for is None, or empty."""

    confidence: float
    mean: float
    variation: float
    failure_rate: float
    late_rate: float
    targets: int | None
    compared: Compared | None
    split: Sizes | None
    needed_train: int | None
    possible: bool
    answers: tuple[str, ...]
    limits: tuple[str, ...]
    levels: tuple[SuccessSizes, ...]
    risks: tuple[RiskSize, ...]
    budgets: tuple[BudgetSize, ...]
    gains: tuple[GainSize, ...]
    delays: tuple[Delay, ...]
    caution: str
    unit: Unit


def make_plan(
    *,
    instances: int | None = None,
    success: float | None = None,
    risk: float | None = None,
    within: float | None = None,
    gain: float | None = None,
    drop: float | None = None,
    rise: float | None = None,
    confidence: float = 0.99,
    mean: float = 0.05,
    variation: float = 1.0,
    failure_rate: float = 0.0,
    late_rate: float = 0.0,
    targets: int | None = None,
    factor: float | None = None,
    baseline_variation: float | None = None,
    correlation: float = 0.0,
    every: float = 1e5,
    top: float = 1.0,
    unit: str = "",
) -> Plan:
    """What N instances can certify, how many the claims need, or whether the one is enough for the other.

    A budget is a claim more, and leaves less of the failure probability to the others. It is asked for by `within`,
    `late_rate` or `targets`, and the size of a gain by `gain` or `factor`. For another score than a ratio, `top` is its
    largest value (the cap of an effort, say) and `unit` its unit; `mean`, `risk` and `rise` are in that unit.
    """
    said = Unit(top, unit)
    mean, risk, rise = mean / top, None if risk is None else risk / top, None if rise is None else rise / top
    budget = within is not None or targets is not None or late_rate != 0
    compared = None
    if gain is not None or factor is not None:
        factor = EXCESS * check_gain(gain) if factor is None else factor
        compared = Compared(mean, variation, factor, baseline_variation, correlation)
    guesses = Guesses(
        confidence,
        mean,
        variation,
        failure_rate,
        late_rate,
        (1 if targets is None else targets) if budget else None,
        compared,
        said,
    )
    found = needs(guesses, success, risk, within, gain)
    answers = [need.answer for need in found]
    needed = max((need.train for need in found if need.train is not None), default=None)
    possible = all(need.train is not None and need.train <= CEILING for need in found)
    parts = split_for(needed, success) if needed is not None and possible else None
    if instances is not None:
        parts = recommended_split(instances, success)
        if success is not None and certifiable_success(parts.train, guesses.left, failure_rate) < success:
            parts = recommended_split(instances)  # a larger part for the search would only lower what can be certified
        certified = certifiable_success(parts.train, guesses.left, failure_rate)
        answers.append(
            f"With {instances:,} instances, of which {parts.train:,} certify: {expected(guesses, parts.train)}."
        )
        if needed is not None and possible:
            possible = parts.train >= needed and (success is None or certified >= success)
            answers.append(
                "That is enough." if possible else f"That is not enough: {split_for(needed, success).total:,} are."
            )
        success, risk = certified, predicted_risk(mean, variation, parts.train, guesses.left)
    if parts is not None:
        answers.append(
            f"Recommended split: prior = {parts.prior}, train = {parts.train}, test = {parts.test} "
            f"({parts.total:,} instances)."
        )
    watched = delays(success, drop, risk, rise, variation, every)
    sizes = sorted({*SIZES, *([parts.train] if parts else [])})
    return Plan(
        confidence=confidence,
        mean=mean,
        variation=variation,
        failure_rate=failure_rate,
        late_rate=late_rate,
        targets=guesses.targets,
        compared=compared,
        split=parts,
        needed_train=needed,
        possible=possible,
        answers=(*answers, *(noticed(each, said) for each in watched)),
        limits=() if parts is None else never_shown(guesses, parts.train),
        levels=tuple(SuccessSizes(level, _with_failures(level, guesses.left)) for level in LEVELS),
        risks=tuple(_risk(guesses, size) for size in sizes),
        budgets=tuple(_budget(guesses, size) for size in sizes if budget),
        gains=tuple(_gain(guesses, compared, size) for size in sizes if compared is not None),
        delays=watched,
        caution=caution(guesses),
        unit=said,
    )


def _risk(guesses: Guesses, train: int) -> RiskSize:
    risk = predicted_risk(guesses.mean, guesses.variation, train, guesses.left)
    return RiskSize(train, risk, least_risk(guesses.mean, train, guesses.risk_epsilon))


def _budget(guesses: Guesses, train: int) -> BudgetSize:
    return BudgetSize(train, certifiable_budget(train, guesses.left, guesses.late_rate, guesses.targets or 1))


def _gain(guesses: Guesses, compared: Compared, train: int) -> GainSize:
    most = largest_gain(compared.factor, compared.mean, train, guesses.gain_epsilon)
    return GainSize(train, predicted_gain(compared, train, guesses.left), most)


def _with_failures(success: float, confidence: float) -> tuple[int, ...]:
    def enough(failures: int) -> Callable[[int], bool]:
        def certified(train: int) -> bool:
            successes = np.array([float(max(0, train - failures))])
            return bool(ClopperPearson().lower(successes, train, np.zeros(1), success_level(confidence))[0] >= success)

        return certified

    return tuple(smallest(enough(failures)) or 0 for failures in FAILURES)
