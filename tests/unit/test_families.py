"""A family goes from its law to a certificate, and is compared with what people use on equal terms."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

import pacopt
from alone import pacopt as command
from pacopt.app.presenting import families_view
from pacopt.claims.measuring import Measured
from pacopt.errors import FamilyError
from pacopt.families import Family, contest, family_named, picture
from pacopt.families.base import LEARNED
from pacopt.families.limited import ScipysLBFGSB, lowest_loss
from pacopt.families.naming import NAMES
from pacopt.families.results import document, line, markdown, verdict
from pacopt.families.tuning import tuned
from pacopt.support.progress import silent

QUICK = pacopt.priors.Search(candidates=8, rounds=2)
SIZES = (40, 300, 40)


class Fit(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(4)

    def loss(self, x, instance):
        return jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


def sample(count, *, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(count, 5, 4))
    return pacopt.Instances({"A": A, "b": (A @ rng.normal(size=(count, 4, 1)))[..., 0]})


#: Two solvers that compile quickly.
USUAL = {
    "gradient descent": pacopt.Baseline(algorithm=pacopt.GradientDescent()),
    "Nesterov": pacopt.Baseline(algorithm=pacopt.Nesterov()),
}


def family(**changes):
    own = Family("fit", Fit(), sample, pacopt.HeavyBall(), 8, usual=USUAL, prior=QUICK, sizes=SIZES)
    return replace(own, **changes)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return contest(family(), fresh=400, out=tmp_path_factory.mktemp("contest") / "run")


def test_every_solver_ran_on_the_same_fresh_instances_and_its_mean_is_that_of_an_independent_run(found):
    fresh = sample(400, seed=1_000_003)
    for method in found.methods:
        assert method.scores.shape == (400,)
        low, high = method.interval
        assert low < method.mean < high
        assert method.mean == pytest.approx(method.scores.mean())
    step = dict(found.learned.hyper)
    alone = pacopt.tabulate(Fit(), pacopt.HeavyBall(), {name: [value] for name, value in step.items()}, fresh, steps=8)
    np.testing.assert_allclose(found[LEARNED].scores, alone.safeguarded()[0], rtol=1e-9)
    curvature = pacopt.Traced(Fit(), pacopt.Nesterov(), 8).standard(family().drawn(0).prior, None).hyper
    other = pacopt.tabulate(
        Fit(), pacopt.Nesterov(), {name: [value] for name, value in curvature.items()}, fresh, steps=8
    )
    np.testing.assert_allclose(found["Nesterov"].scores, other.safeguarded()[0], rtol=1e-6)


def test_the_gain_is_over_the_usual_solver_that_is_best_on_the_prior_split(found):
    prior = family().drawn(0).prior

    def mean(algorithm):
        standard = pacopt.Traced(Fit(), algorithm, 8).standard(prior, None).hyper
        table = pacopt.tabulate(Fit(), algorithm, {name: [value] for name, value in standard.items()}, prior, steps=8)
        return table.safeguarded().mean()

    means = {"gradient descent": mean(pacopt.GradientDescent()), "Nesterov": mean(pacopt.Nesterov())}
    assert found.best == min(means, key=means.get)
    assert list(found.learned.table.baselines) == [*dict.fromkeys((found.best, "gradient descent"))]


def test_draws_that_were_learned_from_are_not_fresh():
    fixed = sample(sum(SIZES), seed=0)

    def shuffled(count, *, seed):
        return fixed[np.random.default_rng(seed).permutation(sum(SIZES))[:count]]

    with pytest.raises(FamilyError, match="100 % of the fresh draws of 'fit' are instances that were learned from"):
        contest(family(sample=shuffled), fresh=200)


def test_scipys_solver_on_a_problem_in_jax_is_scipys_solver():
    """It sees the same points as SciPy with a gradient by hand, whatever constant is added to the loss."""
    instance = sample(1, seed=5)[0]
    A, b = instance["A"], instance["b"]

    class Lifted(Fit):
        def loss(self, x, instance):
            return 1000.0 + jnp.sum((instance["A"] @ x - instance["b"]) ** 2)

    def by_hand(x):
        return float(np.sum((A @ x - b) ** 2)), 2 * A.T @ (A @ x - b)

    for steps in (0, 3, 6):
        wanted = lowest_loss(by_hand, np.zeros(4), steps).loss
        assert ScipysLBFGSB(Fit(), steps)({}, instance).loss == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        assert ScipysLBFGSB(Lifted(), steps)({}, instance).loss - 1000.0 == pytest.approx(wanted, abs=1e-8)


def test_rounding_below_a_stated_minimum_counts_as_zero_and_more_does_not():
    """SciPy's solver reaches the minimum of this loss, up to rounding."""

    class Above(Fit, pacopt.AbstractKnownMinimum):
        by: float

        def minimum(self, instance):
            A, b = instance["A"], instance["b"]
            x, *_ = jnp.linalg.lstsq(A, b)
            return jnp.sum((A @ x - b) ** 2) + self.by

    instance = sample(1, seed=5)[0]
    assert 0.0 <= ScipysLBFGSB(Above(0.0), 60)({}, instance).loss < 1e-12
    assert ScipysLBFGSB(Above(1e-13), 60)({}, instance).loss == 0.0
    assert ScipysLBFGSB(Above(1e-3), 60)({}, instance).loss == pytest.approx(-1e-3)


