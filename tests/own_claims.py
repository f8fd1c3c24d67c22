"""Claims as a user writes them, with bounds of their own."""

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc, betaincinv

import pacopt


class Tail(pacopt.AbstractBound):
    """P(ratio <= 0.05) >= ..., by the binomial tail."""

    theorem, assumptions = "Clopper & Pearson 1934, for a threshold", ()

    def for_candidates(self, table, prior, epsilon):
        k, n = (table.ratios() <= 0.05).sum(axis=1), table.shape[1]
        return np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1.0, epsilon * prior.weights), 0.0)

    def for_posterior(self, table, prior, posterior, epsilon):
        return posterior.expectation(self.for_candidates(table, prior, epsilon))


@dataclass(frozen=True)
class Solved(pacopt.AbstractClaim):
    share: float = 0.2
    name, at_least = "solved", True

    def bound(self, design):
        return Tail()

    def sentence(self, value, subject):
        return f"It ends at or below a twentieth of its start with probability at least {self.shown(value)}."


@dataclass(frozen=True)
class Recomputed(Solved):
    """The same with a formula for the audit, written otherwise: a bisection on the tail."""

    name = "recomputed"

    def recompute(self, table, weights, level, posterior):
        good, n = (table.losses <= 0.05 * table.start).sum(axis=1), table.shape[1]
        low, high = np.zeros(len(good)), np.ones(len(good))
        for _ in range(80):
            middle = (low + high) / 2
            inside = bdtrc(np.maximum(good - 1, 0), n, middle) < level * weights
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        values = np.where(good > 0, low, 0.0)
        return values, float(posterior @ values)
