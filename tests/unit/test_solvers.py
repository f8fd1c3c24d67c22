"""OSQP, SCS and Clarabel as solvers whose settings are learned."""

import importlib
import subprocess
import sys

import clarabel
import cloudpickle
import numpy as np
import osqp
import pytest
import scs
from scipy import sparse

import pacopt
from pacopt import Choice, Effort, Instances, Interval, Whole, engines
from pacopt.auditing import audit
from pacopt.errors import EngineError
from pacopt.priors import Search

N = 8
QUICK = Search(candidates=8, explore=1, rounds=1)
#: The projection of y onto the probability simplex, as each solver states it; only y is in an instance.
ROWS = np.vstack([np.ones((1, N)), -np.eye(N)])
EDGES = np.append(1.0, np.zeros(N))
CONES = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(N)]


def for_osqp(instance):
    A = np.vstack([np.ones((1, N)), np.eye(N)])
    return np.eye(N), -instance["y"], sparse.csr_array(A), EDGES, np.append(1.0, np.full(N, np.inf))


def for_scs(instance):
    data = {"P": sparse.eye(N), "A": ROWS, "b": EDGES, "c": -instance["y"]}
    return data, {"z": 1, "l": N}


def for_clarabel(instance):
    return {"P": np.eye(N), "q": -instance["y"], "A": ROWS, "b": EDGES}


TIGHT = {
    "osqp": {"eps_abs": 1e-9, "eps_rel": 0.0},
    "scs": {"eps_abs": 1e-9, "eps_rel": 0.0},
    "clarabel": {"tol_feas": 1e-10, "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12},
}
SOLVERS = {
    "osqp": lambda **options: engines.osqp(for_osqp, **options),
    "scs": lambda **options: engines.scs(for_scs, **options),
    "clarabel": lambda **options: engines.clarabel(for_clarabel, cones=CONES, **options),
}
each = pytest.mark.parametrize("name", SOLVERS)


def points(count, seed=0):
    rng = np.random.default_rng(seed)
    return Instances({"y": rng.normal(size=(count, N)) * rng.lognormal(0, 2, (count, 1))})


def projected(y):
    """Sorting finds the shift after which the positive part sums to 1."""
    falling = np.sort(y)[::-1]
    shifts = (np.cumsum(falling) - 1) / np.arange(1, N + 1)
    return np.maximum(y - shifts[np.flatnonzero(falling > shifts)[-1]], 0)


@each
def test_a_quadratic_program_is_solved(name):
    solver = SOLVERS[name](settings=TIGHT[name])
    for instance in map(points(20).__getitem__, range(20)):
        found = solver.function(solver.defaults, instance)
        np.testing.assert_allclose(found.x, projected(instance["y"]), atol=1e-6)
        assert found.success
        assert 0 <= found.loss < 1e-8
        assert found.iterations > 1
        assert 0 < found.seconds < 1


@pytest.mark.parametrize("name", ["scs", "clarabel"])
def test_a_cone_program_is_solved(name):
    """The linear function c'x on a ball of radius r is smallest at -r c / |c|."""
    rng = np.random.default_rng(0)
    balls = Instances({"c": rng.normal(size=(5, 3)), "r": rng.lognormal(size=5)})
    A = np.vstack([np.zeros((1, 3)), -np.eye(3)])

    def ball(instance):
        b = np.append(instance["r"], np.zeros(3))
        return (None, A, b, instance["c"]) if name == "scs" else (None, instance["c"], A, b)

    if name == "scs":
        solver = engines.scs(ball, cone={"q": [4]}, settings=TIGHT[name])
    else:
        solver = engines.clarabel(ball, cones=[clarabel.SecondOrderConeT(4)])
    for instance in map(balls.__getitem__, range(5)):
        best = -instance["r"] * instance["c"] / np.linalg.norm(instance["c"])
        np.testing.assert_allclose(solver.solve(solver.defaults, instance, 0).x, best, atol=1e-5)


def test_fields_of_instances_are_the_problem():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(4, 1, N)), rng.normal(size=(4, 1))
    P = np.broadcast_to(np.eye(N), (4, N, N))
    fields = {"P": P, "q": np.zeros((4, N)), "A": A}
    nearest = b * A[:, 0] / np.sum(A**2, axis=-1)
    for solver, bounds in (
        (engines.osqp(settings=TIGHT["osqp"]), {"l": b, "u": b}),
        (engines.scs(cone={"z": 1}, settings=TIGHT["scs"]), {"b": b, "c": np.zeros((4, N))}),
        (engines.clarabel(cones=[clarabel.ZeroConeT(1)]), {"b": b}),
    ):
        instances = Instances({**fields, **bounds})
        found = [solver.solve(solver.defaults, instances[j], 0).x for j in range(4)]
        np.testing.assert_allclose(found, nearest, atol=1e-5)


