"""The paper's quadratics of varying curvature, in 200 dimensions."""

import numpy as np

from pacopt.algorithms import LBFGS, ConjugateGradients, GradientDescent, HeavyBall, Nesterov, ScalarRule
from pacopt.families.base import Family, Sizes
from pacopt.priors import Train
from pacopt.problems import VaryingCurvature
from pacopt.stages.baselines import Baseline

#: The number of unknowns, and of gradients per run.
DIMENSION, STEPS = 200, 50


def quadratics() -> Family:
    """The family 1/2 |diag(a) x - b|^2: a rule of a few hundred numbers, against conjugate gradients and L-BFGS.

    On quadratics, conjugate gradients are optimal among all methods that combine gradients, so no learned method can
    beat them in exact arithmetic; but it can come close without their second product with the Hessian.
    """
    law = VaryingCurvature.draw(seed=0, n=DIMENSION)
    solvers = {
        "heavy-ball": HeavyBall(),
        "gradient descent": GradientDescent(),
        "Nesterov": Nesterov(),
        "L-BFGS": LBFGS(),
        "conjugate gradients": ConjugateGradients(),
    }
    return Family(
        "quadratics",
        law.problem,
        law.sample,
        ScalarRule(steps=STEPS),
        STEPS,
        title="Quadratics, 200 unknowns",
        usual={name: Baseline(algorithm=each) for name, each in solvers.items()},
        tuned=HeavyBall(),
        prior=Train(dtype=np.float32),
        sizes=Sizes(prior=4000, train=10_000, test=1000),
        note="Nothing beats conjugate gradients on quadratics; the learned rule comes within a few per cent.",
    )
