"""An Optuna study is certified by its best trials, and any sampler of Optuna searches for `learn`."""

import inspect
import json
import sys

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import binom

import pacopt
from alone import run_fresh
from pacopt import BlackBox, Choice, Instances, Interval, Ranged, Result, Whole
from pacopt.auditing import audit
from pacopt.errors import CandidatesError, EngineError, InstancesError, PriorError
from pacopt.priors import BestTrials, Search, Study
from pacopt.testing import check_prior

SPACE = {"damping": Interval(0.05, 1.9), "rule": Choice("plain", "eager")}
DEFAULTS = {"damping": 0.3, "rule": "plain"}


@pytest.fixture(autouse=True)
def silence():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    assert optuna.logging.get_verbosity() == optuna.logging.ERROR, "what the user set stays"
    optuna.logging.set_verbosity(before)


def contracted(hyper, instance):
    """Ten steps towards 0, with a factor that depends on the instance: too large a damping diverges on some."""
    start = float(instance["x"])
    factor = abs(1 - hyper["damping"] * float(instance["curvature"])) * (1.2 if hyper["rule"] == "eager" else 1.0)
    return Result(loss=start * factor**10, start_loss=start, iterations=10, x=np.array([start * factor**10]))


def drawn(count, seed=0, groups=None):
    rng = np.random.default_rng(seed)
    return Instances({"x": rng.lognormal(size=count), "curvature": rng.uniform(0.5, 1.5, count)}, groups)


def parts(seed=0):
    return pacopt.split(drawn(300, seed), prior=60, train=200, test=40, seed=seed)


def mean_loss(hyper, instances):
    found = [contracted(hyper, instance) for instance in instances]
    return float(np.mean([min(1.0, run.loss / run.start_loss) for run in found]))


def suggested(trial):
    return {
        "damping": trial.suggest_float("damping", 0.05, 1.9),
        "rule": trial.suggest_categorical("rule", ["plain", "eager"]),
    }


def study_on(instances, trials=40, *, recorded=True, **options):
    def objective(trial):
        if recorded:
            pacopt.seen_by(trial, instances)
        return mean_loss(suggested(trial), instances)

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1), **options)
    study.optimize(objective, n_trials=trials)
    return study


def study_of(rows, direction="minimize", **distributions):
    """A study with these trials, each of a value and parameters."""
    study = optuna.create_study(direction=direction)
    for value, params in rows:
        kinds = {name: distributions.get(name, FloatDistribution(0, 2)) for name in params}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=kinds, value=value))
    return study


@pytest.fixture(scope="module")
def certified():
    split = parts()
    study = study_on(split.prior)
    return study, split, pacopt.certify_study(study, contracted, split, top=20, defaults=DEFAULTS)


# What is certified


def test_the_best_distinct_trials_are_the_candidates_and_the_training_split_certifies_them(certified):
    study, split, learned = certified
    ranked = sorted(study.trials, key=lambda trial: trial.value)
    best = {tuple(trial.params.items()): trial.number for trial in reversed(ranked)}
    wanted = [trial.params for trial in ranked if best[tuple(trial.params.items())] == trial.number][:20]
    rows = [learned.table.hyper(row) for row in range(20)]
    assert sorted(map(str, rows)) == sorted(map(str, wanted))
    numbers = learned.origin.study.numbers
    assert all(study.trials[number].params == row for number, row in zip(numbers, rows, strict=True))
    losses = [[contracted(row, instance).loss for instance in split.train] for row in rows]
    assert np.array_equal(learned.table.losses, losses)
    assert audit(learned.certificate.to_dict(), learned.table).passed
    assert learned.certificate.deployed.risk >= mean_loss(learned.hyper, split.train)
    assert learned.certificate.deployed.gain > 1
    assert learned.certificate.deployed.weight > 0.4


def test_it_is_what_learn_returns_with_the_best_trials_as_prior(certified):
    study, split, learned = certified
    engine = BlackBox(contracted, BestTrials(study, 20).domain, defaults=DEFAULTS)
    again = pacopt.learn(engine, split, prior=BestTrials(study, 20))
    assert again.certificate.to_dict() == learned.certificate.to_dict()
    assert str(again.certificate) == str(learned.certificate)


