"""The paper's claims, each on several draws of the family; ranges come from the authors' code and from prototypes."""

import json
import re

import numpy as np
import pytest

from pacopt.papers.sucker_ochs_2023.conditioning import conditioning
from pacopt.papers.sucker_ochs_2023.convergence_probability import convergence_probability
from pacopt.papers.sucker_ochs_2023.drawing import draw
from pacopt.papers.sucker_ochs_2023.page import write_page
from pacopt.papers.sucker_ochs_2023.reproduction import Reproduced
from pacopt.papers.sucker_ochs_2023.setting import Variant
from pacopt.papers.sucker_ochs_2023.step_size_posterior import COUNTS, _final_moments, step_size_posterior
from pacopt.papers.sucker_ochs_2023.tightness import bound_tightness
from pacopt.problems import FixedCurvature, GaussianVector

#: Other draws of the family and the other variant: `make slow`. They catch a claim that holds on one draw by luck, and
#: a range that is too narrow for another; what is wrong in the code or in a formula shows on the first draw.
SLOW = pytest.mark.slow


@pytest.fixture(
    scope="module",
    params=[
        (0, Variant.TEXT),
        pytest.param((1, Variant.TEXT), marks=SLOW),
        pytest.param((2, Variant.CODE), marks=SLOW),
    ],
    ids=str,
)
def posterior(request):
    seed, variant = request.param
    return step_size_posterior(seed=seed, variant=variant)


def test_mass_moves_to_the_textbook_with_the_codes_statistic_and_with_the_exact_moment(posterior):
    for statistic in ("code", "moment"):
        assert (np.diff(posterior.distances(statistic)) < 0).all()
        assert posterior.distances(statistic)[-1] < 0.05


def test_with_the_theorem_as_printed_it_does_not(posterior):
    assert not posterior.verdicts[2].holds
    assert posterior.distances("theorem")[-1] > 3 * posterior.distances("moment")[-1]
    means = [posterior.numbers[f"mean/textbook, theorem, {count} steps"] for count in COUNTS]
    # Found on three draws of the authors' code: 0.88 -> 0.81.
    assert 0.75 < min(means) <= max(means) < 0.92


def test_valid_statistics_bound_the_mean_loss_of_the_posterior(posterior):
    """The truth is a closed form: the residual is a normal vector, shrunk by the steps."""
    A, b = posterior.law.A, posterior.law.right_hand_side
    for count in (5, 45):
        weights = {name: posterior.estimates[name, count].weights for name in ("theorem", "moment")}
        heavy = np.flatnonzero(sum(weights.values()) > 1e-4)
        shrink = [
            np.linalg.matrix_power(np.eye(len(A)) - alpha * A @ A.T, count) for alpha in posterior.candidates[heavy]
        ]
        truth = np.array([GaussianVector(R @ b.mean, b.factor @ R).mean_start_loss() for R in shrink])
        for name, values in weights.items():
            assert posterior.estimates[name, count].value > values[heavy] @ truth / values[heavy].sum()
        assert posterior.estimates["moment", count].value <= posterior.estimates["theorem", count].value


def test_a_page_shows_figure_numbers_verdicts_and_tally_and_needs_nothing_but_itself(posterior, tmp_path):
    files = (tmp_path / "fig1-text.png", tmp_path / "fig1-text.pdf")
    drawings = draw("fig1", posterior, files)
    result = Reproduced("fig1", posterior.variant, 1.0, files, posterior.numbers, posterior.verdicts, drawings)
    page = write_page(tmp_path, [result], seed=0).read_text()
    assert page.count("<svg") == 2, "for wide and narrow pages"
    assert page.count('<span class="badge') == len(posterior.verdicts)
    held = sum(verdict.holds for verdict in posterior.verdicts)
    assert f"<b>{held} of 6 hold</b> claims of the paper" in page
    assert f"{posterior.numbers['bound, code, 5 steps']:.4g}" in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert not re.search(r"""(?:src|href)="(?!#|fig1-text\.|reproduction\.json)|@import|url\((?!#)""", page)
    document = json.loads((tmp_path / "reproduction.json").read_text())
    assert document["tally"] == {"paper": {"hold": held, "claims": 6}}
    assert document["figures"][0]["numbers"] == posterior.numbers


