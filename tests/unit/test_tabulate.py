"""The table against plain NumPy loops, and everything `tabulate` promises around the numbers."""

import threading

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pacopt
from alone import run_alone
from cases import ALGORITHMS, PROBLEMS, candidates_for, numpy_table
from pacopt.errors import AlgorithmError, ProblemError, TableError


def agree(ours, reference, start, tolerance):
    """Relative to the larger of loss and start, and with the same runs failed."""
    finite = np.isfinite(reference)
    np.testing.assert_array_equal(np.isfinite(ours), finite)
    scale = np.maximum(np.abs(reference), start)
    assert np.max(np.abs(ours - reference)[finite] / scale[finite]) <= tolerance


@pytest.mark.parametrize("case", PROBLEMS, ids=lambda case: case.name)
@pytest.mark.parametrize(("algorithm", "run"), ALGORITHMS, ids=lambda value: type(value).__name__)
def test_the_table_agrees_with_numpy_loops(case, algorithm, run):
    instances, candidates = case.sample(13, 1), candidates_for(algorithm, case.step_size, 11)
    with np.errstate(over="ignore", invalid="ignore"):
        reference = numpy_table(case, run, candidates, instances, steps=25)
    table = pacopt.tabulate(case.problem, algorithm, candidates, instances, steps=25)
    start = np.array([case.loss(case.start(instance), instance) for instance in instances])
    np.testing.assert_allclose(table.start, start, rtol=1e-13)
    agree(table.losses, reference, start, 1e-12)


def test_float32_is_float32_and_is_named_in_the_provenance():
    case, (algorithm, run) = PROBLEMS[0], ALGORITHMS[1]
    instances, candidates = case.sample(20, 1), {"step_size": [1e-4, 3e-4], "momentum": [0.5, 0.9]}
    table = pacopt.tabulate(case.problem, algorithm, candidates, instances, steps=30, dtype=np.float32)
    reference = numpy_table(case, run, {k: np.array(v) for k, v in candidates.items()}, instances, steps=30)
    assert np.all(table.losses == table.losses.astype(np.float32))
    agree(table.losses, reference, table.start, 1e-5)
    assert not np.allclose(table.losses, reference, rtol=1e-12)
    assert table.provenance["precision"] == "float32"


def test_one_candidate_one_instance_one_step():
    instances = pacopt.Instances({"diagonal": np.array([[2.0]]), "b": np.array([[3.0]])})
    table = pacopt.tabulate(
        pacopt.DiagonalQuadratic(), pacopt.GradientDescent(), {"step_size": 0.1}, instances, steps=1
    )
    # x = 0.1 * 2 * 3 = 0.6, residual 1.2 - 3.
    assert table.losses[0, 0] == pytest.approx(0.5 * 1.8**2)
    assert table.start[0] == 4.5


def test_failed_runs_are_not_finite_and_change_nothing_for_the_others():
    case, (algorithm, _) = PROBLEMS[0], ALGORITHMS[1]
    instances = case.sample(40, 2)
    calm = {"step_size": np.full(30, 1e-4), "momentum": np.linspace(0, 0.9, 30)}
    wild = {name: values.copy() for name, values in calm.items()}
    wild["step_size"][::3] = 1e200
    one, other = (pacopt.tabulate(case.problem, algorithm, c, instances, steps=20) for c in (calm, wild))
    assert not np.isfinite(other.losses[::3]).any()
    keep = np.arange(30) % 3 != 0
    np.testing.assert_array_equal(one.losses[keep], other.losses[keep])


def test_momentum_beyond_the_domain_is_allowed():
    case = PROBLEMS[0]
    table = pacopt.tabulate(
        case.problem, pacopt.HeavyBall(), {"step_size": 1e-5, "momentum": 1.97}, case.sample(3, 0), steps=50
    )
    assert np.all(table.losses > table.start)


class Tilted(pacopt.AbstractProblem, pacopt.AbstractKnownMinimum):
    """(x - c)^2 + 7 with a minimum that is off by `error` times the start loss above it."""

    error: float

    def start(self, instance):
        return jnp.zeros(())

    def loss(self, x, instance):
        return (x - instance["c"]) ** 2 + 7.0

    def minimum(self, instance):
        return 7.0 + self.error * instance["c"] ** 2


