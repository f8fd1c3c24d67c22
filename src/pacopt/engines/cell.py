"""One cell of the table: one candidate on one instance, as a traced function."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pacopt.algorithms.base import AbstractAlgorithm, Hyper, State
from pacopt.problems.base import AbstractKnownMinimum, AbstractProblem, Instance, Objective, Point

#: A loss below its known minimum by at most this much of the start loss is a rounding error and counts as zero.
ROUNDING = 1e-12
#: Two steps in each turn of the loop spare the copy of the state; `benchmarks/tiles.py` measures that more gain
#: nothing.
UNROLL = 2

#: A user's verdict on the final point of a run.
Success = Callable[[Any, Any], Any]


class Outcome(NamedTuple):
    """What remains of a run: losses at the recorded steps, where they were rounded up to zero, the user's verdict."""

    losses: Float[Array, " step"]
    clamped: Bool[Array, " step"]
    success: Bool[Array, ""]


class Cell(eqx.Module):
    """The run of an algorithm for a fixed number of steps, with losses recorded at the steps `at` (0 is the start)."""

    problem: AbstractProblem
    algorithm: AbstractAlgorithm
    steps: int = eqx.field(static=True)
    at: tuple[int, ...] = eqx.field(static=True)
    success: Success | None = eqx.field(static=True)

    def start_point(self, instance: Instance) -> Point:
        """The start, as arrays."""
        return jax.tree.map(jnp.asarray, self.problem.start(instance))

    def start_loss(self, instance: Instance) -> Float[Array, ""]:
        """The loss at the start, above the minimum where that is known."""
        return self._above_minimum(self.problem.loss(self.start_point(instance), instance), instance)[0]

    def __call__(self, hyper: Hyper, instance: Instance) -> Outcome:
        """Run the candidate on the instance."""
        objective = Objective(self.problem, instance)
        x = self.start_point(instance)
        state = jax.tree.map(jnp.asarray, self.algorithm.init(x, hyper, objective))
        state, losses = (self._final if self.at == (self.steps,) else self._recorded)(state, hyper, objective)
        final = self.algorithm.read(state)
        success = jnp.asarray(True) if self.success is None else jnp.asarray(self.success(final, instance))
        return Outcome(*self._above_minimum(losses, instance), success)

    def _final(self, state: State, hyper: Hyper, objective: Objective) -> tuple[State, Float[Array, "1"]]:
        def step(state: State, _: None) -> tuple[State, None]:
            return self.algorithm.step(state, hyper, objective), None

        state, _ = jax.lax.scan(step, state, None, length=self.steps, unroll=UNROLL)
        return state, objective.loss(self.algorithm.read(state))[None]

    def _recorded(self, state: State, hyper: Hyper, objective: Objective) -> tuple[State, Float[Array, " step"]]:
        def record(state: State, losses: Array, slot: Array) -> Array:
            return losses.at[slot].set(objective.loss(self.algorithm.read(state)))

        def step(carry: tuple[State, Array], slot: Array) -> tuple[tuple[State, Array], None]:
            state, losses = carry
            state = self.algorithm.step(state, hyper, objective)
            losses = jax.lax.cond(slot >= 0, record, lambda state, losses, slot: losses, state, losses, slot)
            return (state, losses), None

        slots = jnp.full(self.steps + 1, -1).at[jnp.asarray(self.at)].set(jnp.arange(len(self.at)))
        # Every slot is overwritten but that of step 0.
        losses = jnp.full(len(self.at), objective.loss(self.algorithm.read(state)))
        (state, losses), _ = jax.lax.scan(step, (state, losses), slots[1:])
        return state, losses

    def _above_minimum(self, loss: Array, instance: Instance) -> tuple[Array, Array]:
        """Losses above the known minimum, and where a rounding error was counted as zero."""
        if not isinstance(self.problem, AbstractKnownMinimum):
            return loss, jnp.zeros_like(loss, dtype=bool)
        minimum = self.problem.minimum(instance)
        at_start = self.problem.loss(self.start_point(instance), instance)
        # An instance that starts at its minimum has no scale of its own but the loss itself.
        scale = jnp.where(at_start > minimum, at_start - minimum, jnp.abs(at_start))
        gap = loss - minimum
        clamped = (gap < 0) & (gap >= -ROUNDING * scale)
        return jnp.where(clamped, 0.0, gap), clamped