def test_the_moment_of_the_final_loss_is_exact():
    law = FixedCurvature.draw(seed=3, n=6)
    _, L = law.curvature
    candidates = np.array([0.5, 1.0, 1.9]) / L
    b = law.right_hand_side
    for count in (1, 4):
        shrink = [np.linalg.matrix_power(np.eye(6) - alpha * law.A @ law.A.T, count) for alpha in candidates]
        expected = [GaussianVector(R @ b.mean, b.factor @ R).mean_square_start_loss() for R in shrink]
        np.testing.assert_allclose(_final_moments(law, candidates, count), expected, rtol=1e-10)


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=SLOW) for seed in range(3)])
def test_the_published_estimate_is_about_six_times_the_mean_and_learned_ten_times_below_the_textbook(seed):
    result = bound_tightness(seed=seed, variant=Variant.TEXT if seed else Variant.CODE)
    numbers = result.numbers
    # The authors' code on three seeds: 6.5 and 11.5; prototypes 5.1 to 6.2, and 10.
    assert 4.5 < numbers["estimate / mean loss"] < 8
    assert 8.5 < numbers["textbook / learned"] < 13
    assert 6e-4 < numbers["step_size"] < 8.5e-4
    assert 0.84 < numbers["momentum"] < 0.93
    held = {verdict.claim: verdict.holds for verdict in result.verdicts}
    assert {claim for claim, holds in held.items() if not holds} == {
        f"the plug-in estimate, N = {n}, is a good estimate of the true mean (within a factor of 2)"
        for n in (100, 1000, 10_000)
    }
    for row in result.rows:
        assert row.absolute / row.absolute_truth < row.plug_in / row.plug_in_truth
    largest = result.rows[-1]
    assert 1 <= largest.relative / largest.relative_truth < 1.1
    assert 1 <= largest.absolute / largest.absolute_truth < 1.15


@pytest.mark.parametrize(
    ("seed", "variant"),
    [
        pytest.param(0, "text", marks=SLOW),
        pytest.param(1, "text", marks=SLOW),
        pytest.param(0, "code", marks=SLOW),
        pytest.param(1, "code", marks=SLOW),
    ],
)
def test_conditioning_speeds_up_and_weaker_guarantees_add_nothing(seed, variant):
    result = conditioning(seed=seed, variant=Variant(variant))
    assert all(verdict.holds for verdict in result.verdicts)
    assert 0.93 <= result.success[0] <= 1.0
    # The authors' code: 4744 / 445; the instances differ.
    assert 7 < result.means[0] / result.means[1] < 14
    steep = result.frontiers["curvature log-normal"].choices
    shallow = result.frontiers["curvature uniform"].choices
    assert steep[-1].risk / steep[0].risk > 1.2 > shallow[-1].risk / shallow[0].risk


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=SLOW) for seed in range(3)])
def test_what_was_asked_for_is_reached_on_all_test_sets(seed):
    levels = np.array([0.1, 0.2, 0.3, 0.5, 0.9])
    result = convergence_probability(seed=seed, variant=Variant.CODE if seed == 2 else Variant.TEXT, levels=levels)
    points, bounds, _ = result.verdicts
    assert points.holds
    assert bounds.holds
    assert (result.lower <= result.frequencies.mean(axis=1)).all()
    # The authors' code on one draw: 0.361 and 0.579; from 0.40 up everything succeeds.
    means = result.frequencies.mean(axis=1)
    assert 0.2 < means[0] < 0.5 < means[1] < 0.9
    assert (means[3:] > 0.95).all()