def test_the_usual_solvers_are_those_for_the_kind_of_problem():
    smooth = Family("fit", Fit(), sample, pacopt.HeavyBall(), 8)
    assert smooth.textbook == "gradient descent"
    assert "L-BFGS" in smooth.usual
    assert isinstance(smooth.tuned, pacopt.HeavyBall)


def test_claims_hold_on_fresh_instances_and_a_false_one_is_noticed(found):
    assert found.violations == ()
    assert {check.name for check in found.checks} >= {"risk", "success", "quantile"}
    risk = found.checks[0]
    wrong = risk._replace(certified=0.5 * risk.measured)
    assert not wrong.holds
    told = replace(found, checks=(wrong, *found.checks[1:]))
    assert told.violations == (wrong,)
    assert f"400 fresh draws contradict {wrong.claim.name}" in verdict(told)


def test_the_gain_over_every_baseline_is_compared_with_the_fresh_instances(found):
    gains = {check.name: check for check in found.checks if check.claim.name == "gain"}
    assert gains.keys() == {"gain over Nesterov", "gain over gradient descent"}
    for name in ("Nesterov", "gradient descent"):
        check = gains[f"gain over {name}"]
        assert check.measured == pytest.approx(found[name].mean / found["learned"].mean)
        assert 1 < check.certified < check.measured


def test_none_of_few_draws_does_not_contradict_a_small_probability(found):
    success = next(check.claim for check in found.checks if check.claim.name == "success")
    assert Measured(success, 0.001, 0.0, 500).holds
    assert not Measured(success, 0.01, 0.0, 500).holds
    assert not Measured(success, 0.9, 0.89, 500).holds
    assert not Measured(found.checks[0].claim, 0.3, 0.301, 500).holds


def test_optuna_has_as_many_runs_as_learning_took_and_begins_with_the_textbook(found):
    assert 0.5 * found.runs < found.study.runs <= found.runs or found.study.trials == 300
    engine = pacopt.Traced(Fit(), pacopt.HeavyBall(), 8)
    prior = family().drawn(0).prior
    told = []
    study = tuned(engine, prior, pacopt.Ratio(), runs=800, seed=0, progress=lambda *args: told.append(args))
    assert (study.trials, study.runs) == (20, 20 * 40)
    assert told[-1] == ("Optuna", 20, 20)
    assert study.hyper.keys() == {"step_size", "momentum"}
    assert study == tuned(engine, prior, pacopt.Ratio(), runs=800, seed=0, progress=silent)
    standard = engine.standard(prior, None).hyper
    both = {name: [study.hyper[name], standard[name]] for name in standard}
    best, textbook = engine.table(both, prior).safeguarded().mean(axis=1)
    assert best <= textbook


