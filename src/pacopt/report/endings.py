"""How runs end, in the words of their score: solved within so many iterations, or at a fraction of their start."""

from dataclasses import dataclass

import numpy as np

from pacopt.loss_table import LossTable
from pacopt.report.words import estimate, share
from pacopt.scores import AbstractScore, Effort

#: What stands beside an axis of final losses relative to the start.
FRACTION = "fraction of the start"


@dataclass(frozen=True, slots=True)
class Ending:
    """What many runs do up to a number ("are solved within"), its unit, and what is said of a run that does not.

    `fails` is what such a run is ("failed"), `lacking` what too many of them do not do ("are solved"; empty where they
    fail), and `measure` stands beside an axis.
    """

    does: str
    unit: str
    fails: str
    lacking: str
    measure: str

    def at(self, value: float) -> str:
        """What they do up to this number."""
        return f"{self.does} {self.number(value)}"

    def number(self, value: float) -> str:
        """A number with its unit."""
        unit = " times their start" if self.measure == FRACTION and value > 1 else self.unit
        return f"{estimate(value)}{unit}"

    def below(self, part: float, of: str = "") -> str:
        """That fewer than this part of them, `of` all of something, get anywhere."""
        if self.lacking:
            return f"fewer than {share(part)}{of} {self.lacking}"
        return f"more than {share(1 - part)}{of} fail"


def ending_of(score: AbstractScore, *, relative: bool) -> Ending:
    """The words for runs with this score; `relative` says that losses are relative to a start.

    >>> ending = ending_of(Effort("solved", 300, unit="iterations"), relative=False)
    >>> ending.at(41.0), ending.fails, ending.measure
    ('are solved within 41 iterations', 'not solved within 300 iterations', 'iterations')
    >>> ending = ending_of(Effort(0.1, 50), relative=False)
    >>> ending.at(7.0), ending.fails
    ('reach 0.1 times their start within 7 steps', 'not at 0.1 times the start within 50 steps')
    >>> from pacopt.scores import Ratio
    >>> [ending_of(Ratio(), relative=True).number(value) for value in (0.5, 10.0)]
    ['0.5 of their start', '10 times their start']
    """
    if relative:
        return Ending("end at or below", " of their start", "failed", "", FRACTION)
    if not isinstance(score, Effort):
        unit = score.unit and f" {score.unit}"
        return Ending("end at or below", unit, "failed", "", score.unit or score.noun)
    most = f"within {score.scale / score.penalty:g} {score.unit}"
    if isinstance(score.target, str):
        does, fails = f"are {score.target}", f"not {score.target} {most}"
    else:
        does, fails = f"reach {score.target!r} times their start", f"not at {score.target!r} times the start {most}"
    return Ending(f"{does} within", f" {score.unit}", fails, does, score.unit)


def means_of(table: LossTable, noun: str) -> str:
    """Of what each value is a mean, as a clause; empty where each instance has one run."""
    if table.columns is None:
        return ""
    sizes = set(table.columns.sizes.tolist())
    if noun == "groups":
        return ", means over groups"
    return f", means of {max(sizes)} runs" if len(sizes) == 1 else ", means over the runs of each"


def first_runs(table: LossTable, noun: str) -> str:
    """Which run of an instance is shown, as a clause; empty where there is one of each."""
    if table.columns is None:
        return ""
    one = noun.removesuffix("s")
    first = table.columns.lead == np.cumsum(table.columns.sizes) - table.columns.sizes
    return f", on the first run of each {one}" if first.all() else f", on one run of each {one}, drawn beforehand"


def told(value: float, otherwise: str = "failed") -> str:
    """A measured number, or what is said where there is none."""
    return estimate(value) if np.isfinite(value) else otherwise