def test_a_known_minimum_is_subtracted_and_rounding_below_it_is_counted():
    instances = pacopt.Instances({"c": np.array([8.0, 16.0, 0.0])})
    rates = {"step_size": [0.5, 0.25]}  # 0.5 reaches the minimiser in one step

    def table(error):
        return pacopt.tabulate(Tilted(error), pacopt.GradientDescent(), rates, instances, steps=1)

    exact = table(0.0)
    np.testing.assert_array_equal(exact.start, [64.0, 256.0, 0.0])
    np.testing.assert_array_equal(exact.losses, [[0, 0, 0], [16, 64, 0]])
    assert exact.provenance["clamped"] == 0
    rounded = table(5e-13)
    np.testing.assert_array_equal(rounded.losses[0], [0, 0, 0])
    assert rounded.provenance["clamped"] == 2
    with pytest.raises(TableError, match=r"candidate 0 on instance 0 is -.*AbstractKnownMinimum"):
        table(1e-11)


def test_only_cells_of_the_table_are_counted_and_float32_has_its_own_rounding():
    c = np.linspace(8.0, 9.0, 1001)  # no multiple of any tile
    instances, rates = pacopt.Instances({"c": c}), {"step_size": np.full(7, 0.5)}
    table = pacopt.tabulate(Tilted(5e-13), pacopt.GradientDescent(), rates, instances, steps=1)
    assert table.provenance["clamped"] == 7 * 1001
    single = pacopt.tabulate(Tilted(1e-6), pacopt.GradientDescent(), rates, instances, steps=1, dtype=np.float32)
    np.testing.assert_array_equal(single.losses, 0)


def test_a_warm_start_near_the_minimum_is_not_refused_for_its_rounding():
    class Warm(Tilted):
        def start(self, instance):
            return instance["c"] * (1 + 1e-9)

    instances = pacopt.Instances({"c": np.linspace(1, 2, 50)})
    table = pacopt.tabulate(Warm(0.0), pacopt.GradientDescent(), {"step_size": [0.1, 0.5]}, instances, steps=5)
    assert np.all(table.losses >= 0)


def test_a_start_at_the_minimum_may_be_below_it_by_rounding():
    class Level(Tilted):
        def minimum(self, instance):
            return 7.0 + 7.0 * self.error

    instances = pacopt.Instances({"c": np.zeros(2)})
    table = pacopt.tabulate(Level(5e-13), pacopt.GradientDescent(), {"step_size": 0.1}, instances, steps=1)
    np.testing.assert_array_equal(table.start, 0)
    np.testing.assert_array_equal(table.losses, 0)
    with pytest.raises(TableError, match="start loss of instance 0 is -"):
        pacopt.tabulate(Level(1e-11), pacopt.GradientDescent(), {"step_size": 0.1}, instances, steps=1)


class Lasso(pacopt.AbstractProblem, pacopt.AbstractProximable):
    """1/2 |x - b|^2 + |x|_1."""

    def start(self, instance):
        return jnp.zeros_like(instance["b"])

    def smooth(self, x, instance):
        return 0.5 * jnp.sum((x - instance["b"]) ** 2)

    def prox(self, x, step_size, instance):
        return jnp.sign(x) * jnp.maximum(jnp.abs(x) - step_size, 0.0)

    def loss(self, x, instance):
        return self.smooth(x, instance) + jnp.sum(jnp.abs(x))


class ProximalGradient(pacopt.AbstractAlgorithm):
    hyperparameters = {"step_size": pacopt.Interval(1e-6, 1.0, log=True)}

    def init(self, x, hyper, objective):
        return x

    def step(self, x, hyper, objective):
        return objective.prox(x - hyper["step_size"] * objective.gradient(x), hyper["step_size"])

    def read(self, x):
        return x


