"""A budget as a table: which share of the instances reaches which target within how many steps."""

from dataclasses import dataclass
from math import floor

import numpy as np

from pacopt.bounds.budget import Stairs, Target
from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim
from pacopt.loss_table import LossTable
from pacopt.support.rounding import down, percent, up

#: About so many columns.
COLUMNS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Budgets:
    """The budget of a certificate, and the times of the same hyperparameters on the test split, if there is one.

    `stated` is the number of the claim; None where so large a part as was asked for could not be shown.
    """

    claim: AbstractClaim
    stairs: Stairs
    unit: str
    test: LossTable | None
    stated: float | None

    @staticmethod
    def of(certificate: Certificate, test: LossTable | None) -> "Budgets | None":
        """The budget of a certificate that claims one and has its table."""
        design, table, epsilon = certificate.design, certificate.table, 1 - certificate.confidence
        if table is None:
            return None
        for claim in design.claims:
            stairs = claim.whole(table, design, certificate.deployed.index, epsilon)
            if isinstance(stairs, Stairs):
                unit = "steps" if design.score.relative else design.score.unit or design.score.noun
                return Budgets(claim, stairs, unit, test, certificate.deployed.values[claim.name])
        return None

    @property
    def last(self) -> float:
        """The latest time at which a run met a target."""
        finite = [times[np.isfinite(times)] for times in self.stairs.times]
        return max((float(times[-1]) for times in finite if len(times)), default=0.0)

    @property
    def shown(self) -> list[float]:
        """Some steps in equal distances, up to the last one that matters."""
        last = self.last
        some = np.linspace(0, last, COLUMNS + 1)[1:]
        if not all(np.all(times[np.isfinite(times)] % 1 == 0) for times in self.stairs.times):
            return [float(f"{step:.2g}") if step < last else last for step in some]
        return sorted({float(max(1, round(step))) for step in some})

    def measured(self, steps: float, target: Target) -> float | None:
        """The share of the test instances that reached the target within these steps."""
        if self.test is None:
            return None
        return float(np.mean(self.test.time_to(target, slice(0, 1))[0] <= steps))

    @property
    def header(self) -> tuple[str, ...]:
        """What stands above the columns."""
        first, *others = (f"{step:.6g}" for step in self.shown)
        what = "" if isinstance(self.stairs.targets[0], str) else "fraction of the start"
        return (what, f"{first} {self.unit}", *others)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """For each target what is certified within some steps, and what the test split shows."""
        found = []
        for target in self.stairs.targets:
            cells = [self._cell(step, target) for step in self.shown]
            found.append((target if isinstance(target, str) else f"{target!r}", *cells))
        return found

    @property
    def heading(self) -> str:
        """What is certified of the hardest target where that is less than was asked for; else nothing."""
        target, last = self.stairs.targets[-1], self.last
        part = self.stairs.probability(last, target)
        if self.stated is not None or not part:
            return ""
        reach = f"are {target}" if isinstance(target, str) else f"reach {target!r} times their start"
        return f"At least {percent(down(part))} of instances {reach} within {up(last)} {self.unit}"

    def _cell(self, steps: float, target: Target) -> str:
        test = self.measured(steps, target)
        said = f"{floor(1e4 * self.stairs.probability(steps, target)) / 100:.4g}"
        return said if test is None else f"{said} ({100 * test:.3g})"

    @property
    def note(self) -> str:
        """What the cells say."""
        beside = "" if self.test is None else " In brackets: of the test instances."
        first = self.stairs.targets[0]
        reach = f"are {first}" if isinstance(first, str) else "reach it"
        return f"At least so many per cent of new instances {reach} within so many {self.unit}.{beside}"
