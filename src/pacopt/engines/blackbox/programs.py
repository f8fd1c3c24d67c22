"""Quadratic and conic programs: from an instance or a function to the arrays that solvers take."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pacopt.errors import EngineError

#: Makes the parts of a program from an instance.
Problem = Callable[[Mapping[str, Any]], Any]


def parts(value: Any, names: tuple[str, ...], last: Any = None) -> list[Any]:
    """The parts of a program in the order of their names, given in this order or by name.

    P may be None or left out of a mapping: then there is no quadratic part. `last` replaces the last part if that is
    missing.
    """
    given: Any = value
    if isinstance(value, tuple | list) and len(value) in (len(names), len(names) - (last is not None)):
        given = dict(zip(names, value, strict=False))
    if not isinstance(given, Mapping):
        raise EngineError(
            f"The problem is {_shown(value)}.",
            f"A problem is {', '.join(names)}, in this order or by these names.",
            "",
            f"Return ({', '.join(names)}), or a dictionary with these names.",
        )
    filled = {"P": None} | ({} if last is None else {names[-1]: last}) | dict(given)
    missing = [name for name in names if name not in filled]
    if missing:
        raise EngineError(
            f"The problem has no {missing[0]!r}; it has {', '.join(map(str, given)) or 'nothing'}.",
            f"A problem has {', '.join(names)}.",
            "",
            f"Return it with the problem, or pass it for all instances: {missing[0]}=..."
            if missing[0].startswith("cone")
            else "Give the fields of the instances these names, or pass a function that makes them: "
            f"lambda instance: ({', '.join(names)}).",
        )
    return [filled[name] for name in names]


def vector(value: Any, name: str, size: int | None = None, infinite: bool = False) -> np.ndarray:
    """A part that is a vector of real numbers, of a given size."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or array.ndim != 1 or (size is not None and len(array) != size):
        raise EngineError(
            f"{name} has the shape {list(array.shape)} and the type {array.dtype}.",
            f"It is a vector of {'real numbers' if size is None else f'{size} real numbers'}.",
            "",
            "Correct the fields of the instances, or what the function returns.",
        )
    return _finite(array.astype(np.float64), name, infinite)


def matrix(value: Any, name: str, rows: int, columns: int) -> Any:
    """A part that is a matrix of real numbers, dense or sparse, in compressed columns; None is a matrix of zeros."""
    from scipy import sparse

    if value is None:
        return sparse.csc_matrix((rows, columns))
    found: Any = value if sparse.issparse(value) else np.asarray(value)
    if found.dtype.kind not in "fiub" or found.shape != (rows, columns):
        raise EngineError(
            f"{name} has the shape {list(found.shape)} and the type {found.dtype}.",
            f"It is a matrix of {rows} times {columns} real numbers, by the lengths of the vectors.",
            "",
            "Correct the fields of the instances, or what the function returns.",
        )
    made = sparse.csc_matrix(found.astype(np.float64, copy=False))
    _finite(made.data, name, False)
    return made


def largest(x: np.ndarray, *residuals: float) -> float:
    """The largest residual; infinite where there is no solution, whatever a solver reports then."""
    return float(max(residuals)) if np.isfinite(x).all() and np.isfinite(residuals).all() else np.inf


def _finite(array: np.ndarray, name: str, infinite: bool) -> np.ndarray:
    if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
        raise EngineError(
            f"{name} has entries that are not {'numbers' if infinite else 'finite numbers'}.",
            "A problem is made of numbers; only bounds may be infinite.",
            "Solvers may report anything then, even residuals of 0.",
            "Correct the fields of the instances, or what the function returns.",
        )
    return array


def _shown(value: Any) -> str:
    sized = f" of {len(value)}" if isinstance(value, tuple | list) else ""
    return f"a {type(value).__name__}{sized}"
