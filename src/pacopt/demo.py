"""The main job on an embedded example: heavy-ball on the paper's quadratics, learned and certified."""

from dataclasses import dataclass

import numpy as np

from pacopt.algorithms import HeavyBall
from pacopt.auditing import Audit, audit
from pacopt.certificate import Certificate, certify
from pacopt.design import Design
from pacopt.engines.tabulation import Progress
from pacopt.engines.traced import tabulate
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.problems import VaryingCurvature
from pacopt.splits import split

STEPS, CANDIDATES, PRIOR, TRAIN, TEST = 50, 500, 200, 1000, 200


@dataclass(frozen=True, slots=True)
class Row:
    """How one choice of hyperparameters does on the test instances: final loss relative to the start, safeguarded."""

    name: str
    hyper: dict[str, float]
    mean: float
    median: float
    success: float


@dataclass(frozen=True, slots=True)
class Demo:
    """The certificate, its audit, and a comparison on instances that were used for nothing else."""

    certificate: Certificate
    audit: Audit
    rows: tuple[Row, ...]


def run_demo(*, seed: int = 0, progress: Progress | None = None) -> Demo:
    """Weigh random candidates on the prior split, certify them on the training split, look at the test split."""
    law = VaryingCurvature.draw(seed=seed)
    parts = split(law.sample(PRIOR + TRAIN + TEST, seed=seed + 1), prior=PRIOR, train=TRAIN, test=TEST, seed=seed + 2)
    rng = np.random.default_rng(seed + 3)
    candidates = {"step_size": 10 ** rng.uniform(-6, -2, CANDIDATES), "momentum": rng.uniform(0, 1, CANDIDATES)}

    def table(hyper: dict[str, np.ndarray], instances: Instances, progress: Progress | None = None) -> LossTable:
        return tabulate(law.problem, HeavyBall(), hyper, instances, steps=STEPS, progress=progress)

    design = Design.informed(table(candidates, parts.prior), train=TRAIN)
    train = table(candidates, parts.train, progress)
    certificate = certify(train, design)

    hypers = {"standard": HeavyBall().standard(*law.curvature), "learned": certificate.deployed.hyper}
    chosen = {name: np.array([hyper[name] for hyper in hypers.values()]) for name in HeavyBall.hyperparameters}
    test = table(chosen, parts.test)
    relative, success = test.safeguarded(), test.succeeded().mean(axis=1)
    rows = (
        Row(name, hyper, float(z.mean()), float(np.median(z)), float(p))
        for (name, hyper), z, p in zip(hypers.items(), relative, success, strict=True)
    )
    return Demo(certificate, audit(certificate, train), tuple(rows))
