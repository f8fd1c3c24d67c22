"""A gain over baselines goes from learn to certificate, run, audit and report, and nothing wrong is certified."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.stats import binomtest

import pacopt
from pacopt import Baseline, Design, Digits, GradientDescent, HeavyBall, LossTable, Nesterov, Ranged, Rate, certify
from pacopt.auditing import audit
from pacopt.claims import Gain, Win, compared_claims, shared_out, standard_claims
from pacopt.errors import AlgorithmError, CandidatesError, DesignError, TableError
from pacopt.priors import Search
from pacopt.statement import subject_of

LAW = pacopt.VaryingCurvature.draw(seed=0, n=10)
QUICK = Search(candidates=16, explore=1, rounds=2)
BOTH = ("the textbook", "Nesterov, 5 steps")


def learn(baseline, **options):
    parts = pacopt.split(LAW.sample(500, seed=1), prior=80, train=360, test=60, seed=2)
    settings = {"steps": 20, "prior": QUICK, "curvature": LAW.curvature} | options
    return pacopt.learn(LAW.problem, HeavyBall(), parts, baseline=baseline, **settings)


@pytest.fixture(scope="module")
def learned():
    return learn({BOTH[0]: Baseline(), BOTH[1]: Baseline(algorithm=Nesterov(), steps=5)})


def test_a_gain_is_certified_saved_verified_and_shown(learned, tmp_path):
    deployed = learned.certificate.deployed
    assert 1 < deployed.gain < deployed.gain_measured
    assert deployed.gain_nesterov_5_steps > 1
    assert 0.5 < deployed.win <= deployed.win_measured
    assert learned.certificate.posterior.values["gain"] is None
    assert [round(claim.share * 15, 6) for claim in learned.certificate.design.claims] == [6, 2, 2, 4, 1]
    text = str(learned.certificate)
    assert "times smaller than that of the textbook" in text
    assert "over Nesterov, 5 steps" in text
    assert "Baselines: the textbook is HeavyBall with step_size = " in text
    assert "Nesterov, 5 steps is Nesterov with " in text
    assert "the baselines were fixed before the training instances were seen (declared)" in text
    place = learned.save(tmp_path / "run")
    assert pacopt.verify(place).passed
    again = pacopt.Learned.load(place)
    assert str(again.certificate) == str(learned.beside(place).certificate)
    assert again.table.baselines.keys() == set(BOTH)
    page = (place / "report.html").read_text()
    assert "gain over the textbook" in page
    assert "better than the textbook" in page


def test_baselines_are_what_they_would_be_if_they_ran_alone(learned):
    train = learned.train
    standard = HeavyBall().standard(*LAW.curvature)
    alone = pacopt.tabulate(LAW.problem, HeavyBall(), {k: [v] for k, v in standard.items()}, train, steps=20)
    np.testing.assert_allclose(learned.table.baselines[BOTH[0]], alone.losses[0], rtol=1e-9)
    standard = Nesterov().standard(*LAW.curvature)
    alone = pacopt.tabulate(LAW.problem, Nesterov(), {k: [v] for k, v in standard.items()}, train, steps=5)
    np.testing.assert_allclose(learned.table.baselines[BOTH[1]], alone.losses[0], rtol=1e-9)
    assert set(learned.table.provenance["baselines"]) == set(BOTH)


def test_racing_gives_up_no_baseline_and_resuming_changes_nothing(learned, tmp_path):
    options = {BOTH[0]: Baseline(), BOTH[1]: Baseline(algorithm=Nesterov(), steps=5)}
    raced = learn(options, racing=True)
    for name, row in raced.table.baselines.items():
        np.testing.assert_allclose(row, learned.table.baselines[name], rtol=1e-9)
    again = learn(options, checkpoint=tmp_path / "kept")
    assert learn(options, checkpoint=tmp_path / "kept").certificate.to_dict() == again.certificate.to_dict()


def test_a_win_on_next_to_no_instance_is_told_as_none():
    rng, n = np.random.default_rng(0), 400
    ours, others = rng.beta(2, 8, n), {"the textbook": rng.beta(2, 8, n), "Nesterov": np.ones(n)}
    others["the textbook"][1:] = ours[1:] / 2
    others["the textbook"][0] = 2.0
    claims = compared_claims(standard_claims(), tuple(others))
    table = LossTable(losses=ours[None], start=np.ones(n), baselines=others)
    certificate = certify(table, Design.uniform(table, claims=claims))
    assert 0 < certificate.deployed.win < 0.01
    said = "It could not be shown that it ends below the textbook on even 1\u00a0% of instances."
    assert certificate.sentences["win"] == said
    win = certificate.design["win"]
    assert win.shown(certificate.deployed.win) == "none shown"
    assert "e-" not in win.highlight(certificate.deployed.win, subject_of(certificate), certificate.design).value
    text = str(certificate)
    assert "too: Nesterov on at least 9" in text
    swapped = certify(
        table, Design.uniform(table, claims=compared_claims(standard_claims(), ("Nesterov", "the textbook")))
    )
    assert f"\n{said}\n" in str(swapped)
    assert audit(certificate.to_dict(), table).passed


def test_hyperparameters_alone_are_a_baseline():
    one = learn({"step_size": 1e-4, "momentum": 0.5})
    assert "that of the baseline, both" in one.certificate.sentences["gain"]
    none = learn(dict(one.hyper))
    assert none.certificate.deployed.gain is None
    assert none.certificate.sentences["gain"] == "No gain over the baseline could be shown with these instances."
    assert none.certificate.deployed.win == 0.0
    assert "could not be shown" in none.certificate.sentences["win"]
    for score in (Rate(), Digits()):
        other = learn({"step_size": 1e-4, "momentum": 0.5}, score=score)
        assert other.certificate.deployed.gain is not None
        assert ("digits more than" in other.certificate.sentences["gain"]) == isinstance(score, Digits)


@pytest.mark.parametrize(
    ("baseline", "error", "words"),
    [
        (5, DesignError, "baseline is 5"),
        ("mine", DesignError, 'Use "textbook"'),
        (Baseline({"step": 1.0}), CandidatesError, "step"),
        (Baseline({"step_size": np.nan, "momentum": 0.5}), CandidatesError, "nan"),
        (Baseline(steps=0), AlgorithmError, "steps is 0"),
        ({"": Baseline(), "other": 5}, DesignError, "baseline is"),
        ({"a b": Baseline(), "a-b": Baseline()}, DesignError, "name of its own"),
    ],
    ids=str,
)
def test_what_is_no_baseline_is_refused_before_anything_runs(baseline, error, words):
    with pytest.raises((error, pacopt.PacoptError), match=words):
        learn(baseline)


def test_an_algorithm_without_a_textbook_needs_hyperparameters():
    class Plain(pacopt.AbstractAlgorithm):
        hyperparameters = GradientDescent().hyperparameters

        def init(self, x, hyper, objective):
            return x

        def step(self, x, hyper, objective):
            return x - hyper["step_size"] * objective.gradient(x)

        def read(self, x):
            return x

    with pytest.raises(DesignError, match="no textbook for it"):
        learn(Baseline(algorithm=Plain()))


def own_table(**baselines):
    rng = np.random.default_rng(0)
    return LossTable(rng.beta(1, 20, (4, 400)), np.ones(400), baselines=baselines)


def test_a_table_of_ones_own_has_baselines_as_rows(tmp_path):
    base = np.where(np.arange(400) % 50 == 0, np.inf, 0.4)
    table = own_table(default=base)
    claims = compared_claims(standard_claims(), ("default",))
    certificate = certify(table, Design.uniform(table, claims=claims))
    assert certificate.deployed.gain > 5
    place = certificate.save(tmp_path / "run")
    assert pacopt.verify(place).passed
    counts = LossTable(np.full((2, 300), 40.0), candidates={"k": [1, 2]}, baselines={"default": np.full(300, 100.0)})
    design = Design.uniform(counts, score=Ranged(200, unit="iterations"), claims=claims)
    found = certify(counts, design, allow_duplicates=True)
    assert 1.5 < found.deployed.gain < 2.5
    assert "with the safeguard" not in found.sentences["gain"]
    assert found.deployed.win > 0.9


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (np.full(400, np.nan), "has a loss, not negative, on every instance"),
        (np.full(400, -1.0), "not negative"),
        (np.ones(399), "one loss for each run"),
        (np.ones((2, 400)), "one loss for each run"),
        (["a"] * 400, "real numbers"),
    ],
    ids=["missing", "negative", "short", "two rows", "texts"],
)
def test_a_baseline_with_missing_or_impossible_cells_is_refused(row, words):
    with pytest.raises(TableError, match=words):
        own_table(default=row)


def test_a_claim_over_a_baseline_that_is_not_there_is_refused():
    table = own_table(default=np.ones(400))
    with pytest.raises(TableError, match="There is no baseline 'the textbook'"):
        certify(table, Design.uniform(table, claims=shared_out([*standard_claims(), Gain()])))
    for over in ((), ("",), ("a", "A"), 5):
        with pytest.raises(DesignError, match="The baselines are"):
            Win(over=over)
    with pytest.raises(TableError, match="by name"):
        LossTable(np.ones((1, 3)), np.ones(3), baselines=[1.0, 2.0, 3.0])


def test_altered_gains_and_baselines_are_not_verified(learned):
    stored = json.loads(json.dumps(learned.certificate.to_dict()))
    assert audit(stored, learned.table).passed
    for key in ("gain", "gain_measured", "gain_nesterov_5_steps", "win", "win_measured"):
        altered = stored | {"deployed": stored["deployed"] | {key: stored["deployed"][key] * 1.01}}
        assert not audit(altered, learned.table).passed
    worse = {name: 2 * row for name, row in learned.table.baselines.items()}
    from dataclasses import replace

    assert not audit(stored, replace(learned.table, baselines=worse)).passed


def test_gains_hold_as_often_as_they_say():
    rng, false, repetitions, epsilon = np.random.default_rng(3), 0, 150, 0.2
    shape = np.array([3.0, 6.0, 12.0])
    truth = (1 / (1 + shape)) / (1 / 4)  # the baseline has Beta(1, 3)
    for _ in range(repetitions):
        shared = rng.random(50)  # candidate and baseline see the same instance
        losses, base = 1 - shared ** (1 / shape[:, None]), 1 - shared ** (1 / 3)
        losses = np.where(rng.random((3, 50)) < 0.5, losses, 1 - rng.random((3, 50)) ** (1 / shape[:, None]))
        table = LossTable(losses, np.ones(50), baselines={"it": base})
        design = Design.uniform(table, claims=[Gain(1.0, over="it")])
        certificate = certify(table, design, confidence=1 - epsilon)
        gain = certificate.deployed.gain
        false += gain is not None and gain > 1 / truth[certificate.deployed.index] + 1e-9
    assert binomtest(false, repetitions, epsilon, alternative="greater").pvalue > 1e-4


@pytest.mark.parametrize("score", [None, Digits(3)], ids=repr)
def test_with_groups_a_gain_is_over_means_and_a_win_of_the_run_that_leads(score, tmp_path):
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(120), rng.integers(1, 5, 120))
    runs = len(groups)
    losses, base = rng.beta(1, 20, (3, runs)), rng.beta(2, 4, runs)
    grouped = LossTable(losses, np.ones(runs), baselines={"it": base}).grouped(groups, seed=3)
    claims = compared_claims(standard_claims(), ("it",))
    certificate = certify(grouped, Design.uniform(grouped, claims=claims, score=score))
    assert certificate.instances == 120
    assert pacopt.verify(certificate.save(tmp_path / "run")).passed
    index, lead = certificate.deployed.index, grouped.columns.lead
    assert certificate.deployed.win_measured == np.mean(losses[index, lead] < base[lead])
    if score is None:
        means = np.array([[row[groups == g].mean() for g in range(120)] for row in (*losses, base)])
        flat = LossTable(means[:3], np.ones(120), baselines={"it": means[3]})
        alone = certify(flat, Design.uniform(flat, claims=claims))
        assert certificate.deployed.gain == pytest.approx(alone.deployed.gain, rel=1e-9)
        pooled = LossTable(losses, np.ones(runs), baselines={"it": base})
        assert certificate.deployed.gain < certify(pooled, Design.uniform(pooled, claims=claims)).deployed.gain


def test_another_baseline_under_the_same_name_is_another_design(learned):
    other = learn({BOTH[0]: {"step_size": 1e-4, "momentum": 0.5}, BOTH[1]: Baseline(algorithm=Nesterov(), steps=5)})
    assert other.certificate.design["gain"].over == learned.certificate.design["gain"].over
    assert other.certificate.design["gain"] != learned.certificate.design["gain"]
    assert other.certificate.design.hash != learned.certificate.design.hash


def test_by_default_the_gain_is_over_the_textbook_where_there_is_one():
    parts = pacopt.split(LAW.sample(500, seed=1), prior=80, train=360, test=60, seed=2)
    usual = pacopt.learn(LAW.problem, HeavyBall(), parts, steps=20, prior=QUICK)
    names = ("textbook Nesterov", "textbook GradientDescent", "the textbook")
    assert usual.certificate.design["gain"].over == names
    assert set(usual.table.baselines) == set(names)
    assert [row.name for row in usual.comparison.rows] == ["learned", "standard", "prior median", *sorted(names[:2])]
    other = usual.comparison[names[0]]
    alone = pacopt.tabulate(
        LAW.problem,
        Nesterov(),
        {k: [v] for k, v in Nesterov().standard(*usual_curvature(usual)).items()},
        parts.test,
        steps=20,
    )
    assert other.mean == pytest.approx(alone.safeguarded().mean())
    assert other.described.startswith("Nesterov with ")
    assert (
        "gain"
        not in pacopt.learn(LAW.problem, HeavyBall(), parts, steps=20, prior=QUICK, baseline=None).certificate.design
    )
    plain = pacopt.learn(LAW.problem, GradientDescent(), parts, steps=20, prior=QUICK)
    assert plain.certificate.design["gain"].over == ("the textbook",)


def usual_curvature(learned):
    found = learned.origin.curvature
    return found.mu, found.L


def test_an_algorithm_without_a_textbook_makes_no_claim_of_a_gain():
    class Fixed(pacopt.AbstractAlgorithm):
        hyperparameters = {"step_size": pacopt.Interval(1e-6, 1e-3, log=True)}

        def init(self, x, hyper, objective):
            return x

        def step(self, x, hyper, objective):
            return x - hyper["step_size"] * objective.gradient(x)

        def read(self, x):
            return x

    parts = pacopt.split(LAW.sample(100, seed=1), prior=30, train=60, test=10, seed=2)
    assert "gain" not in pacopt.learn(LAW.problem, Fixed(), parts, steps=5, prior=QUICK).certificate.design


def test_hyperparameters_that_were_learned_from_training_instances_are_no_baseline():
    sample = LAW.sample(500, seed=1)
    parts = pacopt.split(sample, prior=80, train=360, test=60, seed=2)
    before = pacopt.learn(LAW.problem, HeavyBall(), parts, steps=20, prior=QUICK, baseline=None)
    with pytest.raises(DesignError, match="was learned from 360 of the training instances"):
        pacopt.learn(LAW.problem, HeavyBall(), parts, steps=20, prior=QUICK, baseline=before)
    with pytest.raises(DesignError, match="'last year' was learned from"):
        pacopt.learn(LAW.problem, HeavyBall(), parts, steps=20, prior=QUICK, baseline={"last year": before})
    fresh = pacopt.split(LAW.sample(500, seed=9), prior=80, train=360, test=60, seed=2)
    after = pacopt.learn(LAW.problem, HeavyBall(), fresh, steps=20, prior=QUICK, baseline={"last year": before})
    assert after.certificate.design["gain"].over == ("last year",)
    np.testing.assert_allclose(
        after.table.baselines["last year"],
        pacopt.tabulate(
            LAW.problem, HeavyBall(), {k: [v] for k, v in before.hyper.items()}, fresh.train, steps=20
        ).losses[0],
        rtol=1e-6,
    )


def test_a_forged_baseline_shows_when_it_is_run_again(learned, tmp_path):
    place = learned.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=1, seed=0).rerun >= 3 * 360
    table = learned.table
    forged = {name: 2 * row for name, row in table.baselines.items()}
    certificate = certify(replace(table, baselines=forged), learned.certificate.design)
    bad = replace(learned, certificate=certificate, table=certificate.table).save(tmp_path / "forged")
    assert pacopt.verify(bad).passed
    result = pacopt.verify(bad, rerun=1, seed=0)
    assert not result.passed
    assert "the baseline" in str(result)


def test_over_the_baselines_of_a_table_of_ones_own_a_gain_is_claimed_by_default():
    rng = np.random.default_rng(0)
    losses, start = rng.uniform(0, 0.1, (3, 400)), np.ones(400)
    table = LossTable(losses, start, baselines={"default": np.full(400, 0.5)})
    certificate = certify(table)
    assert [claim.name for claim in certificate.design.claims] == ["risk", "success", "quantile", "gain", "win"]
    assert 5 < certificate.deployed.gain < certificate.deployed.gain_measured
    assert audit(certificate.to_dict(), table).passed
    informed = Design.informed(table, train=400, quantile_level=0.8)
    assert informed["quantile"].level == 0.8
    assert "gain" in informed
    assert "gain" not in Design.uniform(table, shares=pacopt.Shares())
    assert "gain" not in Design.uniform(table, claims=standard_claims())


def test_a_baseline_without_seeds_stands_beside_every_run_of_a_random_algorithm():
    class Noisy(pacopt.AbstractStochasticAlgorithm):
        hyperparameters = {"step_size": pacopt.Interval(1e-5, 1e-3, log=True)}

        def init(self, x, hyper, objective, key):
            return x

        def step(self, x, hyper, objective, key):
            return x - hyper["step_size"] * (objective.gradient(x) + 0.01 * jax.random.normal(key, x.shape))

        def read(self, x):
            return x

    parts = pacopt.split(LAW.sample(90, seed=1), prior=30, train=50, test=10, seed=2)
    plain = {"plain": Baseline({"step_size": 1e-4}, algorithm=GradientDescent())}
    found = pacopt.learn(LAW.problem, Noisy(), parts, steps=5, prior=QUICK, replicates=2, baseline=plain)
    pairs = found.table.baselines["plain"].reshape(50, 2)
    np.testing.assert_array_equal(pairs[:, 0], pairs[:, 1])
    assert audit(found.certificate.to_dict(), found.table).passed


def tuned_elsewhere(hyper, instance):
    """Gradient descent by NumPy, as a solver of somebody else's."""
    a, b = instance["diagonal"], instance["b"]
    x = np.zeros_like(b)
    for _ in range(20):
        x = x - hyper["step"] * a * (a * x - b)
    return pacopt.Result(loss=0.5 * np.sum((a * x - b) ** 2), start_loss=hyper["unit"] * 0.5 * np.sum(b**2))


