"""The main job on an embedded example: heavy-ball on the paper's quadratics, learned on sample instances."""

from dataclasses import dataclass

import numpy as np

from pacopt.algorithms import HeavyBall
from pacopt.engines.tabulation import Progress
from pacopt.engines.traced import tabulate
from pacopt.loss_table import LossTable
from pacopt.problems import VaryingCurvature
from pacopt.splits import split

STEPS = 50


@dataclass(frozen=True, slots=True)
class Row:
    """How one choice of hyperparameters does on the test instances: final loss relative to the start."""

    name: str
    hyper: dict[str, float]
    mean: float
    median: float
    success: float


@dataclass(frozen=True, slots=True)
class Demo:
    """The training table and the comparison on instances that were used for nothing else."""

    table: LossTable
    rows: tuple[Row, ...]


def run_demo(*, seed: int = 0, progress: Progress | None = None) -> Demo:
    """Tabulate 500 candidates on 1000 training instances, choose the best, and compare it with the textbook values."""
    law = VaryingCurvature.draw(seed=seed)
    parts = split(law.sample(1200, seed=seed + 1), prior=0, train=1000, test=200, seed=seed)
    rng = np.random.default_rng(seed)
    candidates = {"step_size": 10 ** rng.uniform(-6, -2, 500), "momentum": rng.uniform(0, 1, 500)}
    table = tabulate(law.problem, HeavyBall(), candidates, parts.train, steps=STEPS, progress=progress)
    best = int(np.argmin(_relative(table).mean(axis=1)))

    hypers = {"standard": HeavyBall().standard(*law.curvature), "learned": table.hyper(best)}
    chosen = {name: [hyper[name] for hyper in hypers.values()] for name in HeavyBall.hyperparameters}
    test = tabulate(law.problem, HeavyBall(), chosen, parts.test, steps=STEPS)
    relative, success = _relative(test), test.succeeded().mean(axis=1)
    rows = (
        Row(name, hyper, float(z.mean()), float(np.median(z)), float(p))
        for (name, hyper), z, p in zip(hypers.items(), relative, success, strict=True)
    )
    return Demo(table, tuple(rows))


def _relative(table: LossTable) -> np.ndarray:
    """Final over start loss, with the start in place of a run that failed or ended above it."""
    relative: np.ndarray = np.where(table.succeeded(), table.losses, table.start) / table.start
    return relative
