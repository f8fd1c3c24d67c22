"""Logistic regression on resamples of real tables: the law, its minima, the usual solvers, and a rule end to end."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import pacopt
from pacopt import families
from pacopt.errors import ProblemError
from pacopt.families import LogisticRegression, Resamples, Table
from pacopt.families.logistic_minima import MARGIN

START = np.log(2.0)


@pytest.fixture(scope="module")
def small():
    """A table of 60 rows of noise with three kinds of rows, and a constant feature."""
    rng = np.random.default_rng(0)
    features = np.c_[rng.normal(size=(60, 3)) * [1.0, 10.0, 0.1], np.full(60, 7.0)]
    return Table.of(features, np.where(features[:, 0] > 0.3, "high", np.where(features[:, 1] > 0, "up", "down")))


def signed(table, instance):
    return table.features[instance["rows"]] * instance["labels"][:, None]


def exact(x, table, instance):
    """The loss in extended precision."""
    rows, point = signed(table, instance).astype(np.longdouble), np.asarray(x, dtype=np.longdouble)
    return np.logaddexp(0, -(rows @ point)).mean() + np.longdouble(instance["penalty"]) / 2 * (point @ point)


def solved(table, instance):
    """The minimum, by SciPy's trust region method."""
    rows, penalty = signed(table, instance), instance["penalty"]

    def slope(x):
        return penalty * x - (rows / (1 + np.exp(rows @ x))[:, None]).mean(axis=0)

    def bend(x):
        chance = 1 / (1 + np.exp(rows @ x))
        return (rows.T * (chance * (1 - chance))) @ rows / len(rows) + penalty * np.eye(len(x))

    loss = lambda x: float(exact(x, table, instance))  # noqa: E731
    found = minimize(loss, np.zeros(rows.shape[1]), jac=slope, hess=bend, method="trust-exact", tol=1e-13)
    return found.x - np.linalg.solve(bend(found.x), slope(found.x))