def test_a_users_proximal_algorithm_solves_a_users_composite_problem():
    b = np.array([[3.0, -0.5, 1.5]])
    table = pacopt.tabulate(Lasso(), ProximalGradient(), {"step_size": 1.0}, pacopt.Instances({"b": b}), steps=1)
    # Soft thresholding at 1 is the minimiser: (2, 0, 0.5).
    assert table.losses[0, 0] == pytest.approx(0.5 * (1 + 0.25 + 1) + 2.5)
    case = PROBLEMS[0]
    with pytest.raises(ProblemError, match="AbstractProximable"):
        pacopt.tabulate(case.problem, ProximalGradient(), {"step_size": 1.0}, case.sample(2, 0), steps=1)


def test_curves_are_the_tables_of_fewer_steps():
    case, (algorithm, _) = PROBLEMS[1], ALGORITHMS[2]
    instances, candidates = case.sample(7, 3), candidates_for(algorithm, case.step_size, 5)
    at = (0, 6, 3, 20)
    curves = pacopt.loss_curves(case.problem, algorithm, candidates, instances, steps=20, at=at)
    tables = [pacopt.tabulate(case.problem, algorithm, candidates, instances, steps=k) for k in (6, 3, 20)]
    expected = [np.broadcast_to(tables[0].start, (5, 7)), *(table.losses for table in tables)]
    for slot, losses in enumerate(expected):
        agree(curves[:, :, slot], losses, tables[0].start, 1e-12)
    for bad in ((), (21,), (-1,), (3, 3)):
        with pytest.raises(AlgorithmError, match="recorded"):
            pacopt.loss_curves(case.problem, algorithm, candidates, instances, steps=20, at=bad)


def test_a_users_success_predicate_is_tabulated_beside_the_losses():
    case, (algorithm, _) = PROBLEMS[0], ALGORITHMS[0]
    instances = case.sample(9, 4)
    candidates = {"step_size": [1e-9, 2e-4]}

    def small_residual(x, instance):
        return jnp.max(jnp.abs(instance["diagonal"] * x - instance["b"])) <= 0.999 * jnp.max(jnp.abs(instance["b"]))

    table = pacopt.tabulate(case.problem, algorithm, candidates, instances, steps=40, success=small_residual)
    expected = np.empty((2, 9), dtype=bool)
    for row, step_size in enumerate(candidates["step_size"]):
        for column, instance in enumerate(instances):
            x = np.zeros(9)
            for _ in range(40):
                x = x - step_size * case.gradient(x, instance)
            expected[row, column] = (
                np.abs(instance["diagonal"] * x - instance["b"]).max() <= 0.999 * np.abs(instance["b"]).max()
            )
    np.testing.assert_array_equal(table.success, expected)
    assert table.success.any()
    assert not table.success.all()


class Counting(pacopt.AbstractProblem):
    """Counts how often JAX traces its loss."""

    calls = []

    def start(self, instance):
        return jnp.zeros(3)

    def loss(self, x, instance):
        self.calls.append(threading.get_ident())
        return jnp.sum((x - instance["b"]) ** 2)


def test_a_shape_is_traced_once_whatever_the_number_of_tiles():
    rng = np.random.default_rng(0)

    def run(seed):
        instances = pacopt.Instances({"b": rng.standard_normal((5000, 3))})
        candidates = {"step_size": rng.uniform(0, 0.5, 200)}
        before = len(Counting.calls)
        work = pacopt.Tabulation.prepare(Counting(), pacopt.GradientDescent(), candidates, instances, steps=40)
        prepared = len(Counting.calls)
        tiles = list(work.tiles())
        assert len(tiles) > 8
        return prepared - before, len(Counting.calls) - prepared

    checking, first = run(0)
    assert first > 0
    assert run(1) == (checking, 0)  # other data, same shapes: nothing is traced but the checks


def test_worker_threads_compute_in_float64_whatever_the_global_setting():
    assert jnp.zeros(1).dtype == jnp.float32
    rng = np.random.default_rng(0)
    instances = pacopt.Instances({"diagonal": rng.uniform(1, 9, (4000, 5)), "b": rng.standard_normal((4000, 5))})
    work = pacopt.Tabulation.prepare(
        pacopt.DiagonalQuadratic(), pacopt.GradientDescent(), {"step_size": np.full(300, 1e-3)}, instances, steps=40
    )
    tiles = list(work.tiles())
    assert len(tiles) > 8
    for tile in tiles:
        assert not np.any(tile.losses == tile.losses.astype(np.float32))
    assert jnp.zeros(1).dtype == jnp.float32