def plainly(name, instance):
    """A plain call of the solver, which is told nothing but to be quiet: its solution and its iterations."""
    if name == "osqp":
        P, q, A, lower, upper = for_osqp(instance)
        solver = osqp.OSQP()
        solver.setup(sparse.csc_matrix(P), q, sparse.csc_matrix(A), lower, upper, verbose=False)
        found = solver.solve(raise_error=False)
        return found.x, found.info.iter
    if name == "scs":
        data, cone = for_scs(instance)
        data |= {"P": sparse.csc_matrix(data["P"]), "A": sparse.csc_matrix(data["A"])}
        found = scs.SCS(data, cone, verbose=False, linear_solver="qdldl").solve()
        return found["x"], found["info"]["iter"]
    quiet, parts = clarabel.DefaultSettings(), for_clarabel(instance)
    quiet.verbose = False
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(parts["P"]), parts["q"], sparse.csc_matrix(parts["A"]), parts["b"], CONES, quiet
    ).solve()
    return found.x, found.iterations


@each
def test_defaults_are_those_of_the_solver(name):
    solver, instances = SOLVERS[name](), points(20, seed=1)
    for instance in map(instances.__getitem__, range(20)):
        ours, (x, iterations) = solver.function(solver.defaults, instance), plainly(name, instance)
        assert ours.iterations == iterations
        np.testing.assert_array_equal(ours.x, x)


def test_other_defaults_than_those_of_scs_are_noticed(monkeypatch):
    from pacopt.engines.blackbox import scs as function

    module = sys.modules[function.__module__]
    for name, other in {"acceleration_interval": 10, "scale": 0.2, "rho_x": 1e-5}.items():
        monkeypatch.setattr(module, "SINCE", {**module.SINCE, name: other})
        with pytest.raises(EngineError, match="behaves differently by default than with"):
            engines.scs(cone={"l": 1})
        assert engines.scs(cone={"l": 1}, space={"alpha": Interval(1.0, 1.9)}).defaults == {"alpha": 1.5}
        monkeypatch.undo()


@each
def test_tables_are_the_same_bit_by_bit(name):
    instances, solver = points(12), SOLVERS[name]()
    candidates = {key: space.at(np.linspace(0.1, 0.9, 4)) for key, space in solver.space.items()}
    first = solver.table(candidates, instances)
    again = SOLVERS[name]().table(candidates, instances)
    np.testing.assert_array_equal(first.losses, again.losses)
    np.testing.assert_array_equal(first.success, again.success)
    assert first.provenance["engine"] == again.provenance["engine"]
    sent = cloudpickle.loads(cloudpickle.dumps(solver.function))
    found = [sent(solver.defaults, instances[j]).loss for j in range(12)]
    assert found == [solver.function(solver.defaults, instances[j]).loss for j in range(12)]


