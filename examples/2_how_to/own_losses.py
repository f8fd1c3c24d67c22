"""Losses from any solver: which setting of SciPy's L-BFGS to use for many similar logistic regressions.

pacopt need not know anything about the solver. It needs a table, losses[candidate, instance], the loss at the start of
each instance, and candidates that were fixed before these instances were seen.
"""

import numpy as np
from scipy.optimize import minimize

import pacopt

rng = np.random.default_rng(0)
truth = rng.normal(size=8)


def draw():
    """One data set: 30 labelled points."""
    X = rng.normal(size=(30, 8)) * np.geomspace(0.2, 5.0, 8)
    return X, np.sign(X @ truth + rng.normal(size=30))


def loss(w, X, y):
    """The regularised logistic loss and its gradient."""
    margins = y * (X @ w)
    slopes = -y / (1 + np.exp(margins))
    return np.mean(np.logaddexp(0, -margins)) + 0.01 * w @ w, X.T @ slopes / len(y) + 0.02 * w


# The candidates: how many corrections L-BFGS remembers, and how many iterations it may take.
memory, iterations = (grid.ravel() for grid in np.meshgrid([1.0, 10.0], [3.0, 6.0, 12.0]))
candidates = {"maxcor": memory, "maxiter": iterations}

# Losses are measured above the minimum; otherwise a solved problem would look half solved.
data = [draw() for _ in range(200)]
least = [minimize(loss, np.zeros(8), args=each, jac=True, tol=1e-12).fun for each in data]
start = np.array([loss(np.zeros(8), *each)[0] - low for each, low in zip(data, least, strict=True)])
losses = np.empty((len(memory), len(data)))
for i, (maxcor, maxiter) in enumerate(zip(memory, iterations, strict=True)):
    for j, (each, low) in enumerate(zip(data, least, strict=True)):
        options = {"maxcor": int(maxcor), "maxiter": int(maxiter)}
        found = minimize(loss, np.zeros(8), args=each, jac=True, method="L-BFGS-B", options=options)
        losses[i, j] = max(0.0, found.fun - low)  # rounding may end below the minimum

table = pacopt.LossTable(losses=losses, start=start, candidates=candidates)
print(f"{table}, mean ratios on the training instances:")
for i in range(len(losses)):
    print(f"  maxcor {memory[i]:>2.0f}, maxiter {iterations[i]:>2.0f}: {table.safeguarded()[i].mean():.5f}")

# Equal weights on the six candidates, since nothing is known about them. Success here is a tenfold reduction.
design = pacopt.Design.uniform(table, target_ratio=0.1)
print()
print(pacopt.certify(table, design, confidence=0.95))
