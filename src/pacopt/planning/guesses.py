"""What a plan rests on: how good the learned algorithm truly is, as somebody guesses, and which claims are made."""

from dataclasses import dataclass

from pacopt.claims import Shares
from pacopt.planning.budgets import BUDGET, check_targets
from pacopt.planning.gains import GAIN, WIN, Compared
from pacopt.planning.sizes import check_probability, check_rate


@dataclass(frozen=True, slots=True)
class Guesses:
    """Mean and variation of the ratios, and the parts of the runs that fail or come late.

    `targets` is the number of targets of a budget, and `compared` what is guessed of a baseline; None if no budget, or
    no gain, is to be claimed. Each is a claim more, and leaves less of the failure probability to the others.
    """

    confidence: float
    mean: float
    variation: float
    failure_rate: float
    late_rate: float
    targets: int | None
    compared: Compared | None

    def __post_init__(self) -> None:
        """Refuse what is no probability, or no part of the runs."""
        check_probability("confidence", self.confidence)
        check_rate("failure_rate", self.failure_rate)
        check_rate("late_rate", self.late_rate)
        if self.targets is not None:
            check_targets(self.targets)

    @property
    def left(self) -> float:
        """The confidence of the standard claims alone, once the others have their shares."""
        more = (0.0 if self.targets is None else BUDGET) + (0.0 if self.compared is None else GAIN + WIN)
        return 1 - (1 - self.confidence) / (1 + more)

    @property
    def risk_epsilon(self) -> float:
        """The failure probability of the statement on the mean ratio, for all candidates together."""
        return (1 - self.left) * Shares().risk

    @property
    def gain_epsilon(self) -> float:
        """That of the statement on the gain."""
        return (1 - self.left) * GAIN
