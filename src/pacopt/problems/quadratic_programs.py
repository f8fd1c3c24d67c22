"""Quadratic programs with the same matrices for all instances, judged by OSQP's stopping test."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from pacopt.problems.base import AbstractMetric, AbstractProblem, Instance

Numbers = Array | np.ndarray


class Vectors(NamedTuple):
    """What differs from instance to instance."""

    q: Float[Numbers, " n"]
    l: Float[Numbers, " m"]  # noqa: E741
    u: Float[Numbers, " m"]


class Pair(NamedTuple):
    """A point of a splitting method: x, z standing for Ax, and the multipliers y of the constraints."""

    x: Float[Numbers, " n"]
    z: Float[Numbers, " m"]
    y: Float[Numbers, " m"]


class Kinds(NamedTuple):
    """Which rows of A are equality constraints, l = u, and which have no bounds at all."""

    equal: Bool[Numbers, " m"]
    free: Bool[Numbers, " m"]


class AbstractQuadraticProgram(AbstractProblem, AbstractMetric):
    """min x'Px/2 + q'x subject to l <= Ax <= u, where instances differ only in q, l and u.

    A point is (x, z, y), all zero at the start. It is judged by its residual relative to the tolerances, so that an
    instance is solved when the residual is at most 1. The residual is the larger of

    - max(|Ax - z|, |z - clip(z + y, l, u)|) / (eps_abs + eps_rel max(|Ax|, |z|)) and
    - |Px + q + A'y| / (eps_abs + eps_rel max(|Px|, |A'y|, |q|)),

    in maximum norms. This is OSQP's own test (Stellato et al. 2020, sec. 3.4) with one more term, |z - clip(z + y, l,
    u)|. It is zero where z is within its bounds and y is normal to them, as at every iterate of OSQP; elsewhere it
    measures how far they are from that. So a zero residual means a solution, whatever the algorithm.
    """

    eps_abs: eqx.AbstractVar[float]
    eps_rel: eqx.AbstractVar[float]

    quantity: ClassVar[str] = "residual"
    tolerance: ClassVar[float] = 1.0

    @abstractmethod
    def matrices(self) -> tuple[Float[Numbers, "n n"], Float[Numbers, "m n"]]:
        """P and A."""

    @abstractmethod
    def vectors(self, instance: Instance) -> Vectors:
        """q, l and u of an instance."""

    @abstractmethod
    def kinds(self) -> Kinds:
        """Which rows are equality constraints or unbounded, the same for all instances."""

    @abstractmethod
    def curved(self, x: Float[Numbers, " n"]) -> Float[Numbers, " n"]:
        """P x."""

    @abstractmethod
    def rows(self, x: Float[Numbers, " n"]) -> Float[Numbers, " m"]:
        """A x."""

    @abstractmethod
    def columns(self, y: Float[Numbers, " m"]) -> Float[Numbers, " n"]:
        """A'y."""

    def start(self, instance: Instance) -> Pair:
        """Zero, where OSQP starts."""
        q, lower, _ = self.vectors(instance)
        return Pair(jnp.zeros_like(q), jnp.zeros_like(lower), jnp.zeros_like(lower))

    def loss(self, x: Pair, instance: Instance) -> Float[Array, ""]:
        """The objective, x'Px/2 + q'x."""
        return 0.5 * jnp.dot(x.x, self.curved(x.x)) + jnp.dot(self.vectors(instance).q, x.x)

    def metric(self, x: Pair, instance: Instance) -> Float[Array, ""]:
        """The residual relative to its tolerance."""
        (q, lower, upper), eps_abs, eps_rel = self.vectors(instance), self.eps_abs, self.eps_rel
        rows, curved, pulled = self.rows(x.x), self.curved(x.x), self.columns(x.y)
        off = jnp.maximum(_largest(rows - x.z), _largest(x.z - jnp.clip(x.z + x.y, lower, upper)))
        primal = off / (eps_abs + eps_rel * jnp.maximum(_largest(rows), _largest(x.z)))
        scale = jnp.maximum(jnp.maximum(_largest(curved), _largest(pulled)), _largest(q))
        return jnp.maximum(primal, _largest(curved + q + pulled) / (eps_abs + eps_rel * scale))


class QuadraticProgram(AbstractQuadraticProgram):
    """A quadratic program with dense matrices; an instance holds `q`, `l` and `u`.

    `equal` and `free` say which rows are equality constraints or have no bounds, the same for all instances; `of`
    derives them from the bounds of one instance.

    >>> program = QuadraticProgram.of(np.eye(2), np.ones((1, 2)), l=np.ones(1), u=np.ones(1))
    >>> bool(program.kinds().equal[0])
    True
    """

    P: Float[Numbers, "n n"]
    A: Float[Numbers, "m n"]
    equal: Bool[Numbers, " m"]
    free: Bool[Numbers, " m"]
    eps_abs: float = eqx.field(default=1e-3, kw_only=True)
    eps_rel: float = eqx.field(default=1e-3, kw_only=True)

    @staticmethod
    def of(P: Any, A: Any, *, l: Any, u: Any, eps_abs: float = 1e-3, eps_rel: float = 1e-3) -> "QuadraticProgram":  # noqa: E741
        """The program with these matrices, and with the kinds of rows that these bounds imply."""
        lower, upper = np.asarray(l, dtype=float), np.asarray(u, dtype=float)
        return QuadraticProgram(
            P=np.asarray(P, dtype=float),
            A=np.asarray(A, dtype=float),
            equal=lower == upper,
            free=np.isneginf(lower) & np.isposinf(upper),
            eps_abs=eps_abs,
            eps_rel=eps_rel,
        )

    def matrices(self) -> tuple[Float[Numbers, "n n"], Float[Numbers, "m n"]]:
        """P and A."""
        return self.P, self.A

    def vectors(self, instance: Instance) -> Vectors:
        """q, l and u of the instance."""
        return Vectors(instance["q"], instance["l"], instance["u"])

    def kinds(self) -> Kinds:
        """The kinds of rows, as given."""
        return Kinds(self.equal, self.free)

    def curved(self, x: Float[Numbers, " n"]) -> Float[Numbers, " n"]:
        """P x."""
        return self.P @ x

    def rows(self, x: Float[Numbers, " n"]) -> Float[Numbers, " m"]:
        """A x."""
        return self.A @ x

    def columns(self, y: Float[Numbers, " m"]) -> Float[Numbers, " n"]:
        """A'y."""
        return y @ self.A


def _largest(values: Any) -> Float[Array, ""]:
    return jnp.max(jnp.abs(values))