def test_everything_that_learn_can_be_told_can_be_told_here_with_the_same_default():
    ours, theirs = (inspect.signature(each).parameters for each in (pacopt.certify_study, pacopt.learn))
    own = {"study", "solve", "split", "top", "defaults"}
    assert {name: each.default for name, each in ours.items() if name not in own} == {
        name: theirs[name].default for name in ours if name not in own
    }
    assert theirs.keys() - ours.keys() == {
        *("problem", "algorithm", "prior"),
        *("steps", "success", "curvature", "dtype"),  # which an engine knows
    }


def test_it_is_saved_verified_run_again_loaded_deployed_and_shown(certified, tmp_path):
    study, split, learned = certified
    engine = BlackBox(contracted, BestTrials(study, 20).domain, defaults=DEFAULTS)
    place = learned.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=5, seed=0, engine=engine).passed
    again = pacopt.Learned.load(place, engine=engine)
    assert str(again.certificate) == str(learned.certificate)
    assert again.origin.study == learned.origin.study
    assert again.solve(split.test[0]).loss == contracted(learned.hyper, split.test[0]).loss
    page = (place / "report.html").read_text()
    assert "the 20 best different trials of the Optuna study of 40 trials, 40 of which completed" in page
    assert "40 trials recorded what they saw" in page
    assert "damping in [0.05, 1.9]" in page


def test_the_study_keeps_the_certificate_in_any_storage(tmp_path):
    split, storage = parts(), f"sqlite:///{tmp_path}/studies.db"
    study = study_on(split.prior, 12, storage=storage, study_name="damping")
    learned = pacopt.certify_study(study, contracted, split, top=5)
    found = optuna.load_study(study_name="damping", storage=storage).user_attrs["pacopt:certificate"]
    assert found["sentences"]["risk"] == learned.certificate.sentences["risk"]
    assert found["numbers"]["risk"] == learned.certificate.deployed.risk
    assert found["hyper"] == learned.hyper == study.trials[found["trial"]].params
    assert found["hash"] == learned.certificate.to_dict()["hash"]
    assert any("used no training instance (declared)" in line for line in found["rests_on"])
    assert len(json.dumps(found)) < 8000
    assert learned.origin.study.name == "damping"
    assert "trials of the Optuna study &#39;damping&#39;" in pacopt.report_html(learned)


def test_a_storage_that_fails_loses_nothing(monkeypatch):
    split = parts()
    study = study_on(split.prior, 8)

    def away(key, value):
        raise OSError("the database has gone away")

    monkeypatch.setattr(study, "set_user_attr", away)
    with pytest.warns(UserWarning, match="its storage did not take the certificate .OSError: the database has gone"):
        assert pacopt.certify_study(study, contracted, split, top=3).certificate.deployed.risk < 1


def test_a_second_certificate_with_the_same_training_instances_says_so(tmp_path):
    split = parts()
    study = study_on(split.prior, 12)
    first = pacopt.certify_study(study, contracted, split, top=5)
    assert pacopt.certify_study(study, contracted, split, top=5).certificate.earlier == first.certificate.earlier == 0
    second = pacopt.certify_study(study, contracted, split, top=6)
    assert second.certificate.earlier == 1
    assert "One earlier certificate was made with some of these training instances." in str(second.certificate)
    place = second.save(tmp_path / "second")
    assert pacopt.verify(place).passed
    assert pacopt.Certificate.load(place).earlier == 1
    other = pacopt.Split(split.prior, drawn(200, 9), split.test)
    assert pacopt.certify_study(study, contracted, other, top=5).certificate.earlier == 0


def test_without_prior_instances_the_ranks_of_the_study_are_the_weights():
    split = pacopt.split(drawn(240), prior=0, train=200, test=40, seed=0)
    study = study_on(drawn(60, 5), 20)
    learned = pacopt.certify_study(study, contracted, split, top=10)
    weights = learned.certificate.design.prior.weights
    assert list(learned.origin.study.numbers) == [trial.number for trial in BestTrials(study, 10).best]
    assert weights[0] > 0.5
    assert (np.diff(weights) < 0).all()
    assert weights[9] == pytest.approx(0.45 * 0.1 / (1 / np.arange(1, 11)).sum() + 0.05 / 10)
    assert audit(learned.certificate.to_dict(), learned.table).passed


