"""The frontier says for every level what a certificate asked for at that level would say."""

from types import SimpleNamespace

import numpy as np
import pytest

import pacopt
from pacopt import Design, LossTable
from pacopt.errors import DesignError


def certified(rows=30, n=2000, seed=0):
    """The longer the step, the faster and the less sure."""
    rng = np.random.default_rng(seed)
    step = np.linspace(0.0, 1.0, rows)
    losses = 0.9 * (1 - step[:, None]) ** 4 * rng.random((rows, n))
    losses[rng.random((rows, n)) < 0.3 * step[:, None] ** 2] = np.inf
    table = LossTable(losses, np.ones(n), {"step": step})
    design = Design.uniform(table)
    return SimpleNamespace(table=table, design=design, certificate=pacopt.certify(table, design))


def test_every_line_is_the_certificate_of_its_level():
    learned = certified()
    frontier = pacopt.frontier(learned)
    assert len({choice.index for choice in frontier.choices}) > 3, "a steep trade-off"
    for choice in frontier.choices:
        deployed = pacopt.certify(learned.table, learned.design, min_success=choice.level).deployed
        assert (choice.index, choice.hyper, choice.risk, choice.success, choice.quantile) == (
            deployed.index,
            deployed.hyper,
            deployed.risk,
            deployed.success,
            deployed.quantile,
        )
        assert choice.success >= choice.level
    risks = [choice.risk for choice in frontier.choices]
    assert risks == sorted(risks), "more certainty is never faster"
    for level in frontier.unattained:
        assert not pacopt.certify(learned.table, learned.design, min_success=level).attained


def test_the_frontier_can_be_read():
    frontier = pacopt.frontier(certified(), levels=(0.5, 0.9, 1.0))
    text = str(frontier)
    assert "With confidence 0.99, all lines at once" in text
    assert "no candidate can be certified at this level" in text
    assert len(text.splitlines()) == 2 + len({c.index for c in frontier.choices}) + len(frontier.unattained)


@pytest.mark.parametrize("levels", [(), (-0.1, 0.5), (0.5, 1.1), (np.nan,)])
def test_levels_are_probabilities(levels):
    with pytest.raises(DesignError, match="Levels are probabilities"):
        pacopt.frontier(certified(), levels=levels)


def test_a_design_without_success_has_one_line_and_can_be_traded_along_another_claim():
    from pacopt import claims
    from pacopt.tradeoff import candidate_bounds

    table = certified().table
    design = Design.uniform(table, claims=claims.shared_out([claims.Risk(), claims.Quantile()]))
    certificate = pacopt.certify(table, design)
    one = pacopt.frontier(certificate)
    (choice,) = one.choices
    assert (choice.level, choice.index, choice.risk) == (None, certificate.deployed.index, certificate.deployed.risk)
    assert str(one).startswith("With confidence 0.99:")
    assert len(str(one).splitlines()) == 3
    bounds = candidate_bounds(table, design, confidence=0.99)
    several = pacopt.frontier(certificate, along="quantile")
    levels = [choice.level for choice in several.choices]
    assert levels == sorted(set(bounds["quantile"][np.isfinite(bounds["quantile"])].tolist()), reverse=True)
    for choice in several.choices:
        assert choice.quantile <= choice.level
        assert choice.risk == bounds["risk"][bounds["quantile"] <= choice.level].min()
    few = pacopt.frontier(certificate, (1e-9, 0.5), along="quantile")
    assert (few.unattained, few.choices[0].level) == ((1e-9,), 0.5)
    with pytest.raises(DesignError, match="no claim 'speed'"):
        pacopt.frontier(certificate, along="speed")
    with pytest.raises(DesignError, match="Levels are finite"):
        pacopt.frontier(certificate, (np.inf,), along="quantile")
