"""Evidence of a monitor, exactly: on finite laws its mean is what Ville and Shiryaev & Roberts say."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest

from pacopt.monitoring import Evidence

#: Scores with their probabilities, and the mean.
LAWS = {
    "failures": ([0.0, 1.0], [0.97, 0.03]),
    "three values": ([0.0, 0.3, 1.0], [0.5, 0.4, 0.1]),
    "often large": ([0.2, 1.0], [0.25, 0.75]),
}
LENGTH = 6


def mean_of(law):
    return float(np.dot(*law))


def moments(law, evidence_against):
    """E R_n and E M_n after each of a few scores, by enumeration."""
    values, chances = law
    found = np.zeros((LENGTH, 2))
    for path in product(range(len(values)), repeat=LENGTH):
        evidence = evidence_against(mean_of(law))
        weight = math.prod(chances[k] for k in path)
        for n, k in enumerate(path):
            evidence.add(values[k])
            found[n] += weight * np.exp([evidence.log_restarting, evidence.log_lasting])
    return found.T


def lawful(law, evidence_against):
    restarting, lasting = moments(law, evidence_against)
    return bool(np.all(restarting <= np.arange(1, LENGTH + 1) + 1e-9) and np.all(lasting <= 1 + 1e-9))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_on_the_boundary_of_the_claim_the_means_are_what_the_theorems_say(law):
    restarting, lasting = moments(law, Evidence.against)
    np.testing.assert_allclose(restarting, np.arange(1, LENGTH + 1), rtol=1e-12)
    np.testing.assert_allclose(lasting, 1.0, rtol=1e-12)


class Boldest(Evidence):
    """The best bet in hindsight, in place of the mean over all."""

    @property
    def log_restarting(self):
        return max(self.log_r)


def boldest(most):
    return Boldest(most, Evidence.against(most).bets, [-math.inf] * 6, [0.0] * 6)


def optimistic(most):
    return Evidence.against(0.95 * most)


class Doubled(Evidence):
    """Counts each score twice."""

    def add(self, z):
        Evidence.add(self, z)
        Evidence.add(self, z)


def doubled(most):
    return Doubled(most, Evidence.against(most).bets, [-math.inf] * 6, [0.0] * 6)


@pytest.mark.parametrize("mutant", [boldest, optimistic, doubled])
def test_evidence_that_is_wrong_is_caught(mutant):
    assert all(lawful(law, Evidence.against) for law in LAWS.values())
    assert not all(lawful(law, mutant) for law in LAWS.values())


@pytest.mark.parametrize("most", [0.0, 1e-3, 0.045, 0.6, 0.999])
def test_evidence_is_what_arithmetic_of_many_digits_says(most):
    mpmath.mp.dps = 40
    rng = np.random.default_rng(3)
    scores = np.where(rng.random(300) < 0.3, 1.0, rng.beta(0.5, 8, 300))
    evidence = Evidence.against(most)
    bets = [mpmath.mpf(bet) for bet in evidence.bets]
    restarting, lasting = [mpmath.mpf(0)] * 6, [mpmath.mpf(1)] * 6
    for z in scores.tolist():
        evidence.add(z)
        factors = [1 + bet * (mpmath.mpf(z) - mpmath.mpf(most)) for bet in bets]
        restarting = [(r + 1) * f for r, f in zip(restarting, factors, strict=True)]
        lasting = [m * f for m, f in zip(lasting, factors, strict=True)]
    assert evidence.log_restarting == pytest.approx(float(mpmath.log(sum(restarting) / 6)), rel=1e-11)
    assert evidence.log_lasting == pytest.approx(float(mpmath.log(sum(lasting) / 6)), rel=1e-11)
    if most > 0.001:
        assert evidence.bets[0] == 0.5
        assert evidence.bets[-1] == pytest.approx(0.95 / most)
