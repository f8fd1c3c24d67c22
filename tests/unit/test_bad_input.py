"""A user's mistakes, each answered before anything long starts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from pacopt.errors import (
    AlgorithmError,
    CandidatesError,
    DesignError,
    InstancesError,
    PrecisionError,
    ProblemError,
    SplitError,
    TableError,
)

INSTANCES = pacopt.Instances({"b": np.arange(12.0).reshape(4, 3)})
OUTSIDE = jnp.ones(3)  # float32: JAX's default


@jax.jit
def compiled(x):
    return jnp.sum((OUTSIDE * x) ** 2)


def problem(start=lambda i: jnp.zeros(3), loss=lambda x, i: jnp.sum((x - i["b"]) ** 2)):
    class Mine(pacopt.AbstractProblem):
        def start(self, instance):
            return start(instance)

        def loss(self, x, instance):
            return loss(x, instance)

    return Mine()


def algorithm(init=lambda x, h, o: x, step=lambda s, h, o: s - h["rate"] * o.gradient(s), read=lambda s: s):
    class Mine(pacopt.AbstractAlgorithm):
        hyperparameters = {"rate": pacopt.Interval(0.0, 1.0)}

        def init(self, x, hyper, objective):
            return init(x, hyper, objective)

        def step(self, state, hyper, objective):
            return step(state, hyper, objective)

        def read(self, state):
            return read(state)

    return Mine()


PLAIN, DESCENT = problem(), algorithm()


def prepare(problem=PLAIN, algorithm=DESCENT, candidates=None, instances=INSTANCES, steps=5, **options):
    """Only `prepare`: nothing is compiled or run."""
    candidates = {"rate": [0.1, 0.2]} if candidates is None else candidates
    return pacopt.Tabulation.prepare(problem, algorithm, candidates, instances, steps=steps, **options)


class Stored(pacopt.AbstractProblem):
    A: jax.Array

    def start(self, instance):
        return jnp.zeros(3)

    def loss(self, x, instance):
        return jnp.sum((self.A * x - instance["b"]) ** 2)


MISTAKES = {
    "a loss that is a vector": (
        lambda: prepare(problem(loss=lambda x, i: (x - i["b"]) ** 2)),
        ProblemError,
        r"Mine.loss returns float64\[3\]. It must return a single float64 number",
    ),
    "an integer loss": (lambda: prepare(problem(loss=lambda x, i: jnp.sum(x > 0))), ProblemError, "returns int64"),
    "a loss that is a tuple": (
        lambda: prepare(problem(loss=lambda x, i: (jnp.sum(x), jnp.sum(x)))),
        ProblemError,
        "single float64",
    ),
    "an integer start": (
        lambda: prepare(problem(start=lambda i: jnp.zeros(3, int))),
        ProblemError,
        r"start returns int64\[3\]",
    ),
    "a float32 start": (
        lambda: prepare(problem(start=lambda i: jnp.zeros(3, jnp.float32))),
        ProblemError,
        r"start returns float32\[3\]",
    ),
    "no start": (lambda: prepare(problem(start=lambda i: None)), ProblemError, "start returns nothing"),
    "a start of the wrong shape": (
        lambda: prepare(problem(start=lambda i: jnp.zeros(4))),
        ProblemError,
        r"Mine.loss at a start of float64\[4\] fails.*\(4,\), \(3,\)",
    ),
    "a field that does not exist": (
        lambda: prepare(problem(loss=lambda x, i: jnp.sum(x - i["bb"]))),
        ProblemError,
        "asks for 'bb'.*did you mean 'b'",
    ),
    "a field that is like none": (
        lambda: prepare(problem(loss=lambda x, i: jnp.sum(x - i["walrus"]))),
        ProblemError,
        r"asks for 'walrus'. The instances have: 'b'. Use one of these.$",
    ),
    "a Python branch on a traced value": (
        lambda: prepare(problem(loss=lambda x, i: jnp.sum(x) if x[0] > 0 else jnp.sum(-x))),
        ProblemError,
        "jax.numpy.where",
    ),
    "a float32 array on the problem": (lambda: prepare(Stored(jnp.ones(3))), PrecisionError, "Stored.A is float32"),
    "a float32 array from outside": (
        lambda: prepare(problem(loss=lambda x, i: jnp.sum((OUTSIDE * x - i["b"]) ** 2))),
        PrecisionError,
        "Mine.loss uses without being given it is float32",
    ),
    "a class in place of a problem": (lambda: prepare(Stored), ProblemError, r"Call the class: Stored\(\)"),
    "a function in place of an algorithm": (lambda: prepare(algorithm=len), AlgorithmError, "AbstractAlgorithm"),
    "a dict in place of instances": (
        lambda: prepare(instances={"b": np.ones((3, 3))}),
        InstancesError,
        "of type dict was given.*pacopt.Instances",
    ),
    "no instances": (lambda: prepare(instances=INSTANCES[:0]), InstancesError, "no instances"),
    "no steps": (lambda: prepare(steps=0), AlgorithmError, "steps is 0"),
    "half a step": (lambda: prepare(steps=2.5), AlgorithmError, "whole number"),
    "no candidates": (lambda: prepare(candidates={"rate": []}), CandidatesError, "at least one"),
    "an unknown hyperparameter": (
        lambda: prepare(candidates={"rates": [0.1]}),
        CandidatesError,
        "no hyperparameter 'rates'.*did you mean 'rate'",
    ),
    "a forgotten hyperparameter": (lambda: prepare(candidates={}), CandidatesError, "no values for 'rate'"),
    "a hyperparameter that is a matrix": (
        lambda: prepare(candidates={"rate": np.ones((2, 2))}),
        CandidatesError,
        r"of shape \[2, 2\]: 1\.0, 1\.0, 1\.0, \.\.\.\. They must be values of Interval",
    ),
    "a hyperparameter that is NaN": (
        lambda: prepare(candidates={"rate": [0.1, np.nan]}),
        CandidatesError,
        "candidate 1 is nan",
    ),
    "candidates that are a list": (lambda: prepare(candidates=[{"rate": 0.1}]), CandidatesError, "are a list"),
    "candidates that are text": (lambda: prepare(candidates={"rate": ["0.1"]}), CandidatesError, "values of Interval"),
    "candidates of unequal length": (
        lambda: prepare(candidates={"rate": [[1], [1, 2]]}),
        CandidatesError,
        "values of Interval",
    ),
    "a number type that does not exist": (lambda: prepare(dtype="bogus"), PrecisionError, "'bogus'"),
    "a start without numbers": (lambda: prepare(problem(start=lambda i: jnp.zeros(0))), ProblemError, "start returns"),
    "a recorded step that is no number": (lambda: prepare(at=[2.7]), AlgorithmError, "recorded at"),
    "a float32 array in a function that was compiled before": (
        lambda: prepare(problem(loss=lambda x, i: compiled(x) + 0 * jnp.sum(i["b"]))),
        PrecisionError,
        "without being given it is float32",
    ),
    "half precision": (lambda: prepare(dtype=np.float16), PrecisionError, "float64 or float32"),
    "a state that changes its shape": (
        lambda: prepare(algorithm=algorithm(step=lambda s, h, o: jnp.append(s, 0.0))),
        AlgorithmError,
        r"step returns float64\[4\].*a state like the one it was given: float64\[3\]",
    ),
    "a state that changes its structure": (
        lambda: prepare(algorithm=algorithm(step=lambda s, h, o: (s, s))),
        AlgorithmError,
        "Give `init` the structure",
    ),
    "a read that returns no point": (
        lambda: prepare(algorithm=algorithm(read=lambda s: jnp.sum(s))),
        AlgorithmError,
        "a point like the start",
    ),
    "an undeclared hyperparameter in a step": (
        lambda: prepare(algorithm=algorithm(step=lambda s, h, o: s * h["momentum"])),
        AlgorithmError,
        "Mine.step asks for 'momentum'",
    ),
    "a predicate that returns a vector": (lambda: prepare(success=lambda x, i: x > 0), ProblemError, "one boolean"),
    "the value of a hyperparameter in a step": (
        lambda: prepare(algorithm=algorithm(step=lambda s, h, o: s * int(h["rate"]))),
        AlgorithmError,
        r"Mine\.step looks at the value of a traced array .* is a pacopt\.Choice",
    ),
    "the value of a field in a step": (
        lambda: prepare(algorithm=algorithm(step=lambda s, h, o: s if o.instance["b"][0] > 0 else 2 * s)),
        AlgorithmError,
        r"Mine\.step looks at the value of a traced array",
    ),
    "a proximal map that there is not": (
        lambda: prepare(algorithm=algorithm(step=lambda s, h, o: o.prox(s, h["rate"]))),
        ProblemError,
        r"Mine has no proximal map, but .* Derive it from pacopt\.AbstractProximable",
    ),
    "as many steps as there are not": (lambda: prepare(steps=2**64), AlgorithmError, r"steps is 2\^31 or more"),
    "steps of five thousand digits": (lambda: prepare(steps=10**5000), AlgorithmError, r"steps is 2\^31 or more"),
    "half a row": (lambda: INSTANCES[1.5], InstancesError, r"indexed with 1\.5"),
    "rows in a matrix": (lambda: INSTANCES[[[0]]], InstancesError, r"indexed with \[\[0\]\]"),
    "rows by a text": (lambda: INSTANCES["b"], InstancesError, "indexed with 'b'"),
    "numbers as parts": (lambda: pacopt.Instances.concatenate([1, 2]), InstancesError, "Part 0 is a int"),
    "a grid of nothing": (lambda: pacopt.Grid.geometric(0, -1, 0), DesignError, "0 points from 0 to -1"),
    "a race by a word": (
        lambda: pacopt.learn(PLAIN, DESCENT, None, steps=5, racing="yes"),
        DesignError,
        "racing is 'yes'. It is True or False",
    ),
    "more for the search than there is": (
        lambda: pacopt.split(INSTANCES, prior=20),
        SplitError,
        "but there are 4 instances",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_before_anything_runs(mistake):
    attempt, error, message = MISTAKES[mistake]
    with pytest.raises(error, match=message):
        attempt()


class Rows(pacopt.AbstractProblem):
    """Each instance is made of some rows of data that all of them share."""

    X: np.ndarray

    def start(self, instance):
        return jnp.zeros(self.X[instance["rows"]].shape[1])

    def loss(self, x, instance):
        return jnp.sum((self.X[instance["rows"]] @ x - 1) ** 2)


def test_shared_data_in_numpy_can_be_indexed_by_an_instance():
    rng = np.random.default_rng(0)
    shared = Rows(rng.normal(size=(99, 2)))
    instances = pacopt.Instances({"rows": rng.integers(0, 99, (120, 4))})
    parts = pacopt.split(instances, prior=30, train=60, test=30)
    quick = pacopt.priors.Search(candidates=16, explore=1, rounds=1)
    learned = pacopt.learn(shared, pacopt.GradientDescent(), parts, steps=4, prior=quick)
    solution, rows = learned.solve(parts.test[0]), parts.test[0]["rows"]
    assert solution.loss == pytest.approx(np.sum((shared.X[rows] @ solution.x - 1) ** 2), rel=1e-9)


def test_candidates_of_unequal_number_are_refused():
    with pytest.raises(CandidatesError, match=r"\(2,\).*\(3,\)"):
        pacopt.Tabulation.prepare(
            problem(), pacopt.HeavyBall(), {"step_size": [1, 2], "momentum": [0, 0, 0]}, INSTANCES, steps=1
        )


def test_a_negative_loss_is_found_in_the_first_tile_and_named():
    falling = problem(loss=lambda x, i: jnp.sum(i["b"] * x) + 1.0)
    tiles = prepare(falling, candidates={"rate": [0.0, 0.5]}).tiles()
    with pytest.raises(TableError, match="candidate 1 on instance 0 is -"):
        next(tiles)


def test_an_instance_without_a_start_is_named_before_anything_runs():
    b = np.ones((5000, 3))
    b[4999] = np.nan
    work = prepare(instances=pacopt.Instances({"b": b}), candidates={"rate": np.linspace(0, 0.1, 400)}, steps=50)
    with pytest.raises(TableError, match="start loss of instance 4999 is nan; 1 start is invalid"):
        work.tiles()


def test_a_negative_loss_in_a_later_tile_is_named_by_its_own_number():
    b = np.zeros((5000, 3))
    b[4321] = 1.0
    falling = problem(loss=lambda x, i: jnp.sum(i["b"] * x) + 1.0)
    work = prepare(falling, instances=pacopt.Instances({"b": b}), candidates={"rate": np.full(100, 0.5)}, steps=50)
    assert len(work.tiling) > 4
    with pytest.raises(TableError, match="candidate 0 on instance 4321 is -"):
        list(work.tiles())


def test_a_start_that_is_not_finite_is_named():
    with pytest.raises(TableError, match="start loss of instance 0 is nan; 4 starts are invalid"):
        next(prepare(problem(loss=lambda x, i: jnp.sum(x) * jnp.nan)).tiles())


def test_a_hyperparameter_beyond_float32_is_refused_there():
    with pytest.raises(PrecisionError, match=r"candidate 1 is 1e\+39"):
        prepare(problem(start=lambda i: jnp.zeros(3)), candidates={"rate": [0.1, 1e39]}, dtype=np.float32)


def test_fields_of_another_byte_order_are_numbers_like_any_other():
    both = [pacopt.Instances({"b": np.ones((2, 3)), "k": np.array([1, 2]).astype(kind)}) for kind in (">i8", "<i8")]
    tables = [prepare(instances=instances).table(prepare(instances=instances).tiles()) for instances in both]
    np.testing.assert_array_equal(tables[0].losses, tables[1].losses)


def test_large_integers_do_not_wrap_around_in_float32():
    instances = pacopt.Instances({"b": np.ones((2, 3)), "k": np.array([1, 2**40])})
    with pytest.raises(PrecisionError, match="beyond 32 bits"):
        list(prepare(instances=instances, dtype=np.float32).tiles())


def test_an_error_survives_its_way_through_a_process_pool():
    import pickle

    error = TableError("found", "needed", "why", "remedy")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "found needed why remedy"
    assert copy.remedy == "remedy"


class Solved(pacopt.AbstractProblem, pacopt.AbstractKnownMinimum):
    """A bowl around a point that only `minimum` knows."""

    def start(self, instance):
        return jnp.zeros(2)

    def loss(self, x, instance):
        return jnp.sum((x - instance["b"]) ** 2)

    def minimum(self, instance):
        return 0.0 * jnp.sum(instance["solution"])


class Knowing(pacopt.AbstractAlgorithm):
    """Goes where a field says."""

    field: str
    hyperparameters = {"step_size": pacopt.Interval(0.1, 1.0)}

    def init(self, x, hyper, objective):
        return x

    def step(self, x, hyper, objective):
        return x - hyper["step_size"] * (objective.gradient(x) + 0.1 * objective.instance[self.field])

    def read(self, x):
        return x


def test_an_algorithm_that_knows_the_solution_is_refused():
    b = np.random.default_rng(0).normal(size=(4, 2))
    instances = pacopt.Instances({"b": b, "solution": b})
    with pytest.raises(AlgorithmError, match="Knowing reads the field 'solution'; in Solved only `minimum` does"):
        pacopt.tabulate(Solved(), Knowing("solution"), {"step_size": 0.3}, instances, steps=2)
    assert pacopt.tabulate(Solved(), Knowing("b"), {"step_size": 0.3}, instances, steps=2).shape == (1, 4)


def test_a_quoted_sentence_keeps_one_period():
    with pytest.raises(InstancesError) as told:
        pacopt.Instances({"x": [[1.0], [1.0, 2.0]]})
    assert told.value.found.endswith("inhomogeneous part.")
    assert str(TableError("It ends with ...", "", "", "")) == "It ends with ..."
