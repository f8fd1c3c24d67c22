"""On average so many times smaller than with a baseline."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.bounds.baselines import baseline_table
from pacopt.bounds.difference import Difference
from pacopt.bounds.gain import GainBetting
from pacopt.bounds.sums import by_rows
from pacopt.claims.base import AbstractClaim, Highlight
from pacopt.claims.over import Over, key_of
from pacopt.claims.subject import Subject
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import Digits
from pacopt.support.intervals import difference_interval, factor_interval
from pacopt.support.rounding import down

if TYPE_CHECKING:
    from pacopt.design import Design


@dataclass(frozen=True, slots=True)
class Gain(Over, AbstractClaim):
    """E z_b >= factor * E z for every candidate at once: how many times smaller the mean score is than a baseline's.

    A ratio of means, not a mean of ratios. Several baselines divide the share equally; the number under `gain` is
    over the first.

    >>> Gain(over=("the textbook", "Nesterov")).over
    ('the textbook', 'Nesterov')
    """

    share: float = 0.4
    over: tuple[str, ...] = ("the textbook",)
    described: tuple[str, ...] = ()

    name: ClassVar = "gain"
    missing: ClassVar = "none shown"
    at_least: ClassVar = True
    leading: ClassVar = True

    def bound(self, design: "Design", baseline: str | None = None) -> GainBetting | Difference:
        """Betting on both scores; on their difference for digits, which are logarithms already."""
        kind = Difference if isinstance(design.score, Digits) else GainBetting
        return kind(design.t_grid, self.over[0] if baseline is None else baseline, design.score)

    def for_candidates(self, table: LossTable, design: "Design", epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The factor over the first baseline; minus infinity where none is shown."""
        return self._factors(table, design, self.over[0], epsilon)

    def for_posterior(self, table: LossTable, design: "Design", posterior: DiscreteMeasure, epsilon: float) -> None:
        """None: there is no such form."""
        return

    def details(self, table: LossTable, design: "Design", index: int, value: float, epsilon: float) -> dict[str, Any]:
        """What was measured, and the factors over the other baselines; None where no gain is shown."""
        found: dict[str, Any] = {}
        row = table.select(rows=[index])
        alone = design.weighed(DiscreteMeasure(row.candidates, np.zeros(1)), design.t_grid, None)
        for baseline in self.over[1:]:
            weighted = epsilon * float(design.prior.weights[index])
            factor = float(self._factors(row, alone, baseline, weighted)[0]) if weighted > 0 else -np.inf
            found[key_of(self.name, baseline)] = factor if np.isfinite(factor) else None
        measured = float(self._measured(row, design)[0])
        return {"gain_measured": measured if np.isfinite(measured) else None} | found

    def measured(self, table: LossTable, design: "Design") -> Float[np.ndarray, " hyper"] | None:
        """Ratios of means, or more digits; None if the first baseline did not run on these instances."""
        return self._measured(table, design) if self.over[0] in table.baselines else None

    def interval(self, table: LossTable, design: "Design") -> tuple[float, float] | None:
        """Of the ratio of means over the first baseline, or of how many digits more."""
        if self.over[0] not in table.baselines:
            return None
        score = design.score
        ours, theirs = score.of(table, slice(0, 1))[0], score.of(baseline_table(table, self.over[0]))[0]
        if isinstance(score, Digits):
            low, high = difference_interval(ours, theirs)
            return score.scale * low, score.scale * high
        found = factor_interval(ours, theirs)
        return found.low, found.high

    def _measured(self, table: LossTable, design: "Design") -> Float[np.ndarray, " hyper"]:
        score = design.score
        ours = by_rows(table, lambda rows: score.of(table, rows).mean(axis=1))
        theirs = float(score.of(baseline_table(table, self.over[0])).mean())
        if isinstance(score, Digits):
            return np.asarray(score.scale * (theirs - ours))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(theirs / ours)

    def _factors(self, table: LossTable, design: "Design", baseline: str, epsilon: float) -> np.ndarray:
        level = self.share * epsilon / len(self.over)
        found = self.bound(design, baseline).for_candidates(table, design.prior, level)
        if isinstance(design.score, Digits):
            return np.where(found < 0, -design.score.scale * found, -np.inf)
        return np.where(found < 1, 1 / np.maximum(found, 1e-300), -np.inf)

    def sentence(self, value: float | None, subject: Subject) -> str:
        """So many times smaller."""
        what, both = subject.score.noun, ", both with the safeguard" if subject.relative else f", {subject.proviso}"
        if value is None:
            return f"No gain over {self.over[0]} could be shown with these instances."
        if isinstance(subject.score, Digits):
            return f"On average it gains at least {down(value)} digits more than {self.over[0]}{both}."
        return f"Its mean {what} is at least {down(value)} times smaller than that of {self.over[0]}{both}."

    def explained(self, values: Mapping[str, Any], drawn: Mapping[str, Any], design: "Design") -> list[str]:
        """The other baselines, and what all of them are."""
        others = [(each, values.get(key_of(self.name, each))) for each in self.over[1:]]
        unit = "digits" if isinstance(design.score, Digits) else "times"
        said = [
            f"{'none shown' if value is None else f'at least {down(value)} {unit}'} over {name}"
            for name, value in others
        ]
        lines = [f"Gains over the other baselines: {', '.join(said)}."] if said else []
        what = [
            f"{name} {'are' if name == 'the defaults' else 'is'} {text}"
            for name, text in zip(self.over, self.described, strict=False)
        ]
        return [*lines, *([f"Baselines: {'; '.join(what)}."] if what else [])]

    def highlight(self, value: float | None, subject: Subject, design: "Design") -> Highlight:
        """A factor."""
        unit = "digits" if isinstance(design.score, Digits) else "times"
        if value is None:
            return Highlight(f"gain over {self.over[0]}", self.missing, self.sentence(value, subject))
        what = "More digits on average" if unit == "digits" else f"A smaller mean {subject.score.noun}"
        both = ", both with the safeguard" if subject.relative else f", {subject.proviso}"
        return Highlight(f"gain over {self.over[0]}", f"≥ {down(value)} {unit}", f"{what}{both}.")

    def heading(self, design: "Design") -> str:
        """Over what."""
        return f"gain over {self.over[0]} at least"
