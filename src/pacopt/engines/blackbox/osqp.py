"""OSQP, the operator splitting solver of quadratic programs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from pacopt.engines.blackbox.engine import BlackBox
from pacopt.engines.blackbox.notes import noted
from pacopt.engines.blackbox.programs import Problem, largest, matrix, parts, vector
from pacopt.engines.blackbox.result import Result
from pacopt.engines.blackbox.settings import QUIET, TIMED, Chosen, chosen, package
from pacopt.errors import EngineError
from pacopt.space import Choice, Domain, Interval, Whole

#: What is searched unless you say otherwise. A change of rho costs a factorization, as much time as dozens of
#: iterations, and no iteration count shows it: so rho is not adapted much more often than OSQP does by default.
SPACE: Domain = MappingProxyType(
    {
        "rho": Interval(1e-4, 1e2, log=True),
        "sigma": Interval(1e-8, 1e-2, log=True),
        "alpha": Interval(1.0, 1.95),
        "adaptive_rho_interval": Whole(25, 500, log=True),
        "adaptive_rho_tolerance": Interval(2.0, 20.0, log=True),
    }
)
#: Since this version rho is adapted by iterations rather than measured time, unless asked for.
LEAST = (1, 1)
#: Of the linear solvers OSQP may find on a machine, the one it always comes with.
ALGEBRA = "builtin"
#: The value of `adaptive_rho` for adaptation by measured time.
BY_TIME = 2


def osqp(
    problem: Problem | None = None,
    *,
    space: Domain | None = None,
    settings: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    **runs: Any,
) -> BlackBox:
    """A black box that solves min x'Px/2 + q'x with l <= Ax <= u by OSQP, and learns its settings.

    `problem(instance)` returns P, q, A, l, u, in this order or by name; without it they are fields of the instance.
    Matrices are dense or sparse; of P, which is symmetric, the upper triangle counts. `space` holds the settings to
    search, `settings` those that are fixed; all others keep OSQP's defaults. A gain is claimed over OSQP's
    defaults for the searched settings, unless you pass `defaults`.
    `workers`, `limit` and the like are those of a `BlackBox`.

    Every run is a cold start. Its loss is the larger of the primal and the dual residual, and it is
    solved if OSQP says "solved"; "solved inaccurate" does not count. Rho is adapted at fixed numbers of iterations,
    never by measured time (`adaptive_rho=2`), which would make each run different. Each change of rho costs a
    factorization, which does not show in the iteration count: frequent changes are searched only if your space says
    so. Linear systems are solved by OSQP's built-in solver: MKL and CUDA, if present, may round differently each time.

    >>> solver = osqp(settings={"eps_abs": 1e-6, "eps_rel": 0.0})
    >>> square = {"P": np.eye(2), "q": np.zeros(2), "A": np.ones((1, 2)), "l": np.ones(1), "u": np.ones(1)}
    >>> solver.solve(solver.defaults, square, 0).x.round(3)
    array([0.5, 0.5])
    """
    library = package("osqp", LEAST)
    asked = chosen("OSQP", _usual(library), {"time_limit": TIMED, "verbose": QUIET}, SPACE, space, settings, defaults)
    _refuse_clock(asked)
    fixed, version = asked.settings, library.__version__

    def solve(hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> Result:
        stated = instance if problem is None else problem(instance)
        P, q, A, lower, upper = parts(stated, ("P", "q", "A", "l", "u"))
        q, lower = vector(q, "q"), vector(lower, "l", infinite=True)
        upper = vector(upper, "u", len(lower), infinite=True)
        P, A = matrix(P, "P", len(q), len(q)), matrix(A, "A", len(lower), len(q))
        osqp = package("osqp", LEAST)
        solver = osqp.OSQP(algebra=ALGEBRA)
        try:
            solver.setup(P, q, A, lower, upper, verbose=False, **{**fixed, **hyper})
        except osqp.OSQPException as error:
            code = solver.ext.osqp_error_type(error.args[0]).name
            raise ValueError(f"OSQP {version} refuses this: {code}") from error
        found = solver.solve(raise_error=False)
        x = np.array(found.x)
        return Result(
            loss=largest(x, found.info.prim_res, found.info.dual_res),
            iterations=int(found.info.iter),
            seconds=float(found.info.run_time),
            success=found.info.status_val == osqp.SolverStatus.OSQP_SOLVED,
            x=x,
        )

    engine = BlackBox(solve, asked.space, defaults=asked.defaults, **runs)
    return noted(engine, "osqp", version, fixed)


def _usual(library: Any) -> dict[str, Any]:
    """All settings of OSQP that are numbers, with their defaults."""
    solver, one = library.OSQP(algebra=ALGEBRA), np.ones(1)
    solver.setup(matrix(np.eye(1), "P", 1, 1), one, matrix(np.eye(1), "A", 1, 1), one, one, verbose=False)
    names = [name for name in dir(solver.settings) if not name.startswith("_")]
    values = {name: getattr(solver.settings, name) for name in names}
    return {name: value for name, value in values.items() if isinstance(value, int | float)}


def _refuse_clock(asked: Chosen) -> None:
    space = asked.space.get("adaptive_rho")
    values = space.values if isinstance(space, Choice) else (asked.settings.get("adaptive_rho"),)
    if BY_TIME in values:
        raise EngineError(
            f"adaptive_rho is {BY_TIME}: rho is to be adapted by measured time.",
            "It is 0 (never), 1 (every adaptive_rho_interval iterations) or 3 (by the KKT error).",
            "By measured time no run comes out as it did before, and no table can be made again.",
            "Use adaptive_rho=1, which is what OSQP does by itself.",
        )
