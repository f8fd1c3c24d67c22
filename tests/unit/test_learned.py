"""What was learned is deployed with the safeguard that the certificate speaks of, stored, and loaded again."""

import dataclasses
import json
import re

import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from alone import run_alone
from pacopt import Instances, Learned
from pacopt.app.presenting import learned_view
from pacopt.comparison import Raw
from pacopt.errors import CandidatesError, InstancesError, StorageError, TableError
from pacopt.priors import Search
from pacopt.provenance import Origin
from pacopt.stages.remarks import remarks_on
from streams import SlopeStream

STREAM = SlopeStream()


SEARCH = Search(candidates=16, explore=1, rounds=2)


def learn(problem=STREAM.problem, algorithm=STREAM.algorithm, instances=None, steps=5, prior=SEARCH, **options):
    instances = STREAM.sample(240, 0) if instances is None else instances
    split = pacopt.split(instances, prior=40, train=150, test=50, seed=0)
    return pacopt.learn(problem, algorithm, split, steps=steps, prior=prior, **options)


@pytest.fixture(scope="module")
def learned():
    return learn()


def test_a_solution_is_the_cell_of_the_table(learned):
    row, candidate = learned.certificate.deployed.index, learned.hyper
    for column in range(20):
        solution = learned.solve(learned.train[column])
        start, loss = learned.table.start[column], learned.table.losses[row, column]
        assert solution.start_loss == pytest.approx(start, rel=1e-12)
        assert solution.run_loss == pytest.approx(loss, rel=1e-9, abs=1e-12 * start)
        assert solution.returned_start == (not loss <= start)
        assert solution.ratio == pytest.approx(learned.table.safeguarded()[row, column], rel=1e-9, abs=1e-12)
        expected = (
            0.0 if solution.returned_start else 1 - (1 - candidate["step_size"] * learned.train[column]["a"]) ** 5
        )
        assert solution.x == pytest.approx(expected)


def test_a_run_that_ends_above_its_start_returns_the_start(learned):
    steep = {"a": np.array(1e3)}
    solution = learned.solve(steep)
    assert solution.returned_start
    assert solution.x == 0.0
    assert solution.loss == solution.start_loss == 500.0
    assert solution.run_loss > 500.0
    assert solution.ratio == 1.0


class Fragile(pacopt.AbstractProblem):
    """Below 1 the loss is a number, above it NaN."""

    def start(self, instance):
        return jnp.zeros(())

    def loss(self, x, instance):
        return 0.5 * instance["a"] * (x - 1.0) ** 2 + jnp.sqrt(1.0 + 1e-9 - x) * 0.0


def test_a_nan_does_not_pass_the_safeguard():
    fragile = learn(problem=Fragile())
    solution = fragile.solve({"a": np.array(50.0)})
    assert np.isnan(solution.run_loss) or solution.run_loss > solution.start_loss
    assert solution.returned_start
    assert solution.x == 0.0
    nan = fragile.engine.solve({"step_size": 1.5}, {"a": np.array(1.0)})
    assert np.isnan(nan.run_loss)
    assert nan.returned_start
    assert nan.ratio == 1.0


def test_an_instance_without_a_usable_start_is_refused_and_one_that_starts_at_zero_is_solved(learned):
    with pytest.raises(TableError, match="start loss of instance 0 is nan"):
        learned.solve({"a": np.array(np.nan)})
    with pytest.raises(TableError, match="start loss of instance 0 is -"):
        learned.solve({"a": np.array(-1.0)})
    flat = learned.solve({"a": np.array(0.0)})
    assert (flat.loss, flat.ratio, flat.returned_start) == (0.0, 0.0, False)


class Raised(pacopt.AbstractProblem):
    """A loss whose minimum is 7, and nobody says so."""

    def start(self, instance):
        return jnp.zeros(2)

    def loss(self, x, instance):
        return 0.5 * jnp.sum(instance["a"] * (x - 1.0) ** 2) + 7.0