def test_workers_make_the_same_table():
    candidates = {"max_step_fraction": np.array([0.9, 0.99])}
    space = {"max_step_fraction": Interval(0.8, 0.999)}
    alone, shared = (SOLVERS["clarabel"](space=space, workers=count).table(candidates, points(8)) for count in (1, 2))
    np.testing.assert_array_equal(alone.losses, shared.losses)
    assert dict(alone.provenance) == dict(shared.provenance)


def steep(instance):
    """A projection in which a coordinate counts up to 1,000 times as much as another one."""
    return (np.diag(np.logspace(0, 3, N)), *for_osqp(instance)[1:])


LEARNED = {
    "osqp": (lambda: engines.osqp(steep, settings={"eps_abs": 1e-6, "eps_rel": 0.0}), 200),
    "scs": (lambda: engines.scs(for_scs, settings={"eps_abs": 1e-6, "eps_rel": 0.0}), 200),
    "clarabel": (lambda: SOLVERS["clarabel"](defaults={"max_step_fraction": 0.8}), 20),
}


FIXED = {name: {"eps_abs": "1e-06", "eps_rel": "0.0"} for name in ("osqp", "scs")} | {"clarabel": {"max_threads": "1"}}


@each
def test_settings_are_learned_and_certified(name):
    split = pacopt.split(points(260, seed=2), prior=30, train=200, test=30, seed=0)
    make, cap = LEARNED[name]
    score, claims = Effort("solved", cap, unit="iterations"), [pacopt.Budget("solved", part=0.9)]
    learned = pacopt.learn(make(), split, prior=QUICK, score=score, claims=claims)
    certificate = learned.certificate
    assert "times smaller than that of the defaults" in certificate.sentences["gain"]
    within = f"Within {certificate.deployed.budget:g} iterations at least 90 % of instances are solved."
    assert within in str(certificate)
    assert certificate.deployed.risk <= cap
    assert audit(certificate.to_dict(), learned.table).passed
    assert learned.origin.versions[name] == importlib.import_module(name).__version__
    assert learned.origin.settings.items() >= FIXED[name].items(), "in plain text"
    assert name not in learned.table.provenance["versions"], "notes change no hash"
    solution = learned.solve(split.test[0])
    assert solution.time == solution.steps == make().function(learned.hyper, split.test[0]).iterations


def test_what_is_not_solved_is_no_success():
    short = engines.osqp(for_osqp, settings={"max_iter": 2, "eps_abs": 1e-9, "eps_rel": 1e-9})
    found = short.function(short.defaults, points(1)[0])
    assert not found.success
    assert found.iterations == 2
    assert found.loss > 1e-6
    short = engines.scs(for_scs, settings={"max_iters": 5})
    assert not short.function(short.defaults, points(1)[0]).success
    short = SOLVERS["clarabel"](settings={"max_iter": 2})
    assert not short.function(short.defaults, points(1)[0]).success
    empty = {"q": np.ones(1), "A": np.ones((2, 1)), "b": np.array([1.0, -2.0]), "c": np.ones(1)}  # x = 1 and x = -2
    for solver in (engines.scs(cone={"z": 2}), engines.clarabel(cones=[clarabel.ZeroConeT(2)])):
        assert not solver.function(solver.defaults, empty).success
    solver = engines.osqp()
    empty |= {"P": np.eye(1), "l": np.array([1.0, -2.0]), "u": np.array([1.0, -2.0])}
    assert not solver.function(solver.defaults, empty).success


def test_values_that_a_solver_refuses_are_failures_of_a_run(capfd):
    space = {"alpha": Interval(0.5, 3.0)}
    for solver in (engines.osqp(for_osqp, space=space), engines.scs(for_scs, space=space)):
        table = solver.counting("iterations", None).table({"alpha": np.array([1.5, 2.5])}, points(4))
        assert np.isfinite(table.losses[0]).all()
        assert np.isinf(table.losses[1]).all()
        (kind,) = table.provenance["failures"]
        assert kind.startswith("ValueError")
    wrong = SOLVERS["clarabel"](settings={"direct_solve_method": "magic"})
    with pytest.raises(EngineError, match='refuses this: Bad settings: Bad value for field "direct_solve_method"'):
        wrong.table({key: np.array([value]) for key, value in wrong.defaults.items()}, points(20))


