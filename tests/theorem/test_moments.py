"""Exact: the moment behind every theorem is at most 1 on every law, and the violation probability at most epsilon."""

import numpy as np
import pytest

from laws import HALVES, HUGE_START, LAWS
from statements import EXACT, MOMENTS, VIOLATED

ids = {"ids": lambda value: getattr(value, "name", getattr(value, "__name__", str(value)))}


@pytest.mark.parametrize("bound", MOMENTS, **ids)
@pytest.mark.parametrize("law", LAWS, **ids)
def test_the_moment_is_at_most_one(bound, law):
    for n in (1, 2, 4):
        mean = law.expectation(n, lambda table: MOMENTS[bound](table, law))
        assert mean <= 1 + 1e-10
        if bound in EXACT:
            assert mean == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("bound", VIOLATED, **ids)
@pytest.mark.parametrize("law", [*LAWS[:7], HALVES], **ids)
def test_the_statement_is_false_with_probability_at_most_epsilon(bound, law):
    n = 2 if law is HALVES else 3
    for epsilon in (0.05, 0.5):
        probability = law.expectation(n, lambda table, e=epsilon: float(VIOLATED[bound](table, law, e)))
        assert probability <= epsilon + 1e-12


def test_a_declared_second_moment_holds_on_the_law_that_breaks_a_plug_in():
    for bound in (b for b in VIOLATED if b.__name__ in ("GuaranteedConvergence", "ConditionalOnSuccess")):
        probability = HUGE_START.expectation(60, lambda t, b=bound: float(VIOLATED[b](t, HUGE_START, 0.05)))
        assert probability <= 0.05


def test_a_random_law_has_the_asymmetries_it_promises():
    starts = np.concatenate([law.start for law in LAWS])
    losses = np.concatenate([law.losses.ravel() for law in LAWS])
    assert (starts == 0).any()
    assert np.isnan(losses).any()
    assert np.isinf(losses).any()
    assert any(np.any(law.losses == law.start) for law in LAWS)
