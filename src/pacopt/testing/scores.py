"""A score of one's own: z in [0, 1], whatever a run does."""

import numpy as np

from pacopt.columns import Columns
from pacopt.loss_table import LossTable
from pacopt.scores.base import AbstractScore
from pacopt.testing.checking import need, told


def check_score(score: AbstractScore) -> None:
    """Raise unless the score lies in [0, 1], is 1 for runs that failed, and is averaged over the runs of a column.

    >>> from pacopt import Ratio
    >>> check_score(Ratio())
    """
    name = type(score).__name__
    rng = np.random.default_rng(0)
    losses = np.concatenate([10 ** rng.uniform(-320, 300, (3, 40)), [[0.0] * 20 + [np.nan] * 10 + [np.inf] * 10]])
    start = np.where(np.arange(40) % 7 == 0, 0.0, 10 ** rng.uniform(-300, 300, 40)) if score.relative else None
    table = LossTable(losses, start)
    with told(f"{name}.of"):
        z = np.asarray(score.of(table))
    need(z.shape == table.shape, f"{name}.of returns the shape {z.shape} for a table of shape {table.shape}")
    need(bool(np.all((z >= 0) & (z <= 1))), f"{name}.of returns values outside of [0, 1], or NaN")
    need(bool(np.all(z[3, 20:] == 1.0)), f"{name}.of is not 1 for runs that failed")
    need(np.array_equal(z[1:3], score.of(table, slice(1, 3))), f"{name}.of(table, rows) is not the part of the whole")
    paired = Columns(np.full(20, 2), 2 * np.arange(20))
    averaged = score.of(LossTable(losses, start, columns=paired))
    need(averaged.shape == (4, 20), f"{name}.of does not average the runs of a column: use table.averaged(...)")
    need(np.allclose(averaged, (z[:, ::2] + z[:, 1::2]) / 2), f"{name}.of does not return the means of columns")
    single = [
        [score.of_run(float(losses[i, j]), 0.0 if start is None else float(start[j])) for j in range(40)]
        for i in range(4)
    ]
    need(
        np.allclose(z, single, rtol=0, atol=1e-12), f"{name}.of_run does not return what {name}.of returns for a table"
    )
    need(score.scale > 0 and np.isfinite(score.scale), f"{name}.scale is {score.scale}")
    need(score.to_dict().get("name") == score.name, f"{name}.to_dict() does not hold its name")