def test_an_algorithm_in_jax_takes_its_candidates_from_a_study_too():
    law = pacopt.VaryingCurvature.draw(seed=0, n=5)
    split = pacopt.split(law.sample(60, seed=1), prior=20, train=40, test=0, seed=2)
    engine, rng = pacopt.Traced(law.problem, pacopt.HeavyBall(), 5), np.random.default_rng(0)
    study = study_of([(float(i), {"step_size": rng.uniform(0, 1e-3), "momentum": rng.uniform()}) for i in range(8)])
    learned = pacopt.certify_study(study, engine, split, top=6)
    assert learned.hyper in [trial.params for trial in study.trials[:6]]
    direct = pacopt.learn(law.problem, pacopt.HeavyBall(), split, steps=5, prior=BestTrials(study, 6))
    assert direct.certificate.to_dict()["deployed"] == learned.certificate.to_dict()["deployed"]
    with pytest.raises(EngineError, match="An engine has its own defaults"):
        pacopt.certify_study(study, engine, split, defaults=DEFAULTS)


# Which trials


def test_only_trials_that_did_their_work_are_candidates_the_best_of_equal_ones_once():
    study = study_of([(3.0, {"a": 0.1}), (1.0, {"a": 0.2}), (2.0, {"a": 0.2}), (float("inf"), {"a": 0.3})])
    kinds = {"distributions": {"a": FloatDistribution(0, 2)}, "params": {"a": 0.5}}
    study.add_trial(optuna.trial.create_trial(**kinds, value=0.0, constraints={"too hot": 1.0}))
    for state in (optuna.trial.TrialState.PRUNED, optuna.trial.TrialState.FAIL):
        study.add_trial(optuna.trial.create_trial(**kinds, state=state))
    study.ask({"a": FloatDistribution(0, 2)})
    assert [trial.number for trial in BestTrials(study).best] == [1, 0]
    assert BestTrials(study, top=1).best[0].params == {"a": 0.2}


def test_the_best_of_a_study_that_maximises_is_the_largest():
    study = study_of([(3.0, {"a": 0.1}), (5.0, {"a": 0.2}), (4.0, {"a": 0.3})], "maximize")
    assert [trial.value for trial in BestTrials(study).best] == [5.0, 4.0, 3.0]


def test_the_space_is_that_of_the_study():
    kinds = {
        "rate": FloatDistribution(1e-4, 1.0, log=True),
        "grid": FloatDistribution(0.0, 1.0, step=0.25),
        "memory": IntDistribution(1, 64, log=True),
        "fixed": IntDistribution(7, 7),
        "rule": CategoricalDistribution(["a", "b"]),
        "warm": CategoricalDistribution([True, False]),
    }
    params = {"rate": 0.1, "grid": 0.25, "memory": 8, "fixed": 7, "rule": "b", "warm": False}
    wider = {**kinds, "rate": FloatDistribution(1e-4, 10.0, log=True)}
    study = study_of([(1.0, params)], **kinds)
    study.add_trial(optuna.trial.create_trial(params=params | {"rate": 5.0}, distributions=wider, value=2.0))
    assert BestTrials(study).domain == {
        "fixed": Choice(7),
        "grid": Interval(0.0, 1.0),
        "memory": Whole(1, 64, log=True),
        "rate": Interval(1e-4, 10.0, log=True),
        "rule": Choice("a", "b"),
        "warm": Choice(True, False),
    }
    seen = []

    def solve(hyper, instance):
        seen.append(hyper)
        return abs(float(instance["x"]) - hyper["rate"])

    split = pacopt.split(Instances({"x": np.linspace(0, 1, 30)}), prior=5, train=20, test=5, seed=0)
    learned = pacopt.certify_study(study, solve, split, score=Ranged(10.0))
    assert learned.hyper == params
    assert {type(value) for value in (seen[0]["memory"], seen[0]["fixed"])} == {int}
    assert seen[0]["warm"] is False


