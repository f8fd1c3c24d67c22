"""What can be claimed with so many instances, and how many a claim needs: before anything is run."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log

import numpy as np
from scipy.special import roots_jacobi

from pacopt.bounds.mixture import MixtureBetting
from pacopt.bounds.success import ClopperPearson
from pacopt.design import Shares
from pacopt.errors import DesignError
from pacopt.informed import FAVOURITE, informed_grid
from pacopt.plain import is_real, is_whole
from pacopt.statement import down, up

#: For the tables: success probabilities, numbers of instances, and of runs that fail.
LEVELS = (0.9, 0.95, 0.99, 0.999)
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)
#: The parts for choosing candidates and for looking at the result; more than this many add little.
PART, MOST = 0.15, 200
FAILURES = (0, 1, 5)
#: Nobody has more instances than this.
CEILING = 10**9


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many instances each part of a split gets."""

    prior: int
    train: int
    test: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.prior + self.train + self.test


def recommended_split(total: int, min_success: float | None = None) -> Sizes:
    """A seventh each for the search and for the test, at most 200, and the rest for the certificate.

    The search gets enough to see a failure of a candidate that succeeds with probability `min_success`.

    >>> recommended_split(1400)
    Sizes(prior=200, train=1000, test=200)
    """
    if not is_whole(total, 3):
        raise DesignError(
            f"There are {total!r} instances.", "At least three are needed: one for each part.", "", "Collect more."
        )
    part = min(MOST, max(1, floor(PART * total)))
    needed = 1 if min_success is None else _seen(min_success)
    prior = max(part, min(needed, total // 3))
    return Sizes(prior, total - prior - part, part)


def split_for(train: int, min_success: float | None = None) -> Sizes:
    """The smallest recommended split with so many training instances."""
    low, high = 2, 3 * max(train, 1) + 3  # a third at least is for training
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if recommended_split(middle, min_success).train >= train else (middle, high)
    return recommended_split(high, min_success)


def certifiable_success(train: int, confidence: float, failure_rate: float = 0.0) -> float:
    """The success probability that `learn` certifies for its favourite if so large a part of the runs fail."""
    successes = train - ceil(failure_rate * train - 1e-9)
    return float(ClopperPearson().lower(np.array([float(successes)]), train, np.zeros(1), _level(confidence))[0])


def needed_for_success(success: float, confidence: float, failure_rate: float = 0.0) -> int | None:
    """The smallest number of training instances with which that is certified; None if none will do.

    >>> needed_for_success(0.99, 0.99)
    757
    """
    _probability("success", success)
    if failure_rate == 0:
        return ceil(log(_level(confidence) * (1 - 1e-9)) / log(success)) if success > 0 else 1
    if failure_rate >= 1 - success:
        return None
    # With failures the bound rises and falls by one count; from the size found on it stays above.
    return _smallest(lambda train: certifiable_success(train, confidence, failure_rate) >= success)


def predicted_risk(mean: float, variation: float, train: int, confidence: float) -> float:
    """The bound on the mean ratio to be expected if ratios are Beta distributed with this mean and variation.

    `variation` is the coefficient of variation: standard deviation over mean. A prediction, not a bound: what the
    betting certificate of the favourite gives for a sample whose average log-wealth is the expected one.
    """
    _probability("mean", mean)
    if not is_real(variation) or not 0 < variation < np.sqrt((1 - mean) / mean):
        raise DesignError(
            f"The coefficient of variation is {variation!r}, for a mean of {mean}.",
            f"It is positive and below {np.sqrt((1 - mean) / mean):.4g}, the largest that ratios between 0 and 1 "
            "with this mean can have.",
            "",
            "Use about 1, or measure it: standard deviation over mean of the ratios of one candidate.",
        )
    epsilon = (1 - confidence) * Shares().risk
    points = 1 / (1 + np.geomspace(1e-3, 1e2, 60))
    single = -np.expm1(_growth(mean, variation, points) + np.log(epsilon * FAVOURITE) / train) / points
    grid = informed_grid(float(points[single.argmin()]))
    wealth = train * _growth(mean, variation, grid.points)
    return float(MixtureBetting(grid).upper(wealth[None], train, np.log([FAVOURITE]), epsilon)[0])


def needed_for_risk(risk: float, mean: float, variation: float, confidence: float) -> int | None:
    """The smallest number of training instances for which that is predicted; None if the mean itself is as large."""
    _probability("risk", risk)
    if risk <= mean:
        return None
    return _smallest(lambda train: predicted_risk(mean, variation, train, confidence) <= risk)


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
        answers.append(_answer(f"A success probability of {success:g}", needs[-1], f"if {fails}"))
    if risk is not None:
        needs.append(needed_for_risk(risk, mean, variation, confidence))
        answers.append(_answer(f"A mean ratio of {risk:g}", needs[-1], f"if it truly is {mean:g}"))
    needed = max((need for need in needs if need is not None), default=None)
    possible = None not in needs
    parts = None
    if instances is not None:
        parts = recommended_split(instances, success)
        certified = certifiable_success(parts.train, confidence, failure_rate)
        expected = predicted_risk(mean, variation, parts.train, confidence)
        answers += [
            f"With {instances:,} instances, of which {parts.train:,} certify: success with probability at least "
            f"{down(certified)} if {fails}; a bound of about {up(expected, 3)} on a mean "
            f"ratio of {mean:g}.",
        ]
        if needed is not None and possible:
            possible = parts.train >= needed
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
        caution=f"All with confidence {confidence:g}, for the default certificate of learn, if its favourite is "
        "deployed. Sizes for success are exact; bounds on the ratio are predictions for ratios with a Beta "
        "distribution. None of this is a certificate.",
    )


def _answer(claim: str, needed: int | None, condition: str) -> str:
    if needed is None:
        return f"{claim} cannot be certified with any number of instances {condition}."
    return f"{claim} needs {needed:,} training instances, {condition}."


def _with_failures(success: float, confidence: float) -> tuple[int, ...]:
    def enough(failures: int) -> Callable[[int], bool]:
        def certified(train: int) -> bool:
            successes = np.array([float(max(0, train - failures))])
            return bool(ClopperPearson().lower(successes, train, np.zeros(1), _level(confidence))[0] >= success)

        return certified

    return tuple(_smallest(enough(failures)) or 0 for failures in FAILURES)


def _growth(mean: float, variation: float, points: np.ndarray) -> np.ndarray:
    """E log(1 - t z) for a Beta distribution, by Gauss-Jacobi quadrature."""
    total = (1 - mean) / (mean * variation**2) - 1
    nodes, weights = roots_jacobi(200, (1 - mean) * total - 1, mean * total - 1)
    z = (nodes + 1) / 2
    growth: np.ndarray = np.log1p(-points[:, None] * z[None]) @ (weights / weights.sum())
    return growth


def _smallest(enough: Callable[[int], bool]) -> int | None:
    high = 1
    while not enough(high):
        high *= 2
        if high > CEILING:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _level(confidence: float) -> float:
    _probability("confidence", confidence)
    return (1 - confidence) * Shares().success / 2 * FAVOURITE


def _seen(success: float) -> int:
    return ceil(1 / (1 - min(success, 1 - 1e-9)) - 1e-6)


def _probability(name: str, value: float) -> None:
    if not is_real(value) or not 0 < value < 1:
        raise DesignError(f"{name} is {value!r}.", "It lies strictly between 0 and 1.", "", "Use 0.9, for example.")
