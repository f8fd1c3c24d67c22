"""From instances to certified hyperparameters: what is used for what, and what is refused."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import loguniform

import pacopt
from pacopt import DiscreteMeasure, Instances, Split, Truncation
from pacopt.design import default_t_grid
from pacopt.errors import (
    AlgorithmError,
    AssumptionError,
    CandidatesError,
    DesignError,
    PacoptError,
    PriorError,
    ProblemError,
    SplitError,
    TableError,
)
from pacopt.priors import IterativeBox, Product, Search
from streams import Slope, SlopeStream

STREAM = SlopeStream()
QUICK = Search(candidates=16, explore=1, rounds=2)


def parts(prior=40, train=150, test=50, seed=0):
    return pacopt.split(STREAM.sample(prior + train + test, seed), prior=prior, train=train, test=test, seed=seed)


def learned(split=None, **options):
    split = parts() if split is None else split
    options = {"steps": 5, "prior": QUICK} | options
    return pacopt.learn(STREAM.problem, STREAM.algorithm, split, **options)


def test_the_same_seed_gives_the_same_numbers_and_another_seed_other_candidates():
    one, same, other = learned(), learned(), learned(seed=1)
    assert one.certificate.to_dict() == same.certificate.to_dict()
    assert one.comparison == same.comparison
    assert np.array_equal(one.table.losses, same.table.losses)
    assert one.certificate.design.hash != other.certificate.design.hash


@pytest.mark.parametrize(
    "prior",
    [
        None,
        Search(candidates=80, explore=1, rounds=1),
        Product({}, candidates=20),
        IterativeBox({"step_size": pacopt.Interval(0.05, 0.6)}, candidates=20),
    ],
    ids=["default", "search", "product", "box"],
)
@pytest.mark.parametrize("racing", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_design_does_not_depend_on_the_training_or_test_instances(prior, racing):
    """What leaks would show here: candidates, weights, t-grid, shares are those of any other training split."""
    split, others = parts(train=200), parts(train=200, seed=1)
    other = Split(split.prior, others.train, others.test)
    one, two = (learned(each, min_success=0.5, prior=prior, racing=racing) for each in (split, other))
    assert one.certificate.design.hash == two.certificate.design.hash
    assert one.certificate.table_hash != two.certificate.table_hash


def test_the_test_instances_are_only_looked_at():
    split = parts()
    other = Split(split.prior, split.train, parts(seed=1).test)
    one, two = learned(split), learned(other)
    assert np.array_equal(one.table.losses, two.table.losses)
    assert one.certificate.deployed == two.certificate.deployed
    assert one.comparison != two.comparison


def test_a_prior_is_shown_the_prior_split_and_nothing_else():
    seen = []

    def curious(trials):
        seen.append(trials)
        return QUICK(trials)

    split = parts()
    learned(split, prior=curious)
    assert seen[0].instances is split.prior
    assert not np.isin(split.train.fingerprints, seen[0].instances.fingerprints).any()


@pytest.mark.parametrize("leak", ["prior", "test", "copy"])
def test_training_instances_that_are_used_twice_are_an_error(leak):
    split = parts()
    leaked = Instances.concatenate([split.prior, split.train[[3]]])
    made = {
        "prior": (leaked, split.train, split.test),
        "test": (split.prior, split.train, Instances.concatenate([split.test, split.train[[3]]])),
        "copy": (split.prior, Instances.concatenate([split.train, split.train[[3]]]), split.test),
    }
    with pytest.raises(SplitError, match="are the same"):
        Split(*made[leak])


def test_a_prior_that_runs_candidates_on_training_instances_is_refused():
    split = parts()

    def leaking(trials):
        candidates = {"step_size": np.geomspace(0.1, 1, 10)}
        best = trials.run(candidates, split.train).safeguarded().mean(axis=1).argmin()
        return DiscreteMeasure.uniform(candidates).dirac(int(best))

    with pytest.raises(PriorError, match="150 instances in the training split"):
        learned(split, prior=leaking)


def atoms(**options):
    """Half of the stream is one and the same instance."""
    a = STREAM.sample(240, 0).fields["a"].copy()
    a[::2] = 0.7
    return pacopt.split(Instances({"a": a}), prior=40, train=150, test=50, seed=0, allow_duplicates=True, **options)


def running(instances):
    """A prior that runs its candidates on instances that it brought along."""

    def prior(trials):
        candidates = {"step_size": np.geomspace(0.1, 1, 4)}
        trials.run(candidates, instances)
        return DiscreteMeasure.uniform(candidates)

    return prior


def numbered(instances, first):
    return Instances({**instances.fields, "id": first + np.arange(len(instances))})


def test_a_prior_cannot_hide_training_instances_behind_another_running_number():
    split = parts()
    split = Split(numbered(split.prior, 0), numbered(split.train, 1000), numbered(split.test, 2000))
    with pytest.raises(PriorError, match=r"5 instances in the training split \(first: index 3\)"):
        learned(split, prior=running(numbered(Instances.concatenate([split.prior[:3], split.train[:5]]), 5000)))
    learned(split, prior=running(numbered(split.prior, 5000)))
    learned(split, prior=running(numbered(STREAM.sample(10, 77), 5000)))


def test_a_prior_cannot_hide_training_instances_behind_digits_that_no_run_sees():
    split = parts()
    near = Instances({"a": split.train.fields["a"] * (1 + 1e-12)})
    with pytest.raises(PriorError, match="150 instances in the training split"):
        learned(split, prior=running(near), dtype=np.float32)


def test_a_prior_cannot_hide_training_instances_behind_a_rounding():
    split = parts()
    near = Instances({"a": split.train.fields["a"].astype(np.float32).astype(float)})
    assert not np.isin(near.fingerprints, split.train.fingerprints).any()
    with pytest.raises(PriorError, match="150 instances in the training split"):
        learned(split, prior=running(near))
    with pytest.raises(PriorError, match="in the training split and not in the prior split"):
        learned(atoms(), prior=running(Instances({"a": atoms().train.fields["a"][:60].astype(np.float32)})))


@pytest.mark.parametrize("made", ["parts", "atoms"])
def test_a_prior_may_not_run_on_the_test_split(made):
    split = {"parts": parts, "atoms": atoms}[made]()
    with pytest.raises(PriorError, match=r"instances in the test split.* used for nothing else"):
        learned(split, prior=running(split.test))
    with pytest.raises(PriorError, match="in the test split"):
        learned(split, prior=running(Instances({"a": split.test.fields["a"].astype(np.float32)})))


@pytest.mark.parametrize("leak", ["all", "permuted", "renumbered", "one"])
def test_a_prior_may_not_run_on_training_instances_where_equal_rows_are_separate_draws_either(leak):
    split = atoms()
    if leak == "renumbered":
        kept = (numbered(split.prior, 0), numbered(split.train, 1000), numbered(split.test, 2000))
        split = Split(*kept, allow_duplicates=True, rows=split.rows)
    alone = np.flatnonzero(split.train.fields["a"] != 0.7)
    leaked = {
        "all": lambda: split.train,
        "permuted": lambda: split.train[::-1],
        "renumbered": lambda: numbered(split.train, 5000),
        "one": lambda: Instances.concatenate([split.prior, split.train[alone[:1]]]),
    }[leak]()
    with pytest.raises(PriorError, match="in the training split"):
        learned(split, prior=running(leaked))


def test_a_prior_may_run_on_content_of_its_own_split_that_stands_in_the_training_split_too():
    split = atoms()
    assert np.isin(split.prior.fingerprints, split.train.fingerprints).any()
    for own in (split.prior, split.prior[::-1], split.prior[:10], Instances({"a": np.full(7, 0.7)})):
        learned(split, prior=running(own))
    # With two atoms and nothing else, the training split has no content of its own. It is refused as a whole.
    coins = Instances({"a": np.tile([0.5, 0.7], 120)})
    split = pacopt.split(coins, prior=40, train=150, test=50, seed=0, allow_duplicates=True)
    with pytest.raises(PriorError, match="150 instances in the training split, and they are all of it"):
        learned(split, prior=running(split.train[::-1]))


def test_the_training_instances_are_looked_at_once_however_often_a_prior_runs(monkeypatch):
    seen = []
    from pacopt.engines.traced.engine import Traced

    look = Traced.seen

    def counting(engine, instances):
        seen.append(instances)
        return look(engine, instances)

    monkeypatch.setattr(Traced, "seen", counting)
    split = parts()

    def often(trials):
        for count in (5, 10, 15):
            trials.run({"step_size": np.array([0.1])}, split.prior[:count])
        return QUICK(trials)

    learned(split, prior=often)
    assert sum(instances is split.train for instances in seen) == 2, "for the split, and for all runs of the prior"


def test_trials_on_other_instances_are_guarded_like_any_run():
    split = parts()
    with pytest.raises(PriorError, match="150 instances in the training split"):
        learned(split, prior=lambda trials: QUICK(dataclasses.replace(trials, instances=split.train)))


def test_a_prior_hears_what_is_wrong_with_its_instances_before_they_are_compared():
    with pytest.raises(PacoptError, match="In the prior split"):
        learned(prior=running(Instances({"b": np.ones(3)})))


def test_one_part_used_twice_under_other_running_numbers_is_refused():
    split = parts()
    twice = (numbered(split.train, 0), numbered(split.train[::-1], 1000), numbered(split.test, 2000))
    with pytest.raises(SplitError, match=r"prior split and the train split hold the same 150 rows in all that a run"):
        learned(Split(*twice, allow_duplicates=True))


def test_a_running_number_does_not_make_a_copy_another_instance():
    """Forty instances, each written down twenty-five times under another number that no run looks at."""
    a = np.tile(STREAM.sample(40, 0).fields["a"], 25)
    split = pacopt.split(Instances({"a": a, "id": np.arange(1000)}), prior=100, train=800, test=100, seed=0)
    with pytest.raises(SplitError, match=r"the same in all that a run depends on \(a\)"):
        learned(split)


def test_rows_that_only_differ_beyond_the_precision_of_the_run_are_the_same():
    a = STREAM.sample(120, 0).fields["a"]
    split = Split(*(Instances({"a": part}) for part in (a[:40], np.append(a[40:110], a[0] * (1 + 1e-12)), a[110:])))
    learned(split)
    with pytest.raises(SplitError, match="in the precision of the run"):
        learned(split, dtype=np.float32)


@pytest.mark.parametrize(
    "other", [{"a": np.ones(3, np.float32)}, {"a": np.ones((3, 1))}, {"a": np.ones(3), "b": np.ones(3)}]
)
def test_parts_of_different_kinds_are_refused(other):
    with pytest.raises(SplitError, match="All parts need the same fields"):
        Split(Instances(other), STREAM.sample(5, 0), STREAM.sample(5, 1))


def test_the_ledger_says_whether_separateness_was_checked_or_only_declared():
    ledger = {entry.text: entry.status for entry in learned().certificate.ledger}
    assert ledger["no training instance is duplicated or appears in another split"] == "checked"
    ledger = {entry.text: entry.status for entry in learned(atoms()).certificate.ledger}
    assert ledger["equal instances are separate draws from the distribution"] == "declared"
    assert not any(status == "checked" for status in ledger.values())


def test_learned_beats_the_textbook_which_beats_nothing():
    result = learned(parts(train=1000, test=1000), prior=Search(candidates=64))
    comparison = result.comparison
    assert [row.name for row in comparison.rows] == ["learned", "standard", "prior median"]
    assert comparison["learned"].mean < comparison["standard"].mean
    true = STREAM.risk(result.hyper)
    assert comparison["learned"].mean == pytest.approx(true, abs=0.05)
    assert true <= result.certificate.deployed.risk <= true + 0.1
    row = comparison["learned"]
    ratios = (1 - row.hyper["step_size"] * parts(train=1000, test=1000).test.fields["a"]) ** 10
    assert row.mean == pytest.approx(np.minimum(ratios, 1).mean())
    assert row.median == pytest.approx(np.sort(ratios)[499])
    assert row.success == np.mean(ratios <= 1)
    assert row.quantiles == {
        q: pytest.approx(np.sort(ratios)[int(1000 * q) - 1]) for q in (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
    }
    start = 0.5 * parts(train=1000, test=1000).test.fields["a"]
    assert row.mean_loss == pytest.approx(np.mean(np.minimum(ratios, 1) * start))
    assert row.failures == int(np.sum(~(ratios <= 1)))
    assert row.worst == pytest.approx(ratios.max())
    assert row.interval[0] < row.mean < row.interval[1]
    factor = comparison.factor("learned", "standard")
    assert factor.low < factor.measured == comparison["standard"].mean / row.mean < factor.high
    for heading in ("95 % interval", "success", "above start", "worst"):
        assert heading in str(comparison)
    assert "textbook" in comparison
    assert comparison["textbook"] is comparison["standard"]
    with pytest.raises(KeyError, match="There is no row 'best'; there are learned, textbook, prior median"):
        comparison["best"]


def test_curves_lead_from_the_start_to_the_final_losses():
    result = learned()
    curves = result.curves
    assert curves.steps.tolist() == list(range(6))
    assert np.allclose(curves.mean[:, 0], 1.0)
    assert np.allclose(curves.mean[:, -1], [row.mean for row in result.comparison.rows])
    assert np.allclose(curves.median[:, -1], [row.median for row in result.comparison.rows])
    assert (curves.low <= curves.median).all()
    assert (curves.median <= curves.high).all()
    long = learned(steps=1000, prior=Search(candidates=16, explore=1, rounds=0))
    assert len(long.curves.steps) == 201
    assert long.curves.steps[-1] == 1000


def test_the_curvature_is_estimated_on_the_prior_split_unless_it_is_given():
    split = parts()
    a = split.prior.fields["a"]
    estimated, given = learned(split), learned(split, curvature=(0.5, 4.0))
    assert estimated.provenance["curvature"] == {
        "mu": pytest.approx(a.min()),
        "L": pytest.approx(a.max()),
        "given": False,
    }
    assert estimated.comparison["standard"].hyper["step_size"] == pytest.approx(2 / (a.min() + a.max()))
    assert given.comparison["standard"].hyper["step_size"] == pytest.approx(2 / 4.5)
    with pytest.raises(AlgorithmError, match="curvature range"):
        learned(split, curvature=(4.0, 0.5))


class Kink(pacopt.AbstractProblem):
    """No second derivative, and 300 coordinates."""

    def start(self, instance):
        return jnp.zeros(300)

    def loss(self, x, instance):
        return instance["a"] * jnp.sum(jnp.abs(x - 1.0))


def test_a_loss_without_curvature_has_no_standard_row():
    result = pacopt.learn(Kink(), pacopt.GradientDescent(), parts(), steps=3, prior=QUICK)
    assert "standard" not in result.comparison


class Huber(pacopt.AbstractProblem):
    """A loss that bends where runs end, and hardly where they start."""

    def start(self, instance):
        return jnp.zeros(2)

    def loss(self, x, instance):
        distance = jnp.abs(x - 10.0)
        return instance["a"] * jnp.sum(jnp.where(distance <= 1, 0.5 * distance**2, distance - 0.5) + 5e-4 * distance**2)


def test_the_curvature_is_measured_where_runs_end_too():
    split = parts()
    result = pacopt.learn(Huber(), pacopt.GradientDescent(), split, steps=3, prior=QUICK)
    a = split.prior.fields["a"]
    assert result.provenance["curvature"]["L"] == pytest.approx(1.001 * a.max(), rel=1e-6)
    assert result.provenance["curvature"]["mu"] == pytest.approx(0.001 * a.min(), rel=1e-6)


class Wide(pacopt.AbstractProblem):
    """More coordinates than Hessians are formed for."""

    def start(self, instance):
        return jnp.zeros(400)

    def loss(self, x, instance):
        return 0.5 * instance["a"] * jnp.sum(jnp.linspace(1.0, 3.0, 400) * (x - 1.0) ** 2)


def test_the_curvature_of_a_large_problem_is_found_by_products_alone():
    split = parts()
    result = pacopt.learn(Wide(), pacopt.GradientDescent(), split, steps=3, prior=QUICK)
    a = split.prior.fields["a"][:10]
    assert result.provenance["curvature"]["L"] == pytest.approx(3 * a.max(), rel=1e-2)
    assert result.provenance["curvature"]["mu"] == pytest.approx(a.min(), rel=0.1)


def test_a_failure_that_the_prior_split_did_not_show_does_not_ruin_the_certificate():
    """The betting fractions are chosen on the prior split; a few others stand by."""
    for seed in range(8):
        split = parts(prior=30, train=60, test=10, seed=seed)
        result = learned(split, prior=Search(candidates=32, explore=1, rounds=2), seed=seed)
        design = result.certificate.design
        usual = pacopt.certify(result.table, dataclasses.replace(design, t_grid=default_t_grid()))
        assert result.certificate.deployed.risk <= 1.15 * usual.deployed.risk


class Sign(pacopt.AbstractAlgorithm):
    """No theory, no standard."""

    hyperparameters = {"step_size": pacopt.Interval(1e-4, 1.0, log=True)}

    def init(self, x, hyper, objective):
        return x

    def step(self, x, hyper, objective):
        return x - hyper["step_size"] * jnp.sign(objective.gradient(x))

    def read(self, state):
        return state


@pytest.mark.parametrize("name", ["two\\nlines", "\\x1b[31m", "back\\\\slash", " ", ""])
def test_a_hyperparameter_has_a_name_that_can_be_printed(name, monkeypatch):
    monkeypatch.setattr(Sign, "hyperparameters", {name: pacopt.Interval(0.0, 1.0)})
    with pytest.raises(AlgorithmError, match="A name must be a printable string"):
        pacopt.learn(Slope(), Sign(), parts(), steps=3, prior=QUICK)


def test_where_there_is_no_theory_there_is_no_standard_row():
    result = pacopt.learn(Slope(), Sign(), parts(), steps=5, prior=QUICK)
    assert [row.name for row in result.comparison.rows] == ["learned", "prior median"]
    assert result.provenance["curvature"] is None
    assert result.comparison["learned"].mean < 0.01, "a fifth, a third: whatever leads from 0 to 1"


def test_without_test_instances_there_is_no_comparison_and_without_prior_ones_no_search():
    result = learned(parts(prior=0, test=0), prior=Product({"step_size": loguniform(1e-2, 10)}, candidates=30))
    assert result.comparison is None
    assert result.curves is None
    assert result.certificate.deployed.risk < 0.6
    assert len(result.certificate.design.t_grid.points) == 24
    with pytest.raises(PriorError, match="has 0 instances"):
        learned(parts(prior=0))


def test_an_absolute_bound_comes_with_its_declaration():
    result = learned(truncation=Truncation.from_second_moment(4.0, 2.0), baseline=None)
    assert result.certificate.deployed.absolute is not None
    assert result.certificate.design["absolute"].share == 0.2
    with pytest.raises(AssumptionError):
        Truncation.from_second_moment(0.0, 2.0)


def test_a_users_own_success_is_certified():
    near = learned(success=lambda x, instance: jnp.abs(x - 1.0) < 0.05, min_success=0.2, prior=Search(candidates=32))
    step = near.hyper["step_size"]
    a = parts().train.fields["a"]
    assert near.certificate.user_success
    assert near.certificate.deployed.empirical_success == np.mean(np.abs((1 - step * a) ** 5) < 0.05)
    assert near.certificate.deployed.success >= 0.2


def test_progress_is_reported_by_stage():
    calls = []
    learned(progress=lambda stage, done, total: calls.append((stage, done / total)))
    stages = list(dict.fromkeys(stage for stage, _ in calls if stage != "whole"))
    assert stages == ["begin", "prior", "train", "certify", "test"]
    assert {stage for stage, part in calls if part == 1.0} == {*stages, "whole"}


def test_min_success_is_met_where_it_can_be():
    careful, bold = learned(parts(train=600), min_success=0.97, prior=Search(candidates=64)), learned(parts(train=600))
    assert careful.certificate.attained
    assert careful.certificate.deployed.success >= 0.97
    assert STREAM.success(careful.hyper) >= 0.97
    assert careful.hyper["step_size"] < bold.hyper["step_size"]


def test_a_success_that_this_many_instances_cannot_certify_is_refused_with_the_number_that_can():
    level = 0.01 * 0.2 / 1.5  # gain and win over the textbook have a third
    half = int(np.ceil(np.log(level / 2) / np.log(0.99)))
    with pytest.raises(DesignError, match=f"At least {half} are needed for a candidate with half of the weight"):
        learned(min_success=0.99)
    # One candidate of ten can be certified at a weight of a tenth.
    ten = DiscreteMeasure.uniform({"step_size": np.geomspace(0.1, 1, 10)})
    needed = int(np.ceil(np.log(level / 10) / np.log(0.95)))
    with pytest.raises(DesignError, match=rf"At least {needed} are needed.*weight 0\.1"):
        learned(parts(train=needed - 1), prior=ten, min_success=0.95)
    learned(parts(train=needed), prior=ten, min_success=0.95)
    with pytest.raises(DesignError, match="certify certainty"):
        learned(min_success=1.0)


def test_where_nothing_succeeds_the_certificate_says_so_and_what_to_do():
    hopeless = Search({"step_size": pacopt.Interval(1e3, 1e6, log=True)}, candidates=16, explore=1, rounds=1)
    # The textbook's hyperparameters are candidates too: here they are as hopeless as the rest.
    certificate = learned(prior=hopeless, curvature=(1e-8, 1e-6)).certificate
    assert certificate.ever_succeeded == 0
    assert certificate.deployed.risk == 1.0
    assert certificate.deployed.success == 0.0
    text = str(certificate)
    assert text.startswith("Nothing succeeded: no candidate succeeded on any training instance.")
    assert "new training instances" in text
    assert "smaller step sizes" in text


def test_instances_that_start_at_zero_are_counted_and_do_no_harm():
    split = parts()
    flat = Instances({"a": np.append(split.train.fields["a"], 0.0)})
    result = learned(Split(split.prior, flat, split.test))
    assert result.certificate.zero_starts == 1
    assert "(1 of the training instances)" in str(result.certificate)
    assert pacopt.audit(result.certificate, result.table).passed


class Shifted(pacopt.AbstractProblem):
    """Negative where the instance says so."""

    def start(self, instance):
        return jnp.zeros(())

    def loss(self, x, instance):
        return 0.5 * (x - 1.0) ** 2 + instance["shift"]


@pytest.mark.parametrize(("part", "row"), [("prior", 2), ("train", 5), ("test", 1)])
@pytest.mark.parametrize("shift", [-2.0, np.nan])
def test_a_start_that_is_negative_or_nan_is_named_with_its_split(part, row, shift):
    shifts = {name: np.arange(1.0, 11.0) + 100 * k for k, name in enumerate(("prior", "train", "test"))}
    shifts[part][row] = shift
    split = Split(**{name: Instances({"shift": values}) for name, values in shifts.items()})
    with pytest.raises(TableError, match=f"In the {part} split: The start loss of instance {row} is"):
        pacopt.learn(Shifted(), pacopt.GradientDescent(), split, steps=3, prior=QUICK)


GARBAGE = [
    ({"prior": 3}, PriorError, "prior is 3"),
    ({"prior": Search}, PriorError, r"Call the class: Search\(\)"),
    ({"prior": lambda trials: None}, PriorError, "returned a NoneType"),
    ({"prior": DiscreteMeasure.uniform({"rate": [1.0]})}, CandidatesError, "no hyperparameter 'rate'"),
    ({"seed": -1}, PriorError, "seed is -1"),
    ({"seed": 1.5}, PriorError, "seed is 1.5"),
    ({"confidence": 1.0}, DesignError, "confidence is 1.0"),
    ({"confidence": "high"}, DesignError, "confidence is 'high'"),
    ({"min_success": 90}, DesignError, "min_success is 90"),
    ({"target_ratio": 0.0}, DesignError, "target_ratio is 0.0"),
    ({"target_ratio": "all"}, DesignError, "target_ratio is 'all'"),
    ({"quantile_level": 1.0}, DesignError, "quantile_level is 1.0"),
    ({"steps": 0}, AlgorithmError, "steps is 0"),
    ({"progress": 5}, PriorError, "progress is 5"),
    ({"prior": Search(rounds=-1)}, CandidatesError, "-1 rounds"),
    ({"prior": Search(candidates=0)}, CandidatesError, "0 candidates"),
    ({"prior": Search({"step_size": (0.1, 1.0)})}, CandidatesError, "A space of its shape is needed"),
    ({"prior": Product({"step_size": 5})}, CandidatesError, "or, for numbers, a frozen distribution"),
    ({"prior": Product(5)}, CandidatesError, "by their names"),
    ({"prior": IterativeBox({}, success=7)}, PriorError, "parts of one"),
    ({"curvature": (1.0,)}, AlgorithmError, "pair of numbers"),
    ({"curvature": 3.0}, AlgorithmError, "curvature"),
    ({"truncation": 3.0}, DesignError, "A declaration is a Truncation"),
    ({"success": lambda x, i: x}, ProblemError, "success predicate returns"),
    ({"success": 3}, ProblemError, "success"),
    ({"dtype": "int32"}, PacoptError, "dtype is 'int32'"),
]


@pytest.mark.parametrize(("options", "error", "match"), GARBAGE, ids=[str(next(iter(g[0]))) for g in GARBAGE])
def test_garbage_is_refused_in_words(options, error, match):
    with pytest.raises(error, match=match):
        learned(**options)


def test_a_class_in_place_of_an_object_and_a_table_in_place_of_a_split_are_refused():
    with pytest.raises(ProblemError, match="Call the class"):
        pacopt.learn(Slope, pacopt.GradientDescent(), parts(), steps=3)
    with pytest.raises(AlgorithmError, match="Call the class"):
        pacopt.learn(Slope(), pacopt.GradientDescent, parts(), steps=3)
    with pytest.raises(SplitError, match="of type Instances was given"):
        pacopt.learn(Slope(), pacopt.GradientDescent(), STREAM.sample(10, 0), steps=3)