def test_results_are_told_to_people_and_machines(found, tmp_path):
    row = line(found)
    assert row.family == "fit"
    assert row.usual.endswith(f"({found.best})")
    assert row.certified.startswith("≤ 0.")
    page = markdown([found])
    assert page.count("|\n") == 3
    assert verdict(found) in page
    assert all(remark in page for remark in found.learned.remarks)
    value = json.loads(json.dumps(document(found)))
    assert value["methods"][0]["name"] == LEARNED
    assert {"risk", "success", "quantile"} <= {each["name"] for each in value["claims"]}
    for each in value["methods"][1:]:
        for measured, low, high in (each["factor"], each["ratio_factor"]):
            assert low <= measured <= high
        assert each["ratio_factor"][0] == pytest.approx(each["mean_ratio"] / value["methods"][0]["mean_ratio"])
    assert picture(found, tmp_path / "fit.png").stat().st_size > 10_000
    assert pacopt.verify(found.place).passed


def test_names_of_families_are_whole_on_a_terminal_of_80_columns(found):
    longest = max(NAMES, key=len)
    view = StringIO()
    contests = [replace(found, family=replace(found.family, name=name)) for name in ("fit", longest)]
    Console(width=80, file=view).print(*families_view(contests))
    assert view.getvalue().count(f" {longest} ") == 2


def in_threes(count, *, seed):
    rows = sample(3 * count, seed=seed)
    return pacopt.Instances(rows.fields, groups=np.repeat(np.arange(count), 3))


def test_digits_have_their_own_words_and_groups_are_counted_as_groups(tmp_path):
    found = contest(family(score=pacopt.Digits(2), sample=in_threes), fresh=150)
    assert line(found).learned.endswith(" digits")
    assert line(found).certified.endswith(" digits")
    assert found.fresh == 150
    assert found.learned.certificate.instances == 300
    assert found.learned.certificate.grouped
    assert found.violations == ()
    assert picture(found, tmp_path / "digits.svg").read_text().startswith("<svg")


def test_effort_is_counted_in_steps(tmp_path):
    found = contest(family(score=pacopt.Effort(0.5)), fresh=150)
    assert line(found).learned.endswith(" steps")
    assert found.violations == ()
    drawn = picture(found, tmp_path / "effort.svg").read_text()
    assert drawn.startswith("<svg")
    assert "share of instances not there yet" in drawn


def test_an_algorithm_may_be_made_from_the_prior_split_and_sees_no_training_instance():
    seen = []

    def preconditioned(split):
        seen.append(split)
        return pacopt.Preconditioned(pacopt.HeavyBall(), np.ones(4))

    own = family(algorithm=preconditioned)
    parts = own.drawn(0)
    assert isinstance(own.learns(parts), pacopt.Preconditioned)
    assert seen[0].prior is parts.prior
    for part in (seen[0].train, seen[0].test):
        kept = np.concatenate([parts.train.fingerprints, parts.test.fingerprints])
        assert not np.isin(part.fingerprints, kept).any()


def test_what_is_no_family_is_refused_in_words():
    for changes, words in (
        ({"name": "two words"}, "The name of the family is 'two words'"),
        ({"problem": Fit}, "The problem of 'fit' is a"),
        ({"sample": sample(3, seed=0)}, "The sampler of 'fit' is a Instances"),
        ({"algorithm": pacopt.HeavyBall}, "Call the class: HeavyBall()"),
    ):
        with pytest.raises(FamilyError, match=words.replace("(", r"\(").replace(")", r"\)")):
            family(**changes)
    for usual, words in (
        ({"learned": pacopt.LBFGS()}, "A usual solver of 'fit' is called 'learned'"),
        ({"1/L": pacopt.LBFGS()}, "A usual solver of 'fit' is called '1/L'"),
        ({"L-BFGS": 5}, "The usual solver 'L-BFGS' of 'fit' is a int"),
    ):
        with pytest.raises(FamilyError, match=words):
            family(usual=usual)
    with pytest.raises(FamilyError, match="Let it take a seed"):
        family(sample=lambda count: sample(count, seed=0)).drawn(0)
    with pytest.raises(FamilyError, match="returned 39 draws"):
        family(sample=lambda count, *, seed: sample(39, seed=seed)).drawn(0)
    with pytest.raises(FamilyError, match="returned a dict"):
        family(sample=lambda count, *, seed: {}).drawn(0)


