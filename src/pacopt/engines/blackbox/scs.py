"""SCS, the splitting conic solver."""

from collections.abc import Mapping
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
        "scale": Interval(1e-4, 1e2, log=True),
        "rho_x": Interval(1e-8, 1e-2, log=True),
        "alpha": Interval(1.0, 1.95),
        "acceleration_lookback": Whole(0, 20),
        "acceleration_interval": Whole(1, 50, log=True),
    }
)
LEAST = (3, 2)
#: SCS does not report its defaults. These are the documented ones, and `_refuse_others` checks them against SCS.
USUAL: Mapping[str, Any] = MappingProxyType(
    {
        "acceleration_interval": 10,
        "acceleration_lookback": 10,
        "adaptive_scale": True,
        "alpha": 1.5,
        "eps_abs": 1e-4,
        "eps_infeas": 1e-7,
        "eps_rel": 1e-4,
        "max_iters": 100_000,
        "normalize": True,
        "rho_x": 1e-6,
        "scale": 0.1,
    }
)
#: What has changed or is new since this version.
NEWER = (3, 3)
SINCE: Mapping[str, Any] = MappingProxyType(
    {
        "acceleration_interval": 5,
        "acceleration_relaxation": 1.0,
        "acceleration_type_1": True,
        "adaptive_diag_scale": True,
        "linear_solver": "qdldl",
    }
)
BARRED = {"time_limit_secs": TIMED, "verbose": QUIET, "write_data_filename": QUIET, "log_csv_filename": QUIET}


def scs(
    problem: Problem | None = None,
    *,
    cone: Mapping[str, Any] | None = None,
    space: Domain | None = None,
    settings: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    **runs: Any,
) -> BlackBox:
    """A black box that solves min x'Px/2 + c'x with Ax + s = b and s in a cone by SCS, and learns its settings.

    `problem(instance)` returns data and cone as SCS takes them, or P, A, b, c and the cone, in this order or by name;
    without it P, A, b, c are fields of the instance. P, which is symmetric, may be left out. A `cone`, a dictionary as
    SCS takes it, is for problems that come without one. `space` holds the settings to search, `settings` those
    that are fixed; all others keep SCS's defaults. A gain is claimed over SCS's defaults for the
    searched settings, unless you pass `defaults`.
    `workers`, `limit` and the like are those of a `BlackBox`.

    Every run is a cold start. Its loss is the larger of the primal and the dual residual, and it is
    solved if SCS says "solved"; "solved (inaccurate)" does not count. Linear systems are solved by the QDLDL included
    in SCS: MKL, which it would prefer, may round differently from run to run.

    >>> solver = scs(cone={"l": 3})
    >>> corner = {"A": [[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], "b": [0.0, 0.0, 1.0], "c": [-1.0, -2.0]}
    >>> solver.solve(solver.defaults, corner, 0).x.round(2) + 0.0
    array([0., 1.])
    """
    library = package("scs", LEAST)
    usual = _usual(library)
    asked = chosen("SCS", usual, BARRED, SPACE, space, settings, defaults)
    _refuse_others(library, {name: usual[name] for name in asked.space if name not in (defaults or {})})
    named = {name: usual[name] for name in ("linear_solver",) if name in usual and name not in asked.space}
    fixed, version = {**named, **asked.settings}, library.__version__
    shared = None if cone is None else dict(cone)

    def solve(hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> Result:
        stated = instance if problem is None else problem(instance)
        if isinstance(stated, tuple) and len(stated) == 2 and isinstance(stated[0], Mapping):
            stated = {**stated[0], "cone": stated[1]}
        P, A, b, c, sizes = parts(stated, ("P", "A", "b", "c", "cone"), shared)
        b, c = vector(b, "b"), vector(c, "c")
        data = {"P": matrix(P, "P", len(c), len(c)), "A": matrix(A, "A", len(b), len(c)), "b": b, "c": c}
        scs = package("scs", LEAST)
        try:
            solver = scs.SCS(data, dict(sizes), verbose=False, **{**fixed, **hyper})
        except (TypeError, ValueError) as error:
            raise ValueError(f"SCS {version} refuses this: {error}") from error
        found = solver.solve(warm_start=False)
        info = found["info"]
        return Result(
            loss=largest(found["x"], info["res_pri"], info["res_dual"]),
            iterations=int(info["iter"]),
            seconds=(info["setup_time"] + info["solve_time"]) / 1000,
            success=info["status_val"] == 1,
            x=found["x"],
        )

    engine = BlackBox(solve, asked.space, defaults=asked.defaults, **runs)
    return noted(engine, "scs", version, fixed)


def _usual(library: Any) -> dict[str, Any]:
    version = tuple(int(part) for part in str(library.__version__).split(".")[:2])
    return {**USUAL, **(SINCE if version >= NEWER else {})}


def _refuse_others(library: Any, values: Mapping[str, Any]) -> None:
    """Refuse defaults that are not those of this version, judged by the result of a run, to the last bit."""
    rng, short = np.random.default_rng(0), {"eps_abs": 0.0, "eps_rel": 0.0, "max_iters": 200, "verbose": False}
    data = {"P": matrix(np.eye(6), "P", 6, 6), "A": matrix(rng.normal(size=(12, 6)), "A", 12, 6)}
    data |= {"b": rng.uniform(0.5, 1.0, 12), "c": rng.normal(size=6)}
    named = {"linear_solver": "qdldl"} if "linear_solver" in _usual(library) else {}
    runs = [library.SCS(data, {"l": 12}, **{**named, **told, **short}).solve()["x"] for told in ({}, values)]
    if not np.array_equal(*runs):
        raise EngineError(
            f"SCS {library.__version__} behaves differently by default than with {dict(values)!r}.",
            "These are the defaults of the versions known here.",
            "A gain over the defaults is claimed over what SCS does by default.",
            "Name what you would use otherwise: defaults={...}.",
        )