def test_a_loss_that_stops_far_from_zero_is_remarked_upon_unless_the_minimum_is_stated():
    hyper = pacopt.DiscreteMeasure.uniform({"step_size": [0.1]})
    remarks = learn(problem=Raised(), steps=100, prior=hyper).remarks
    (remark,) = [each for each in remarks if "hardly moved over the last half of the steps" in each]
    assert remark.endswith("either way you need new training instances")
    assert not any("hardly moved" in remark for remark in learn(problem=Above(), steps=100, prior=hyper).remarks)


class Above(pacopt.AbstractProblem, pacopt.AbstractKnownMinimum):
    """A loss whose minimum is 7."""

    def start(self, instance):
        return {"x": jnp.zeros(2)}

    def loss(self, x, instance):
        return 0.5 * jnp.sum(instance["a"] * (x["x"] - 1.0) ** 2) + 7.0

    def minimum(self, instance):
        return jnp.asarray(7.0)


def test_losses_are_above_a_known_minimum_and_points_keep_their_structure():
    above = learn(problem=Above())
    solution = above.solve({"a": np.array(1.0)})
    assert solution.start_loss == pytest.approx(1.0)
    assert solution.x["x"].shape == (2,)
    assert solution.x["x"].dtype == np.float64
    assert "Loss here means the loss above the minimum that the problem states" in str(above.certificate)
    declared = [entry.text for entry in above.certificate.ledger if entry.status == "declared"]
    assert "no loss of an instance lies below the minimum that the problem states for it" in declared
    assert pacopt.audit(above.certificate, above.table).passed
    narrow = learn(problem=Above(), dtype=np.float32).solve({"a": np.array(1.0)})
    assert narrow.x["x"].dtype == np.float32


@pytest.mark.parametrize(
    ("instance", "match"),
    [
        ({"b": np.array(1.0)}, "with b was given.*Use one of these"),
        ({}, "no fields"),
        ({"a": np.ones(3)}, r"'a' is float64\[3\]"),
        (3.0, "of type float was given"),
        (STREAM.sample(3, 0), "of type Instances was given"),
        ({"a": "steep"}, "holds text"),
    ],
)
def test_what_is_no_instance_of_the_stream_is_refused(learned, instance, match):
    with pytest.raises(InstancesError, match=match):
        learned.solve(instance)


def test_numbers_of_another_type_are_taken_if_they_are_the_same_numbers(learned):
    assert learned.solve({"a": 2}).loss == learned.solve({"a": np.array(2.0)}).loss
    for wrong in (1j, np.ma.masked):
        with pytest.raises(InstancesError):
            learned.solve({"a": wrong})


def test_a_loss_that_turns_out_negative_is_refused_as_in_a_table():
    class Low(pacopt.AbstractProblem, pacopt.AbstractKnownMinimum):
        def start(self, instance):
            return jnp.zeros(())

        def loss(self, x, instance):
            return 0.5 * (x - 1.0) ** 2

        def minimum(self, instance):
            return jnp.where(instance["a"] > 1e6, 0.4, 0.0)

    low = learn(problem=Low())
    with pytest.raises(TableError, match="minimum is too large"):
        low.solve({"a": np.array(1e7)})


def test_what_is_deployed_cannot_be_changed_by_hand(learned):
    before = learned.hyper
    learned.certificate.deployed.hyper["step_size"] = 123.0
    assert learned.hyper == before
    learned.certificate.deployed.hyper.update(before)


def test_numbers_of_numpy_are_stored_like_others(tmp_path):
    learn(
        seed=np.int64(3), confidence=np.float32(0.9), min_success=np.float32(0.5), curvature=np.ones(2, np.float32)
    ).save(tmp_path / "run")
    assert pacopt.verify(tmp_path / "run").passed


