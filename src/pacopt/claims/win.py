"""It ends below a baseline on at least this share of the instances."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.bounds.baselines import wins
from pacopt.bounds.win import WinProbability
from pacopt.claims.base import AbstractClaim, Highlight
from pacopt.claims.over import Over, key_of
from pacopt.claims.subject import Subject
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.support.intervals import share_interval
from pacopt.support.rounding import down, percent

if TYPE_CHECKING:
    from pacopt.design import Design

#: A smaller probability of a win is told as none.
WORTH_SAYING = 0.01
LEAST = percent("0.01")


@dataclass(frozen=True, slots=True)
class Win(Over, AbstractClaim):
    """P(it ends below the baseline) >= p for every candidate at once, counted on losses; a tie is not a win."""

    share: float = 0.1
    over: tuple[str, ...] = ("the textbook",)
    described: tuple[str, ...] = ()

    name: ClassVar = "win"
    missing: ClassVar = "none shown"
    at_least: ClassVar = True
    probability: ClassVar = True
    leading: ClassVar = True

    def bound(self, design: "Design", baseline: str | None = None) -> WinProbability:
        """Clopper & Pearson."""
        return WinProbability(self.over[0] if baseline is None else baseline, design.score)

    def for_candidates(self, table: LossTable, design: "Design", epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The probability of ending below the first baseline."""
        return self.bound(design).for_candidates(table, design.prior, self.share * epsilon / len(self.over))

    def for_posterior(self, table: LossTable, design: "Design", posterior: DiscreteMeasure, epsilon: float) -> float:
        """The mean of these."""
        return posterior.expectation(self.for_candidates(table, design, epsilon))

    def details(self, table: LossTable, design: "Design", index: int, value: float, epsilon: float) -> dict[str, Any]:
        """How often it ended below the first, and the probabilities for the others."""
        level = self.share * epsilon / len(self.over)
        found: dict[str, Any] = {"win_measured": float(wins(table, self.over[0], design.score)[index].mean())}
        for baseline in self.over[1:]:
            bounds = self.bound(design, baseline).for_candidates(table, design.prior, level)
            found[key_of(self.name, baseline)] = float(bounds[index])
        return found

    def measured(self, table: LossTable, design: "Design") -> Float[np.ndarray, " hyper"] | None:
        """How often it ended below the first baseline; None if that did not run on these instances."""
        return wins(table, self.over[0], design.score).mean(axis=1) if self.over[0] in table.baselines else None

    def interval(self, table: LossTable, design: "Design") -> tuple[float, float] | None:
        """Of the probability of ending below the first baseline."""
        if self.over[0] not in table.baselines:
            return None
        won = wins(table.select(rows=[0]), self.over[0], design.score)[0]
        return share_interval(int(won.sum()), len(won))

    def sentence(self, value: float | None, subject: Subject) -> str:
        """The share of instances; one below 1 % is as good as none."""
        if not value:
            return f"It could not be shown that it ever {subject.score.wins} {self.over[0]}."
        if value < WORTH_SAYING:
            return (
                f"It could not be shown that it {subject.score.wins} {self.over[0]} on even {LEAST} of {subject.drawn}."
            )
        score, part = subject.score, percent(down(value))
        return f"It {score.wins} {self.over[0]}{score.aside} on at least {part} of {subject.drawn}."

    def shown(self, value: float | None) -> str:
        """In per cent."""
        return self.missing if value is None or value < WORTH_SAYING else percent(down(value))

    def explained(self, values: Mapping[str, Any], drawn: Mapping[str, Any], design: "Design") -> list[str]:
        """The other baselines."""
        others = {each: values[key_of(self.name, each)] for each in self.over[1:]}
        said = [f"{each} on at least {percent(down(value))}" for each, value in others.items() if value >= WORTH_SAYING]
        unsaid = [each for each, value in others.items() if value < WORTH_SAYING]
        wins = design.score.wins
        return [
            *([f"It {wins} the other baselines too: {', '.join(said)} of instances."] if said else []),
            *(
                [f"It could not be shown that it {wins} {' or '.join(unsaid)} on even {LEAST} of instances."]
                if unsaid
                else []
            ),
        ]

    def highlight(self, value: float | None, subject: Subject, design: "Design") -> Highlight:
        """In per cent."""
        shown = self.missing if value is None or value < WORTH_SAYING else f"≥ {percent(down(value))}"
        caption = (
            f"The share of new {subject.drawn} on which it {subject.score.wins} {self.over[0]}{subject.score.aside}."
        )
        return Highlight(f"better than {self.over[0]}", shown, caption)

    def heading(self, design: "Design") -> str:
        """Below what."""
        return f"better than {self.over[0]} at least"
