"""What a plan rests on: how good the learned algorithm truly is, as somebody guesses, and which claims are made."""

from dataclasses import dataclass, field

from pacopt.claims import Shares
from pacopt.planning.budgets import BUDGET, check_targets
from pacopt.planning.gains import GAIN, WIN, Compared
from pacopt.planning.sizes import check_probability, check_rate
from pacopt.planning.units import Unit


@dataclass(frozen=True, slots=True)
class Guesses:
    """Mean and variation of the ratios, and the parts of the runs that fail or come late.

    `targets` is the number of targets of a budget, None if none is to be claimed, which leaves less of the failure
    probability to the others; `compared` is what is guessed of a baseline, None if nobody asks how large a gain is.
    Means are parts of the largest value of the score, and are said in its `unit`.
    """

    confidence: float
    mean: float
    variation: float
    failure_rate: float
    late_rate: float
    targets: int | None
    compared: Compared | None
    unit: Unit = field(default_factory=Unit)

    def __post_init__(self) -> None:
        """Refuse what is no probability, or no part of the runs."""
        check_probability("confidence", self.confidence)
        check_rate("failure_rate", self.failure_rate)
        check_rate("late_rate", self.late_rate)
        if self.targets is not None:
            check_targets(self.targets)

    @property
    def left(self) -> float:
        """The confidence of the standard claims alone, once the others have their shares.

        A gain and a win are claimed by default; where there is no baseline, a plan is a little too cautious.
        """
        more = (0.0 if self.targets is None else BUDGET) + GAIN + WIN
        return 1 - (1 - self.confidence) / (1 + more)

    @property
    def risk_epsilon(self) -> float:
        """The failure probability of the statement on the mean ratio, for all candidates together."""
        return (1 - self.left) * Shares().risk

    @property
    def gain_epsilon(self) -> float:
        """That of the statement on the gain."""
        return (1 - self.left) * GAIN
