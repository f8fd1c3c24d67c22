"""Every verdict can come out negative: each is fed numbers on which the claim is false."""

import numpy as np
import pytest

from pacopt.papers.sucker_ochs_2023.verdicts import (
    above_diagonal,
    admits_only_able,
    beats_textbook,
    bound_holds,
    good_estimate,
    lay_above,
    mass_moves_to_textbook,
    no_further_acceleration,
    no_mass_beyond,
    tallies,
)

RNG = np.random.default_rng(0)
LOSSES = RNG.lognormal(size=200)
LEVELS = np.array([0.1, 0.5, 0.9])


@pytest.mark.parametrize(
    ("verdict", "true", "false"),
    [
        (lambda d: mass_moves_to_textbook(np.array(d), "x"), [0.3, 0.2, 0.1], [0.1, 0.2, 0.3]),
        (lambda d: mass_moves_to_textbook(np.array(d), "x"), [0.3, 0.2, 0.1], [0.3, 0.1, 0.1]),
        (lambda m: no_mass_beyond(np.array(m), "x"), [1e-5, 0.0], [1e-5, 0.02]),
        (lambda losses: beats_textbook(losses, LOSSES), 0.5 * LOSSES, LOSSES),
        (lambda losses: beats_textbook(losses, LOSSES), 0.5 * LOSSES, 2 * LOSSES),
        (lambda losses: beats_textbook(losses, LOSSES), 0.5 * LOSSES, np.where(np.arange(200) == 0, 0.0, LOSSES)),
        (lambda means: no_further_acceleration(np.array(means), 0.9), [100.0, 95.0, 120.0], [100.0, 50.0, 20.0]),
        (
            lambda p: above_diagonal(LEVELS, np.array(p), "x"),
            [[0.1, 0.2], [0.6, 0.5], [1, 1]],
            [[0.1, 0.2], [0.49, 0.5], [1, 1]],
        ),
        (lambda shares: admits_only_able(np.array(shares)), [0.0, 0.005], [0.0, 0.02]),
        (lambda value: lay_above(value, 3.0, "estimate"), 3.0, 2.9),
        (lambda value: good_estimate(value, 3.0, "estimate"), 5.9, 6.1),
        (lambda bound: bound_holds(bound, 3.0, "bound"), 3.0, 2.999),
    ],
)
def test_a_verdict_follows_the_numbers(verdict, true, false):
    assert verdict(true).holds
    assert not verdict(false).holds
    assert str(verdict(true)).startswith("holds")
    assert str(verdict(false)).startswith("DOES NOT HOLD")


def test_a_tally_counts_claims_of_the_paper_and_certificates_of_pacopt_apart():
    verdicts = [lay_above(3.0, 2.0, "estimate"), good_estimate(9.0, 2.0, "estimate"), bound_holds(3.0, 2.0, "bound")]
    assert {source: str(tally) for source, tally in tallies(verdicts).items()} == {
        "paper": "1 of 2 hold",
        "pacopt": "1 of 1 holds",
    }
    assert tallies([]) == {}
