"""A few cells run in two orders beforehand, so that a solver whose runs affect each other is found early."""

import numpy as np

from pacopt.engines.base import AbstractEngine, Standard
from pacopt.errors import TableError
from pacopt.instances import Instances
from pacopt.priors.cube import Cube
from pacopt.priors.product import spread
from pacopt.scores import AbstractScore
from pacopt.splits import Split

#: How many candidates are run twice, and on how many instances.
CANDIDATES, INSTANCES = 5, 4


def rehearse(engine: AbstractEngine, score: AbstractScore, split: Split, standard: Standard) -> None:
    """Refuse an engine if a run comes out differently after others: 20 cells of the prior split are run twice.

    Without a prior split, training instances are run, and nothing is kept. A score relative to the start is refused if
    there is no start loss.
    """
    cube = Cube(engine.space)
    if not cube.domain:
        candidates = {}
    else:
        candidates = cube.at(spread(CANDIDATES, cube.dimension, 0))
        if standard.hyper is not None:
            usual = standard.hyper
            candidates = {name: _with(values, usual[name]) for name, values in candidates.items()}
    has_start = engine.rehearse(candidates, few_of(split))
    if score.relative and not has_start:
        raise TableError(
            f"The score is {score!r}, and a run has no start losses.",
            "A score that is relative to the start needs the loss at the start of each run.",
            "",
            'Return Result(start_loss=...), or choose another score: pacopt.Effort("solved", unit="iterations") counts '
            "iterations, and pacopt.Ranged(100) averages losses up to 100.",
        )


def few_of(split: Split) -> Instances:
    """The instances to rehearse with."""
    return (split.prior if len(split.prior) else split.train)[:INSTANCES]


def _with(values: np.ndarray, first: object) -> np.ndarray:
    """These values, with the first one replaced."""
    return np.concatenate([np.asarray([first], dtype=values.dtype), values[1:]])