def test_a_setting_of_the_user_survives_a_run_in_the_other_precision():
    case = PROBLEMS[0]
    with jax.enable_x64(True):
        table = pacopt.tabulate(
            case.problem, pacopt.GradientDescent(), {"step_size": 1e-4}, case.sample(3, 0), steps=3, dtype=np.float32
        )
        assert np.all(table.losses == table.losses.astype(np.float32))
        assert jnp.zeros(1).dtype == jnp.float64


def test_finished_tiles_can_be_stored_and_skipped():
    case, (algorithm, _) = PROBLEMS[0], ALGORITHMS[1]
    instances, candidates = case.sample(4000, 5), candidates_for(algorithm, case.step_size, 60)
    work = pacopt.Tabulation.prepare(case.problem, algorithm, candidates, instances, steps=30)
    generator = work.tiles()
    stored = [next(generator), next(generator)]
    generator.close()  # as Ctrl-C would

    again = pacopt.Tabulation.prepare(case.problem, algorithm, candidates, instances, steps=30)
    kept = {tile.first for tile in stored}
    rest = list(again.tiles([first for first in again.tiling if first not in kept]))
    assert len(rest) == len(again.tiling) - 2 > 2
    whole = pacopt.tabulate(case.problem, algorithm, candidates, instances, steps=30)
    np.testing.assert_array_equal(again.table(stored + rest).losses, whole.losses)
    with pytest.raises(TableError, match="in no tile"):
        again.table(rest)

    other = pacopt.Tabulation.prepare(case.problem, algorithm, candidates, instances, steps=31)
    with pytest.raises(TableError, match="another table"):
        other.table(stored)


def test_a_run_that_does_not_move_ends_exactly_at_its_start():
    """In a batch a matrix product rounds otherwise than alone; a tie must stay a tie all the same."""

    class Fit(pacopt.AbstractProblem):
        def start(self, instance):
            return jnp.ones(23)

        def loss(self, x, instance):
            return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)

    rng = np.random.default_rng(0)
    instances = pacopt.Instances({"A": rng.standard_normal((40, 37, 23)), "b": rng.standard_normal((40, 37))})
    table = pacopt.tabulate(Fit(), pacopt.GradientDescent(), {"step_size": np.zeros(64)}, instances, steps=3)
    np.testing.assert_array_equal(table.losses, np.broadcast_to(table.start, (64, 40)))
    assert table.succeeded().all()


class Configured(pacopt.AbstractProblem):
    """A problem with plain fields: a size, a switch, a name, a function, and shared data."""

    size: int
    squared: bool
    kind: str
    link: object
    power: int = eqx.field(static=True)
    shift: np.ndarray

    def start(self, instance):
        return jnp.zeros(self.size)

    def loss(self, x, instance):
        residual = self.link(x) - instance["b"] - self.shift + 0.0 * jnp.arange(self.size)
        total = jnp.sum(residual**self.power if self.squared else jnp.abs(residual))
        return total + (1.0 if self.kind == "lifted" else 0.0)


def test_a_problem_may_have_fields_of_any_kind():
    instances = pacopt.Instances({"b": np.ones((4, 3))})
    problem = Configured(3, True, "lifted", jnp.tanh, 2, np.full(3, 0.5))
    table = pacopt.tabulate(problem, pacopt.GradientDescent(), {"step_size": 0.1}, instances, steps=5)
    np.testing.assert_allclose(table.start, 3 * 1.5**2 + 1)


