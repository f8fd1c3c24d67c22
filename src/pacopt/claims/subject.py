"""What a statement speaks of, in words."""

from dataclasses import dataclass, field

from pacopt.scores import AbstractScore, Ratio


@dataclass(frozen=True, slots=True)
class Subject:
    """The words that sentences share: who runs, how, what a loss is, and what a user calls a success.

    `run` is how a run goes ("run for 50 steps from the start"), "" where nobody knows; `criterion` is the name of a
    success criterion of the user's own; `drawn` says what a new draw is one of: instances, or runs, if each has a fresh
    seed; `relative` says that outcomes are ratios to the loss at the start, and not losses in a unit of their own;
    `proviso` is what a sentence on a mean has to say besides; `score` is what is averaged; `safeguarded` says that an
    earlier sentence spoke of the safeguard.
    """

    hyper: str
    run: str = ""
    loss: str = "loss"
    unit: str = ""
    criterion: str | None = None
    drawn: str = "instances"
    relative: bool = True
    proviso: str = ""
    target_ratio: float = 1.0
    safeguarded: bool = True
    score: AbstractScore = field(default_factory=Ratio)

    @property
    def event(self) -> str:
        """What a run does that succeeds."""
        if self.criterion is not None:
            return f"meets {self.criterion}"
        if not self.relative:
            return self.score.event
        target = "its start" if self.target_ratio == 1 else f"{self.target_ratio!r} times its start"
        return f"ends at or below {target}{self.score.aside}"
