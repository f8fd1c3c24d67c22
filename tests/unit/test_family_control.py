"""A quadcopter's controller: its programs, its flights, OSQP's iteration, and steps counted until it is solved."""

import jax.numpy as jnp
import numpy as np
import osqp
import pytest

import pacopt
from pacopt.engines.traced.engine import Traced
from pacopt.engines.traced.precision import precision
from pacopt.errors import AlgorithmError, ProblemError
from pacopt.families.control import quadcopter, rescaled, settings_of, solved_by_osqp
from pacopt.families.flights import Quadcopter, flights, model, program
from pacopt.problems import QuadraticProgram
from pacopt.problems.quadratic_programs import Pair

FLOWN = flights(4, seed=3)
PLAIN = pacopt.ADMM([0] * 304)
UNEVEN = {"rho": np.geomspace(0.03, 3.0, 304), "sigma": 1e-5, "alpha": 1.5}


@pytest.fixture(autouse=True)
def in_double_precision():
    with precision(np.dtype(np.float64)):
        yield


def osqp_after(parts, **settings):
    solver = osqp.OSQP()
    solver.setup(*parts, verbose=False, **{"eps_abs": 1e-4, "eps_rel": 1e-4, "check_termination": 1, **settings})
    return solver.solve(raise_error=False)


def by_hand(instance, hyper, steps):
    """OSQP's iteration with its system of x and the multipliers, as the paper has it."""
    P, q, A, lower, upper = program(instance)
    P, A, (m, n) = P.toarray(), A.toarray(), A.shape
    rho = np.broadcast_to(hyper["rho"], m) * np.where(lower == upper, 1e3, 1.0)
    rho = np.where(np.isinf(lower) & np.isinf(upper), 1e-6, rho)
    sigma, alpha = hyper["sigma"], hyper["alpha"]
    system = np.block([[P + sigma * np.eye(n), A.T], [A, -np.diag(1 / rho)]])
    x, z, y = np.zeros(n), np.zeros(m), np.zeros(m)
    for _ in range(steps):
        moved = np.linalg.solve(system, np.concatenate([sigma * x - q, z - y / rho]))
        near = z + (moved[n:] - y) / rho
        x = alpha * moved[:n] + (1 - alpha) * x
        mixed = alpha * near + (1 - alpha) * z
        z = np.clip(mixed + y / rho, lower, upper)
        y = y + rho * (mixed - z)
    return x, z, y


def run(algorithm, hyper, instance, steps, problem=None):
    return Traced(problem or Quadcopter(), algorithm, steps).solve(hyper, instance).x


def times_of(algorithm, hyper, instances, steps):
    engine = Traced(Quadcopter(), algorithm, steps).counting("iterations", None)
    return engine.table({name: np.asarray(value)[None] for name, value in hyper.items()}, instances[:]).losses[0]


def test_products_are_those_with_the_matrices_that_osqp_gets():
    problem, rng = Quadcopter(), np.random.default_rng(0)
    x, y = rng.normal(size=172), rng.normal(size=304)
    P, q, A, lower, upper = program(FLOWN[7])
    assert np.allclose(problem.matrices()[0], P.toarray())
    assert np.allclose(problem.matrices()[1], A.toarray())
    assert np.allclose(problem.curved(x), P @ x)
    assert np.allclose(problem.rows(x), A @ x)
    assert np.allclose(problem.columns(y), A.T @ y)
    for ours, theirs in zip(problem.vectors(FLOWN[7]), (q, lower, upper), strict=True):
        assert np.allclose(ours, theirs)
    assert np.array_equal(problem.kinds().equal, lower == upper)
    assert np.array_equal(problem.kinds().free, np.isinf(lower) & np.isinf(upper))


def test_a_flight_is_a_group_of_ten_problems_and_a_seed_decides_it():
    assert FLOWN.count == 4
    assert len(FLOWN) == 40
    again, other = flights(4, seed=3), flights(4, seed=4)
    assert np.array_equal(again.fields["state"], FLOWN.fields["state"])
    assert not np.isin(other.fields["goal"][:, 3], FLOWN.fields["goal"][:, 3]).any()
    assert np.abs(FLOWN.fields["state"][::10]).max(axis=0) == pytest.approx(np.zeros(12), abs=1.0)


