"""Candidates from the course of a training: snapshots, their mean, and a cloud around the best."""

import numpy as np

from pacopt.engines.training import AbstractTraining, Values
from pacopt.loss_table import LossTable
from pacopt.priors.course import Course
from pacopt.priors.cube import distinct
from pacopt.priors.selection import score
from pacopt.priors.trials import Trials

#: The noise of a cloud. Measured for a rule on the paper's quadratics: with the first the mean ratio changes by 0.01 %,
#: with the second by 0.1 to 1 %; plain noise, as large in all numbers, changes it by 2 to 30 % there.
NEAR, FAR = 1e-3, 3e-2
#: How many snapshots are averaged.
AVERAGED = 4


def gathered(training: AbstractTraining, course: Course, count: int, seed: int) -> dict[str, np.ndarray]:
    """About `count` candidates: half of them from along the way, including its beginning, half from the cloud."""
    best = [leg.state for leg in course.whole]
    snapshots = [training.averaged(state) for state in best[: max(1, count // 2)]]
    beginning = training.values(course.begun.state)
    made: list[Values] = [training.mean(snapshots[:AVERAGED]), training.values(best[0]), beginning, *snapshots]
    amounts = np.geomspace(NEAR, FAR, max(1, count - len(made)))
    made += [training.shaken(best[0], float(amount), seed + k) for k, amount in enumerate(amounts)]
    stacked = {name: np.stack([one[name] for one in made[:count]]) for name in made[0]}
    first = distinct(stacked)[0]
    return {name: values[first] for name, values in stacked.items()}


def best_of(made: dict[str, np.ndarray], table: LossTable, most: int, trials: Trials) -> LossTable:
    """The best candidates on these instances, best first."""
    order = np.argsort(score(table, trials), kind="stable")[:most]
    return LossTable(
        losses=table.losses[order],
        start=table.start,
        candidates={name: values[order] for name, values in made.items()},
        success=None if table.success is None else table.success[order],
        columns=table.columns,
    )
