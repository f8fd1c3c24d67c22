"""The course of a training: legs, restarts, what to do if it collapses, and what to report afterwards."""

import warnings
from dataclasses import dataclass, field, replace
from math import ceil, isfinite
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from pacopt.engines.training import AbstractTraining, Descent, Leg, State
from pacopt.errors import PriorError
from pacopt.priors.trials import Trials
from pacopt.support.arrays import digest
from pacopt.support.interrupts import heed

#: About how many legs a training has, each followed by a check; and the fewest updates in a leg.
LEGS, SHORTEST = 20, 10
#: The first legs use runs of these fractions of the steps.
CURRICULUM = (0.2, 0.5)
#: A loss this much above the best so far has collapsed: the ratio has grown tenfold, or is 1.
COLLAPSED = 0.5
#: This many legs in a row, each this much above the best (a tenth of the ratio), lead nowhere either.
PATIENCE, HIGHER = 4, 0.02
#: More than this fraction of runs without a finite gradient is worth a remark.
MANY = 0.01
#: Gradients explode if their median is this many times the clipping norm, and vanish below the other number.
EXPLODED, VANISHED = 1e3, 1e-10


class Plan(NamedTuple):
    """The number of updates, the number of starts to try, and the first learning rate."""

    updates: int
    restarts: int
    rate: float

    @property
    def size(self) -> int:
        """Updates in a leg."""
        return max(SHORTEST, ceil(self.updates / LEGS))

    @property
    def legs(self) -> int:
        """Legs of the start that is continued."""
        return max(len(CURRICULUM) + 1, ceil(self.updates / self.size))

    def rates(self, leg: int) -> Float[np.ndarray, " update"]:
        """The learning rates of a leg."""
        done = (np.arange(self.size) + leg * self.size) / (self.legs * self.size)
        return np.asarray(self.rate * 0.5 * (1 + np.cos(np.pi * done)))

    @staticmethod
    def part(leg: int) -> float:
        """The fraction of the steps that the runs of a leg have."""
        return CURRICULUM[leg] if leg < len(CURRICULUM) else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """Where training began, the legs of one start in order, and the seeds that were tried."""

    start: int
    begun: Leg
    legs: tuple[Leg, ...] = ()
    #: How often it went back to the best point, and after how many legs it last did so.
    collapses: int = 0
    back: int = 0
    #: The norm at which gradients were clipped, and the number of instances in a batch.
    clip: float = 1.0
    batch: int = 1
    tried: tuple[tuple[int, float], ...] = field(default=())

    @property
    def whole(self) -> list[Leg]:
        """The beginning and the legs with a finite result, the best on held-out instances first."""
        able = [leg for leg in (self.begun, *self.legs) if isfinite(leg.held_out)]
        return sorted(able, key=lambda leg: leg.held_out)

    @property
    def best(self) -> float:
        """The smallest loss on held-out instances."""
        return self.whole[0].held_out if self.whole else np.inf

    @property
    def fallen(self) -> bool:
        """Whether the last leg ended far above the best, had hardly any gradient, or follows others above the best.

        The first legs, with shorter runs, are given time.
        """
        if len(self.legs) <= len(CURRICULUM):
            return False
        last, recent = self.legs[-1], self.legs[max(self.back, len(CURRICULUM)) :]
        lost = last.left_out > 0.5 * self.batch * len(last.norms)
        above = len(recent) >= PATIENCE and all(not leg.held_out <= self.best + HIGHER for leg in recent[-PATIENCE:])
        return lost or above or not last.held_out <= self.best + COLLAPSED

    @property
    def remarks(self) -> tuple[str, ...]:
        """What went wrong, if anything did."""
        runs = self.batch * sum(len(leg.norms) for leg in self.legs)
        left_out = sum(leg.left_out for leg in self.legs)
        medians = [float(np.nanmedian(leg.norms)) for leg in self.legs if np.isfinite(leg.norms).any()]
        exploded = sum(each > EXPLODED * self.clip for each in medians)
        vanished = sum(each < VANISHED for each in medians)
        best = next((k for k, leg in enumerate(self.legs, 1) if leg is self.whole[0]), 0) if self.whole else 0
        found = []
        if left_out > MANY * runs:
            found.append(f"{left_out} of {runs} runs had no finite gradient, and were left out")
        if exploded:
            found.append(f"gradients exploded in {exploded} of {len(self.legs)} legs: medians up to {max(medians):.2g}")
        if vanished:
            found.append(
                f"gradients vanished in {vanished} of {len(self.legs)} legs: medians down to {min(medians):.2g}"
            )
        if self.legs and self.whole and not best:
            found.append("nothing improved on where it began: use a smaller rate, or more prior instances")
        elif found and 2 * best < len(self.legs):
            found.append(
                f"leg {best} of {len(self.legs)} was the best, and later ones gained nothing: a smaller rate may help"
            )
        return tuple(found)

    def described(self) -> dict[str, Any]:
        """A JSON value: the loss after each leg, in training and on held-out instances, and remarks."""
        return {
            "losses": [leg.loss if isfinite(leg.loss) else None for leg in self.legs],
            "begun": self.begun.held_out if isfinite(self.begun.held_out) else None,
            "held_out": [leg.held_out if isfinite(leg.held_out) else None for leg in self.legs],
            "updates": [len(leg.norms) for leg in self.legs],
            "starts": [[seed, held_out if isfinite(held_out) else None] for seed, held_out in self.tried],
            "start": self.start,
            "left_out": [leg.left_out for leg in self.legs],
            "batch": self.batch,
            "went_back": self.collapses,
            "remarks": list(self.remarks),
        }


