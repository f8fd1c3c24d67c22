"""What a statement speaks of, in words."""

from dataclasses import dataclass, field

from pacopt.scores import AbstractScore, Ratio


@dataclass(frozen=True, slots=True)
class Subject:
    """The words that sentences share: who runs, how, what a loss is, and what the user calls a success.

    `run` describes a run ("run for 50 steps from the start"), "" if unknown; `criterion` is the name of the
    user's own success criterion; `drawn` says what a new draw is: an instance, or a run, if each has a fresh
    seed; `relative` says that outcomes are ratios to the loss at the start, not losses in their own unit;
    `proviso` is what a sentence on a mean must add; `score` is what is averaged; `safeguarded` says that an
    earlier sentence mentioned the safeguard.
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
