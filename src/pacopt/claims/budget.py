"""Within so many steps at least so large a part of the instances reaches a target."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.bounds.budget import ReachedWithin, Stairs, Target
from pacopt.claims.base import AbstractClaim, Highlight
from pacopt.claims.subject import Subject
from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore
from pacopt.support.cells import checked_targets
from pacopt.support.intervals import quantile_interval
from pacopt.support.numbers import is_real
from pacopt.support.rounding import down, percent, percentage, up

if TYPE_CHECKING:
    from pacopt.design import Design


@dataclass(frozen=True, slots=True)
class Budget(AbstractClaim):
    """P(T(tau) <= m) >= q for every candidate, all steps m and several targets tau at once.

    T(tau) is the first step at which a run is at or below tau times its start. The number under `budget` is the number
    of steps within which at least `part` of the instances reach the smallest target; everything else that holds at
    once is `certificate.budget`. The smallest target has the largest weight (1, 1/2, 1/3, ... divided by
    their sum), since a run that reaches it has reached the others; `weights`, in the order of the targets, largest
    first, change this. For a table whose losses are already times, the target is a word: `Budget("solved")`.

    >>> Budget([1e-3, 1e-1]).targets
    (0.1, 0.001)
    """

    targets: tuple[Target, ...]
    share: float = 0.2
    part: float = 0.9
    weights: tuple[float, ...] = ()

    name: ClassVar = "budget"
    missing: ClassVar = "none shown"

    def __post_init__(self) -> None:
        """Refuse what are no targets, no part and no weights."""
        given: Any = (self.targets,) if isinstance(self.targets, str | float | int) else self.targets
        word = isinstance(given, list | tuple) and len(given) == 1 and isinstance(given[0], str)
        if word and not (given[0].strip() and given[0].isprintable()):
            raise DesignError(f"The target is {given[0]!r}.", "It is a word.", "", 'Use "solved".')
        if not isinstance(given, list | tuple) or not len(given):
            raise DesignError(
                f"The targets of a budget are {self.targets!r}.",
                "They are fractions of the start loss, above 0 and below 1.",
                "",
                "Use [1e-1, 1e-3], for example.",
            )
        targets: tuple[Target, ...] = tuple(given) if word else checked_targets(given)
        if not is_real(self.part) or not 0 < self.part < 1:
            raise DesignError(
                f"A share of {self.part!r} of the instances is to reach the target.",
                "It lies strictly between 0 and 1.",
                "No sample says anything about all of the instances to come.",
                "Use 0.99, for example.",
            )
        ranks = 1 / np.arange(len(targets), 0.0, -1.0)
        own: Any = self.weights
        known = isinstance(own, list | tuple) and all(map(is_real, own))
        weights = tuple(map(float, own)) if known and len(own) else tuple((ranks / ranks.sum()).tolist())
        if not known or len(weights) != len(targets) or not (min(weights) > 0 and sum(weights) <= 1 + 1e-9):
            raise DesignError(
                f"The weights of the targets are {self.weights!r}.",
                f"Each of the {len(targets)} targets has a positive one, and they sum to at most one.",
                "What is said of all targets at once fails with the sum of their probabilities.",
                "Leave them out.",
            )
        for name, value in (("targets", targets), ("part", float(self.part)), ("weights", weights)):
            object.__setattr__(self, name, value)

    def bound(self, design: "Design") -> ReachedWithin:
        """Ranks."""
        return ReachedWithin(self.targets, self.weights, self.part)

    def for_posterior(self, table: LossTable, design: "Design", posterior: DiscreteMeasure, epsilon: float) -> None:
        """None: it would be the largest over all candidates with any weight."""
        return

    @property
    def targets_recorded(self) -> tuple[float, ...]:
        """Its targets, if they are fractions of the start."""
        return tuple(target for target in self.targets if not isinstance(target, str))

    def whole(self, table: LossTable, design: "Design", index: int, epsilon: float) -> Stairs:
        """The share of the instances that reaches each target within each number of steps."""
        return self.bound(design).stairs(table, index, self.share * epsilon * float(design.prior.weights[index]))

    def details(self, table: LossTable, design: "Design", index: int, value: float, epsilon: float) -> dict[str, Any]:
        """For each target the number of steps, None where there is none, and the part that reaches it at all."""
        stairs = self.whole(table, design, index, epsilon)
        steps = {f"budget_steps_{_key(each)}": stairs.steps(self.part, each) for each in self.targets}
        parts = {f"budget_reach_{_key(each)}": stairs.probability(np.inf, each) for each in self.targets}
        return steps | parts

    def measured(self, table: LossTable, design: "Design") -> Float[np.ndarray, " hyper"]:
        """The steps within which this part of the instances at hand reached the smallest target."""
        times = table.time_to(self.targets[-1])
        return np.asarray(np.quantile(times, self.part, axis=1, method="inverted_cdf"))

    def interval(self, table: LossTable, design: "Design") -> tuple[float, float]:
        """Of these steps."""
        low, high = quantile_interval(table.time_to(self.targets[-1], slice(0, 1))[0], self.part)
        return max(low, 0.0), high

    def needs_safeguard(self, design: "Design") -> bool:
        """No: it counts how runs go, whatever is returned."""
        return False

    def sentence(self, value: float | None, subject: Subject) -> str:
        """Within so many steps."""
        part, reach = f"{percentage(self.part)} %", f"{_reach(self.targets[-1])}{self._aside(subject.score)}"
        if value is None:
            return f"It could not be shown that {part} of {subject.drawn} {reach}."
        return f"Within {_amount(value, subject)} at least {part} of {subject.drawn} {reach}."

    def explained(self, values: Mapping[str, Any], drawn: Mapping[str, Any], design: "Design") -> list[str]:
        """The other targets, and what reaching means."""
        part, unit = f"{percentage(self.part)} %", f" {design.score.unit}" if design.score.unit else ""
        if isinstance(self.targets[0], str):
            word, steps, reached = self.targets[0], values["budget_steps_it"], percent(down(values["budget_reach_it"]))
            if steps is None:
                return [f"At least {reached} are {word} at all."]
            return [f"At least {part} are {word} within {up(steps)}{unit} (at all: at least {reached})."]
        told = []
        for target in self.targets:
            steps, reached = values[f"budget_steps_{_key(target)}"], values[f"budget_reach_{_key(target)}"]
            within = ", for which no number of steps is shown" if steps is None else f" within {up(steps)}"
            told.append(f"{_named(target)}{within} (at all: at least {percent(down(reached))})")
        staying = "Reaching a target says nothing about staying there."
        return [f"At least {part} reach{self._aside(design.score)}: {'; '.join(told)}.", staying]

    def _aside(self, score: AbstractScore) -> str:
        """What is to be reached, if that is no loss."""
        return "" if isinstance(self.targets[0], str) else score.aside

    def heading(self, design: "Design") -> str:
        """What is reached."""
        unit = (isinstance(self.targets[-1], str) and design.score.unit) or "steps"
        return f"{unit} until {percentage(self.part)} % {_reach(self.targets[-1])} at most"

    def highlight(self, value: float | None, subject: Subject, design: "Design") -> Highlight:
        """The number of steps."""
        shown = self.missing if value is None else f"≤ {_amount(value, subject).removeprefix('a ')}"
        target = self.targets[-1]
        label = f"until {target}" if isinstance(target, str) else f"budget for {_named(target)}"
        return Highlight(label, shown, self.sentence(value, subject))


def _key(target: Target) -> str:
    """A target in the name of a number."""
    return repr(target).replace(".", "_").replace("-", "m") if not isinstance(target, str) else "it"


def _named(target: Target) -> str:
    return target if isinstance(target, str) else f"{target!r} times the start"


def _reach(target: Target) -> str:
    return f"are {target}" if isinstance(target, str) else f"reach {target!r} times their start"


def _amount(value: float, subject: Subject) -> str:
    """A number of steps, or of what losses count."""
    unit = "steps" if subject.relative else subject.score.unit
    return f"{up(value)} {unit}" if unit else f"a {subject.loss} of {up(value)}"