def test_only_candidates_are_covered(learned):
    other = learned.table.hyper(3)
    assert learned.solve(learned.train[0], other).x == pytest.approx(
        1 - (1 - other["step_size"] * learned.train[0]["a"]) ** 5
    )
    for hyper in ({"step_size": 0.123}, {"rate": 1.0}, 5, [1.0]):
        with pytest.raises(CandidatesError, match="not one of the 16 candidates"):
            learned.solve(learned.train[0], hyper)


def test_samples_follow_the_posterior(learned):
    weights = learned.posterior.weights
    drawn = [learned.sample(seed=seed)["step_size"] for seed in range(2000)]
    frequency = np.array([np.mean(np.isclose(drawn, value, rtol=0)) for value in learned.table.candidates["step_size"]])
    assert np.abs(frequency - weights).max() < 4 * np.sqrt(0.25 / 2000)
    assert learned.solve(learned.train[0], learned.sample()).loss >= 0


def test_a_run_comes_back_as_it_was(learned, tmp_path):
    learned.save(tmp_path / "runs" / "mine")
    loaded = Learned.load(tmp_path / "runs" / "mine")
    assert loaded.certificate.to_dict() == learned.certificate.to_dict()
    assert str(loaded.certificate) == str(learned.certificate)
    assert loaded.comparison == learned.comparison
    assert loaded.provenance == json.loads(json.dumps(learned.provenance))
    for name in ("steps", "mean", "median", "low", "high"):
        assert np.array_equal(getattr(loaded.curves, name), getattr(learned.curves, name))
    assert loaded.curves.names == learned.curves.names
    instance = learned.train[0]
    assert loaded.solve(instance).loss == learned.solve(instance).loss
    assert np.array_equal(loaded.posterior.weights, learned.posterior.weights)


def slowly(search):
    """A search that knows no textbook, and so can end up behind it."""

    class Unaware(Search):
        def __call__(self, trials):
            return super().__call__(dataclasses.replace(trials, standard=None))

    return Unaware(**{field.name: getattr(search, field.name) for field in dataclasses.fields(search)})


def test_a_value_at_the_edge_of_its_domain_and_a_better_textbook_are_remarked(learned):
    assert not any("edge" in remark for remark in learned.remarks)
    narrow = Search({"step_size": pacopt.Interval(1e-4, 1e-2, log=True)}, candidates=16, explore=1, rounds=2)
    split = pacopt.split(STREAM.sample(240, 0), prior=40, train=150, test=50, seed=0)
    slow = pacopt.learn(STREAM.problem, STREAM.algorithm, split, steps=5, prior=slowly(narrow))
    edge, textbook = slow.remarks
    assert "step_size = 0.00" in edge
    assert "at the edge of the range that was searched, [0.0001, 0.01]" in edge
    assert 'prior=pacopt.priors.Search({"step_size": pacopt.Interval(low, high, log=True)})' in edge
    assert "new training instances" in edge
    assert "the textbook does better" in textbook
    rival = {"the fast one": pacopt.Baseline({"step_size": 0.1})}
    against = pacopt.learn(STREAM.problem, STREAM.algorithm, split, steps=5, prior=slowly(narrow), baseline=rival)
    assert any("the fast one does better" in remark for remark in against.remarks)
    single = pacopt.split(STREAM.sample(240, 0), prior=40, train=150, test=1, seed=0)
    unsure = pacopt.learn(STREAM.problem, STREAM.algorithm, single, steps=5, prior=slowly(narrow))
    assert not any("textbook" in remark for remark in unsure.remarks), "one instance tells nothing about a mean"
    assert len(repr(learned)) < 300


def test_a_test_split_that_contradicts_the_certificate_is_remarked_first_wherever_results_are_shown(learned, tmp_path):
    assert not any("contradicts" in remark for remark in learned.remarks)
    bad = dataclasses.replace(learned.test, losses=np.full_like(learned.test.losses, np.inf))
    elsewhere = dataclasses.replace(learned, test=bad, curves=None)
    assert elsewhere.remarks[0].startswith("the test split contradicts")
    for shown in ("\n".join(map(str, learned_view(elsewhere, tmp_path))), elsewhere._repr_html_()):
        assert f"Note: {elsewhere.remarks[0]}." in shown