def test_families_are_found_by_name(tmp_path, monkeypatch):
    with pytest.raises(FamilyError, match="There is no family 'quadratic'; did you mean 'quadratics'"):
        family_named("quadratic")
    monkeypatch.chdir(tmp_path)
    Path("mine_too.py").write_text("number = 5\n")
    with pytest.raises(FamilyError, match="'mine_too:number' is a int"):
        family_named("mine_too:number")
    with pytest.raises(FamilyError, match="could not be imported: AttributeError"):
        family_named("mine_too:fit")
    with pytest.raises(FamilyError, match="could not be imported: ModuleNotFoundError"):
        family_named("nowhere_at_all:fit")
    assert family_named("quadratics").textbook == "heavy-ball"


OWN = """
import jax.numpy as jnp, numpy as np, pacopt


class Fit(pacopt.AbstractProblem):
    def start(self, instance):
        return jnp.zeros(4)

    def loss(self, x, instance):
        return jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


def sample(count, *, seed):
    rng = np.random.default_rng(seed)
    return pacopt.Instances({"A": rng.normal(size=(count, 5, 4)), "b": rng.normal(size=(count, 5))})


quick = pacopt.priors.Search(candidates=4, rounds=1)
usual = {"gradient descent": pacopt.Baseline(algorithm=pacopt.GradientDescent())}
fit = pacopt.families.Family("fit", Fit(), sample, pacopt.HeavyBall(), 5, usual=usual, prior=quick, sizes=(30, 200, 30))
"""


def test_a_family_of_ones_own_goes_through_the_command(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    answer = command("bench", "families", "mine:fit", "--fresh", "100", "--json", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    value = json.loads(answer.stdout)
    place = tmp_path / value["out"]
    assert {path.name for path in place.iterdir()} == {"families.json", "families.md", "fit.png", "runs"}
    assert json.loads((place / "families.json").read_text())["families"] == value["families"]
    assert pacopt.verify(place / "runs" / "fit").passed
    answer = command("bench", "families", "nothing", cwd=tmp_path)
    assert answer.returncode == 2
    assert "There is no family 'nothing'" in answer.stderr


def test_a_minimum_is_traced_once_for_all_instances():
    traced = []

    class Looping(pacopt.AbstractProblem, pacopt.AbstractKnownMinimum):
        def start(self, instance):
            return jnp.ones(2)

        def loss(self, x, instance):
            return jnp.sum((x - instance["x"]) ** 2) + 1.0

        def minimum(self, instance):
            traced.append(instance)
            end = jax.lax.fori_loop(0, 30, lambda _, x: x - 0.5 * (x - instance["x"]), jnp.ones(2))
            return self.loss(end, instance)

    solver = ScipysLBFGSB(Looping(), 20)
    ends = [solver({}, {"x": np.array([0.5, float(k)])}).loss for k in range(5)]
    assert max(ends) < 1e-12
    assert len(traced) == 1


def test_a_notebook_shows_every_solver_and_every_claim_beside_what_was_measured(found):
    shown = found._repr_html_()
    for each in found.methods:
        assert f">{each.name}<" in shown
        assert f">{found.score.told(each.mean)}<" in shown
    for check in found.checks:
        assert check.claim.with_unit(check.certified, found.learned.certificate.design) in shown
    assert verdict(found) in shown
    frame = found.to_dataframe().set_index("name")
    assert frame.loc["Nesterov", "factor"] == pytest.approx(found["Nesterov"].mean / found[LEARNED].mean)
    assert np.isnan(frame.loc[LEARNED, "factor"])
    chart = pacopt.plot.contest(found).to_dict()
    assert f"{found.fresh:,} fresh draws" in chart["title"]["text"]
    (words,) = chart["title"]["subtitle"]
    bound = float(words.split("at most ")[1])
    risk = found.learned.certificate.deployed.values["risk"]
    assert risk <= bound < 1.01 * risk
    shown = {row["solver"] for rows in chart["datasets"].values() for row in rows if "solver" in row}
    assert len(shown) == len(found.methods), "also those that tell only their end"
