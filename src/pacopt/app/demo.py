"""The main job on built-in examples: heavy-ball or a trained rule on the paper's quadratics, learned and certified."""

from typing import NamedTuple

import numpy as np

from pacopt.algorithms import LBFGS, ConjugateGradients, HeavyBall, ScalarRule
from pacopt.instances import Instances
from pacopt.learned import Learned
from pacopt.learning import learn
from pacopt.priors import Train
from pacopt.problems import VaryingCurvature
from pacopt.splits import split
from pacopt.stages.baselines import Baseline
from pacopt.support.progress import StageProgress

STEPS, PRIOR, TRAIN, TEST = 50, 200, 1000, 200


class Sizes(NamedTuple):
    """How large the demo of a trained rule is."""

    n: int = 200
    steps: int = STEPS
    prior: int = 4000
    train: int = 10_000
    test: int = 1000
    updates: int = 3000


def run_demo(*, seed: int = 0, progress: StageProgress | bool = False) -> Learned:
    """Learn from instances of the paper's fourth experiment, given only the default domain."""
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


def run_rule_demo(sizes: Sizes | None = None, *, seed: int = 0, progress: StageProgress | bool = False) -> Learned:
    """Train a rule for such quadratics, and certify it against L-BFGS and others, with equal numbers of gradients."""
    size = sizes or Sizes()
    law = VaryingCurvature.draw(seed=seed, n=size.n)
    data = law.sample(size.prior + size.train + size.test, seed=seed + 1)
    parts = split(data, prior=size.prior, train=size.train, test=size.test, seed=seed + 2)
    constant = _constant(law, parts.prior, size.steps, seed)
    return learn(
        law.problem,
        ScalarRule(steps=size.steps),
        parts,
        steps=size.steps,
        prior=Train(updates=size.updates, dtype=np.float32),
        baseline={
            "L-BFGS": Baseline(algorithm=LBFGS()),
            "conjugate gradients": Baseline(algorithm=ConjugateGradients()),
            "learned heavy-ball": Baseline(constant, algorithm=HeavyBall()),
            "textbook heavy-ball": Baseline(algorithm=HeavyBall()),
        },
        curvature=law.curvature,
        seed=seed,
        progress=progress,
    )


def _constant(law: VaryingCurvature, prior: Instances, steps: int, seed: int) -> Learned:
    """Heavy-ball as the paper learns it, from a part of the prior split, so that it has seen no training instance."""
    third = min(PRIOR, len(prior) // 3)
    parts = split(prior[: 3 * third], prior=third, train=2 * third, test=0, seed=seed)
    return learn(law.problem, HeavyBall(), parts, steps=steps, curvature=law.curvature, seed=seed, progress=False)


def means(learned: Learned) -> str:
    """The mean ratios of all methods on the test split, in one line."""
    comparison = learned.comparison
    if comparison is None:
        return ""
    rows = [row for row in comparison.rows if row.name != "prior median"]
    told = ", ".join(f"{'the rule' if row.name == 'learned' else row.name} {row.mean:.4g}" for row in rows)
    return f"Mean ratio of final to initial loss on {comparison.instances} test instances: {told}."
