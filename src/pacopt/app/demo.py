"""The main job on an embedded example: heavy-ball on the paper's quadratics, learned and certified."""

from pacopt.algorithms import HeavyBall
from pacopt.learned import Learned
from pacopt.learning import learn
from pacopt.problems import VaryingCurvature
from pacopt.splits import split
from pacopt.support.progress import StageProgress

STEPS, PRIOR, TRAIN, TEST = 50, 200, 1000, 200


def run_demo(*, seed: int = 0, progress: StageProgress | bool = False) -> Learned:
    """Learn from instances of the paper's fourth experiment, knowing nothing but the default domain."""
    law = VaryingCurvature.draw(seed=seed)
    parts = split(law.sample(PRIOR + TRAIN + TEST, seed=seed + 1), prior=PRIOR, train=TRAIN, test=TEST, seed=seed + 2)
    return learn(
        law.problem,
        HeavyBall(),
        parts,
        steps=STEPS,
        min_success=0.9,
        curvature=law.curvature,
        seed=seed,
        progress=progress,
    )
