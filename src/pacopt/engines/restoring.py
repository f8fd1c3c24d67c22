"""The engine of a stored run, if its code is available and unchanged."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pacopt._version import __version__
from pacopt.engines.base import AbstractEngine
from pacopt.engines.description import described, restored
from pacopt.errors import StorageError
from pacopt.provenance import Code, Origin


class Given(NamedTuple):
    """What a user passes in because it cannot be found, or has to be this particular object."""

    problem: Any = None
    algorithm: Any = None
    engine: Any = None


def restored_engine(
    code: Mapping[str, Any], arrays: dict[str, np.ndarray], origin: Origin, given: Given
) -> tuple[AbstractEngine | None, str]:
    """The engine, or None and what is missing.

    Classes are looked up among the modules already imported, so that loading a run imports nothing but pacopt's own.
    """
    own = origin.engine is not None
    bases: dict[str, type] = {"engine": AbstractEngine} if own else _bases()
    found: dict[str, Any] = {}
    for part, base in bases.items():
        before, passed = getattr(origin, part), getattr(given, part)
        if passed is not None:
            _refuse_changed(part, passed, before)
        found[part] = passed if passed is not None else restored(code.get(part), arrays, part, base, before)
    lacking = [_lacking(part, getattr(origin, part).name, code.get(part)) for part in found if found[part] is None]
    if origin.versions["pacopt"] != __version__:  # which may run the same classes differently
        lacking.append(f"this was learned with pacopt {origin.versions['pacopt']}, and this is {__version__}")
    if lacking:
        return None, "; ".join(lacking)
    if own:
        return found["engine"], ""
    from pacopt.engines.traced.engine import Traced

    runs = Traced(found["problem"], found["algorithm"], origin.steps or 0, origin.precision or "float64")
    if isinstance(origin.goal, str):
        return runs.counting("steps", None), ""
    return runs if origin.goal is None else runs.until(origin.goal, None), ""


def _lacking(part: str, name: str, description: Any) -> str:
    """Why a part could not be rebuilt: it holds functions, which no run stores, or its class is not available."""
    if description is None and name.startswith("pacopt."):
        what = "solver of this run is your own function" if part == "engine" else f"{part} of this run holds your code"
        return f"The {what}, which is not stored with it"
    return f"{name} is not imported, or has changed"


def _bases() -> dict[str, type]:
    from pacopt.algorithms.base import AbstractAlgorithm
    from pacopt.problems.base import AbstractProblem

    return {"problem": AbstractProblem, "algorithm": AbstractAlgorithm}


def _refuse_changed(part: str, given: Any, before: Code) -> None:
    changed = before.changed(Code.of(described(given)))
    if changed:
        raise StorageError(
            f"The {part} given differs in its {' and '.join(changed)} from what was learned with ({before.name}).",
            f"The {part} of the run is needed, with the same code and the same fields.",
            "A certificate is about the code that it was made with and no other.",
            "Pass what was learned with, or learn again.",
        )
