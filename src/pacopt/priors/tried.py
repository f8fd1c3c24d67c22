"""What a search has tried so far, and which points become candidates."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.priors.caution import favourites
from pacopt.priors.cube import Cube, distinct, reaching
from pacopt.priors.product import checked_names
from pacopt.priors.selection import ladder, score, weigh
from pacopt.priors.trials import Trials
from pacopt.space import Domain
from pacopt.support.cells import shared_start


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """Points of a cube, batch by batch, and how their candidates did on the prior split."""

    cube: Cube
    trials: Trials
    batches: tuple[tuple[np.ndarray, LossTable, np.ndarray], ...] = ()
    #: The row of the textbook settings, if there are any.
    textbook: tuple[int, ...] = ()

    @property
    def points(self) -> Float[np.ndarray, "hyper d"]:
        """All points, in the order in which they were tried."""
        return np.concatenate([points for points, _, _ in self.batches])

    @property
    def scores(self) -> Float[np.ndarray, " hyper"]:
        """Their scores."""
        return np.concatenate([scores for _, _, scores in self.batches])

    @property
    def last(self) -> Float[np.ndarray, " hyper"]:
        """The scores of the last batch."""
        return self.batches[-1][2]

    @property
    def error(self) -> float:
        """The standard error of the best score of the last batch."""
        _, table, scores = self.batches[-1]
        kept = self.trials.score.of(table)[int(scores.argmin())]
        return float(kept.std() / np.sqrt(len(kept)))

    @property
    def table(self) -> LossTable:
        """All batches in one table."""
        tables = [table for _, table, _ in self.batches]
        verdicts = [table.success for table in tables if table.success is not None]
        return LossTable(
            losses=np.concatenate([table.losses for table in tables]),
            start=shared_start(table.start for table in tables),
            candidates={name: np.concatenate([t.candidates[name] for t in tables]) for name in self.cube.domain},
            success=np.concatenate(verdicts) if verdicts else None,
        )

    def more(self, points: Float[np.ndarray, "hyper d"], candidates: Mapping[str, np.ndarray] | None = None) -> "Tried":
        """With another batch of points."""
        table = self.trials.table(self.cube.at(points) if candidates is None else candidates)
        return replace(self, batches=(*self.batches, (points, table, score(table, self.trials))))

    def best(self, most: int, apart: float) -> Float[np.ndarray, "start d"]:
        """The best points that are far enough from each other, or differ in their choices."""
        points = np.clip(self.points, 0.0, 1.0)  # the textbook may lie outside
        kinds = self.cube.kinds(points)
        found: list[int] = []
        for row in np.argsort(self.scores, kind="stable").tolist():
            near = (kinds[found] == kinds[row]) & (np.abs(points[found] - points[row]).max(axis=1) < apart)
            if not near.any():
                found.append(row)
            if len(found) == most:
                break
        starts: np.ndarray = points[found]
        return starts

    def selected(self, most: int) -> DiscreteMeasure:
        """At most `most` distinct candidates with informed weights.

        The favourite comes first, then the textbook settings, the rungs, and the best of the others.
        """
        trials, points, table = self.trials, self.points, self.table
        kinds = self.cube.kinds(points)
        favourite, named = favourites(points, kinds, table, trials)
        rungs = np.append(named, ladder(points, kinds, table, trials, max(1, most // 8)))
        others = np.argsort(self.scores, kind="stable")
        order = np.array([favourite, *self.textbook, *rungs, *others], dtype=int)
        first = distinct({name: values[order] for name, values in table.candidates.items()})[0][:most]
        chosen = order[first]
        support = {name: values[chosen] for name, values in table.candidates.items()}
        lead = 1 + len(self.textbook)
        return weigh(trials.table(support), np.flatnonzero((first >= lead) & (first < lead + len(rungs))), trials)


def looked_in(given: Domain, trials: Trials) -> Domain:
    """The domain given, else that of the algorithm, extended to the textbook settings."""
    own = dict(trials.domain)
    if trials.standard is not None:
        own = {name: reaching(space, trials.standard[name]) for name, space in own.items()}
    return own | dict(checked_names(given, trials.domain, spaces=True))


def begun(cube: Cube, trials: Trials, points: Float[np.ndarray, "hyper d"], batch: int) -> Tried:
    """These points and the textbook settings, in batches of one size; the first ones fill up the last batch."""
    textbook: tuple[int, ...] = ()
    if trials.standard is not None:
        points, textbook = np.concatenate([points, cube.position(trials.standard)[None]]), (len(points),)
    count = len(points)
    if count > batch:
        points = np.concatenate([points, points[: -count % batch]])
    candidates = cube.at(points)
    for row in textbook:
        for name, value in (trials.standard or {}).items():
            candidates[name] = placed(candidates[name], row, value)  # exact: its coordinates have been rounded
    tried = Tried(cube, trials, textbook=textbook)
    for first in range(0, len(points), batch):
        rows = slice(first, first + batch)
        tried = tried.more(points[rows], {name: values[rows] for name, values in candidates.items()})
    return tried


def placed(values: np.ndarray, row: Int[np.ndarray, ""] | int, value: object) -> np.ndarray:
    """The values with this one in this row; a text may be longer than all others."""
    wider = np.asarray([value]) if values.dtype.kind in "U" else np.asarray([value], dtype=values.dtype)
    return np.concatenate([values[:row], wider, values[row + 1 :]])
