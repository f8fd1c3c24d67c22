"""OSQP's operator splitting for quadratic programs, with a separate rho for each class of constraints."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, AbstractInitialHyper, AbstractPrepared, Hyper
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective
from pacopt.problems.quadratic_programs import AbstractQuadraticProgram, Pair
from pacopt.space import AbstractSpace, Interval
from pacopt.space import Array as ArraySpace
from pacopt.support.numbers import is_real, is_whole

#: OSQP's rho for rows without bounds, and its factor on rho for equality constraints.
FREE, EQUAL = 1e-6, 1e3
#: OSQP's defaults.
DEFAULTS = {"rho": 0.1, "sigma": 1e-6, "alpha": 1.6}
#: The range of rho.
RANGE = (1e-3, 1e3)
#: ADMM converges for relaxations between 0 and 2. Training may leave that range, so the relaxation is clipped to this
#: one.
RELAXED = (0.05, 1.95)
#: The names under which steps find what they share: rho of each row, and the inverse of P + sigma I + A' diag(rho) A.
RHO, INVERSE = "rho of rows", "inverse"


class ADMM(AbstractAlgorithm, AbstractInitialHyper, AbstractPrepared):
    """OSQP's iteration for min x'Px/2 + q'x with l <= Ax <= u, with one rho for each class of constraints.

    (P + sigma I + A'RA) t = sigma x - q + A'(R z - y), w = alpha At + (1 - alpha) z,
    x_next = alpha t + (1 - alpha) x, z_next = clip(w + y / rho, l, u), y_next = y + rho (w - z_next), R = diag(rho).

    `rows` gives the class of each row of A, counting from 0: `ADMM([0] * 304)` has one rho for all 304 rows, like OSQP,
    and `ADMM(range(304))` has one for each. As in OSQP, rho is multiplied by 1,000 for equality constraints, and is
    1e-6 for rows without bounds, whatever is learned. So with rho = 0.1, sigma = 1e-6 and alpha = 1.6 (`defaults`) this
    is OSQP with `scaling=0` and `adaptive_rho=0`. The problem says which rows are equality constraints.

    Training starts from `start`, the same rho for all classes, and finds a good rho nearby, not the best of all: if it
    ends badly, start from another power of ten.

    **Theory** Stellato, Banjac, Goulart, Bemporad and Boyd (2020): for positive rho and sigma and alpha in (0, 2) it
    converges to a solution if there is one. How fast depends on rho, and no formula gives the best value. Alpha is
    clipped to [0.05, 1.95].

    **Gradients** None. A step takes one product with a matrix inverted once per candidate, before the first step, and
    one product each with A and A'. The problem must be an `AbstractQuadraticProgram`.
    """

    labels: tuple[int, ...] = eqx.field(static=True)
    start: float = eqx.field(static=True)

    def __init__(self, rows: Any, start: float = DEFAULTS["rho"]) -> None:
        self.labels = tuple(int(each) if is_whole(each, 0) else -1 for each in rows)
        if set(self.labels) != set(range(max(self.labels, default=0) + 1)):
            raise AlgorithmError(
                f"The classes of the rows are {sorted(set(self.labels))}.",
                "They must be consecutive whole numbers starting from 0, one for each row of A.",
                "Each class has its own rho.",
                "Use ADMM([0] * m) for one rho, or ADMM(range(m)) for one per row.",
            )
        if not is_real(start) or not RANGE[0] <= start <= RANGE[1]:
            raise AlgorithmError(
                f"start is {start!r}.",
                f"It must be a number from {RANGE[0]:g} to {RANGE[1]:g}.",
                "It is the rho that training starts from.",
                f"Leave it out to start from OSQP's {DEFAULTS['rho']}.",
            )
        self.start = float(start)

    @property
    def hyperparameters(self) -> dict[str, AbstractSpace]:
        """A rho for each class, sigma, and the relaxation alpha."""
        classes = max(self.labels) + 1
        return {
            "rho": ArraySpace((classes,), *RANGE, log=True) if classes > 1 else Interval(*RANGE, log=True),
            "sigma": Interval(1e-8, 1e-1, log=True),
            "alpha": Interval(1.0, RELAXED[1]),
        }

    @property
    def defaults(self) -> dict[str, Any]:
        """OSQP's defaults, with the same rho for all classes."""
        classes = max(self.labels) + 1
        return {**DEFAULTS, "rho": np.full(classes, DEFAULTS["rho"])} if classes > 1 else dict(DEFAULTS)

    def initial(self, seed: int) -> dict[str, Any]:
        """OSQP's defaults, with rho = `start`, whatever the seed."""
        return {**self.defaults, "rho": np.full_like(self.defaults["rho"], self.start)}

    def prepared(self, hyper: Hyper, objective: Objective) -> dict[str, Any]:
        """The hyperparameters, plus rho of each row and the inverse matrix that all steps use."""
        problem = _program(objective)
        P, A = (jnp.asarray(each) for each in problem.matrices())
        if len(self.labels) != A.shape[0]:
            raise AlgorithmError(
                f"{len(self.labels)} rows have a class, but A has {A.shape[0]}.",
                "Each row of A needs a class.",
                "",
                f"Use ADMM([0] * {A.shape[0]}), for example.",
            )
        kinds, own = problem.kinds(), jnp.atleast_1d(hyper["rho"])[np.asarray(self.labels)]
        rho = jnp.where(kinds.free, FREE, jnp.where(kinds.equal, EQUAL, 1.0) * own)
        matrix = P + hyper["sigma"] * jnp.eye(len(P), dtype=P.dtype) + A.T @ (rho[:, None] * A)
        return {**hyper, RHO: rho, INVERSE: _inverse(matrix)}

    def init(self, x: Pair, hyper: Hyper, objective: Objective) -> Pair:
        """The start itself."""
        return x

    def step(self, state: Pair, hyper: Hyper, objective: Objective) -> Pair:
        """The point after one iteration."""
        shared = hyper if INVERSE in hyper else self.prepared(hyper, objective)
        problem, rho = _program(objective), shared[RHO]
        alpha, sigma = jnp.clip(hyper["alpha"], *RELAXED), hyper["sigma"]
        q, lower, upper = problem.vectors(objective.instance)
        solved = shared[INVERSE] @ (sigma * state.x - q + problem.columns(rho * state.z - state.y))
        relaxed = alpha * problem.rows(solved) + (1 - alpha) * state.z
        z: Float[Array, " m"] = jnp.clip(relaxed + state.y / rho, lower, upper)
        return Pair(alpha * solved + (1 - alpha) * state.x, z, state.y + rho * (relaxed - z))

    def read(self, state: Pair) -> Pair:
        """The point itself, as OSQP returns it."""
        return state


def _program(objective: Objective) -> AbstractQuadraticProgram:
    if not isinstance(objective.problem, AbstractQuadraticProgram):
        raise AlgorithmError(
            f"{type(objective.problem).__name__} is not a quadratic program.",
            "ADMM needs P, q, A, l and u.",
            "",
            "Use pacopt.problems.QuadraticProgram, or derive your own from AbstractQuadraticProgram.",
        )
    return objective.problem


@jax.custom_jvp
def _inverse(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of a positive definite matrix by Gauss-Jordan elimination, which needs no pivoting here.

    Its derivative takes two products. LAPACK is avoided: its kernels in XLA wait for threads, and two tables computed
    side by side can deadlock.
    """

    def eliminated(k: Any, left: Float[Array, "n n"]) -> Float[Array, "n n"]:
        column, pivot = left[:, k], left[k, k]
        row = left[k] / pivot
        swept = (left - column[:, None] * row[None, :]).at[k].set(row)
        return swept.at[:, k].set(-column / pivot).at[k, k].set(1 / pivot)

    found: Array = jax.lax.fori_loop(0, len(matrix), eliminated, matrix)
    return 0.5 * (found + found.T)


@_inverse.defjvp
def _inverse_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    inverse: Array = _inverse(*primals)
    return inverse, -inverse @ tangents[0] @ inverse
