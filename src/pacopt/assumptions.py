"""What statements rest on, and how it is known: proved, checked, or only declared."""

from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """How an assumption is known to hold."""

    PROVED = "proved"
    CHECKED = "checked"
    DECLARED = "declared"


class Assumption(NamedTuple):
    """An assumption of a statement."""

    text: str
    status: Status


IID = Assumption("the training instances are independent draws from the distribution of the new one", Status.DECLARED)
FIXED_BEFORE = Assumption(
    "candidates, weights, grids, levels, shares and sizes were fixed before the training instances were seen",
    Status.DECLARED,
)
SECOND_MOMENT = Assumption("E l0^2 is at most the given value", Status.DECLARED)
