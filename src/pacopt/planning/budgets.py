"""How many runs can be certified to stay within a budget of steps, and how many instances that takes."""

from math import ceil, fsum, log

from scipy.special import betaincinv

from pacopt.bounds.informed import FAVOURITE
from pacopt.bounds.success import PADDING
from pacopt.claims import Budget
from pacopt.errors import DesignError
from pacopt.planning.sizes import check_probability, check_rate, first_that_certifies
from pacopt.support.numbers import is_whole

#: The weight of the claim beside those of the standard ones, which sum to 1.
BUDGET = Budget((0.5,)).share


def budget_level(confidence: float, targets: int = 1) -> float:
    """The failure probability for the hardest of so many targets, whose weights fall as 1, 1/2, 1/3 and so on."""
    check_probability("confidence", confidence)
    check_targets(targets)
    return (1 - confidence) * BUDGET * FAVOURITE / fsum(1 / rank for rank in range(1, targets + 1))


def certifiable_budget(train: int, confidence: float, late_rate: float = 0.0, targets: int = 1) -> float:
    """The part of instances within the budget that is certified if so large a part of the runs is late.

    **Theorem** (docs/theory.md). If d of N runs are late, P(in time) >= BetaInv(level / ((d + 1)(d + 2)); N - d, d + 1)
    for all budgets at once: a budget that is chosen afterwards is covered.
    """
    late = ceil(late_rate * train - 1e-9)
    if late >= train:
        return 0.0
    level = budget_level(confidence, targets) * PADDING / ((late + 1) * (late + 2))
    return float(betaincinv(train - late, late + 1.0, level))


def needed_for_budget(within: float, confidence: float, late_rate: float = 0.0, targets: int = 1) -> int | None:
    """The smallest number of training instances from which on that part is certified; None if none will do.

    >>> needed_for_budget(0.99, 0.99)
    757
    """
    check_probability("within", within)
    check_rate("late_rate", late_rate)
    if late_rate == 0:
        return ceil(log(budget_level(confidence, targets) * PADDING / 2) / log(within))
    return first_that_certifies(
        lambda train: certifiable_budget(train, confidence, late_rate, targets) >= within, 1 - within, late_rate
    )


def check_targets(targets: int) -> None:
    """Refuse what is no number of targets."""
    if not is_whole(targets, 1) or targets > 10**6:
        raise DesignError(
            f"targets is {targets!r}.", "It is the number of targets, from 1 to a million.", "", "Use targets=1."
        )