def test_flights_are_steered_by_solutions_that_osqp_finds_too():
    one, states = model(), FLOWN.fields["state"].reshape(4, 10, 12)
    for step in (0, 1, 4):
        P, q, A, lower, upper = program(FLOWN[10 + step])
        lower[132:144], upper[132:144] = -np.inf, np.inf  # a state may be beyond its bounds by a rounding error
        inputs = osqp_after((P, q, A, lower, upper), eps_abs=1e-9, eps_rel=0.0, max_iter=100_000).x[132:136]
        assert np.allclose(one.follows @ states[1, step] + one.motors @ inputs, states[1, step + 1], atol=1e-6)


@pytest.mark.parametrize("steps", [7, 40])
def test_the_iteration_is_that_of_the_paper_with_a_rho_of_each_row(steps):
    found = run(pacopt.ADMM(range(304)), UNEVEN, FLOWN[0], steps)
    for ours, theirs in zip(found, by_hand(FLOWN[0], UNEVEN, steps), strict=True):
        assert np.allclose(ours, theirs, atol=1e-7)


def test_with_one_rho_it_is_osqp_without_scaling_and_adaptation():
    fixed = {"scaling": 0, "adaptive_rho": 0}
    theirs = [osqp_after(program(FLOWN[j]), max_iter=60, **fixed).info for j in range(40)]
    expected = [each.iter if each.status == "solved" else np.inf for each in theirs]
    ours = times_of(PLAIN, PLAIN.defaults, FLOWN, 60)
    assert np.mean(ours == expected) >= 0.95  # a rounding error may cost or save one
    finite = np.isfinite(ours) & np.isfinite(expected)
    assert np.abs(ours[finite] - np.array(expected)[finite]).max() <= 1
    x = run(PLAIN, PLAIN.defaults, FLOWN[0], 30).x
    assert np.allclose(x, osqp_after(program(FLOWN[0]), max_iter=30, eps_abs=1e-12, eps_rel=0.0, **fixed).x, atol=1e-7)


def test_osqp_makes_the_learned_iterations_if_rows_are_multiplied():
    last = {**settings_of(UNEVEN), "max_iter": 25, "eps_abs": 1e-12, "eps_rel": 0.0}
    theirs = osqp_after(rescaled(UNEVEN, FLOWN[0]), **last)
    assert np.allclose(theirs.x, run(pacopt.ADMM(range(304)), UNEVEN, FLOWN[0], 25).x, atol=1e-7)


def test_the_residual_is_that_of_osqp_and_zero_at_a_solution():
    problem, instance = Quadcopter(), FLOWN[0]
    solution = osqp_after(program(instance), eps_abs=1e-10, eps_rel=0.0, max_iter=200_000)
    z = np.clip(program(instance)[2] @ solution.x, *program(instance)[3:])
    at = Pair(solution.x, z, solution.y)
    assert problem.metric(at, instance) < 1e-4
    P, q, A, _, _ = program(instance)
    found = Pair(*by_hand(instance, PLAIN.defaults, 5))
    rows, pulled = A @ found.x, A.T @ found.y
    primal = np.abs(rows - found.z).max() / (1e-4 + 1e-4 * max(np.abs(rows).max(), np.abs(found.z).max()))
    scale = max(np.abs(P @ found.x).max(), np.abs(pulled).max(), np.abs(q).max())
    dual = np.abs(P @ found.x + q + pulled).max() / (1e-4 + 1e-4 * scale)
    assert problem.metric(found, instance) == pytest.approx(max(primal, dual), rel=1e-9)


def test_a_point_that_only_looks_solved_is_not():
    """Ax = z and a stationary x are no solution where z is out of bounds, or y pulls the wrong way."""
    program = QuadraticProgram.of(np.eye(1), np.eye(1), l=np.zeros(1), u=np.ones(1))
    instance = {"q": jnp.array([-3.0]), "l": jnp.zeros(1), "u": jnp.ones(1)}
    one = jnp.ones(1)
    assert program.metric(Pair(3 * one, 3 * one, 0 * one), instance) > 1  # not allowed
    assert program.metric(Pair(0 * one, 0 * one, 3 * one), instance) > 1  # y holds it at the wrong end
    assert program.metric(Pair(one, one, 2 * one), instance) == 0


