"""Rates and digits: what they are on every run, what a bound on their mean says, and that it holds."""

import json
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.stats import binomtest

import pacopt
from laws import ASYMMETRIC, COIN, HALVES, RARE, random_law
from pacopt import Design, Digits, LossTable, Rate, Ratio, certify, verify
from pacopt.errors import DesignError
from pacopt.priors import Search
from streams import SlopeStream

STREAM = SlopeStream()
SCORES = [Rate(7), Rate(1), Digits(3), Digits(0.25), Digits(12)]
#: Losses and starts from the smallest floats to the largest, equal, zero, and failed.
EDGES = [
    (0.0, 0.0),
    (0.0, 1.0),
    (1e-9, 0.0),
    (1.0, 1.0),
    (2.0, 1.0),
    (np.nan, 1.0),
    (np.inf, 1.0),
    (5e-324, 1e308),
    (1e308, 5e-324),
    (5e-324, 5e-324),
    (3e-310, 7e-300),
    (1 - 1e-16, 1.0),
    (0.37, 12.5),
    (1e-8, 1.0),
    (1.7e308, 1.79e308),
]


def exact(score, loss, start):
    """The score in arithmetic of many digits."""
    mpmath.mp.dps = 60
    if not np.isfinite(loss) or loss > start:
        return 1.0
    if loss == 0:
        return 0.0
    ratio = mpmath.mpf(loss) / mpmath.mpf(start)
    if isinstance(score, Rate):
        return float(ratio ** (mpmath.mpf(1) / score.steps))
    return float(1 - min(max(-mpmath.log10(ratio), 0), score.top) / score.top)