def test_tables_are_standardised_and_have_a_task_for_each_class(small):
    assert small.features.shape == (60, 4)
    np.testing.assert_allclose(small.features.mean(axis=0), [0, 0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(small.features.std(axis=0), [1, 1, 1, 0], atol=1e-12)
    np.testing.assert_array_equal(small.labels.sum(axis=0), -1)
    two = Table.of(np.eye(3), [0, 5, 0])
    np.testing.assert_array_equal(two.labels, [[-1, 1, -1]])


@pytest.mark.parametrize(
    ("load", "rows", "unknowns", "tasks"),
    [(families.breast_cancer, 569, 31, 1), (families.digits, 1797, 62, 10), (families.wine, 178, 14, 3)],
)
def test_the_real_tables_are_those_of_scikit_learn(load, rows, unknowns, tasks):
    table = load()
    assert table.features.shape == (rows, unknowns)
    assert table.labels.shape == (tasks, rows)


def test_a_draw_is_a_task_rows_with_replacement_and_a_log_uniform_penalty(small):
    drawn = Resamples(small, rows=20)(600, seed=0)
    rows, labels, penalty = (drawn.fields[name] for name in ("rows", "labels", "penalty"))
    assert rows.shape == (600, 20)
    assert np.bincount(rows.ravel(), minlength=60).min() > 120
    logs = np.log10(penalty)
    assert -3 <= logs.min() < -2.95
    assert -1.05 < logs.max() <= -1
    np.testing.assert_allclose(np.histogram(logs, 4, (-3, -1))[0], 150, atol=45)
    tasks = (labels[:, None] == small.labels[:, rows].swapaxes(0, 1)).all(axis=2)
    assert tasks.any(axis=1).all()
    assert tasks.sum(axis=0).min() > 140


def test_the_seed_decides_the_draws(small):
    law = Resamples(small, rows=20)
    again, other = law(30, seed=3), law(30, seed=4)
    np.testing.assert_array_equal(law(30, seed=3).fingerprints, again.fingerprints)
    assert not set(again.fingerprints) & set(other.fingerprints)


@pytest.mark.parametrize("load", [families.breast_cancer, families.wine])
def test_minima_are_lower_bounds_and_tight(load):
    table = load()
    for instance in Resamples(table, rows=100)(6, seed=1):
        truth = exact(solved(table, instance), table, instance)
        assert instance["minimum"] < truth
        assert truth - instance["minimum"] < 3 * MARGIN


def test_the_bound_is_below_the_minimum_even_where_newton_has_not_arrived(small, monkeypatch):
    law = Resamples(small, rows=30)
    near = law(8, seed=0).fields["minimum"]
    monkeypatch.setattr("pacopt.families.logistic_minima.STEPS", 2)
    early = law(8, seed=0).fields["minimum"]
    assert np.all(early <= near + MARGIN)
    assert np.any(early < near - 1e-9)


def test_a_lower_bound_makes_relative_gaps_larger_and_so_certificates_stay_true(small):
    drawn = Resamples(small, rows=30)(8, seed=0)
    lowered = pacopt.Instances({**drawn.fields, "minimum": drawn.fields["minimum"] - 1e-3})
    tables = [
        pacopt.tabulate(LogisticRegression(small.features), pacopt.LBFGS(), {}, each, steps=3)
        for each in (drawn, lowered)
    ]
    true, stated = (table.ratios()[0] for table in tables)
    assert np.all(stated > true)
    digits = [pacopt.Digits(12).of(table) for table in tables]
    assert np.all(digits[1] >= digits[0])


def test_the_loss_is_the_same_whichever_way_rows_are_picked(small):
    """Few rows of a large table are picked first; of a small table all are multiplied first."""
    many = Table(np.tile(small.features, (5, 1)), np.tile(small.labels, 5))
    drawn = Resamples(many, rows=30)(4, seed=0)
    folded = pacopt.Instances({**drawn.fields, "rows": drawn.fields["rows"] % 60})
    found = [
        pacopt.tabulate(LogisticRegression(table.features), pacopt.LBFGS(), {}, each, steps=4).losses
        for table, each in ((many, drawn), (small, folded))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_the_loss_is_that_of_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model")
    table = families.wine()
    instance = Resamples(table, rows=100)(1, seed=2)[0]
    model = linear.LogisticRegression(C=1 / (100 * instance["penalty"]), fit_intercept=False, tol=1e-10)
    fitted = model.fit(table.features[instance["rows"]], instance["labels"]).coef_[0]
    assert exact(fitted, table, instance) - instance["minimum"] < 1e-9
    loss = LogisticRegression(table.features).loss(fitted, instance)
    assert float(loss) == pytest.approx(float(exact(fitted, table, instance)), rel=1e-6)


def test_a_path_is_a_group_and_statements_are_about_paths(small):
    family = replace(
        families.logistic_regression(small, rows=20, penalties=3, steps=3), algorithm=pacopt.GradientDescent()
    ).sized(prior=20, train=40, test=10)
    parts = family.drawn(0)
    assert len(parts.train) == 120
    assert parts.train.count == 40
    for field in ("rows", "labels"):
        each = parts.train.fields[field].reshape(40, 3, -1)
        assert np.all(each == each[:, :1])
    quick = pacopt.priors.Search(candidates=4, explore=1, rounds=1)
    learned = pacopt.learn(family.problem, family.learns(parts), parts, steps=3, prior=quick, baseline=None)
    assert learned.certificate.instances == 40
    assert "group" in str(learned.certificate)


def test_the_usual_solvers_end_where_independent_code_does():
    family = families.logistic_regression(families.wine(), steps=6)
    drawn = family.sample(20, seed=0)
    ours, scipys = (
        pacopt.tabulate(family.problem, pacopt.LBFGS(20), {}, drawn, steps=6).ratios()[0],
        family.usual["SciPy's L-BFGS-B"].engine.table({}, drawn).losses[0] / (START - drawn.fields["minimum"]),
    )
    assert 0.3 < np.exp(np.mean(np.log(ours / scipys))) < 1.5
    instance, L = drawn[0], 4.0
    rows, x = signed(families.wine(), instance), np.zeros(14)
    for _ in range(6):
        x = x - (instance["penalty"] * x - (rows / (1 + np.exp(rows @ x))[:, None]).mean(axis=0)) / L
    table = pacopt.tabulate(family.problem, pacopt.GradientDescent(), {"step_size": [1 / L]}, drawn[:1], steps=6)
    assert table.losses[0, 0] == pytest.approx(
        float(exact(x, families.wine(), instance) - instance["minimum"]), rel=1e-9
    )


def test_newton_needs_the_fewest_steps_of_all():
    family = families.logistic_regression(families.wine())
    drawn = family.sample(10, seed=0)
    newton, lbfgs = (
        pacopt.tabulate(family.problem, each, {}, drawn, steps=10).ratios()[0]
        for each in (pacopt.Newton(), pacopt.LBFGS())
    )
    assert newton.max() < 1e-9
    assert np.all(newton < lbfgs)


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"low": 0.0}, {"low": 1.0, "high": 0.1}, {"penalties": 1.5}])
def test_resamples_that_make_no_sense_are_refused(small, wrong):
    with pytest.raises(ProblemError, match="were asked for"):
        Resamples(small, **wrong)


def test_what_is_no_table_is_refused():
    with pytest.raises(ProblemError, match=r"Table\.of"):
        Table(np.ones((3, 2)), np.array([[1.0, 0.0, 1.0]]))


@pytest.mark.slow
def test_a_rule_in_the_metric_is_trained_and_certified_end_to_end(small, tmp_path):
    family = families.logistic_regression(small, rows=30, steps=4).sized(prior=80, train=200, test=20)
    parts = family.drawn(0)
    quick = pacopt.priors.Train(updates=60, batch=16, restarts=1, candidates=2, clip=0.6)
    learned = pacopt.learn(
        family.problem,
        family.learns(parts),
        parts,
        steps=4,
        prior=quick,
        score=family.score,
        baseline={"gradient descent": family.usual[family.textbook]},
    )
    assert learned.certificate.deployed.gain > 0.5
    learned.save(tmp_path / "run")
    assert pacopt.verify(tmp_path / "run").passed
