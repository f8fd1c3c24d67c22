"""Your own claim: "it gains a factor of a hundred with probability at least ...", beside the default ones.

A claim is a share of the failure probability, a bound and a sentence. Text, frontier, run and verification follow. The
author has to prove that the bound is a theorem; the ledger says that it is declared.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binomtest

import pacopt


class Tail(pacopt.AbstractBound):
    theorem, assumptions = "Clopper & Pearson 1934, at a hundredth of the start", ()

    def for_candidates(self, table, prior, epsilon):
        k, n = (table.losses <= 0.01 * table.start).sum(axis=1), table.shape[1]
        return np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1.0, epsilon * prior.weights), 0.0)

    def for_posterior(self, table, prior, posterior, epsilon):
        return posterior.expectation(self.for_candidates(table, prior, epsilon))


@dataclass(frozen=True)
class Hundredfold(pacopt.AbstractClaim):
    share: float = 0.2
    name, at_least = "hundredfold", True  # larger is better: a lower bound is claimed

    def bound(self, design):
        return Tail()

    def sentence(self, value, subject):
        return f"It ends at or below a hundredth of its start with probability at least {self.shown(value)}."

    @staticmethod
    def recompute(table, weights, level, posterior):
        """Compute the same numbers in another way, for the audit. Without this the claim is not recomputed."""
        counts, n = (table.losses <= 0.01 * table.start).sum(axis=1).tolist(), table.shape[1]
        tests = [binomtest(k, n, alternative="greater") for k in counts]
        values = [test.proportion_ci(1 - level * weight).low for test, weight in zip(tests, weights, strict=True)]
        return np.array(values), posterior @ np.array(values)


# Gradient descent with log-normal curvatures: a bold step gains a lot on most instances and fails on some.
rng = np.random.default_rng(0)
curvature = rng.lognormal(0.0, 0.5, (1, 800))
steps = np.linspace(0.2, 1.4, 13)
start = rng.uniform(1.0, 2.0, 800)
losses = start * (1 - steps[:, None] * curvature) ** (2 * 5)  # five steps, in closed form
table = pacopt.LossTable(losses=losses, start=start, candidates={"step_size": steps})

# The shares are divided by their sum, so that all four claims hold together with confidence 0.99.
claims = pacopt.claims.shared_out([*pacopt.claims.standard_claims(), Hundredfold()])
design = pacopt.Design.uniform(table, claims=claims)
certificate = pacopt.certify(table, design)
print(certificate)

# The claim has its own column, and can be required. You may choose your requirements after looking.
print()
print(pacopt.frontier(certificate))
chosen = pacopt.certify(table, design, require={"success": 0.95, "hundredfold": 0.8})
print()
print(f"Required: success 0.95 and hundredfold 0.8. Attained: {chosen.attained}, with {chosen.deployed.hyper}.")

# Independent code recomputes every number; for this claim, its `recompute` does.
result = pacopt.audit(chosen, table)
print(f"{result.compared} numbers recomputed, all agree: {result.passed}; not recomputed: {result.not_recomputed}.")
