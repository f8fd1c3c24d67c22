"""What the four experiments share: the two readings of the paper, the families, the published procedure."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from pacopt.algorithms import HeavyBall
from pacopt.engines.traced.engine import Traced
from pacopt.engines.traced.nesting import flat_space
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.papers.sucker_ochs_2023.estimate import Estimate, plug_in_bound
from pacopt.papers.sucker_ochs_2023.iterative_box import IterativeBox
from pacopt.priors.trials import Trials
from pacopt.problems.quadratic_laws import VaryingCurvature

EPSILON, STEPS = 0.01, 50


class Variant(StrEnum):
    """Where the text and the authors' code differ: which of them is followed."""

    TEXT = "text"
    CODE = "code"


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What the published procedure learns: the argmax of the posterior on draws from the final box."""

    hyper: dict[str, float]
    estimate: Estimate
    table: LossTable


def stream(seed: int, k: int) -> int:
    """The k-th seed that belongs to one, apart from those of its neighbours."""
    return 1000 * seed + 100 + k


def heavy_ball(law: VaryingCurvature) -> Traced:
    """Heavy-ball for 50 steps on a family of quadratics."""
    return Traced(law.problem, HeavyBall(), STEPS)


def varying(seed: int, variant: Variant) -> VaryingCurvature:
    """The family of experiments 2 to 4: integer entries in the text, real ones in the code."""
    return VaryingCurvature.draw(seed=seed, integer_entries=variant == Variant.TEXT)


def textbook(law: VaryingCurvature) -> dict[str, float]:
    """The textbook's heavy-ball for the extreme curvatures."""
    return HeavyBall().standard(*law.curvature)


def published(
    law: VaryingCurvature, prior: Instances, train: Instances, *, success: float, candidates: int, seed: int
) -> Published:
    """App. B: shrink the box on the prior split, draw from it, weigh the draws on the training split, take the best."""
    engine = heavy_ball(law)
    box = IterativeBox.published(textbook(law), L=law.curvature[1], success=success, candidates=candidates)
    domain = flat_space(HeavyBall())
    trials = Trials(engine.table, prior, domain, train=len(train), epsilon=EPSILON, seed=stream(seed, 0))
    table = engine.table(box(trials).support, train)
    estimate = plug_in_bound(table, epsilon=EPSILON)
    return Published(table.hyper(int(np.argmax(estimate.weights))), estimate, table)


def published_mean(losses: np.ndarray, start: np.ndarray, variant: Variant) -> float:
    """The mean final loss as it is reported: of the runs that converged, or with diverged ones as zero in the code."""
    converged = losses <= start
    if variant == Variant.CODE:
        return float(np.where(converged, losses, 0.0).mean())
    return float(losses[converged].mean()) if converged.any() else float("nan")
