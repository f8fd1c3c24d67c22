"""The course of a training: legs, restarts, what to do if it collapses, and what is to be said of it afterwards."""

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

#: A training has about so many legs, after each of which it is looked at; a leg has no fewer updates than this.
LEGS, SHORTEST = 20, 10
#: The first legs are by runs of these parts of the steps.
CURRICULUM = (0.2, 0.5)
#: A loss that is higher than the best so far by this much has collapsed: the ratio has grown tenfold, or is 1.
COLLAPSED = 0.5
#: More than this part of runs without a finite gradient is worth a remark.
MANY = 0.01
#: Gradients explode if their median is so many times what they are clipped at, and vanish below the other number.
EXPLODED, VANISHED = 1e3, 1e-10


class Plan(NamedTuple):
    """How many updates there are, how many starts are tried, and the first learning rate."""

    updates: int
    restarts: int
    rate: float

    @property
    def size(self) -> int:
        """Updates in a leg."""
        return max(SHORTEST, ceil(self.updates / LEGS))

    @property
    def legs(self) -> int:
        """Legs of the start that goes on."""
        return max(len(CURRICULUM) + 1, ceil(self.updates / self.size))

    def rates(self, leg: int) -> Float[np.ndarray, " update"]:
        """The learning rates of a leg."""
        done = (np.arange(self.size) + leg * self.size) / (self.legs * self.size)
        return np.asarray(self.rate * 0.5 * (1 + np.cos(np.pi * done)))

    @staticmethod
    def part(leg: int) -> float:
        """The part of the steps that the runs of a leg have."""
        return CURRICULUM[leg] if leg < len(CURRICULUM) else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """The legs of one start, in order, and the seeds of what was tried."""

    start: int
    legs: tuple[Leg, ...]
    collapses: int = 0
    #: The norm at which gradients were clipped, and the number of instances in a batch.
    clip: float = 1.0
    batch: int = 1
    tried: tuple[tuple[int, float], ...] = field(default=())

    @property
    def whole(self) -> list[int]:
        """The legs by whole runs that ended well, the best on held-out instances first."""
        able = [k for k, leg in enumerate(self.legs) if k >= len(CURRICULUM) and isfinite(leg.held_out)]
        return sorted(able, key=lambda k: self.legs[k].held_out)

    @property
    def best(self) -> float:
        """The smallest loss on held-out instances."""
        return self.legs[self.whole[0]].held_out if self.whole else np.inf

    def fallen(self, leg: Leg) -> bool:
        """Whether a leg ended far above the best, or most of its runs had no gradient."""
        lost = leg.left_out > 0.5 * self.batch * len(leg.norms)
        return lost or not leg.held_out <= self.best + COLLAPSED

    @property
    def remarks(self) -> tuple[str, ...]:
        """What went wrong, if anything did."""
        runs = self.batch * sum(len(leg.norms) for leg in self.legs)
        left_out = sum(leg.left_out for leg in self.legs)
        medians = [float(np.nanmedian(leg.norms)) for leg in self.legs if np.isfinite(leg.norms).any()]
        found = []
        if left_out > MANY * runs:
            found.append(f"{left_out} of {runs} runs had no finite gradient, and were left out")
        if any(each > EXPLODED * self.clip for each in medians):
            found.append(f"gradients exploded: in one of {len(self.legs)} legs their median is {max(medians):.2g}")
        if any(each < VANISHED for each in medians):
            found.append(f"gradients vanished: in one of {len(self.legs)} legs their median is {min(medians):.2g}")
        if self.collapses:
            found.append(f"it collapsed {self.collapses} times, and went on from the best that there was")
        return tuple(found)

    def described(self) -> dict[str, Any]:
        """A JSON value: what went down after each leg, in training and on held-out instances, and remarks."""
        return {
            "losses": [leg.loss if isfinite(leg.loss) else None for leg in self.legs],
            "held_out": [leg.held_out if isfinite(leg.held_out) else None for leg in self.legs],
            "updates": [len(leg.norms) for leg in self.legs],
            "starts": [[seed, held_out if isfinite(held_out) else None] for seed, held_out in self.tried],
            "start": self.start,
            "left_out": [leg.left_out for leg in self.legs],
            "remarks": list(self.remarks),
        }


def trained(training: AbstractTraining, plan: Plan, trials: Trials, descent: Descent) -> Course:
    """The start that does best after its first legs, trained to the end."""
    work = _Work(training, plan, trials)
    first = len(CURRICULUM) + 1
    pilots = [work.on(Course(k, (), clip=descent.clip, batch=descent.batch), first) for k in range(plan.restarts)]
    best = min(pilots, key=lambda course: course.best)
    course = replace(work.on(best, plan.legs), tried=tuple((each.start, each.best) for each in pilots))
    if not course.whole:
        raise PriorError(
            f"After {plan.legs} legs of {plan.size} updates no leg has ended with a finite loss on held-out instances.",
            "Training has to end somewhere.",
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

    def on(self, course: Course, legs: int) -> Course:
        """This course, gone on with until it has so many legs."""
        key = digest([self.training.identity, list(self.plan), self.trials.seed])
        for number in range(len(course.legs), legs):
            heed()
            name, kept = f"{course.start}-{number}", self.trials.kept
            leg = None if kept is None else kept.found(key, name)
            if leg is None:
                leg = self._leg(course, number)
                if kept is not None:
                    kept.keep(key, name, leg)
            collapsed = bool(course.whole) and course.fallen(leg)
            course = replace(course, legs=(*course.legs, leg), collapses=course.collapses + collapsed)
            self._tell(course, leg)
        return course

    def _leg(self, course: Course, number: int) -> Leg:
        steps = max(1, round(self.plan.part(number) * self.trials.steps))
        rates = self.plan.rates(number) * 0.5**course.collapses
        seed = int(np.random.default_rng([self.trials.seed, course.start, number]).integers(2**31))
        return self.training.leg(self._state(course), rates, steps, seed)

    def _state(self, course: Course) -> State:
        """The last one, or the best if the last one collapsed."""
        if not course.legs:
            seed = int(np.random.default_rng([self.trials.seed, course.start]).integers(2**31))
            return self.training.begun(seed)
        last = course.legs[-1]
        return course.legs[course.whole[0]].state if course.whole and course.fallen(last) else last.state

    def _tell(self, course: Course, leg: Leg) -> None:
        plan, pilot = self.plan, len(CURRICULUM) + 1
        total = plan.legs + (plan.restarts - 1) * pilot
        done = len(course.legs) + (course.start * pilot if len(course.legs) <= pilot else (plan.restarts - 1) * pilot)
        self.trials.tell(f"training, loss {leg.held_out:.4g}", done, total)