@pytest.mark.parametrize("score", SCORES, ids=repr)
def test_a_score_is_what_arithmetic_of_many_digits_says(score):
    losses, starts = np.array(EDGES).T
    expected = [exact(score, *edge) for edge in EDGES]
    np.testing.assert_allclose(score.of(LossTable(losses[None], starts))[0], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose([score.of_run(*edge) for edge in EDGES], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("target", [1.0, 0.3, 1e-9])
def test_the_largest_score_of_a_run_that_reaches_its_target_is_that_of_one_that_just_does(score, target):
    assert score.on_success(target) == pytest.approx(exact(score, target, 1.0), abs=1e-12)


@pytest.mark.parametrize("score", [Rate(3), Digits(2)], ids=repr)
@pytest.mark.parametrize("law", [COIN, RARE, HALVES, ASYMMETRIC, *map(random_law, range(20))], ids=lambda law: law.name)
def test_the_statement_on_a_mean_is_false_with_probability_at_most_epsilon(score, law):
    """Exactly: summed over all tables of a few draws."""
    epsilon, n = 0.3, 4
    design = Design(law.prior, score=score, claims=[pacopt.claims.Risk(1.0)])
    truth = law.mean(score.of(law.whole))

    def false(table):
        return bool(np.any(design.objective.for_candidates(table, design, epsilon) / score.scale < truth - 1e-12))

    assert law.expectation(n, false) <= epsilon


class Unguarded(Digits):
    """Counts a run that failed as one that gained everything."""

    def of(self, table, rows=slice(None)):
        z = Digits.of(self, table, rows)
        return np.where(np.isfinite(table.losses[rows]), z, 0.0)


def test_what_a_bound_on_a_rate_does_not_say_is_false():
    """U^K bounds the geometric mean of the ratio, and fails for the mean."""
    rng = np.random.default_rng(0)
    losses = 10 ** rng.uniform(-6, 0, (1, 400))
    table = LossTable(losses, np.ones(400))
    bound = certify(table, Design.uniform(table, score=Rate(10))).deployed.risk
    geometric, mean = 10 ** (-3.0), (1 - 1e-6) / (6 * np.log(10))
    assert bound**10 >= geometric
    assert bound**10 < mean, "somebody who takes it for a bound on the mean is wrong"


def test_a_score_that_lets_failures_count_as_gains_is_caught():
    with pytest.raises(AssertionError, match="not 1 for runs that failed"):
        pacopt.testing.check_score(Unguarded(4))


@pytest.mark.slow  # the exact sums above see more
@pytest.mark.parametrize("score", [Rate(20), Digits(4)], ids=repr)
def test_certificates_hold_as_often_as_they_say(score):
    rng, epsilon, false, repetitions = np.random.default_rng(1), 0.2, 0, 150
    loc, spread, failing = rng.uniform(-4, -1, 3), rng.uniform(0.2, 1.5, 3), np.array([0.0, 0.02, 0.1])

    def drawn(count):
        losses = 10 ** (loc[:, None] + spread[:, None] * rng.standard_normal((3, count)))
        return LossTable(np.where(rng.random((3, count)) < failing[:, None], np.nan, losses), np.ones(count))

    truth = score.of(drawn(400_000)).mean(axis=1)
    for _ in range(repetitions):
        table = drawn(60)
        certificate = certify(table, Design.uniform(table, score=score), confidence=1 - epsilon)
        weights = np.array(certificate.posterior.weights)
        false += bool(
            certificate.deployed.risk / score.scale < truth[certificate.deployed.index] - 2e-3
            or certificate.posterior.risk / score.scale < weights @ truth - 2e-3
        )
    assert binomtest(false, repetitions, epsilon, alternative="greater").pvalue > 1e-4


@pytest.fixture(scope="module", params=[Rate(), Digits(), pytest.param(Digits(2.5), marks=pytest.mark.slow)], ids=repr)
def learned(request):
    parts = pacopt.split(STREAM.sample(240, 0), prior=40, train=150, test=50, seed=0)
    search = Search(candidates=16, explore=1, rounds=2)
    return pacopt.learn(STREAM.problem, STREAM.algorithm, parts, steps=5, prior=search, score=request.param)


def test_a_score_goes_through_learn_save_load_verify_and_report(learned, tmp_path):
    score = learned.certificate.design.score
    assert score == (Rate(5) if isinstance(score, Rate) else score)
    assert isinstance(score, Rate) or score.top in (2.5, float(np.ceil(score.top)))
    place = learned.save(tmp_path / "run")
    assert verify(place).passed
    again = pacopt.Learned.load(place)
    assert again.certificate.design.score == score
    assert again.certificate.sentences == learned.certificate.sentences
    page = (place / "report.html").read_text()
    words = "contraction factor per step" if isinstance(score, Rate) else "digits gained"
    assert words in page
    assert ("gains on average at least" in str(learned.certificate)) == isinstance(score, Digits)
    z = score.of(learned.table)[learned.certificate.deployed.index]
    assert learned.certificate.deployed.empirical_risk == pytest.approx(score.scale * z.mean(), rel=1e-12)
    assert learned.certificate.deployed.risk > learned.certificate.deployed.empirical_risk
    solution = learned.solve({"a": 1.2})
    monitor = learned.monitor()
    monitor.update(solution)
    other = learned.monitor()
    other.update(score.of_run(solution.run_loss, solution.start_loss))
    assert monitor.evidence == other.evidence


def test_altered_scores_are_not_verified(learned, tmp_path):
    place = learned.certificate.save(tmp_path / "run")
    stored = json.loads((place / "certificate.json").read_text())
    from pacopt.auditing import audit

    table = learned.table
    assert audit(stored, table).passed
    for change in ({"steps": 4}, {"top": 9.0}, {"top": 0.0}, {"steps": 0}, {"name": "ratio"}):
        score = stored["design"]["score"] | change
        if change.keys() <= stored["design"]["score"].keys():
            assert not audit(stored | {"design": stored["design"] | {"score": score}}, table).passed


def test_the_search_minimises_the_score_that_is_asked_for():
    """Ratios are ruled by the instances that go worst, digits are not."""
    parts = pacopt.split(STREAM.sample(500, 3), prior=100, train=300, test=100, seed=1)
    search = Search(candidates=32, explore=1, rounds=3)
    found = {
        score.name: pacopt.learn(STREAM.problem, STREAM.algorithm, parts, steps=5, prior=search, score=score)
        for score in (Ratio(), Digits(6))
    }
    for score, name in ((Ratio(), "ratio"), (Digits(6), "digits")):
        means = {key: score.of(learned.test)[0].mean() for key, learned in found.items()}
        assert means[name] <= min(means.values()) + 1e-9


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Digits(0), "positive number"),
        (lambda: Digits(-3), "positive number"),
        (lambda: Digits("a"), "positive number"),
        (lambda: Digits(np.inf), "positive number"),
        (lambda: Rate(0), "whole number"),
        (lambda: Rate(2.5), "whole number"),
        (lambda: Design.uniform(LossTable(np.ones((1, 9)), np.ones(9)), score=Digits()), "number is missing"),
        (lambda: Design.uniform(LossTable(np.ones((1, 9)), np.ones(9)), score=Rate()), "number is missing"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_no_number_of_steps_or_digits_is_refused(make, words):
    with pytest.raises(DesignError, match=words):
        make()


@pytest.mark.parametrize(
    ("score", "words"),
    [(Digits, "Use pacopt.Digits()"), ("digits", "A score is an object"), (Rate(6), "makes 5 steps")],
    ids=str,
)
def test_what_is_no_score_of_these_runs_is_refused_before_anything_runs(score, words):
    parts = pacopt.split(STREAM.sample(60, 0), prior=20, train=30, test=10, seed=0)
    with pytest.raises(DesignError, match=words.replace("(", r"\(").replace(")", r"\)")):
        pacopt.learn(STREAM.problem, STREAM.algorithm, parts, steps=5, score=score)


def test_a_table_without_starts_has_no_rate_and_no_digits():
    table = LossTable(np.ones((2, 30)))
    for score in (Rate(5), Digits(4)):
        with pytest.raises(pacopt.PacoptError, match="no start losses"):
            certify(table, Design.uniform(table, score=score))


def test_equal_scores_are_equal_and_others_are_not():
    assert Digits(4) == Digits(4.0)
    assert replace(Digits(4), top=5.0) == Digits(5)
    assert Rate(5) != Rate(6)
