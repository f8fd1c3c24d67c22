"""Which floating-point numbers a run uses, decided here and nowhere else."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from pacopt.engines.traced.backend import need_backend
from pacopt.errors import PrecisionError
from pacopt.support.values import short, value_of


def working_type(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """float64 or float32, however it was written."""
    try:
        result = np.dtype(dtype) if dtype is not None else None
    except TypeError:
        result = None
    if result is None or result not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise PrecisionError(
            f"dtype is {dtype!r}.", "Runs are done in float64 or float32.", "", "Use dtype=numpy.float64."
        )
    return result


def precision(dtype: np.dtype[Any]) -> AbstractContextManager[None]:
    """A context in which JAX makes new arrays in this precision.

    The setting belongs to the thread that enters it, so every worker thread enters it for itself; JAX's global
    setting stays as the user left it.
    """
    need_backend()
    context: AbstractContextManager[None] = jax.enable_x64(dtype == np.float64)
    return context


def in_precision(name: str, array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Instance data or candidates as the run will see them; widening is exact, and integers stay integers."""
    if array.dtype.kind == "f":
        return array.astype(dtype, copy=False)
    if array.dtype.kind == "c":
        return array.astype(np.result_type(dtype, np.complex64), copy=False)
    limits = np.iinfo(np.int32)
    if dtype == np.float32 and array.size and not limits.min <= array.min() <= array.max() <= limits.max:
        raise PrecisionError(
            f"Field {name!r} holds integers beyond 32 bits.",
            "A float32 run has 32-bit integers.",
            "They would wrap around silently.",
            "Use dtype=numpy.float64, which comes with 64-bit integers.",
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def refuse_narrow_fields(problem: Any, dtype: np.dtype[Any]) -> None:
    """Raise if the problem stores real arrays narrower than the run: digits were lost when they were created."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(problem):
        _refuse_narrow(leaf, f"{type(problem).__name__}{jax.tree_util.keystr(path)}", dtype)


def refuse_overflow(candidates: Mapping[str, np.ndarray], dtype: np.dtype[Any]) -> None:
    """Raise if a hyperparameter is too large for the precision of the run."""
    for name, values in candidates.items():
        if values.dtype.kind != "f":
            continue
        with np.errstate(over="ignore"):
            bad = np.flatnonzero(~np.isfinite(values.astype(dtype)).reshape(len(values), -1).all(axis=1))
        if len(bad):
            raise PrecisionError(
                f"{name} of candidate {bad[0]} is {short(value_of(values, bad[0]))}.",
                f"Hyperparameters are finite in {dtype}.",
                "It would be run as infinity and recorded as the number it was.",
                "Use dtype=numpy.float64.",
            )


def shape_of(function: Any, *arguments: Any, dtype: np.dtype[Any], name: str) -> Any:
    """The shapes that a function returns, found by tracing; raises if it uses a narrower array from outside."""
    traced, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    for constant in _constants(traced):
        _refuse_narrow(constant, f"An array that {name} uses without being given it", dtype)
    return shape


def _constants(traced: Any) -> list[Any]:
    """The arrays that a traced function refers to, including from within functions it compiles."""
    inner = [value for equation in traced.eqns for value in equation.params.values() if hasattr(value, "consts")]
    return [*traced.consts, *(constant for closed in inner for constant in _constants(closed))]


def _refuse_narrow(value: Any, name: str, dtype: np.dtype[Any]) -> None:
    kind = getattr(value, "dtype", None)
    if kind is not None and jax.numpy.issubdtype(kind, np.floating) and np.dtype(kind).itemsize < dtype.itemsize:
        raise PrecisionError(
            f"{name} is {kind}, and the run is in {dtype}.",
            "Arrays that a run uses have at least its precision.",
            "JAX makes float32 arrays unless told otherwise, and the digits are lost by then.",
            f"Give the problem NumPy arrays (numpy.asarray(values, numpy.{dtype})), or ask for numpy.float32.",
        )