def test_what_is_searched_and_what_is_fixed():
    solver = engines.osqp(settings={"rho": 1.0, "adaptive_rho": False})
    assert set(solver.space) == {"sigma", "alpha", "adaptive_rho_interval", "adaptive_rho_tolerance"}
    assert solver.defaults["adaptive_rho_interval"] == 50
    solver = engines.osqp(space={"adaptive_rho": Choice(True, False), "scaling": Whole(0, 20)}, defaults={"scaling": 4})
    assert solver.defaults == {"adaptive_rho": True, "scaling": 4}
    assert engines.clarabel(space={"equilibrate_enable": Choice(True, False)}).defaults == {"equilibrate_enable": True}
    assert engines.scs(space={"linear_solver": Choice("qdldl", "cpu_indirect")}).defaults == {"linear_solver": "qdldl"}
    assert engines.osqp(space={}).defaults == {}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: engines.osqp(space={"roh": Interval(0.1, 1.0)}), "For 'roh': did you mean 'rho'?"),
        (lambda: engines.osqp(settings={"eps": 1e-3}), "'eps' is given as a setting of OSQP"),
        (lambda: engines.scs(settings={"max_iter": 10}), "did you mean 'max_iters'?"),
        (lambda: engines.clarabel(settings={"tol_fes": 1e-3}), "did you mean 'tol_feas'?"),
        (lambda: engines.clarabel(settings={"walrus": 1}), "choose from 'chordal_decomposition_compact', "),
        (lambda: engines.osqp(settings={"time_limit": 1.0}), "It stops a run by the clock"),
        (lambda: engines.scs(space={"time_limit_secs": Interval(0.1, 1.0)}), "It stops a run by the clock"),
        (lambda: engines.osqp(settings={"verbose": True}), "Runs print nothing"),
        (lambda: engines.osqp(settings={"adaptive_rho": 2}), "rho is to be adapted by measured time"),
        (lambda: engines.osqp(space={"adaptive_rho": Choice(0, 1, 2)}), "rho is to be adapted by measured time"),
        (lambda: engines.osqp(space={"rho": (0.1, 1.0)}), "'rho' is searched in (0.1, 1.0)"),
        (lambda: engines.osqp(space={"rho": Interval(0.1, 1.0)}, settings={"rho": 1.0}), "and also fixed at 1.0"),
        (lambda: engines.osqp(space={"scaling": Choice(1, 2)}), "is 10, which is not in Choice"),
        (lambda: engines.osqp(space={"alpha": Whole(1, 2)}), "is 1.6, which is not in Whole"),
        (lambda: engines.osqp(defaults={"max_iter": 9}), "A default is given for 'max_iter', which is not searched"),
        (lambda: engines.osqp(settings=["rho"]), "settings is ['rho']"),
        (lambda: engines.clarabel(cones=[3]), "One of the cones is 3"),
    ],
)
def test_settings_that_do_not_exist_are_refused(make, words):
    with pytest.raises(EngineError) as told:
        make()
    assert words in str(told.value)


