"""The paper's two families: what they sample, and the closed forms of the start loss against simulation."""

import numpy as np
import pytest

from pacopt import FixedCurvature, GaussianVector, VaryingCurvature, tabulate
from pacopt import GradientDescent as Descent


def test_the_entries_are_integers_in_the_paper_and_real_in_the_authors_code():
    paper, code = (VaryingCurvature.draw(seed=0, integer_entries=flag).right_hand_side for flag in (True, False))
    for rhs in (paper, code):
        assert np.abs(rhs.mean).max() <= 5
        assert np.abs(rhs.factor).max() <= 5
    assert np.all(paper.factor == np.round(paper.factor))
    assert set(np.unique(paper.factor)) == set(range(-5, 6))
    assert not np.any(code.factor == np.round(code.factor))
    A = np.concatenate([FixedCurvature.draw(seed=seed).A.ravel() for seed in range(8)])
    # Uniform on -10..10 has variance 110/3, the noise adds 1; the tolerance is five standard errors (20,000 entries).
    assert abs(np.var(A) - (110 / 3 + 1)) < 5 * 36 / np.sqrt(len(A))
    assert not np.any(np.round(A) == A)


def test_the_varying_diagonal_is_linear_between_the_roots_of_the_curvatures():
    law = VaryingCurvature.draw(seed=3)
    diagonal = law.sample(4000, seed=4).fields["diagonal"]
    ordered = np.sort(diagonal, axis=1)
    np.testing.assert_allclose(ordered[:, 0] ** 2, law.mu)
    np.testing.assert_allclose(np.diff(ordered, axis=1), np.diff(ordered, axis=1)[:, :1] * np.ones((1, 49)), rtol=1e-9)
    L = ordered[:, -1] ** 2
    assert 1 <= L.min() < L.max() <= 5000
    assert abs(L.mean() - 2500.5) < 5 * 4999 / np.sqrt(12 * 4000)
    # Randomly permuted: every coordinate holds the largest entry equally often (five standard deviations).
    hits = np.bincount(diagonal.argmax(axis=1), minlength=50)
    assert np.abs(hits - 80).max() < 5 * np.sqrt(80)
    assert law.curvature == (0.05, 5000.0)


def test_the_curvature_of_the_fixed_family_is_that_of_its_hessian():
    law = FixedCurvature.draw(seed=1, n=6)
    hessian = law.A.T @ law.A
    np.testing.assert_allclose(law.curvature, np.linalg.eigvalsh(hessian)[[0, -1]], rtol=1e-8)


@pytest.mark.parametrize("law", [FixedCurvature.draw(seed=2, n=4), VaryingCurvature.draw(seed=2, n=4)])
def test_the_closed_forms_agree_with_simulation(law):
    rhs, count = law.right_hand_side, 200_000
    b = law.sample(count, seed=9).fields["b"]
    l0 = 0.5 * np.sum(b**2, axis=1)

    def agrees(sample, exact):
        return abs(sample.mean() - exact) < 5 * sample.std() / np.sqrt(count)

    assert agrees(l0, rhs.mean_start_loss())
    assert agrees(l0**2, rhs.mean_square_start_loss())
    theta = 0.2 / np.linalg.eigvalsh(rhs.covariance).max()
    assert agrees(np.exp(theta * l0), np.exp(rhs.log_mgf_start_loss(theta)))
    np.testing.assert_allclose(np.cov(b.T), rhs.covariance, atol=0.02 * np.abs(rhs.covariance).max())


def test_the_closed_forms_on_an_asymmetric_case_done_by_hand():
    # b = (1 + 2 g, 3) with g standard normal: l0 = ((1 + 2 g)^2 + 9) / 2.
    rhs = GaussianVector(mean=np.array([1.0, 3.0]), factor=np.array([[2.0, 0.0], [0.0, 0.0]]))
    assert rhs.mean_start_loss() == pytest.approx((5 + 9) / 2)
    # E (1 + 2g)^4 = 1 + 6*4 + 16*3 = 73, so E l0^2 = (73 + 2*9*5 + 81) / 4.
    assert rhs.mean_square_start_loss() == pytest.approx((73 + 90 + 81) / 4)
    theta = 0.1
    exact = 0.5 * (theta * 9 + theta / (1 - 4 * theta) - np.log(1 - 4 * theta))
    assert rhs.log_mgf_start_loss(theta) == pytest.approx(exact)
    assert rhs.log_mgf_start_loss(0.0) == 0.0
    assert rhs.log_mgf_start_loss(0.25) == np.inf


def test_the_start_loss_of_the_table_is_the_one_of_the_closed_forms():
    for law in (FixedCurvature.draw(seed=2), VaryingCurvature.draw(seed=2)):
        instances = law.sample(5, seed=1)
        table = tabulate(law.problem, Descent(), {"step_size": 1e-5}, instances, steps=1)
        np.testing.assert_allclose(table.start, 0.5 * np.sum(instances.fields["b"] ** 2, axis=1), rtol=1e-14)