def test_a_value_at_the_edge_of_the_study_is_remarked_on_in_the_words_of_a_study():
    split = pacopt.split(Instances({"x": np.linspace(0, 1, 60)}), prior=10, train=40, test=10, seed=0)
    study = study_of([(1.0, {"a": 2.0}), (2.0, {"a": 1.0})])
    learned = pacopt.certify_study(study, lambda hyper, instance: 3 - hyper["a"], split, score=Ranged(3.0))
    assert learned.remarks == (
        "a = 2 is at the edge of the range that was searched, [0, 2]: to look further, make a study of a wider range, "
        "and certify it with new training instances",
    )


@pytest.mark.parametrize(
    ("study", "error", "says"),
    [
        (optuna.trial.create_trial(value=1.0), PriorError, "A FrozenTrial was given. A study of Optuna is needed."),
        (study_of([]), PriorError, "Of the 0 trials of the study, 0 completed with a finite value."),
        (study_of([(float("inf"), {"a": 1.0})]), PriorError, "Of the 1 trials of the study, 0 completed"),
        (study_of([(1.0, {})]), CandidatesError, "The trials of the study have no parameters."),
        (
            study_of([(1.0, {"a": 1.0}), (2.0, {"a": 1.0, "b": 1.0})]),
            CandidatesError,
            "Trial 0 has the parameters a, and trial 1, which is among the 2 best too, has a, b.",
        ),
        (
            study_of([(1.0, {"rule": None})], rule=CategoricalDistribution([None, "l1"])),
            CandidatesError,
            "The parameter 'rule' of the study is one of None, 'l1'. pacopt chooses between texts",
        ),
    ],
    ids=["no study", "no trials", "infinite", "no parameters", "conditions", "None"],
)
def test_studies_that_make_no_candidates_are_refused(study, error, says):
    split = pacopt.split(Instances({"x": np.linspace(0, 1, 30)}), prior=5, train=20, test=5, seed=0)
    with pytest.raises(error) as caught:
        pacopt.certify_study(study, lambda hyper, instance: 0.5, split, score=Ranged(1.0))
    assert says in str(caught.value)


def test_parameters_that_are_no_hyperparameters_are_refused():
    split = pacopt.split(Instances({"x": np.linspace(0, 1, 30)}), prior=5, train=20, test=5, seed=0)
    engine = BlackBox(lambda hyper, instance: 0.5, {"a": Interval(0, 1)})
    with pytest.raises(CandidatesError, match=r"have the parameters b\. The hyperparameters are a\."):
        pacopt.certify_study(study_of([(1.0, {"b": 1.0})]), engine, split, score=Ranged(1.0))


def test_several_objectives_and_no_trials_at_all_are_refused():
    study = optuna.create_study(directions=["minimize", "maximize"])
    with pytest.raises(PriorError, match="The study has 2 objectives"):
        BestTrials(study)
    with pytest.raises(CandidatesError, match="0 of the best trials are asked for"):
        BestTrials(study_of([(1.0, {"a": 1.0})]), top=0)


# What the study saw


def test_what_the_trials_recorded_stands_in_the_ledger(certified):
    _, split, learned = certified
    ledger = {entry.text: str(entry.status) for entry in learned.certificate.ledger}
    declared = "the study that the candidates come from used no training instance"
    checked = "trials recorded what they saw, and no instance of these is equal to one for training or test"
    assert ledger[declared] == "declared"
    assert ledger[f"all of its 40 {checked}"] == "checked"
    stored = learned.certificate.to_dict()
    for text in (declared, f"all of its 40 {checked}"):
        lines = [entry for entry in stored["ledger"] if entry["text"] != text]
        assert not audit(stored | {"ledger": lines}, learned.table).passed, "the audit knows of the study"
    silent = study_on(split.prior, 6, recorded=False)
    texts = [entry.text for entry in pacopt.certify_study(silent, contracted, split, top=2).certificate.ledger]
    assert declared in texts
    assert not any("recorded" in text for text in texts)
    pacopt.seen_by(silent.ask(suggested_distributions()), split.prior)
    mixed = pacopt.certify_study(silent, contracted, split, top=2)
    assert f"1 of its 7 {checked}" in [entry.text for entry in mixed.certificate.ledger]
    assert audit(mixed.certificate.to_dict(), mixed.table).passed


