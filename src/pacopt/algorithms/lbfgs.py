"""L-BFGS with the line search of Moré and Thuente."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, Hyper
from pacopt.algorithms.line import Line, line_from, place_at, tried
from pacopt.algorithms.secants import Pairs, no_pairs
from pacopt.algorithms.vectors import chosen, first_length, ratio, refuse_nonsmooth
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective, Point
from pacopt.support.numbers import is_whole

#: The constants of the strong Wolfe conditions, as in L-BFGS-B.
DECREASE, CURVATURE = 1e-3, 0.9


class Memory(NamedTuple):
    """The last moves and gradient changes, and the scale of the initial H."""

    pairs: Pairs
    scale: Float[Array, ""]

    def applied(self, gradient: Array) -> Array:
        """H times the gradient."""
        return self.pairs.solved(gradient, lambda vector: self.scale * vector)


class State(NamedTuple):
    """The line being searched, the memory, and the lowest point seen, in the problem's structure."""

    line: Line
    memory: Memory
    best: Point


class LBFGS(AbstractAlgorithm):
    """x_next = x - t H gradient(x), H built from the last `memory` moves; a step is one trial t: one loss and gradient.

    **Theory** Nocedal (1980), Liu and Nocedal (1989): H is the BFGS matrix of the last pairs (s, y) of a move and the
    change in gradient, started from (s'y / y'y) I and applied by the two-loop recursion. With steps that satisfy the
    Wolfe conditions it converges R-linearly on strongly convex losses (their Thm 6.1). With exact line searches on a
    quadratic it takes the same steps as conjugate gradients.

    **Gradients** One per step and one at the start. The line search carries its state across steps: each step tries one
    point, which is accepted or rejected. `read` gives the lowest point evaluated.

    **Departs from SciPy's L-BFGS-B**, whose line search and constants it shares: the first trial is loss / |gradient|^2
    instead of 1 / |gradient|, so that nothing depends on the units of x or of the loss, and after an abandoned search
    it restarts from the lowest point. In units where the first trials agree, both methods evaluate the same points (a
    test checks this). We do not use optax's L-BFGS because its line search takes any number of gradients per step.

    There is nothing to learn, but the gain over it can be certified: `Baseline(algorithm=LBFGS())`.
    """

    memory: int = 10

    hyperparameters: ClassVar = {}

    def __check_init__(self) -> None:
        """Refuse a memory that cannot hold a pair."""
        if not is_whole(self.memory, 1):
            raise AlgorithmError(
                f"memory is {self.memory!r}.",
                "It must be a whole number of pairs, at least 1.",
                "Without pairs the method is just steepest descent.",
                "Pass LBFGS(memory=10), for example.",
            )

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, with its loss and gradient, and an empty memory."""
        refuse_nonsmooth(self, objective)
        place = place_at(ravel_pytree(x)[0], x, objective)
        scale = first_length(place.value, jnp.sum(place.gradient**2))
        line = line_from(place, -scale * place.gradient, 1.0, place)
        return State(line, Memory(no_pairs(place.x, self.memory), scale), x)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after one trial; if it is accepted, the memory is updated and the next line begins."""
        line, origin, accepted, failed = tried(
            state.line, state.best, objective, decrease=DECREASE, curvature=CURVATURE
        )
        start = state.line.origin
        renewed = _remembered(state.memory, origin.x - start.x, origin.gradient - start.gradient)
        pairs = state.memory.pairs
        forgotten = state.memory._replace(pairs=pairs._replace(weights=jnp.zeros_like(pairs.weights)))
        memory = chosen(accepted, renewed, chosen(failed, forgotten, state.memory))
        following = line_from(origin, -memory.applied(origin.gradient), 1.0, line.best)
        _, as_point = ravel_pytree(state.best)
        return State(chosen(accepted | failed, following, line), memory, as_point(line.best.x))

    def read(self, state: State) -> Point:
        """The lowest point evaluated so far."""
        return state.best


def _remembered(memory: Memory, move: Array, change: Array) -> Memory:
    """The memory with the new pair, if the curvature along the move is positive."""
    product, square = jnp.sum(move * change), jnp.sum(change**2)
    length = jnp.sum(move**2)
    weight, scale = ratio(1, product), ratio(product, square)
    usable = product > float(np.finfo(move.dtype).eps) * jnp.sqrt(length * square)
    usable &= (weight > 0) & (scale > 0)
    return Memory(memory.pairs.updated(move, change, usable), jnp.where(usable, scale, memory.scale))