def test_programs_of_ones_own_are_learned_and_certified(tmp_path):
    rng = np.random.default_rng(0)
    A = np.vstack([rng.normal(size=(3, 6)), np.eye(6)])
    root = rng.normal(size=(6, 6))
    low, high = np.r_[np.ones(3), np.full(6, -1.0)], np.r_[np.ones(3), np.ones(6)]
    problem = QuadraticProgram.of(root @ root.T, A, l=low, u=high)
    count = 260
    instances = pacopt.Instances(
        {"q": rng.normal(size=(count, 6)), "l": np.tile(low, (count, 1)), "u": np.tile(high, (count, 1))}
    )
    parts = pacopt.split(instances, prior=40, train=200, test=20, seed=0)
    learned = pacopt.learn(
        problem,
        pacopt.ADMM([0, 0, 0, 1, 1, 1, 1, 1, 1]),
        parts,
        steps=100,
        score=pacopt.Effort("solved", unit="iterations"),
        prior=pacopt.priors.Search({}, 8, 1, 1),
        baseline=pacopt.Baseline(pacopt.ADMM([0] * 9).defaults, pacopt.ADMM([0] * 9)),
        budget={"solved": 0.9},
    )
    assert "iterations" in str(learned.certificate)
    assert learned.certificate.deployed.gain > 1
    one = learned.solve(parts.test[0])
    assert one.loss <= 1
    learned.save(tmp_path / "run")
    assert pacopt.verify(tmp_path / "run", rerun=5).passed


def test_a_solver_that_counts_its_own_iterations_is_a_baseline():
    parts = pacopt.split(flights(30, seed=5), prior=5, train=20, test=5, seed=0)
    learned = pacopt.learn(
        Quadcopter(1e-3, 1e-3),
        PLAIN,
        parts,
        steps=40,
        score=pacopt.Effort("solved", 40, unit="iterations"),
        prior=pacopt.priors.Search({}, 4, 1, 0),
        baseline={"OSQP": pacopt.Baseline(engine=solved_by_osqp(1e-3, 40))},
    )
    assert learned.table.baselines["OSQP"].shape[-1] == 200
    assert learned.certificate.deployed.risk <= 40


@pytest.mark.slow  # a training
def test_training_brings_the_iterations_down():
    """With an Effort, what is trained is the softened part of the steps at which the target is not met."""
    parts = pacopt.split(flights(45, seed=6), prior=15, train=25, test=5, seed=0)
    algorithm = pacopt.ADMM(np.repeat([0, 1, 2], [132, 132, 40]))
    train = pacopt.priors.Train(updates=40, batch=4, rate=0.1, restarts=1, held_out=0.4, candidates=2, logs=0.0)
    effort = pacopt.Effort("solved", 30, unit="iterations")
    learned = pacopt.learn(Quadcopter(1e-3, 1e-3), algorithm, parts, steps=30, score=effort, prior=train, baseline=None)
    before = np.minimum(times_of(algorithm, algorithm.defaults, parts.test, 30), 30).mean()
    after = np.minimum(times_of(algorithm, learned.hyper, parts.test, 30), 30).mean()
    assert after < before


def test_training_starts_where_it_is_told_to():
    assert np.array_equal(pacopt.ADMM([0, 1, 0], start=3.0).initial(5)["rho"], [3.0, 3.0])
    assert pacopt.ADMM([0, 0]).initial(1) == pacopt.ADMM([0, 0]).defaults


def test_the_family_knows_its_rivals():
    family = quadcopter()
    assert list(family.usual) == ["OSQP", "plain ADMM"]
    assert family.sized(prior=2, train=3, test=1).drawn(0).train.count == 3


@pytest.mark.wrong_types
def test_what_cannot_be_counted_is_refused():
    with pytest.raises(ProblemError, match="tolerance"):
        Traced(pacopt.SharedQuadratic(np.eye(2)), pacopt.GradientDescent(), 5).counting("steps", None)
    engine = Traced(Quadcopter(), PLAIN, 5)
    with pytest.raises(ProblemError, match="up to 6 iterations, and runs have 5"):
        engine.counting("iterations", 6)
    with pytest.raises(ProblemError, match="Seconds"):
        engine.counting("seconds", None)
    with pytest.raises(AlgorithmError, match="is not a quadratic program"):
        run(pacopt.ADMM([0, 0]), PLAIN.defaults, {"b": np.ones(2)}, 1, pacopt.SharedQuadratic(np.eye(2)))
    with pytest.raises(AlgorithmError, match="consecutive whole numbers"):
        pacopt.ADMM([0, 2])
    for start in (0.0, 1e4, np.nan, True, "1"):
        with pytest.raises(AlgorithmError, match="the rho that training starts from"):
            pacopt.ADMM([0], start=start)
    with pytest.raises(AlgorithmError, match="2 rows have a class, but A has 304"):
        run(pacopt.ADMM([0, 1]), {**UNEVEN, "rho": np.ones(2)}, FLOWN[0], 1)
