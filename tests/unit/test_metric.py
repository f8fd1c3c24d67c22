"""A metric of the user's own stands where the loss stood: in tables, sentences, the safeguard and files."""

import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt import Digits, Effort, GradientDescent, Instances, Ratio
from pacopt.auditing import audit
from pacopt.engines.traced.engine import Traced
from pacopt.errors import DesignError, ProblemError
from pacopt.priors import Search

RNG = np.random.default_rng(0)
QUICK = Search(candidates=12, explore=1, rounds=2)


class Regression(pacopt.AbstractProblem, pacopt.AbstractMetric):
    """Least squares on some rows, judged by the error on others."""

    quantity = "validation error"

    def start(self, instance):
        return jnp.zeros(instance["A"].shape[-1])

    def loss(self, x, instance):
        return jnp.sum((instance["A"] @ x - instance["b"]) ** 2)

    def metric(self, x, instance):
        return jnp.mean((instance["C"] @ x - instance["d"]) ** 2)


class Misclassified(Regression):
    """The part of wrong signs on the other rows, in per cent."""

    quantity = "error rate"
    unit = "%"
    largest = 100.0

    def metric(self, x, instance):
        return 100 * jnp.mean(jnp.where(jnp.sign(instance["C"] @ x) != jnp.sign(instance["d"]), 1.0, 0.0))


def sample(count):
    truth = RNG.normal(size=(count, 3))
    A, C = RNG.normal(size=(count, 8, 3)), RNG.normal(size=(count, 20, 3))
    b = np.einsum("kij,kj->ki", A, truth) + 0.3 * RNG.normal(size=(count, 8))
    d = np.einsum("kij,kj->ki", C, truth) + 0.3 * RNG.normal(size=(count, 20))
    return Instances({"A": A, "b": b, "C": C, "d": d})


def learn(problem, **options):
    parts = pacopt.split(sample(320), prior=60, train=200, test=60, seed=0)
    return pacopt.learn(problem, GradientDescent(), parts, **({"steps": 10, "prior": QUICK} | options))


@pytest.fixture(scope="module")
def learned():
    return learn(Regression())


def test_the_table_holds_the_metric_and_runs_minimise_the_loss(learned):
    instances, problem = sample(5), Regression()
    table = Traced(problem, GradientDescent(), 10).table({"step_size": [0.01]}, instances)
    for j, instance in enumerate(instances):
        x = np.zeros(3)
        assert table.start[j] == pytest.approx(float(problem.metric(x, instance)), rel=1e-6)
        for _ in range(10):
            x = x - 0.01 * 2 * instance["A"].T @ (instance["A"] @ x - instance["b"])
        assert table.losses[0, j] == pytest.approx(np.mean((instance["C"] @ x - instance["d"]) ** 2))
    assert learned.table.start.shape == (200,)


def test_every_sentence_says_what_is_measured(learned, tmp_path):
    sentences = learned.certificate.sentences
    assert sentences["risk"].startswith(
        "Falling back to the start if the validation error did not decrease, it has an expected "
        "final-to-initial validation error ratio of at most"
    )
    assert "ends at or below its start in validation error with probability" in sentences["success"]
    assert "at a ratio in validation error of at most" in sentences["quantile"]
    assert audit(learned.certificate.to_dict(), learned.table).passed
    place = learned.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=4, seed=0).passed
    again = pacopt.Learned.load(place)
    assert str(again.certificate) == str(learned.beside(place).certificate)
    assert again.certificate.design.score == Ratio("validation error")
    assert "validation error" in (place / "report.html").read_text()


def test_the_safeguard_compares_the_metric():
    problem = Regression()
    instance = next(iter(sample(1)))
    # Where the other rows want the opposite, minimising the loss makes the metric worse.
    against = {**instance, "C": -instance["A"], "d": instance["b"]}
    learned = learn(Regression())
    solution = Traced(problem, GradientDescent(), 10).solve({"step_size": 0.02}, against, 0)
    assert solution.run_loss > solution.start_loss == pytest.approx(float(problem.metric(jnp.zeros(3), against)))
    assert solution.returned_start
    np.testing.assert_array_equal(solution.x, np.zeros(3))
    assert learned.solve(instance).loss == pytest.approx(float(problem.metric(learned.solve(instance).x, instance)))


def test_a_metric_with_a_range_is_averaged_in_its_unit(tmp_path):
    ranged = learn(Misclassified())
    certificate = ranged.certificate
    assert ranged.table.start is None
    mean = ranged.table.losses[certificate.deployed.index].mean()
    assert mean < certificate.deployed.risk < mean + 5
    assert certificate.sentences["risk"].startswith("Its mean error rate is at most ")
    assert " %, where a run that came to no number or went beyond 100 counts as 100." in certificate.sentences["risk"]
    assert certificate.sentences["quantile"].endswith(" %.")
    place = ranged.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=4, seed=0).passed
    solution = ranged.solve(next(iter(sample(1))))
    assert solution.loss <= solution.start_loss <= 100
    monitor = ranged.monitor("risk")
    monitor.update(solution)
    assert monitor.count == 1


@pytest.mark.slow
def test_other_scores_measure_it_too():
    assert "digits" in learn(Regression(), score=Digits()).certificate.sentences["risk"]
    steps = learn(Regression(), score=Effort(0.5))
    assert "Run until it reaches 0.5 times its start in validation error" in steps.certificate.sentences["risk"]
    with pytest.raises(DesignError, match="error rate has a largest value, 100"):
        learn(Misclassified(), score=Digits())


@pytest.mark.parametrize(
    "wrong", [{"quantity": ""}, {"quantity": 3}, {"unit": None}, {"largest": 0}, {"largest": -1.0}]
)
def test_a_metric_without_a_name_or_with_no_range_is_refused(wrong):
    kind = type("Wrong", (Regression,), dict(wrong))
    with pytest.raises(ProblemError):
        learn(kind())


def test_a_metric_that_is_no_number_is_refused():
    class Rows(Regression):
        def metric(self, x, instance):
            return instance["C"] @ x

    with pytest.raises(ProblemError, match=r"Rows.metric returns float64\[20\]"):
        learn(Rows())


def test_pacopt_testing_knows_a_metric():
    pacopt.testing.check_problem(Regression(), sample(4))
