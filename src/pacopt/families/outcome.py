"""The outcome of a contest: how all solvers do on fresh instances, next to what is certified."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from pacopt.claims.measuring import Measured
from pacopt.families.base import LEARNED, Family
from pacopt.families.tuning import Tuned
from pacopt.learned import Learned
from pacopt.scores import AbstractScore
from pacopt.support.intervals import Factor, factor_interval

if TYPE_CHECKING:
    from pandas import DataFrame


class Method(NamedTuple):
    """A solver on the fresh instances: its mean score with a 95 % interval, its scores, and their means along the way.

    All are in units of the score, and smaller is better: with `Digits` they are the digits that were not gained. `told`
    is the mean as people read it: the digits gained. A solver that only reports its end has no `curve`. `ratios` are
    final over initial losses, with the safeguard, whatever the score; None if losses have no start. `failures` counts
    the runs that raised an error or were stopped, by kind; such a run counts as one that made no progress.
    """

    name: str
    text: str
    mean: float
    interval: tuple[float, float]
    scores: Float[np.ndarray, " draw"]
    curve: Float[np.ndarray, " step"] | None
    ratios: Float[np.ndarray, " draw"] | None
    #: Where each run ended, even if a draw has several runs.
    ends: Float[np.ndarray, " run"]
    told: str = ""
    failures: Mapping[str, int] = MappingProxyType({})

    @property
    def failed(self) -> int:
        """The number of runs that failed."""
        return sum(self.failures.values())

    @property
    def ratio(self) -> float | None:
        """The mean of the ratios."""
        return None if self.ratios is None else float(self.ratios.mean())


@dataclass(frozen=True, eq=False)
class Contest:
    """What was learned for a family, the certified claims, and how all solvers do on fresh instances.

    `best` is the usual solver that did best on the prior split; the certified gain is over it. `checks` compare the
    claims with the fresh instances. `seconds` is the time from data to report. `runs` is the number of runs that
    learning took, with each gradient through a run counted as three, and `study` is what Optuna did with as many. `at`
    are the steps at which the curves of the methods are known.
    """

    family: Family
    learned: Learned
    best: str
    methods: tuple[Method, ...]
    checks: tuple[Measured, ...]
    at: tuple[int, ...]
    runs: int
    study: Tuned
    seconds: float
    place: Path | None

    def __getitem__(self, name: str) -> Method:
        """The solver of this name."""
        return next(each for each in self.methods if each.name == name)

    @property
    def fresh(self) -> int:
        """The number of fresh draws."""
        return len(self.methods[0].scores)

    @property
    def score(self) -> AbstractScore:
        """What is averaged."""
        return self.learned.certificate.design.score

    def factor(self, over: str) -> Factor:
        """How many times smaller the learned mean is than that of another solver, with its 95 % interval."""
        scale = self.score.scale
        return factor_interval(self[LEARNED].scores / scale, self[over].scores / scale)

    def ratio_factor(self, over: str) -> Factor | None:
        """How many times smaller the learned mean ratio is than that of another solver, with its 95 % interval."""
        ours, theirs = self[LEARNED].ratios, self[over].ratios
        return None if ours is None or theirs is None else factor_interval(ours, theirs)

    @property
    def violations(self) -> tuple[Measured, ...]:
        """The claims that the fresh instances contradict: their 95 % intervals exclude what is certified."""
        return tuple(check for check in self.checks if check.contradicted)

    @property
    def undecided(self) -> tuple[Measured, ...]:
        """The claims whose measured values are on the wrong side, but by no more than so few instances allow."""
        return tuple(check for check in self.checks if not check.holds and not check.contradicted)

    def _repr_html_(self) -> str:
        from pacopt.families.views import contest_html

        return contest_html(self)

    def to_dataframe(self) -> "DataFrame":
        """A pandas data frame, one row per solver: its mean on the fresh instances, and factors to the learned mean."""
        from pacopt.families.views import contest_frame

        return contest_frame(self)
