"""BFGS matrices H = gamma U + V, in two parts that can be weighted separately: as matrices, or as the last pairs."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pacopt.algorithms.scalars import safe_ratio
from pacopt.algorithms.vectors import chosen

Vector = Float[Array, " n"]


class Whole(NamedTuple):
    """U and V as matrices, which start as the identity and zero."""

    start: Float[Array, "n n"]
    learned: Float[Array, "n n"]

    def applied(self, vector: Vector) -> tuple[Vector, Vector]:
        """U and V times a vector."""
        return self.start @ vector, self.learned @ vector

    def updated(self, move: Vector, change: Vector, usable: Bool[Array, ""]) -> "Whole":
        """Both as (I - rho s y') . (I - rho y s'), with rho s s' added to V; unchanged unless the pair is usable."""
        weight = jnp.where(usable, safe_ratio(1.0, jnp.sum(move * change)), 0.0)

        def renewed(matrix: Array, added: float) -> Array:
            image = matrix @ change
            cross = weight * jnp.outer(move, image)
            square = weight * (weight * jnp.sum(change * image) + added)
            return matrix - cross - cross.T + square * jnp.outer(move, move)

        return Whole(renewed(self.start, 0.0), renewed(self.learned, 1.0))


class Pairs(NamedTuple):
    """The last moves and gradient changes, newest last, and 1 / (move'change); empty rows have weight zero."""

    moves: Float[Array, "memory n"]
    changes: Float[Array, "memory n"]
    weights: Float[Array, " memory"]

    def applied(self, vector: Vector) -> tuple[Vector, Vector]:
        """U and V times a vector, by the two-loop recursion of L-BFGS; the second loop runs for each part."""

        def up(both: tuple[Array, Array], row: tuple[Array, Array, Array, Array]) -> tuple[Any, None]:
            (start, learned), (move, change, weight, part) = both, row
            start = start - weight * jnp.sum(change * start) * move
            return (start, learned + (part - weight * jnp.sum(change * learned)) * move), None

        vector, parts = self._descended(vector)
        both, _ = jax.lax.scan(up, (vector, jnp.zeros_like(vector)), (*self, parts))
        return both

    def solved(self, vector: Vector, start: Callable[[Vector], Vector]) -> Vector:
        """H times a vector, where H starts from this linear map instead of gamma I."""

        def up(vector: Array, row: tuple[Array, Array, Array, Array]) -> tuple[Array, None]:
            move, change, weight, part = row
            return vector + (part - weight * jnp.sum(change * vector)) * move, None

        vector, parts = self._descended(vector)
        return jax.lax.scan(up, start(vector), (*self, parts))[0]

    def _descended(self, vector: Vector) -> tuple[Vector, Float[Array, " memory"]]:
        """The result of the first of the two loops, from the newest pair to the oldest."""

        def down(vector: Array, row: "Pairs") -> tuple[Array, Array]:
            move, change, weight = row
            part = weight * jnp.sum(move * vector)
            return vector - part * change, part

        return jax.lax.scan(down, vector, self, reverse=True)

    def updated(self, move: Vector, change: Vector, usable: Bool[Array, ""]) -> "Pairs":
        """The pairs with this one in place of the oldest, if it is usable."""
        weight = safe_ratio(1.0, jnp.sum(move * change))

        def pushed(rows: Array, row: Array) -> Array:
            return jnp.concatenate([rows[1:], row[None]])

        renewed = Pairs(pushed(self.moves, move), pushed(self.changes, change), pushed(self.weights, weight))
        kept: Pairs = chosen(usable, renewed, self)
        return kept


def nothing_known(like: Vector, memory: int | None) -> Whole | Pairs:
    """H = gamma I, as matrices or with room for `memory` pairs."""
    if memory is None:
        return Whole(jnp.eye(like.size, dtype=like.dtype), jnp.zeros((like.size, like.size), like.dtype))
    return no_pairs(like, memory)


def no_pairs(like: Vector, memory: int) -> Pairs:
    """An empty memory with room for `memory` pairs."""
    empty = jnp.zeros((memory, like.size), like.dtype)
    return Pairs(empty, empty, empty[:, 0])
