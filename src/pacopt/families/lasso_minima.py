"""Minima of many LASSO problems that share a dictionary, proven by dual points."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from pacopt.errors import ProblemError

Matrix = Float[np.ndarray, "m n"]
Points = Float[np.ndarray, "count n"]
Numbers = Float[np.ndarray, " count"]

#: A minimum must be proven to this fraction of the loss at zero, or else it is an error.
PROVEN = 1e-12
#: Lower bounds are reduced by this fraction of the loss at zero, so that rounding errors cannot invalidate them.
ROUNDING = 1e-15
#: The number of accelerated steps between attempts to solve on the support, and the limit on attempts.
STEPS, ATTEMPTS = 60, 200
#: The number of problems solved side by side.
SIDE_BY_SIDE = 500


class Proven(NamedTuple):
    """Minimisers, a lower bound on each minimum, and how far the loss at the minimiser is above that bound."""

    x: Points
    lower: Numbers
    gap: Numbers


def proven_minima(A: Matrix, b: Float[np.ndarray, "count m"], penalty: Numbers) -> Proven:
    """The minima of 1/2 |A x - b|^2 + penalty |x|_1, one for each row of b, proven to 1e-12 of the loss at zero.

    For every u with |A'u|_inf <= penalty, b'u - |u|^2 / 2 is a lower bound on the minimum: the loss is at least
    -|u|^2 / 2 - u'(A x - b) + penalty |x|_1, and u'A x <= penalty |x|_1. Here u is the residual b - A x, shrunk until
    it is feasible. The returned bound is reduced by 1e-15 of the loss at zero, which exceeds the rounding errors of
    both.

    Accelerated proximal gradient steps find the nonzero entries. Given these and their signs, x solves a linear system;
    its dual point shows whether that was right, and if not, the steps continue from where they stopped.
    """
    parts = [
        _chunk(A, b[start : start + SIDE_BY_SIDE], penalty[start : start + SIDE_BY_SIDE])
        for start in range(0, len(b), SIDE_BY_SIDE)
    ]
    return Proven(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def bounds(A: Matrix, b: Float[np.ndarray, "count m"], penalty: Numbers, x: Points) -> tuple[Numbers, Numbers]:
    """The loss at x and the lower bound on the minimum proven by the dual point of x, for each row."""
    residual = b - x @ A.T
    loss = 0.5 * np.sum(residual**2, axis=1) + penalty * np.abs(x).sum(axis=1)
    steepest = np.abs(residual @ A).max(axis=1)
    u = residual * np.minimum(1.0, penalty / np.where(steepest > 0, steepest, 1.0))[:, None]
    start = 0.5 * np.sum(b**2, axis=1)
    return loss, np.sum(b * u, axis=1) - 0.5 * np.sum(u**2, axis=1) - ROUNDING * start


def _chunk(A: Matrix, b: Float[np.ndarray, "count m"], penalty: Numbers) -> Proven:
    gram, L = A.T @ A, float(np.linalg.norm(A, 2)) ** 2
    start = 0.5 * np.sum(b**2, axis=1)
    kept = np.zeros((len(b), A.shape[1]))
    best, lower = np.full(len(b), np.inf), np.full(len(b), -np.inf)
    left, x = np.arange(len(b)), kept.copy()
    for _ in range(ATTEMPTS):
        x = _accelerated(A, b[left], penalty[left], x, L)
        for tried in (x, _solved(gram, b[left] @ A, penalty[left], x)):
            loss, bound = bounds(A, b[left], penalty[left], tried)
            # The highest bound and the lowest loss make the proof together, whichever points they come from.
            lower[left] = np.maximum(lower[left], bound)
            better = loss < best[left]
            kept[left[better]], best[left] = tried[better], np.minimum(best[left], loss)
        open_ = best[left] - lower[left] > PROVEN * start[left]
        left, x = left[open_], x[open_]
        if not len(left):
            return Proven(kept, lower, best - lower)
    raise ProblemError(
        f"{len(left)} of {len(b)} minima are not proven to {PROVEN:g} of the loss at zero.",
        "All of them must be, because gaps are measured from a known minimum.",
        "The dictionary may have nearly identical columns, so that minimisers are not unique.",
        "Remove such columns, or use larger penalties.",
    )


def _accelerated(A: Matrix, b: Float[np.ndarray, "count m"], penalty: Numbers, x: Points, L: float) -> Points:
    """The points after FISTA steps, restarted separately for each row."""
    ahead, t, threshold = x, np.ones((len(x), 1)), (penalty / L)[:, None]
    for _ in range(STEPS):
        moved = ahead - ((ahead @ A.T - b) @ A) / L
        new = moved - np.clip(moved, -threshold, threshold)
        move = new - x
        uphill = np.einsum("ij,ij->i", ahead - new, move)[:, None] > 0
        following = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * t**2)) / 2)
        ahead = new + np.where(uphill, 0.0, (t - 1) / following) * move
        x, t = new, following
    return x


def _solved(gram: Float[np.ndarray, "n n"], correlation: Points, penalty: Numbers, x: Points) -> Points:
    """The stationary point with the signs of x, with zeros where an entry is not finite or has the wrong sign."""
    count = np.count_nonzero(x, axis=1)
    most = int(count.max())
    if most == 0:
        return x
    # Columns of the support come first; rows outside the support are those of the identity.
    order = np.argsort(x == 0, axis=1, kind="stable")[:, :most]
    used: Bool[np.ndarray, "count most"] = np.arange(most) < count[:, None]
    system = gram[order[:, :, None], order[:, None, :]] * (used[:, :, None] & used[:, None, :])
    system[:, np.arange(most), np.arange(most)] += ~used
    sign = np.sign(np.take_along_axis(x, order, axis=1))
    right = np.where(used, np.take_along_axis(correlation, order, axis=1) - penalty[:, None] * sign, 0.0)
    try:
        entries = np.linalg.solve(system, right[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return x
    found = np.zeros_like(x)
    np.put_along_axis(found, order, np.where(used & (entries * sign > 0), entries, 0.0), axis=1)
    return np.where(np.isfinite(found), found, 0.0)
