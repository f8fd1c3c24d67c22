"""Whether a run has a gradient by its hyperparameters, found out before anything long starts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from pacopt.engines.traced.cell import Cell
from pacopt.errors import EngineError, PacoptError


@contextmanager
def differentiated(cell: Cell) -> Iterator[None]:
    """Refuse runs that JAX cannot differentiate while it traces them, in its own words: they name the operation."""
    try:
        yield
    except PacoptError:
        raise
    except (TypeError, ValueError, NotImplementedError, AssertionError) as error:
        told = " ".join(line.strip() for line in str(error).splitlines() if line.strip())[:400].rstrip(".")
        names = f"{type(cell.algorithm).__name__} on {type(cell.problem).__name__}"
        raise EngineError(
            f"The run of {names} cannot be differentiated: {told or type(error).__name__}.",
            "Training follows the gradient of the final loss by the hyperparameters, through every step.",
            "A gradient method has used one derivative of the loss already, so training needs a second one.",
            "Replace that operation (a loop with a fixed number of turns by jax.lax.scan, a callback by code in JAX), "
            "give it a derivative by jax.custom_jvp, or use pacopt.priors.Search.",
        ) from error


def check_gradient(found: tuple[Any, Any], theta: Mapping[str, Any]) -> None:
    """Refuse a first gradient that is not finite, or that is zero everywhere."""
    loss, gradient = found
    bad = [name for name in theta if not np.isfinite(np.asarray(gradient[name])).all()]
    if bad or not np.isfinite(loss):
        what = f"derivative by {bad[0]!r}" if bad else "loss"
        kind = "NaN" if bad and np.isnan(np.asarray(gradient[bad[0]])).any() else "not finite"
        raise EngineError(
            f"In the first batch, before any update, the {what} is {kind}; the loss is {float(loss):g}.",
            "Training starts where the loss and its gradient are finite.",
            "An update by NaN makes all hyperparameters NaN.",
            "Start with smaller steps, so that no run overflows; and where the loss or the algorithm takes a root, a "
            "norm or a logarithm that can be 0, choose with jax.numpy.where what goes in, not only what comes out: "
            "jax_debug_nans finds the place.",
        )
    if not any(np.any(np.asarray(gradient[name])) for name in theta):
        raise EngineError(
            "In the first batch, before any update, the gradient by all hyperparameters is zero.",
            "Training follows a gradient.",
            "The run does not depend on its hyperparameters, or only by steps (rounding, comparisons, sorting).",
            "Use pacopt.priors.Search, which needs no gradient.",
        )
