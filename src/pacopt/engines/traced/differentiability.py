"""Whether runs have a gradient with respect to their hyperparameters, checked before anything long starts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pacopt.engines.traced.cell import Cell
from pacopt.errors import EngineError, PacoptError


@contextmanager
def differentiated(cell: Cell) -> Iterator[None]:
    """Refuse runs that JAX cannot differentiate while tracing them, quoting its message: it names the operation."""
    try:
        yield
    except PacoptError:
        raise
    except (TypeError, ValueError, NotImplementedError, AssertionError) as error:
        told = " ".join(line.strip() for line in str(error).splitlines() if line.strip())[:400].rstrip(".")
        names = f"{type(cell.algorithm).__name__} on {type(cell.problem).__name__}"
        raise EngineError(
            f"The run of {names} cannot be differentiated: {told or type(error).__name__}.",
            "Training follows the gradient of the final loss with respect to the hyperparameters, through every step.",
            "A gradient method already uses one derivative of the loss, so training needs a second.",
            "Replace that operation (a loop of fixed length by jax.lax.scan, a callback by code in JAX), give it a "
            "derivative with jax.custom_jvp, or use pacopt.priors.Search.",
        ) from error


def check_gradients(found: tuple[Any, Any], rows: np.ndarray) -> None:
    """Refuse first gradients if one is not finite or all are zero."""
    losses, gradients = np.asarray(found[0]), {name: np.asarray(each) for name, each in found[1].items()}
    fine = {name: np.isfinite(each).reshape(len(rows), -1).all(axis=1) for name, each in gradients.items()}
    bad = np.flatnonzero(~np.all(list(fine.values()), axis=0))
    if len(bad):
        name = next(name for name, each in fine.items() if not each[bad[0]])
        kind = "NaN" if np.isnan(gradients[name][bad[0]]).any() else "infinite"
        raise EngineError(
            f"Before any update, the derivative with respect to {name!r} is {kind} for {len(bad)} of {len(rows)} "
            f"instances (first: row {rows[bad[0]]} of those to train on, with a loss of {losses[bad[0]]:g}).",
            "Training must start where all gradients are finite.",
            "It cannot follow such a gradient, and leaving these instances out would train only for the rest.",
            "Start with smaller steps, so that no run overflows. Where the loss or the algorithm takes a root, norm or "
            "logarithm of something that can be 0, apply jax.numpy.where to what goes in, not only to what comes out; "
            "jax_debug_nans finds the place.",
        )
    if not any(np.any(each) for each in gradients.values()):
        raise EngineError(
            "Before any update, the gradient with respect to all hyperparameters is zero on every instance of a batch.",
            "Training needs a gradient to follow.",
            "The run does not depend on its hyperparameters, or only in jumps (rounding, comparisons, sorting).",
            "Use pacopt.priors.Search, which needs no gradient.",
        )
