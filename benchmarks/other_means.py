"""Families against what is no gradient method, or knows more than the start: digits gained on fresh instances.

`python -m benchmarks.other_means [instances]`: on the LASSO and on sparse coding, 20 iterations of ADMM with an inverse
that is computed once (rho and relaxation picked on 300 other instances; one product with A and one with its transpose
an iteration) and 20 sweeps of coordinate descent; on logistic regression, SciPy's L-BFGS-B with ten gradients from a
start that is a cubic in the logarithm of the penalty, fitted to the solutions of 500 other instances, without and with
the metric of their mean Hessian. The latter knows which class is told from the rest.
"""

import sys
from itertools import product

import numpy as np
from scipy.special import expit
from sklearn.linear_model import Lasso

from pacopt.families import breast_cancer, digits, logistic_regression, wine
from pacopt.families.limited import lowest_loss
from pacopt.families.sparse_regression import lasso, sparse_coding

PICKED_ON, SOLVED, STEPS, GRADIENTS = 300, 500, 20, 10


def told(name, ratios, top):
    """Mean digits with a standard error, and the mean gap."""
    gained = np.clip(-np.log10(np.maximum(ratios, 1e-300)), 0, top)
    error = gained.std() / len(gained) ** 0.5
    print(f"{name:55} {gained.mean():6.2f} ± {error:.2f} digits, mean gap {ratios.mean():.1e}", flush=True)
    return gained.mean()


def relative_gaps(A, fields, x):
    """(l - l*) / (l0 - l*) of the LASSO for the rows of x."""
    b, penalty, minimum = fields["b"], fields["penalty"], fields["minimum"]
    loss = 0.5 * np.sum((x @ A.T - b) ** 2, axis=1) + penalty * np.abs(x).sum(axis=1)
    return np.maximum(loss - minimum, 0) / (0.5 * np.sum(b**2, axis=1) - minimum)


def cached_admm(A, fields, rho, relaxation):
    """The last points of ADMM (Boyd et al. 2011, section 6.4), which solves with A A' + rho by an inverse."""
    b, threshold = fields["b"], (fields["penalty"] / rho)[:, None]
    inverse, at_b = np.linalg.inv(rho * np.eye(len(A)) + A @ A.T), b @ A
    z = u = np.zeros((len(b), A.shape[1]))
    for _ in range(STEPS):
        v = at_b / rho + z - u
        ahead = relaxation * (v - ((v @ A.T) @ inverse) @ A) + (1 - relaxation) * z
        z = ahead + u - np.clip(ahead + u, -threshold, threshold)
        u = u + ahead - z
    return z


def coordinate_descent(A, fields):
    """Points of scikit-learn's Lasso after 20 sweeps."""
    points = []
    for b, penalty in zip(fields["b"], fields["penalty"], strict=True):
        model = Lasso(penalty / len(A), fit_intercept=False, max_iter=STEPS, tol=0.0)
        points.append(model.fit(A, b).coef_)
    return np.array(points)


def sparse(family, top, count):
    """Both on one dictionary."""
    A, other, fresh = family.problem.dictionary, family.sample(PICKED_ON, seed=5).fields, family.sample(count, seed=6)
    scale, fields = np.linalg.norm(A, 2) ** 2, fresh.fields
    settings = list(product(scale * np.geomspace(0.02, 0.6, 14), (1.0, 1.6, 1.7, 1.8, 1.9)))
    gained = [-np.log10(relative_gaps(A, other, cached_admm(A, other, *each)) + 1e-300) for each in settings]
    best = settings[int(np.argmax([np.clip(each, 0, top).mean() for each in gained]))]
    name = f"{family.name}: ADMM, rho = {best[0] / scale:.3f} L, relaxation {best[1]}"
    told(name, relative_gaps(A, fields, cached_admm(A, fields, *best)), top)
    told(f"{family.name}: coordinate descent", relative_gaps(A, fields, coordinate_descent(A, fields)), top)


def rows_of(table, fields, i):
    """The resampled rows times their labels, the penalty, and which class is told from the rest."""
    rows, labels = fields["rows"][i], fields["labels"][i]
    task = next(t for t, known in enumerate(table.labels) if np.array_equal(known[rows], labels))
    return table.features[rows] * labels[:, None], float(fields["penalty"][i]), task


def evaluated(S, penalty, x):
    """Loss and gradient."""
    margins = S @ x
    value = np.logaddexp(0, -margins).mean() + 0.5 * penalty * x @ x
    return value, penalty * x - expit(-margins) @ S / len(S)


def solved(S, penalty):
    """The minimiser by Newton's method with halved steps, and the Hessian there."""
    x = np.zeros(S.shape[1])
    for _ in range(50):
        p = expit(S @ x)
        hessian = (S * (p * (1 - p))[:, None]).T @ S / len(S) + penalty * np.eye(len(x))
        value, gradient = evaluated(S, penalty, x)
        step, length = np.linalg.solve(hessian, gradient), 1.0
        while length > 1e-8 and evaluated(S, penalty, x - length * step)[0] > value + 1e-16:
            length /= 2
        x = x - length * step
    return x, hessian


def powers(penalty):
    """1 to the cube of the logarithm of the penalty."""
    return np.vander(np.log(np.atleast_1d(penalty)) / 2.3 + 2, 4)


def logistic(table, count):
    """From a fitted start, on one table."""
    family = logistic_regression(table, steps=GRADIENTS)
    other, fresh = family.sample(SOLVED, seed=5).fields, family.sample(count, seed=6).fields
    known = {}
    for i in range(SOLVED):
        S, penalty, task = rows_of(table, other, i)
        known.setdefault(task, []).append((penalty, *solved(S, penalty)))
    fits = {}
    for task, found in known.items():
        penalties, points, hessians = (np.array(each) for each in zip(*found, strict=True))
        values, vectors = np.linalg.eigh(hessians.mean(axis=0))
        fits[task] = np.linalg.lstsq(powers(penalties), points, rcond=None)[0], vectors / np.sqrt(values)
    ends = []
    for i in range(count):
        S, penalty, task = rows_of(table, fresh, i)
        fit, metric = fits[task]
        start, minimum = (powers(penalty) @ fit)[0], float(fresh["minimum"][i])

        def seen(z, M, S=S, penalty=penalty, start=start):
            value, gradient = evaluated(S, penalty, start + M @ z)
            return value, M.T @ gradient

        lowest = [
            lowest_loss(lambda z, M=M: seen(z, M), 0 * start, GRADIENTS).loss for M in (np.eye(len(start)), metric)
        ]
        first = evaluated(S, penalty, 0 * start)[0]
        ends.append((np.array([evaluated(S, penalty, start)[0], *lowest]) - minimum) / (first - minimum))
    names = ("fitted start alone", "fitted start, L-BFGS-B", "fitted start, L-BFGS-B in the metric")
    for name, ratios in zip(names, np.array(ends).T, strict=True):
        told(f"{family.name}: {name}", np.maximum(ratios, 0), 12)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    sparse(lasso(), 9, count)
    sparse(sparse_coding(), 11, count)
    for table in (breast_cancer(), wine(), digits()):
        logistic(table, count // 2)
