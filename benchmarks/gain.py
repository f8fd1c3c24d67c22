"""Certified gains beside the true ones, in the heavy-ball setting with three textbooks as baselines.

`python -m benchmarks.gain [seeds]`: N = 1000, confidence 0.99 in all, truth from 20,000 fresh instances.
"""

import sys

import numpy as np

import pacopt

STEPS = 50


def measured(seed):
    law = pacopt.VaryingCurvature.draw(seed=seed)
    parts = pacopt.split(law.sample(1400, seed=seed + 100), prior=200, train=1000, test=200, seed=seed)
    baselines = {
        "the heavy-ball textbook": pacopt.Baseline(),
        "the textbook of gradient descent": pacopt.Baseline(algorithm=pacopt.GradientDescent()),
        "the textbook of Nesterov": pacopt.Baseline(algorithm=pacopt.Nesterov()),
    }
    learned = pacopt.learn(
        law.problem, pacopt.HeavyBall(), parts, steps=STEPS, curvature=law.curvature, baseline=baselines, seed=seed
    )
    fresh = law.sample(20_000, seed=seed + 10_000)
    mu, big = law.curvature
    standard = pacopt.HeavyBall().standard(mu, big)
    rows = {name: np.array([learned.hyper[name], standard[name]]) for name in learned.hyper}
    ours, theirs = pacopt.tabulate(law.problem, pacopt.HeavyBall(), rows, fresh, steps=STEPS).safeguarded().mean(axis=1)
    deployed = learned.certificate.deployed
    return deployed.gain, theirs / ours, deployed.win, deployed.risk / ours


def main(seeds=10):
    found = np.array([measured(seed) for seed in range(seeds)])
    parts = found[:, 0] / found[:, 1]
    error = 2 * parts.std() / np.sqrt(seeds)
    print(f"certified gain {found[:, 0].mean():.2f}, true {found[:, 1].mean():.2f}: {parts.mean():.3f} +- {error:.3f}")
    print(f"better than the textbook on at least {found[:, 2].mean():.2%}")
    print(f"certified/true mean ratio with all of these claims: {found[:, 3].mean():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