def test_every_device_gets_tiles():
    code = """
        import numpy as np, pacopt
        import pacopt.engines.traced.tabulation as tabulation
        seen, original = [], tabulation.run_tile
        def spy(rest, arrays, hypers, batches, start, seeds):
            seen.append(next(iter(start.devices())).id)
            return original(rest, arrays, hypers, batches, start, seeds)
        tabulation.run_tile = spy
        law = pacopt.VaryingCurvature.draw(seed=0, n=10)
        rates = {"step_size": np.linspace(0, 1e-4, 60), "momentum": np.zeros(60)}
        pacopt.tabulate(law.problem, pacopt.HeavyBall(), rates, law.sample(3000, seed=1), steps=40)
        print(sorted(set(seen)))
    """
    assert run_alone(code, XLA_FLAGS="--xla_force_host_platform_device_count=3") == "[0, 1, 2]\n"


def test_progress_counts_cells_up_to_all_of_them():
    case, (algorithm, _) = PROBLEMS[0], ALGORITHMS[1]
    calls = []
    candidates = candidates_for(algorithm, case.step_size, 60)
    pacopt.tabulate(
        case.problem, algorithm, candidates, case.sample(4000, 5), steps=30, progress=lambda *call: calls.append(call)
    )
    assert len(calls) > 2
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (240_000, 240_000)


def test_the_provenance_changes_with_everything_that_determines_the_numbers():
    case, (algorithm, _) = PROBLEMS[1], ALGORITHMS[0]
    base = {"problem": case.problem, "instances": case.sample(3, 0), "step_size": 1e-4, "steps": 2, "dtype": np.float64}
    base |= {"algorithm": algorithm, "success": None}
    other = type("Other", (pacopt.GradientDescent.__mro__[1],), dict(vars(pacopt.GradientDescent)))
    changes = [
        {},
        {"algorithm": other()},
        {"success": lambda x, i: jnp.all(x < 1)},
        {"success": lambda x, i: jnp.all(x < 2)},
        {"instances": case.sample(3, 1)},
        {"step_size": 2e-4},
        {"steps": 3},
        {"dtype": np.float32},
        {"problem": pacopt.SharedQuadratic(2 * case.problem.A)},
    ]

    def job(problem, algorithm, instances, step_size, **options):
        return pacopt.Tabulation.prepare(problem, algorithm, {"step_size": step_size}, instances, **options).table_key

    jobs = [job(**base | change) for change in changes]
    assert len(set(jobs)) == len(changes)
    assert job(**base) == jobs[0]

    def within(limit):
        return lambda x, i: jnp.all(x < limit)

    assert job(**base | {"success": within(1.0)}) != job(**base | {"success": within(2.0)})
    configured = [Configured(3, True, kind, jnp.tanh, power, np.zeros(3)) for kind in "ab" for power in (2, 4)]
    plain = base | {"instances": pacopt.Instances({"b": np.ones((2, 3))})}
    assert len({job(**plain | {"problem": problem}) for problem in configured}) == 4


def test_a_loss_that_others_compiled_in_float32_still_runs_in_float64():
    """In a process of its own: what JAX remembers of an array depends on what it has seen before."""
    told = run_alone(
        """
        import jax, jax.numpy as jnp, numpy as np, pacopt

        class Shared(pacopt.AbstractProblem):
            matrix: np.ndarray

            def start(self, instance):
                return jnp.zeros(self.matrix.shape[1])

            def loss(self, x, instance):
                return 0.5 * jnp.sum((jnp.asarray(self.matrix) @ x - instance["b"]) ** 2)

        rng = np.random.default_rng(0)
        matrix, data = rng.normal(size=(25, 25)), pacopt.Instances({"b": rng.normal(size=(60, 25))})
        parts = pacopt.split(data, prior=20, train=30, test=10, seed=0)

        def made(problem):
            table = pacopt.tabulate(problem, pacopt.ConjugateGradients(), {}, parts.test, steps=3)
            solved = pacopt.Traced(problem, pacopt.GradientDescent(), 3).solve({"step_size": 0.01}, parts.test[0])
            return table.losses, solved.run_loss, pacopt.whitening(problem, parts)

        problem = Shared(matrix)
        step = jax.jit(jax.value_and_grad(problem.loss))  # what it remembers lives as long as it does
        step(jnp.zeros(25), {"b": jnp.ones(25)})
        for one, other in zip(made(problem), made(Shared(matrix.copy())), strict=True):
            np.testing.assert_array_equal(one, other)
        print("equal")
        """
    )
    assert told == "equal\n"