def test_a_rival_is_better_by_digits_where_digits_are_the_score(learned):
    """One instance in five is bad for a rival that gains three digits more on the others: its mean ratio is higher."""
    slow = pacopt.DiscreteMeasure.uniform({"step_size": [1e-3]})
    rival = {"rival": pacopt.Baseline({"step_size": 2e-3})}
    result = learn(prior=slow, baseline=rival, score=pacopt.Digits(8))
    start = result.test.start
    ours = np.broadcast_to(start / 10, result.test.losses.shape)
    theirs = start * np.where(np.arange(len(start)) % 5, 1e-4, 0.9)
    for losses, other, better in ((ours, theirs, True), (theirs[None].repeat(len(ours), 0), ours[0], False)):
        test = dataclasses.replace(result.test, losses=losses, baselines={"rival": other})
        found = dataclasses.replace(result, test=test)
        assert (found.comparison["rival"].mean > found.comparison["learned"].mean) == better
        said = [remark for remark in found.remarks if "rival does better" in remark]
        assert len(said) == better
        assert all(
            re.search(r"rival does better: [\d.]+ to [\d.]+ more digits \(95 % interval\)", each) for each in said
        )


def test_a_value_outside_of_the_domain_is_not_called_at_its_edge():
    narrow = Search({"step_size": pacopt.Interval(1e-4, 1e-2, log=True)}, candidates=16, explore=1, rounds=2)
    result = learn(prior=narrow)
    assert result.hyper["step_size"] > 1e-2, "the textbook's"
    (remark,) = [each for each in result.remarks if "the range that was searched" in each]
    assert "is outside the range that was searched, [0.0001, 0.01], and nothing was tried around it" in remark
    assert "edge" not in remark
    assert "new training instances" in remark


class Bold(pacopt.AbstractAlgorithm):
    """Gradient descent of which no textbook knows anything."""

    hyperparameters = {"step_size": pacopt.Interval(1e-3, 1.0, log=True)}

    def init(self, x, hyper, objective):
        return x

    def step(self, state, hyper, objective):
        return state - hyper["step_size"] * objective.gradient(state)

    def read(self, state):
        return state


def test_runs_that_end_above_their_start_are_remarked_with_their_number_and_the_worst():
    def remarks(algorithm, step_size):
        result = learn(algorithm=algorithm, prior=pacopt.DiscreteMeasure.uniform({"step_size": [step_size]}))
        return result.comparison, [each for each in result.remarks if "without the safeguard" in each]

    comparison, (remark,) = remarks(STREAM.algorithm, 0.8)
    learned, standard = comparison["learned"], comparison["standard"]
    assert learned.failures > standard.failures > 0
    assert f"{learned.failures} of 50 test runs ended above their start or failed" in remark
    assert f"the worst at {learned.worst:.3g} times its start" in remark
    assert f"with the textbook's hyperparameters, {standard.failures} did" in remark
    assert "learned.solve returns the start there" in remark
    assert remarks(STREAM.algorithm, 1e-3)[1] == []
    comparison, (alone,) = remarks(Bold(), 0.8)
    assert "standard" not in comparison
    assert f"{learned.failures} of 50 test runs" in alone
    assert "textbook" not in alone
    assert remarks(Bold(), 1e-3)[1] == []
    assert "at least one without a finite ratio" in remarks(Bold(), 1e200)[1][0]


