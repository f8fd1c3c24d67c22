"""L-BFGS with the line search of Moré and Thuente."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.line import Line, line_from, place_at, tried
from pacopt.algorithms.vectors import chosen, first_length, ratio, refuse_nonsmooth
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective, Point
from pacopt.support.numbers import is_whole

#: The constants of the strong Wolfe conditions, those of L-BFGS-B.
DECREASE, CURVATURE = 1e-3, 0.9


class Memory(NamedTuple):
    """The last moves and changes of the gradient, the newest last, 1 / (move'change), and the first guess of H."""

    moves: Float[Array, "memory n"]
    changes: Float[Array, "memory n"]
    weights: Float[Array, " memory"]
    scale: Float[Array, ""]


class State(NamedTuple):
    """The line that is searched, what is remembered, and the lowest point seen, as a point."""

    line: Line
    memory: Memory
    best: Point


class LBFGS(AbstractAlgorithm):
    """x_next = x - t H gradient(x), H from the last `memory` moves; a step is one trial t, one loss with its gradient.

    **Theory** Nocedal (1980), Liu and Nocedal (1989): H is the BFGS matrix of the last pairs (s, y) of a move and the
    change of the gradient, started from (s'y / y'y) I, and applied by the two-loop recursion; with steps that satisfy
    Wolfe's conditions it converges R-linearly on strongly convex losses (their Thm 6.1). With exact line searches on a
    quadratic it makes the steps of conjugate gradients.

    **Gradients** One for each step and one at the start. The line search carries its state across steps: a step tries
    one point, which may be accepted or not. `read` gives the lowest point that was evaluated.

    **Departs from SciPy's L-BFGS-B**, whose line search and constants it has: the first trial is loss / |gradient|^2
    where SciPy's is 1 / |gradient|, so that nothing depends on the units of x or of the loss; after a search that was
    given up it starts again from the lowest point. In units in which both first trials are the same, both methods
    evaluate the same points (a test says so). It is written by hand since a step of optax's L-BFGS takes as many
    gradients as its line search wants.

    There is nothing to learn, but the gain over it can be certified: `Baseline(algorithm=LBFGS())`.
    """

    memory: int = 10

    hyperparameters: ClassVar = {}

    def __check_init__(self) -> None:
        """Refuse a memory without room for a pair."""
        if not is_whole(self.memory, 1):
            raise AlgorithmError(
                f"memory is {self.memory!r}.",
                "It is a whole number of pairs, at least 1.",
                "Without a pair the method is steepest descent.",
                "Pass LBFGS(memory=10), for example.",
            )

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, evaluated, and an empty memory."""
        refuse_nonsmooth(self, objective)
        place = place_at(ravel_pytree(x)[0], x, objective)
        empty = jnp.zeros((self.memory, place.x.size), place.x.dtype)
        scale = first_length(place.value, jnp.sum(place.gradient**2))
        line = line_from(place, -scale * place.gradient, 1.0, place)
        return State(line, Memory(empty, empty, empty[:, 0], scale), x)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """One trial; if it is accepted, the memory is renewed and the next line begins."""
        line, origin, accepted, failed = tried(
            state.line, state.best, objective, decrease=DECREASE, curvature=CURVATURE
        )
        start = state.line.origin
        renewed = _remembered(state.memory, origin.x - start.x, origin.gradient - start.gradient)
        forgotten = state.memory._replace(weights=jnp.zeros_like(state.memory.weights))
        memory = chosen(accepted, renewed, chosen(failed, forgotten, state.memory))
        following = line_from(origin, -_applied(memory, origin.gradient), 1.0, line.best)
        _, as_point = ravel_pytree(state.best)
        return State(chosen(accepted | failed, following, line), memory, as_point(line.best.x))

    def read(self, state: State) -> Point:
        """The lowest point that was evaluated."""
        return state.best


def _remembered(memory: Memory, move: Array, change: Array) -> Memory:
    """The memory with a new pair, unless the curvature along the move is not positive."""
    product, square = jnp.sum(move * change), jnp.sum(change**2)
    length = jnp.sum(move**2)
    usable = product > float(np.finfo(move.dtype).eps) * jnp.sqrt(length * square)

    def pushed(rows: Array, row: Array) -> Array:
        return jnp.concatenate([rows[1:], row[None]])

    new = Memory(
        pushed(memory.moves, move),
        pushed(memory.changes, change),
        pushed(memory.weights, ratio(1, product)),
        ratio(product, square),
    )
    kept: Memory = chosen(usable & (new.weights[-1] > 0) & (new.scale > 0), new, memory)
    return kept


def _applied(memory: Memory, gradient: Array) -> Array:
    """H times the gradient, by the two loops; empty rows weigh nothing."""

    def down(vector: Array, row: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        move, change, weight = row
        part = weight * jnp.sum(move * vector)
        return vector - part * change, part

    def up(vector: Array, row: tuple[Array, Array, Array, Array]) -> tuple[Array, None]:
        move, change, weight, part = row
        return vector + (part - weight * jnp.sum(change * vector)) * move, None

    rows = memory.moves, memory.changes, memory.weights
    vector, parts = jax.lax.scan(down, gradient, rows, reverse=True)
    return jax.lax.scan(up, memory.scale * vector, (*rows, parts))[0]