GOOD = {"P": np.eye(2), "q": np.ones(2), "A": np.ones((3, 2)), "l": np.zeros(3), "u": np.ones(3), "b": np.ones(3)}
BAD = {
    "missing": ({"P": np.eye(2), "q": np.ones(2)}, "The problem has no 'A'; it has P, q."),
    "square": ({**GOOD, "P": np.eye(3)}, "P has the shape [3, 3]"),
    "rows": ({**GOOD, "A": np.ones((2, 2))}, "It is a matrix of 3 times 2 real numbers"),
    "bounds": ({**GOOD, "u": np.ones(2)}, "u has the shape [2]"),
    "column": ({**GOOD, "q": np.ones((2, 1))}, "q has the shape [2, 1]"),
    "nan": ({**GOOD, "q": np.array([1.0, np.nan])}, "q has entries that are not finite numbers"),
    "bound": ({**GOOD, "l": np.full(3, np.nan)}, "l has entries that are not numbers"),
    "infinite": ({**GOOD, "A": np.full((3, 2), np.inf)}, "A has entries that are not finite numbers"),
    "complex": ({**GOOD, "A": 1j * np.ones((3, 2))}, "the type complex128"),
    "text": ("P, q, A, l, u", "The problem is a str."),
    "short": ((np.eye(2), np.ones(2)), "The problem is a tuple of 2."),
    "nothing": (None, "The problem is a NoneType."),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_quadratic_program_is_refused(case):
    returned, words = BAD[case]
    solver = engines.osqp(lambda instance: returned)
    with pytest.raises(EngineError) as told:
        solver.table({key: np.array([value]) for key, value in solver.defaults.items()}, points(2))
    assert words in str(told.value)


def test_what_is_no_cone_program_is_refused(capfd):
    for solver in (engines.scs(), engines.clarabel()):
        with pytest.raises(EngineError, match=r"The problem has no 'cones?'.*pass it for all instances: cone"):
            solver.function(solver.defaults, {**GOOD, "c": np.ones(2)})
    for solver in (engines.scs(cone={"l": 2}), engines.clarabel(cones=[clarabel.ZeroConeT(2)])):
        with pytest.raises(ValueError, match="refuses this"):
            solver.function(solver.defaults, {**GOOD, "c": np.ones(2)})
    with pytest.raises(EngineError, match=r"The problem has no 'c'; it has P, q, A, l, u, b\."):
        engines.scs(cone={"l": 3}).function({}, GOOD)


@each
def test_a_package_that_is_missing_or_old_is_said(name, monkeypatch):
    solver = SOLVERS[name]()
    monkeypatch.setattr(sys.modules[name], "__version__", "0.1.0")
    with pytest.raises(EngineError, match=f"{name} 0.1.0 is installed"):
        SOLVERS[name]()
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(EngineError, match=r'pip install "pacopt\[solvers\]"'):
        SOLVERS[name]()
    with pytest.raises(EngineError, match=r'pip install "pacopt\[solvers\]"'):
        solver.function(solver.defaults, points(1)[0])


@pytest.mark.parametrize("name", ["osqp.py", "mine.py"])
def test_a_file_that_hides_a_package_is_named(name, tmp_path):
    """Also where the script itself has the name of the package, and is imported in its place."""
    (tmp_path / "osqp.py").write_text("import pacopt\n\nprint(pacopt.engines.osqp())\n")
    (tmp_path / "mine.py").write_text("import pacopt\n\nprint(pacopt.engines.osqp())\n")
    answer = subprocess.run([sys.executable, tmp_path / name], capture_output=True, text=True, check=False)
    assert f"EngineError: {tmp_path / 'osqp.py'} hides the package osqp" in answer.stderr
    assert "Rename the file" in answer.stderr


def test_importing_pacopt_imports_no_solver():
    check = "import sys, pacopt; pacopt.engines.osqp; print(sorted({'osqp', 'scs', 'clarabel'} & sys.modules.keys()))"
    answer = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


def test_an_interval_of_zero_does_not_depend_on_measured_time():
    """In OSQP 1.1 it means four times `check_termination`."""
    auto, fixed = (engines.osqp(for_osqp, settings={"adaptive_rho_interval": size}) for size in (0, 100))
    for instance in map(points(10).__getitem__, range(10)):
        np.testing.assert_array_equal(
            auto.function({"rho": 1e-3}, instance).x, fixed.function({"rho": 1e-3}, instance).x
        )