def elsewhere(unit):
    space = {"step": pacopt.Interval(1e-5, 1.0, log=True), "unit": pacopt.Interval(0.5, 2.0)}
    return Baseline(engine=pacopt.BlackBox(tuned_elsewhere, space, defaults={"step": 1e-4, "unit": unit}))


def test_a_gain_over_any_solver_is_the_gain_over_the_same_algorithm_in_jax(tmp_path):
    inside = learn({"it": Baseline({"step_size": 1e-4}, algorithm=pacopt.GradientDescent())})
    outside = learn({"it": elsewhere(1.0)})
    np.testing.assert_allclose(outside.table.baselines["it"], inside.table.baselines["it"], rtol=1e-9)
    assert outside.certificate.deployed.gain == pytest.approx(inside.certificate.deployed.gain, rel=1e-9)
    assert "it is tuned_elsewhere with step = 0.0001" in str(outside.certificate)
    words = "the losses reported for other solvers (it) are losses of this problem at the points they return (declared)"
    assert words in str(outside.certificate)
    assert words not in str(inside.certificate)
    answer = pacopt.verify(outside.save(tmp_path / "run"), rerun=3)
    assert answer.passed
    assert "the baseline 'it', whose code is not at hand, was not run again" in str(answer)


def test_a_solver_of_another_problem_is_no_baseline():
    with pytest.raises(DesignError, match="On training instance 0 the baseline 'it' starts at the loss"):
        learn({"it": elsewhere(2.0)})
    with pytest.raises(DesignError, match="It has an engine, or an algorithm with its steps"):
        learn({"it": Baseline(engine=elsewhere(1.0).engine, steps=5)})
    with pytest.raises(DesignError, match="It has an engine, or an algorithm with its steps"):
        learn({"it": Baseline(engine=tuned_elsewhere)})


def test_a_run_is_verified_in_whatever_order_its_baselines_were_named(tmp_path):
    """A stored table does not keep their order, and the curves of a run do."""
    other, nesterov = (
        Baseline({"step_size": 1e-4}, algorithm=pacopt.GradientDescent()),
        Baseline(algorithm=pacopt.Nesterov()),
    )
    found = learn({"second": other, "first": nesterov})
    assert pacopt.verify(found.save(tmp_path / "run")).passed
