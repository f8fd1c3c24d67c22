"""Sparse regression on your own data: one dictionary, many signals, ten gradients for each.

You have a dictionary A, and new signals b keep coming, to be explained by few columns: minimise
1/2 |A x - b|^2 + penalty |x|_1. This script learns a proximal method for these signals, with a certificate.
"""

from dataclasses import replace

import numpy as np

import pacopt
from pacopt.families import sparse_regression as sparse

STEPS = 10
rng = np.random.default_rng(0)

# Your data: a dictionary, signals (one row each), and the sparsity penalty.
dictionary = rng.normal(size=(30, 60))
codes = rng.normal(size=(900, 60)) * (rng.random((900, 60)) < 0.05)
signals = codes @ dictionary.T + 0.3 * rng.normal(size=(900, 30))
instances = sparse.with_minima(dictionary, signals, penalty=np.full(900, 4.0))  # with proven minima, to count gaps

parts = pacopt.split(instances, prior=200, train=600, test=100, seed=0)
usual = sparse.usual_solvers(dictionary, STEPS)
learned = pacopt.learn(
    sparse.Lasso(dictionary),
    pacopt.ProximalRule(STEPS, width=8, curvature=sparse.curvature_of(dictionary)),
    parts,
    steps=STEPS,
    # quick; sparse.RECIPE itself is better, and takes minutes
    prior=replace(sparse.RECIPE, updates=120, batch=16, restarts=1, candidates=4),
    score=pacopt.Digits(10),
    baseline={name: usual[name] for name in ("ISTA", "SpaRSA")},
)
print(learned.certificate)

# In use, the minimum of a new signal is unknown and not needed.
new = {"b": dictionary @ codes[0] + 0.3 * rng.normal(size=30), "penalty": 4.0}
solution = learned.solve(new | {"minimum": 0.0})
print(f"A new signal: {np.count_nonzero(solution.x)} columns explain it, where {np.count_nonzero(codes[0])} made it.")