def suggested_distributions():
    return {"damping": FloatDistribution(0.05, 1.9), "rule": CategoricalDistribution(["plain", "eager"])}


@pytest.mark.parametrize("state", ["COMPLETE", "PRUNED", "FAIL", "RUNNING"])
def test_one_trial_that_saw_training_instances_is_enough_whatever_became_of_it(state):
    split = parts()
    study = study_on(split.prior, 6)
    trial = study.ask(suggested_distributions())
    pacopt.seen_by(trial, split.prior)
    pacopt.seen_by(trial, split.train[:3])
    if state != "RUNNING":
        study.tell(trial, 9.0 if state == "COMPLETE" else None, state=optuna.trial.TrialState[state])
    with pytest.raises(PriorError, match="Trial 6 saw 3 instances of the training split") as caught:
        pacopt.certify_study(study, contracted, split, top=2)
    assert "the certificate would be void" in str(caught.value)
    assert "pacopt:certificate" not in study.user_attrs


def test_test_instances_single_rows_copies_in_single_precision_and_whole_studies_count():
    split = parts()
    for instances, says in (
        (split.test, "The study saw 40 instances of the test split"),
        (split.train[7], "The study saw 1 instance of the training split"),
        (
            Instances({name: array.astype(np.float32) for name, array in split.train.fields.items()}),
            "The study saw 200 instances of the training split",
        ),
    ):
        study = study_on(split.prior, 3)
        pacopt.seen_by(study, instances)
        with pytest.raises(PriorError, match=says):
            pacopt.certify_study(study, contracted, split, top=2)
    study = study_on(split.prior, 3, recorded=False)
    pacopt.seen_by(study, split.prior)
    assert pacopt.certify_study(study, contracted, split, top=2).origin.study.recorded == 3
    with pytest.raises(PriorError, match=r"Trial 0 saw 200 instances .* training split, and so did 2 more trials"):
        pacopt.learn(BlackBox(contracted, SPACE), split, prior=BestTrials(study_on(split.train, 3)))


def test_separate_draws_that_are_equal_are_no_sign_unless_the_prior_split_has_none_like_them():
    rng = np.random.default_rng(0)
    coarse = Instances({"x": rng.integers(1, 4, 120).astype(float), "curvature": np.ones(120)})
    split = pacopt.split(coarse, prior=30, train=60, test=30, seed=0, allow_duplicates=True)
    learned = pacopt.certify_study(study_on(split.prior, 5), contracted, split, top=2)
    assert not any("recorded" in entry.text for entry in learned.certificate.ledger)
    assert audit(learned.certificate.to_dict(), learned.table).passed
    odd = Instances({"x": np.append(split.train.fields["x"][:-1], 7.0), "curvature": np.ones(60)})
    other = pacopt.Split(split.prior, odd, split.test, allow_duplicates=True, rows=None)
    with pytest.raises(PriorError, match="saw 1 instance of the training split"):
        pacopt.certify_study(study_on(odd, 2), contracted, other, top=2)