def test_a_run_that_explodes_is_remarked_although_the_textbook_fails_as_often():
    origin, calm, wild = Origin(), Raw(50, 1, 1.5), Raw(50, 1, 1e16)

    def remarks(learned, standard):
        return remarks_on({}, origin, None, None, (learned, standard))

    (remark,) = remarks(wild, calm)
    assert "1 of 50 training runs ended above their start or failed, the worst at 1e+16 times its start" in remark
    assert "with the textbook's hyperparameters, 1 did, the worst at 1.5 times its start" in remark
    assert remarks(Raw(50, 1, np.inf), calm)
    assert remarks(calm, None)
    (both,) = remarks(Raw(50, 7, np.inf), Raw(50, 4, np.inf))
    assert both.count("without a finite ratio") == 1
    assert "with the textbook's hyperparameters, 4 did, at least one likewise" in both
    (defaults,) = remarks_on({}, Origin(usual="defaults"), None, None, (wild, calm))
    assert "with the defaults, 1 did, the worst at 1.5 times its start" in defaults
    for one, other in ((calm, calm), (calm, wild), (Raw(50, 1, 14.9), calm), (Raw(50, 0, 0.9), Raw(50, 0, 0.01))):
        assert remarks(one, other) == ()


def test_without_a_test_split_the_training_runs_are_remarked_and_shown(tmp_path):
    split = pacopt.split(STREAM.sample(240, 0), prior=40, train=200, test=0, seed=0)
    prior = pacopt.DiscreteMeasure.uniform({"step_size": [0.8, 1e-3]})
    result = pacopt.learn(STREAM.problem, STREAM.algorithm, split, steps=5, prior=prior)
    ratios = result.table.ratios()[result.certificate.deployed.index]
    text = (
        f"{(ratios > 1).sum()} of 200 training runs ended above their start or failed, the worst at {ratios.max():.3g}"
    )
    assert any(text in remark for remark in result.remarks)
    assert Learned.load(result.save(tmp_path / "run")).remarks == result.remarks
    shown = " ".join(map(str, learned_view(result, tmp_path)))
    worst = f"ended above their start or failed, the worst at {ratios.max():.3g} times its start."
    assert worst in shown
    assert worst in pacopt.report_html(result)


def test_the_textbook_is_known_among_the_candidates_without_a_test_split():
    split = pacopt.split(STREAM.sample(240, 0), prior=40, train=200, test=0, seed=0)
    result = pacopt.learn(STREAM.problem, STREAM.algorithm, split, steps=5, prior=SEARCH, curvature=(0.1, 3.0))
    standard = STREAM.algorithm.standard(0.1, 3.0)
    assert result.table.hyper(result.origin.textbook) == standard
    assert learn(prior=pacopt.DiscreteMeasure.uniform({"step_size": [0.8]})).origin.textbook is None


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_a_default_domain_reaches_to_the_textbook(scale):
    """Curvatures of 1e9 want steps of 1e-9, and the domain of gradient descent ends at 1e-8."""
    instances = pacopt.Instances({"a": STREAM.sample(240, 0).fields["a"] * scale})
    result = learn(instances=instances)
    assert 0.2 < result.hyper["step_size"] * scale < 2
    assert not any("edge" in remark for remark in result.remarks)


def test_equal_runs_are_equal_files(tmp_path):
    for name in ("one", "two"):
        learn().save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "two").iterdir())
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_run_without_test_or_stored_instances_comes_back_too(tmp_path):
    split = pacopt.split(STREAM.sample(200, 0), prior=40, train=160, test=0, seed=0)
    result = pacopt.learn(STREAM.problem, STREAM.algorithm, split, steps=5, prior=Search(candidates=16, rounds=1))
    result.save(tmp_path / "run", instances=False)
    loaded = Learned.load(tmp_path / "run")
    assert loaded.comparison is None
    assert loaded.train is None
    assert pacopt.verify(tmp_path / "run").passed
    with pytest.raises(StorageError, match="not stored with the run"):
        pacopt.verify(tmp_path / "run", rerun=3)