def trained(training: AbstractTraining, plan: Plan, trials: Trials, descent: Descent) -> Course:
    """The start that does best after its first legs, trained to the end."""
    work = _Work(training, plan, trials)
    first = len(CURRICULUM) + 1
    pilots = [work.on(work.begun(k, descent), first) for k in range(plan.restarts)]
    best = min(pilots, key=lambda course: course.best)
    course = replace(work.on(best, plan.legs), tried=tuple((each.start, each.best) for each in pilots))
    if not any(isfinite(leg.held_out) for leg in course.legs):
        raise PriorError(
            f"After {plan.legs} legs of {plan.size} updates no leg has ended with a finite loss on held-out instances.",
            "At least one leg has to end with a finite loss.",
            f"From {plan.restarts} starts all runs overflow, or have no gradient: {'; '.join(course.remarks)}.",
            "Use a smaller rate, Train(rate=1e-3), or let the algorithm start with smaller steps.",
        )
    for remark in course.remarks:
        warnings.warn(f"Training: {remark}.", stacklevel=2)
    return course


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    training: AbstractTraining
    plan: Plan
    trials: Trials

    def begun(self, start: int, descent: Descent) -> Course:
        """A course before its first leg."""
        seed = int(np.random.default_rng([self.trials.seed, start]).integers(2**31))
        state = self.training.begun(seed)
        beginning = Leg(state, np.nan, self.training.judged(state), np.empty(0))
        return Course(start, beginning, clip=descent.clip, batch=descent.batch)

    def on(self, course: Course, legs: int) -> Course:
        """This course, continued until it has `legs` legs."""
        key = digest([self.training.identity, list(self.plan), self.trials.seed])
        for number in range(len(course.legs), legs):
            heed()
            name, kept = f"{course.start}-{number}", self.trials.kept
            leg = None if kept is None else kept.found(key, name)
            if leg is None:
                leg = self._leg(course, number)
                if kept is not None:
                    kept.keep(key, name, leg)
            course = replace(course, legs=(*course.legs, leg))
            if course.fallen:
                course = replace(course, collapses=course.collapses + 1, back=len(course.legs))
            self._tell(course, leg)
        return course

    def _leg(self, course: Course, number: int) -> Leg:
        steps = max(1, round(self.plan.part(number) * self.trials.steps))
        rates = self.plan.rates(number) * 0.5**course.collapses
        seed = int(np.random.default_rng([self.trials.seed, course.start, number]).integers(2**31))
        return self.training.leg(self._state(course), rates, steps, seed)

    def _state(self, course: Course) -> State:
        """The last state, or the best if it has to go back."""
        if not course.legs:
            return course.begun.state
        back = course.back == len(course.legs) and course.whole
        return course.whole[0].state if back else course.legs[-1].state

    def _tell(self, course: Course, leg: Leg) -> None:
        plan, pilot = self.plan, len(CURRICULUM) + 1
        total = plan.legs + (plan.restarts - 1) * pilot
        done = len(course.legs) + (course.start * pilot if len(course.legs) <= pilot else (plan.restarts - 1) * pilot)
        self.trials.tell(f"training, {leg.held_out:.4g} on held-out instances", done, total)
