"""Before the long run: a few cells in two orders, so that a solver whose runs depend on each other is found early."""

import numpy as np

from pacopt.engines.base import AbstractEngine, Standard
from pacopt.priors.cube import Cube
from pacopt.priors.product import spread
from pacopt.splits import Split

#: So many candidates on so many instances are run twice.
CANDIDATES, INSTANCES = 5, 4


def rehearse(engine: AbstractEngine, split: Split, standard: Standard) -> None:
    """Refuse an engine of which a run comes out differently after others: 20 cells of the prior split, twice.

    Where there is no prior split, training instances are run; nothing of that is kept.
    """
    cube = Cube(engine.space)
    if not cube.domain:
        candidates = {}
    else:
        candidates = cube.at(spread(CANDIDATES, cube.dimension, 0))
        if standard.hyper is not None:
            usual = standard.hyper
            candidates = {name: _with(values, usual[name]) for name, values in candidates.items()}
    engine.rehearse(candidates, (split.prior if len(split.prior) else split.train)[:INSTANCES])


def _with(values: np.ndarray, first: object) -> np.ndarray:
    """These values, the first of them another one."""
    return np.concatenate([np.asarray([first], dtype=values.dtype), values[1:]])