class Field(pacopt.AbstractProblem):
    """Data on the problem."""

    target: np.ndarray
    scale: float = 2.0

    def start(self, instance):
        return jnp.zeros(2)

    def loss(self, x, instance):
        return 0.5 * self.scale * instance["a"] * jnp.sum((x - self.target) ** 2)


def test_data_on_the_problem_is_stored_with_it(tmp_path):
    learn(problem=Field(np.array([1.0, 2.0]), 0.5)).save(tmp_path / "run")
    problem = Learned.load(tmp_path / "run").engine.problem
    assert problem.target.tolist() == [1.0, 2.0]
    assert problem.scale == 0.5
    with pytest.raises(StorageError, match="differs in its fields"):
        Learned.load(tmp_path / "run", problem=Field(np.array([1.0, 3.0]), 0.5))
    with pytest.raises(StorageError, match="differs in its class"):
        Learned.load(tmp_path / "run", problem=STREAM.problem)


class Built(pacopt.AbstractProblem):
    """Its constructor asks for something else than its fields."""

    target: np.ndarray
    scale: float

    def __init__(self, dimension):
        self.target = np.arange(float(dimension))
        self.scale = 1.0 / dimension

    def start(self, instance):
        return jnp.zeros(len(self.target))

    def loss(self, x, instance):
        return 0.5 * self.scale * instance["a"] * jnp.sum((x - 1.0 - self.target) ** 2)


def test_a_problem_with_a_constructor_of_its_own_is_found_again(tmp_path):
    here = learn(problem=Built(3))
    again = Learned.load(here.save(tmp_path / "run"))
    assert again.engine.problem.target.tolist() == [0.0, 1.0, 2.0]
    assert again.solve({"a": 1.3}).loss == here.solve({"a": 1.3}).loss
    assert pacopt.verify(tmp_path / "run", rerun=5).passed


CODE = """
import jax.numpy as jnp, numpy as np, pacopt
class Mine(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(())
    def loss(self, x, instance):
        return {factor} * instance["a"] * (x - 1.0) ** 2
"""


def test_code_that_is_gone_or_changed_solves_nothing_and_code_that_is_the_same_does(tmp_path):
    (tmp_path / "mine.py").write_text(CODE.format(factor=0.5))
    setup = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.dont_write_bytecode = True\n"
    setup += "import pacopt, numpy as np\n"
    run_alone(
        setup
        + f"""
import mine
instances = pacopt.Instances({{"a": np.random.default_rng(0).uniform(1, 2, 100)}})
split = pacopt.split(instances, prior=20, train=60, test=20, seed=0)
prior = pacopt.priors.Search(candidates=16, explore=1, rounds=1)
pacopt.learn(mine.Mine(), pacopt.GradientDescent(), split, steps=3, prior=prior).save({str(tmp_path / "run")!r})
"""
    )
    load = f"learned = pacopt.Learned.load({str(tmp_path / 'run')!r})\n"
    load += "print(learned.engine is None, 'mine' in sys.modules)\n"
    assert run_alone(setup + load) == "True False\n", "nothing is imported because a file says so"
    assert (
        run_alone(setup + "import mine\n" + load + "print(learned.solve({'a': 1.5}).ratio < 1)") == "False True\nTrue\n"
    )
    verify = f"print(pacopt.verify({str(tmp_path / 'run')!r}, rerun=5).passed)"
    assert run_alone(setup + "import mine\n" + verify) == "True\n"
    (tmp_path / "mine.py").write_text(CODE.format(factor=0.6))
    refused = """
try:
    learned.solve({'a': 1.5})
except pacopt.PacoptError as error:
    print(type(error).__name__, 'not imported, or has changed' in str(error))
"""
    assert run_alone(setup + "import mine\n" + load + refused) == "True True\nStorageError True\n"


def test_instances_of_integers_are_solved_as_they_were_learned(tmp_path):
    counts = Instances({"a": np.random.default_rng(0).permutation(240) + 1})
    result = learn(instances=counts)
    assert result.solve({"a": 3}).start_loss == 1.5
