"""Logistic regressions on your own table: which method to use if each fit may take five gradients.

Here the table is made up: three kinds of customers and their features. Pass your own features and classes as they are.
A bootstrap, a cross-validation or a weekly refit makes such fits on resamples of a table.
"""

import numpy as np

import pacopt
from pacopt import families

rng = np.random.default_rng(0)
kind = rng.choice(["buys", "looks", "leaves"], size=300)
centre = {"buys": 1.0, "looks": 0.0, "leaves": -0.7}
features = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6)) + np.array([centre[each] for each in kind])[:, None]

table = families.Table.of(features, kind, name="customers")  # one task per kind: this kind against the rest
family = families.logistic_regression(table, rows=100, steps=5).sized(prior=100, train=1000, test=100)
parts = family.drawn(seed=0)

# To finish in seconds, this script learns two numbers, in the metric of the mean Hessian of prior instances. They do
# about as well as L-BFGS, and the certificate says that no gain could be shown.
# `family.learns(parts)` is a rule of 1,100 numbers in that metric, which trains for minutes and gains far more.
method = pacopt.Preconditioned(pacopt.HeavyBall(), pacopt.whitening(family.problem, parts))
learned = pacopt.learn(
    family.problem,
    method,
    parts,
    steps=family.steps,
    prior=pacopt.priors.Search(candidates=16, explore=1, rounds=2),
    score=pacopt.Digits(6),
    baseline={"L-BFGS": family.usual["L-BFGS"]},
)
print(learned.certificate)
print(learned.comparison)

# A new fit. Its minimum is unknown, and no loss is below 0.
fit = family.sample(1, seed=1)[0] | {"minimum": np.float64(0.0)}
print("Weights:", np.round(learned.solve(fit).x, 3))
