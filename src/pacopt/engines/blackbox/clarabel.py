"""Clarabel, an interior-point solver of quadratic and conic programs."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from pacopt.engines.blackbox.engine import BlackBox
from pacopt.engines.blackbox.notes import noted
from pacopt.engines.blackbox.programs import Problem, largest, matrix, parts, vector
from pacopt.engines.blackbox.result import Result
from pacopt.engines.blackbox.settings import QUIET, TIMED, chosen, package
from pacopt.errors import EngineError
from pacopt.space import Domain, Interval, Whole

#: What is searched unless you say otherwise.
SPACE: Domain = MappingProxyType(
    {
        "max_step_fraction": Interval(0.8, 0.9999),
        "equilibrate_max_iter": Whole(0, 50),
        "static_regularization_constant": Interval(1e-11, 1e-5, log=True),
    }
)
LEAST = (0, 10)


def clarabel(
    problem: Problem | None = None,
    *,
    cones: Sequence[Any] | None = None,
    space: Domain | None = None,
    settings: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    **runs: Any,
) -> BlackBox:
    """A black box that solves min x'Px/2 + q'x with Ax + s = b and s in cones by Clarabel, and learns its settings.

    `problem(instance)` returns P, q, A, b and the cones, in this order or by name; without it P, q, A, b are fields of
    the instance. P, which is symmetric, may be left out. `cones`, a list of Clarabel's own, are for problems that come
    without them. `space` holds the settings to search, `settings` those that are fixed; all others keep Clarabel's
    defaults. A gain is claimed over these for the searched settings, unless you pass `defaults`.
    `workers`, `limit` and the like are those of a `BlackBox`.

    Its loss is the larger of the primal and the dual residual, which Clarabel takes relative to the data, and a run is
    solved if Clarabel says "Solved"; "AlmostSolved" does not count. It uses one thread, so that sums are always added
    in the same order. It needs few iterations whatever the settings, so there is less to gain than with OSQP or SCS.

    >>> from clarabel import NonnegativeConeT
    >>> solver = clarabel(cones=[NonnegativeConeT(3)])
    >>> corner = {"q": [-1.0, -2.0], "A": [[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], "b": [0.0, 0.0, 1.0]}
    >>> solver.solve(solver.defaults, corner, 0).x.round(3) + 0.0
    array([0., 1.])
    """
    library = package("clarabel", LEAST)
    asked = chosen(
        "Clarabel", _usual(library), {"time_limit": TIMED, "verbose": QUIET}, SPACE, space, settings, defaults
    )
    fixed, version = {"max_threads": 1, **asked.settings}, library.__version__
    # Clarabel's cones cannot be sent to a worker, but their names and sizes can.
    shared = None if cones is None else tuple(_plain(cone) for cone in cones)

    def solve(hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> Result:
        from scipy.sparse import triu

        clarabel = package("clarabel", LEAST)
        stated = instance if problem is None else problem(instance)
        P, q, A, b, given = parts(stated, ("P", "q", "A", "b", "cones"), shared)
        q, b = vector(q, "q"), vector(b, "b")
        P, A = triu(matrix(P, "P", len(q), len(q)), format="csc"), matrix(A, "A", len(b), len(q))
        options = clarabel.DefaultSettings()
        options.verbose = False
        try:
            made = [getattr(clarabel, each[0])(*each[1]) if isinstance(each, tuple) else each for each in given]
            for name, value in {**fixed, **hyper}.items():
                setattr(options, name, value)
            solver = clarabel.DefaultSolver(P, q, A, b, made, options)
        except Exception as error:  # Clarabel raises nothing more special
            raise ValueError(f"Clarabel {version} refuses this: {error}") from error
        found = solver.solve()
        x = np.array(found.x)
        return Result(
            loss=largest(x, found.r_prim, found.r_dual),
            iterations=int(found.iterations),
            seconds=float(found.solve_time),
            success=found.status == clarabel.SolverStatus.Solved,
            x=x,
        )

    engine = BlackBox(solve, asked.space, defaults=asked.defaults, **runs)
    return noted(engine, "clarabel", version, fixed)


def _usual(library: Any) -> dict[str, Any]:
    """All settings of Clarabel that are numbers, texts or booleans, with their defaults."""
    settings = library.DefaultSettings()
    values = {name: getattr(settings, name) for name in dir(settings) if not name.startswith("_")}
    return {name: value for name, value in values.items() if isinstance(value, int | float | str)}


def _plain(cone: Any) -> tuple[str, tuple[Any, ...]]:
    """The name of a cone, and its arguments."""
    name = type(cone).__name__
    if not name.endswith("ConeT"):
        raise EngineError(
            f"One of the cones is {cone!r}.",
            "Cones are Clarabel's.",
            "",
            "Use cones=[clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(5)], for example.",
        )
    orders = ("dim", "\N{GREEK SMALL LETTER ALPHA}", "dim2")
    return name, tuple(getattr(cone, each) for each in orders if hasattr(cone, each))