def test_another_row_of_a_training_group_counts_as_well():
    rows = drawn(400, groups=np.arange(400) // 4)
    split = pacopt.split(rows, prior=20, train=60, test=20, seed=0)
    assert pacopt.certify_study(study_on(split.prior, 4), contracted, split, top=2).certificate.instances == 60
    label = split.train.groups[0]
    unseen = Instances({"x": np.array([77.0]), "curvature": np.ones(1)}, groups=np.array([label]))
    study = study_on(split.prior, 3)
    pacopt.seen_by(study, unseen)
    with pytest.raises(PriorError, match="The study saw instances of 1 group of the training split"):
        pacopt.certify_study(study, contracted, split, top=2)


def test_what_a_trial_saw_is_written_in_pieces_and_grows(tmp_path):
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/studies.db")
    trial = study.ask()
    many = drawn(8000)
    for rows in (many[:3000], many[2000:], many):
        pacopt.seen_by(trial, rows)
    attributes = study.trials[0].user_attrs
    assert set(attributes) == {"pacopt:instances", "pacopt:instances:1", "pacopt:instances:2"}
    assert all(len(text) <= 65_535 for text in attributes.values())
    assert sum(len(text) // 16 for text in attributes.values()) == 8000
    with pytest.raises(PriorError, match=r"A str was given\. A trial of an Optuna study, or a study"):
        pacopt.seen_by("trial", many)
    with pytest.raises(InstancesError, match=r"A list was given\. Instances are needed"):
        pacopt.seen_by(trial, [1, 2])


def test_a_note_about_a_study_in_a_table_of_your_own_is_a_note():
    losses = np.random.default_rng(0).uniform(size=(3, 50))
    for note in ({"recorded": 3}, "mine", {"trials": 1, "completed": 1, "recorded": True, "hash": "", "name": ""}):
        table = pacopt.LossTable(losses=losses, start=np.ones(50), provenance={"study": note})
        certificate = pacopt.certify(table)
        assert not any("study" in entry.text for entry in certificate.ledger)
        assert audit(certificate.to_dict(), table).passed


# How often it is wrong

TICKETS, COVERED, LEAKED = 500, 100, 15


def lottery(hyper, instance):
    """Every candidate has the same mean, one half; who seems better has been lucky."""
    return float(instance["lots"][hyper["ticket"]])


def lottery_violated(seed, *, leak):
    """Whether a certificate of a study that found the best tickets, on the prior or the training split, is false."""
    lots = np.random.default_rng(seed).uniform(size=(60, TICKETS))
    split = pacopt.split(Instances({"lots": lots}), prior=20, train=40, test=0, seed=0)
    means = (split.train if leak else split.prior).fields["lots"].mean(axis=0)
    rows = [(float(means[ticket]), {"ticket": int(ticket)}) for ticket in np.argsort(means)[:6]]
    study = study_of(rows, ticket=IntDistribution(0, TICKETS - 1))
    options = {"score": Ranged(1.0), "confidence": 0.8, "baseline": None, "progress": False}
    deployed = pacopt.certify_study(study, lottery, split, top=4, **options).certificate.deployed
    return deployed.risk < 0.5 or (deployed.quantile is not None and deployed.quantile < 0.9)


def test_certificates_of_studies_are_false_as_seldom_as_they_say():
    violations = sum(lottery_violated(seed, leak=False) for seed in range(COVERED))
    assert binom.sf(violations - 1, COVERED, 0.2) > 0.01, violations


def test_a_study_that_looked_at_the_training_instances_is_found_out_by_that_count():
    violations = sum(lottery_violated(seed, leak=True) for seed in range(LEAKED))
    assert binom.sf(violations - 1, LEAKED, 0.2) < 0.01, violations


# The other way round

SAMPLERS = {
    "default": None,
    "TPE": optuna.samplers.TPESampler,
    "random": optuna.samplers.RandomSampler,
    "CMA-ES": optuna.samplers.CmaEsSampler,
    "genetic": optuna.samplers.NSGAIISampler,
    "with its own seed": optuna.samplers.TPESampler(seed=3, n_startup_trials=4),
}


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("sampler", [*SAMPLERS, "QMC"])
def test_any_sampler_searches_and_the_same_call_finds_the_same(sampler):
    makes = optuna.samplers.QMCSampler if sampler == "QMC" else SAMPLERS[sampler]
    prior = Study(makes, trials=32, candidates=12, batch=8)
    engine, split = BlackBox(contracted, {"damping": SPACE["damping"], "rule": Choice("plain")}), parts()
    found = [pacopt.learn(engine, split, prior=prior, seed=4) for _ in range(2)]
    assert found[0].certificate.to_dict() == found[1].certificate.to_dict()
    assert found[0].origin.prior == repr(prior)
    assert found[0].origin.domain == engine.space
    assert found[0].certificate.deployed.risk < 0.05
    assert len(found[0].certificate.design.prior) == 12
    assert not any("study" in entry.text for entry in found[0].certificate.ledger)


def test_a_study_is_as_good_a_search_as_ours_and_passes_the_check_of_priors():
    engine, split = BlackBox(contracted, SPACE, defaults=DEFAULTS), parts()
    ours, theirs = (pacopt.learn(engine, split, prior=p) for p in (Search(candidates=16, rounds=2), Study(trials=64)))
    assert theirs.certificate.deployed.risk < 1.1 * ours.certificate.deployed.risk
    check_prior(Study(trials=12, candidates=6), engine, split.prior)


def test_the_defaults_are_a_candidate_inside_of_the_domain_and_outside():
    engine, split = BlackBox(contracted, SPACE, defaults=DEFAULTS), parts()
    for domain in ({}, {"damping": Interval(1e-3, 1e-2)}):
        learned = pacopt.learn(engine, split, prior=Study(domain=domain, trials=8, candidates=6, batch=4))
        assert learned.table.hyper(learned.origin.textbook) == DEFAULTS
        assert len(learned.certificate.design.prior) == 6


def test_nothing_runs_twice_in_a_finite_space_and_the_search_ends_when_all_was_tried():
    calls = []

    def counted(hyper, instance):
        calls.append((hyper["memory"], hyper["rule"], float(instance["x"])))
        return abs(hyper["memory"] - 3) + 0.1 * (hyper["rule"] == "b") + 0.01 * float(instance["x"])

    engine = BlackBox(counted, {"memory": Whole(1, 5), "rule": Choice("a", "b")})
    split = pacopt.split(Instances({"x": np.linspace(0, 1, 30)}), prior=5, train=20, test=5, seed=0)
    for sampler in (None, optuna.samplers.GridSampler({"memory": [1, 2, 3, 4, 5], "rule": ["a", "b"]})):
        calls.clear()
        learned = pacopt.learn(engine, split, prior=Study(sampler, trials=200, batch=8), score=Ranged(10.0))
        assert learned.hyper == {"memory": 3, "rule": "a"}
        assert len(learned.certificate.design.prior) == 10
        searched = calls[40:]  # after the rehearsal
        assert len(searched) == len(set(searched)) == 10 * 25 + 2 * 5


def test_the_entries_of_an_array_are_parameters_of_their_own_here_and_in_a_study_of_yours():
    def shaped(hyper, instance):
        return float(np.abs(hyper["shape"] - 0.5).sum() + 0.01 * instance["x"])

    engine = BlackBox(shaped, {"shape": pacopt.Array((2, 2), 0.0, 1.0), "k": Whole(1, 3)})
    split = pacopt.split(Instances({"x": np.linspace(0, 1, 30)}), prior=5, train=20, test=5, seed=0)
    learned = pacopt.learn(engine, split, prior=Study(trials=32, candidates=8), score=Ranged(3.0))
    assert learned.hyper["shape"].shape == (2, 2)
    assert learned.certificate.deployed.risk < 2.0
    rng = np.random.default_rng(0)
    rows = [(float(i), {f"shape[{j}]": rng.uniform() for j in range(4)} | {"k": 2}) for i in range(4)]
    study = study_of(rows, k=IntDistribution(1, 3))
    found = pacopt.certify_study(study, engine, split, score=Ranged(3.0))
    assert list(found.hyper["shape"].ravel()) in [[row[f"shape[{j}]"] for j in range(4)] for _, row in rows]
    assert found.hyper["k"] == 2


def test_what_is_no_sampler_is_refused():
    engine, split = BlackBox(contracted, SPACE), parts()
    with pytest.raises(PriorError, match=r"sampler is 'TPE'\. It is a sampler of Optuna"):
        pacopt.learn(engine, split, prior=Study("TPE"))
    with pytest.raises(CandidatesError, match="0 trials are asked for"):
        pacopt.learn(engine, split, prior=Study(trials=0))


# Without Optuna


def test_pacopt_does_without_optuna_until_it_is_asked_for(monkeypatch):
    code = (
        "import sys, pacopt; pacopt.learn, pacopt.priors.Study(), pacopt.certify_study; print('optuna' in sys.modules)"
    )
    assert run_fresh(code) == "False\n"
    monkeypatch.setitem(sys.modules, "optuna", None)
    for call in (lambda: BestTrials(None), lambda: pacopt.learn(BlackBox(contracted, SPACE), parts(), prior=Study())):
        with pytest.raises(PriorError, match=r"needs the package optuna.*pip install \"pacopt\[optuna\]\""):
            call()
