import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacopt import DiscreteMeasure
from pacopt.bounds.exponential_family import gibbs_posterior, log_partition
from pacopt.errors import MeasureError

SUPPORT = {"a": np.arange(4.0)}
simplex = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).dirichlet(np.full(4, 0.5)))
exponents = st.lists(st.floats(-50, 50), min_size=4, max_size=4).map(np.array)


@given(simplex, simplex)
def test_divergence_is_positive_and_zero_only_between_equals(q, p):
    q, p = DiscreteMeasure.of(SUPPORT, q), DiscreteMeasure.of(SUPPORT, p)
    assert q.kl(p) >= 0
    assert q.kl(q) == pytest.approx(0, abs=1e-12)


@given(simplex, simplex, exponents)
def test_donsker_and_varadhan_the_log_partition_is_the_supremum(pi, q, s):
    prior, q = DiscreteMeasure.of(SUPPORT, pi), DiscreteMeasure.of(SUPPORT, q)
    kappa = log_partition(prior, s)
    gibbs = gibbs_posterior(prior, s)
    assert gibbs.expectation(s) - gibbs.kl(prior) == pytest.approx(kappa, abs=1e-9)
    assert q.expectation(s) - q.kl(prior) <= kappa + 1e-9


def test_weights_that_are_no_probability_are_refused():
    for weights, message in (
        ([0.5, 0.5, 0.5, 0.0], "sum to 1.5"),
        ([0.5, 0.6, -0.1, 0.0], "candidate 2 is -0.1"),
        ([0.5, 0.5, np.nan, 0.0], "candidate 2 is nan"),
        ([1.0], "one weight for each candidate"),
        ([0.0] * 4, "sum to 0"),
    ):
        with pytest.raises(MeasureError, match=message):
            DiscreteMeasure.of(SUPPORT, weights)


def test_candidates_without_weight_do_not_matter():
    q = DiscreteMeasure.of(SUPPORT, [0.5, 0.0, 0.5, 0.0])
    assert q.expectation(np.array([1.0, np.inf, 3.0, np.nan])) == 2.0
    assert q.kl(DiscreteMeasure.uniform(SUPPORT)) == pytest.approx(np.log(2))
    assert DiscreteMeasure.uniform(SUPPORT).kl(q) == np.inf
    assert set(q.sample(1000, seed=0)) == {0, 2}
    with pytest.raises(MeasureError, match="None of the selected"):
        q.restrict(np.array([False, True, False, True]))
    assert q.dirac(2).weights.tolist() == [0, 0, 1, 0]


def test_sampling_follows_the_weights():
    q = DiscreteMeasure.of(SUPPORT, [0.1, 0.2, 0.3, 0.4])
    hits = np.bincount(q.sample(20_000, seed=1), minlength=4) / 20_000
    assert np.abs(hits - q.weights).max() < 5 * np.sqrt(0.25 / 20_000)
