"""SciPy's L-BFGS-B with a limited number of evaluations: the solver most people would use, on equal terms."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float
from scipy.optimize import fmin_l_bfgs_b
from threadpoolctl import ThreadpoolController

from pacopt.engines.blackbox.result import Result
from pacopt.engines.traced.cell import ROUNDING
from pacopt.engines.traced.precision import precision
from pacopt.problems.base import AbstractKnownMinimum, AbstractProblem

Vector = Float[np.ndarray, " n"]
#: Disables its own stopping tests, so that it runs until its evaluations are used up.
ENDLESS: dict[str, Any] = {"factr": 0.0, "pgtol": 0.0, "maxfun": 10**6, "maxiter": 10**6, "maxls": 50}


class _SpentError(Exception):
    """All evaluations are used up."""


def lowest_loss(
    evaluated: Callable[[Vector], tuple[float, Vector]],
    start: Vector,
    steps: int,
    *,
    memory: int = 20,
    bounded: bool = False,
    judged: Callable[[Vector], float] | None = None,
    minimum: float = 0.0,
) -> Result:
    """The lowest loss it sees at the start and in `steps` more evaluations of loss and gradient, less the minimum.

    `bounded` keeps all unknowns at or above zero. Points are judged by their loss, or by `judged` if given. The start
    loss is told beside it.
    """
    seen: list[float] = []

    def counted(x: Vector) -> tuple[float, Vector]:
        if len(seen) > steps:
            raise _SpentError
        value, gradient = evaluated(x)
        seen.append(value if judged is None else judged(x))
        return value, gradient

    with suppress(_SpentError), _libraries().limit(limits=1, user_api="blas"):
        fmin_l_bfgs_b(counted, start, m=memory, bounds=[(0.0, None)] * len(start) if bounded else None, **ENDLESS)
    return Result(loss=min(seen) - minimum, start_loss=seen[0] - minimum)


@cache
def _libraries() -> ThreadpoolController:
    """The linear algebra libraries that are loaded.

    L-BFGS-B multiplies tiny matrices. On a busy machine, threads waiting for each other made it fifty times slower.
    """
    return ThreadpoolController()


@dataclass(frozen=True, eq=False)
class ScipysLBFGSB:
    """SciPy's L-BFGS-B on a problem in JAX, in double precision, as a function for `BlackBox`: the lowest loss it sees.

    Its first trial has length one. That of `LBFGS` uses the loss over the squared gradient, which is a poor guess for
    losses whose minimum is far above zero.
    """

    problem: AbstractProblem
    steps: int
    memory: int = 20

    def __call__(self, hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> Result:
        """The lowest loss it sees on an instance, and that of the start, less the minimum if that is known."""
        with precision(np.dtype(np.float64)):
            row = {name: jnp.asarray(value) for name, value in instance.items()}
            start = np.asarray(ravel_pytree(jax.tree.map(jnp.asarray, self.problem.start(row)))[0], dtype=np.float64)

            def evaluated(x: Vector) -> tuple[float, Vector]:
                value, gradient = _evaluated(self.problem, x, row)
                return float(value), np.asarray(gradient)

            if not isinstance(self.problem, AbstractKnownMinimum):
                return lowest_loss(evaluated, start, self.steps, memory=self.memory)
            minimum = float(_minimum(self.problem, row))
            found = lowest_loss(evaluated, start, self.steps, memory=self.memory, minimum=minimum)
            loss, first = float(found.loss or 0.0), float(found.start_loss or 0.0)
            slack = ROUNDING * max(abs(first + minimum), first)
            # As in a table: a loss below the minimum by rounding alone counts as zero; further below is an error.
            return replace(found, loss=0.0) if -slack <= loss < 0.0 else found


@eqx.filter_jit
def _minimum(problem: AbstractKnownMinimum, instance: Any) -> Any:
    """The minimum that the problem states, compiled once: a loop in it would be compiled again for every instance."""
    return problem.minimum(instance)


@eqx.filter_jit
def _evaluated(problem: AbstractProblem, x: Any, instance: Any) -> Any:
    """The loss and its gradient at a point given as a vector."""
    _, as_point = ravel_pytree(jax.tree.map(jnp.asarray, problem.start(instance)))
    return jax.value_and_grad(lambda flat: problem.loss(as_point(flat), instance))(jnp.asarray(x))
