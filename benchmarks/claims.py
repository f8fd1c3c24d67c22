"""What people ask of a certificate, beside the truth: gain, steps to a target, budget, rate, digits, and the mean.

`python -m benchmarks.claims [seeds]`: heavy-ball on the quadratics of the demo, N = 1000, 50 steps, confidence 0.99 in
all; truth from 20,000 fresh instances. Means over the seeds, with two standard errors.
"""

import sys

import numpy as np

import pacopt

STEPS, FRESH = 50, 20_000
TEXTBOOKS = {
    "the heavy-ball textbook": pacopt.Baseline(),
    "textbook gradient descent": pacopt.Baseline(algorithm=pacopt.GradientDescent()),
    "textbook Nesterov": pacopt.Baseline(algorithm=pacopt.Nesterov()),
}


def learned_on(law, seed, **options):
    parts = pacopt.split(law.sample(1400, seed=seed + 100), prior=200, train=1000, test=200, seed=seed)
    settings = {"steps": STEPS, "curvature": law.curvature, "seed": seed, "progress": False} | options
    return pacopt.learn(law.problem, pacopt.HeavyBall(), parts, **settings)


def truth(learned, law, seed):
    """The table of the deployed hyperparameters and of the textbook's on fresh instances."""
    standard = pacopt.HeavyBall().standard(*law.curvature)
    rows = {name: np.array([learned.hyper[name], standard[name]]) for name in learned.hyper}
    return learned.engine.table(rows, law.sample(FRESH, seed=seed + 10_000))


def measured(seed):
    law, found = pacopt.VaryingCurvature.draw(seed=seed), {}
    # Everything that can be claimed at once.
    learned = learned_on(law, seed, baseline=TEXTBOOKS, budget=[0.1])
    ours, theirs = truth(learned, law, seed).safeguarded().mean(axis=1)
    found["risk with all claims: certified / true"] = learned.certificate.deployed.risk / ours
    # Without the budget, as by default.
    learned = learned_on(law, seed, baseline=TEXTBOOKS)
    ours, theirs = truth(learned, law, seed).safeguarded().mean(axis=1)
    deployed = learned.certificate.deployed
    found["gain over the heavy-ball textbook, true"] = theirs / ours
    found["gain: certified / true"] = deployed.gain / (theirs / ours)
    found["better than the heavy-ball textbook, certified"] = deployed.win
    found["risk with gain and win: certified / true"] = deployed.risk / ours
    for name, score in (("steps to 0.1", pacopt.Effort(0.1)), ("rate", pacopt.Rate()), ("digits", pacopt.Digits())):
        learned = learned_on(law, seed, score=score, baseline=None)
        fixed, certified = learned.certificate.design.score, learned.certificate.deployed.risk
        exact = fixed.scale * fixed.of(truth(learned, law, seed))[0].mean()
        if name == "digits":
            found["digits: certified / true"] = (fixed.scale - certified) / (fixed.scale - exact)
        else:
            found[f"{name}: certified / true"] = certified / exact
    return found


def budget():
    """A budget as the only claim: a favourite of weight 0.5, no late run, 100 steps and ten tolerances at once."""
    targets = np.geomspace(0.5, 1e-6, 10).tolist()
    times = {target: np.full((2, 1000), 10.0 * (rank + 1)) for rank, target in enumerate(targets)}
    candidates = {"name": np.array(["favourite", "other"])}
    table = pacopt.LossTable(np.full((2, 1000), 1e-7), np.ones(1000), candidates, times=times)
    prior = pacopt.DiscreteMeasure.of(candidates, [0.5, 0.5])
    certificate = pacopt.certify(table, pacopt.Design(prior, claims=[pacopt.Budget(targets, share=1.0)]))
    return min(certificate.budget.probability(100, target) for target in targets)


def main(seeds=10):
    rows = [measured(seed) for seed in range(seeds)]
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        print(f"{name:<50}{values.mean():.4f} +- {2 * values.std() / np.sqrt(seeds):.4f}")
    print(f"{'budget alone, no late run':<50}{budget():.4%}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
