"""One cell of the table: one candidate on one instance, as a traced function."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStochasticAlgorithm, State, prepared
from pacopt.engines.base import Predicate
from pacopt.engines.traced.loops import looped
from pacopt.engines.traced.nesting import nested
from pacopt.engines.traced.randomness import scanned
from pacopt.problems.base import AbstractKnownMinimum, AbstractMetric, AbstractProblem, Instance, Objective, Point

#: A float64 loss below its known minimum by at most this much of the start loss is a rounding error and counts as zero;
#: for float32 the tolerance grows with its spacing.
ROUNDING = 1e-12
#: Two steps per iteration of the loop save copying the state; `benchmarks/tiles.py` shows that more gain nothing.
UNROLL = 2
#: The goal of runs that stop at the tolerance of the problem's metric; other goals are fractions of the start.
SOLVED = "solved"
Goal = float | str

Step = Callable[..., State]
Keys = Callable[[Any], tuple[Any, ...]]
#: The arrays of one candidate by name, and the seed of a run: two 32-bit words.
Values = Mapping[str, Any]
Seed = Any
LossAt = Callable[[State], Float[Array, ""]]
Meets = Callable[[Float[Array, ""]], Bool[Array, " target"]]


class Outcome(NamedTuple):
    """What is kept of a run: losses at the recorded steps, where they were rounded up to zero, the user's verdict.

    `times` are the first steps at which the targets were met, -1 for never.
    """

    losses: Float[Array, " step"]
    clamped: Bool[Array, " step"]
    success: Bool[Array, ""]
    times: Int[Array, " target"]


class Cell(eqx.Module):
    """The run of an algorithm for a fixed number of steps, with losses recorded at the steps `at` (0 is the start)."""

    problem: AbstractProblem
    algorithm: AbstractAlgorithm
    steps: int = eqx.field(static=True)
    at: tuple[int, ...] = eqx.field(static=True)
    predicate: Predicate | None = eqx.field(static=True)
    #: Hyperparameters that are choices, which are known during tracing.
    chosen: tuple[tuple[str, Any], ...] = eqx.field(static=True, default=())
    #: Fractions of the start loss; the first step at or below each of them is recorded.
    targets: tuple[float, ...] = eqx.field(static=True, default=())
    #: The fraction at which a run stops, if it does; or SOLVED.
    goal: Goal | None = eqx.field(static=True, default=None)

    @property
    def recorded(self) -> tuple[Goal, ...]:
        """All fractions whose first step is recorded, the largest first, and SOLVED if that ends a run."""
        if self.goal is None or isinstance(self.goal, str):
            own = () if self.goal is None else (self.goal,)
            return (*sorted(self.targets, reverse=True), *own)
        return tuple(sorted({*self.targets, self.goal}, reverse=True))

    @property
    def random(self) -> bool:
        """Whether runs draw random numbers."""
        return isinstance(self.algorithm, AbstractStochasticAlgorithm)

    def start_point(self, instance: Instance) -> Point:
        """The start, as arrays."""
        return jax.tree.map(jnp.asarray, self.problem.start(instance))

    def start_loss(self, instance: Instance) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The loss at the start as the problem has it, and above the minimum where that is known."""
        loss = jnp.asarray(self.judged(self.start_point(instance), instance))
        return loss, self.above_minimum(loss, loss, instance)[0]

    def judged(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """What a table records of a point: its loss, or the problem's metric if it has one."""
        problem = self.problem
        return problem.metric(x, instance) if isinstance(problem, AbstractMetric) else problem.loss(x, instance)

    def __call__(self, values: Values, instance: Instance, start_loss: Float[Array, ""], seed: Seed) -> Outcome:
        """The outcome of the candidate on the instance, whose start loss is already known."""
        return self.run(values, instance, start_loss, seed)[1]

    def hyper(self, values: Values) -> dict[str, Any]:
        """The hyperparameters as the algorithm sees them, from the arrays of one candidate and the choices."""
        return nested(self.algorithm, dict(values) | dict(self.chosen))

    def run(
        self, values: Values, instance: Instance, start_loss: Float[Array, ""], seed: Seed, *, stops: bool = False
    ) -> tuple[Point, Outcome]:
        """The final point of the run, and what is kept of it; a run that stops does so at its goal."""
        start = self.start_point(instance)

        def loss_at(state: State) -> Float[Array, ""]:
            """The loss; exactly that of the start if the run is still there, even if a batch rounds it differently."""
            x = self.algorithm.read(state)
            there = [jnp.all(a == b) for a, b in zip(jax.tree.leaves(x), jax.tree.leaves(start), strict=True)]
            return jnp.where(jnp.all(jnp.stack(there)), start_loss, self.judged(x, instance))

        state, step, keys = self.begun(values, instance, seed)
        if stops:
            state, losses, times = self._stopped(state, step, keys, loss_at, self._meeting(start_loss, instance))
        elif self.at == (self.steps,) and not self.recorded:
            state, losses = self._final(state, step, keys, loss_at)
            times = jnp.empty(0, dtype=int)
        else:
            state, losses, times = self._recorded(state, step, keys, loss_at, self._meeting(start_loss, instance))
        x = self.algorithm.read(state)
        success = True if self.predicate is None else self.predicate(x, instance)
        return x, Outcome(*self.above_minimum(losses, start_loss, instance), jnp.asarray(success), times)

    def begun(self, values: Values, instance: Instance, seed: Seed) -> tuple[State, Step, Keys]:
        """The state before the first step, the step function, and the keys it is given."""
        objective, algorithm = Objective(self.problem, instance), self.algorithm
        hyper = prepared(algorithm, self.hyper(values), objective)
        root = jax.random.wrap_key_data(seed) if self.random else None

        def keys(number: Any) -> tuple[Any, ...]:
            """A separate key for each step and for the start; empty for an algorithm that draws no random numbers."""
            return () if root is None else (jax.random.fold_in(root, number),)

        def step(state: State, *key: Any) -> State:
            return algorithm.step(state, hyper, objective, *key)

        first = algorithm.init(self.start_point(instance), hyper, objective, *keys(0))
        return jax.tree.map(jnp.asarray, first), step, keys

    def _final(self, state: State, step: Step, keys: Keys, loss_at: LossAt) -> tuple[State, Float[Array, "1"]]:
        if self.random:
            state = scanned(step, state, lambda number: keys(number)[0], self.steps, UNROLL)
        else:
            state = looped(lambda state, _: step(state), state, None, self.steps, UNROLL)
        return state, loss_at(state)[None]

    def _recorded(
        self, state: State, step: Step, keys: Keys, loss_at: LossAt, meets: Meets
    ) -> tuple[State, Float[Array, " step"], Int[Array, " target"]]:
        Notes = tuple[Array, Array]

        def noted(notes: Notes, state: State, slot: Any, number: Any) -> Notes:
            """The notes updated with the state after `number` steps, before the next step."""
            losses, times = notes
            if self.recorded:
                loss = loss_at(state)
                times = jnp.where((times < 0) & meets(loss), number, times)
                return losses.at[slot].set(loss, mode="drop"), times
            return jax.lax.cond(slot < count, lambda: losses.at[slot].set(loss_at(state)), lambda: losses), times

        def turn(carry: tuple[State, Notes], place: tuple[Array, Array]) -> tuple[State, Notes]:
            (state, notes), (slot, number) = carry, place
            return step(state, *keys(number + 1)), noted(notes, state, slot, number)

        count, shape = len(self.at), jax.eval_shape(loss_at, state)
        slots = jnp.full(self.steps + 1, count).at[jnp.asarray(self.at)].set(jnp.arange(count))
        nothing = jnp.zeros(count, shape.dtype), jnp.full(len(self.recorded), -1)
        state, notes = looped(turn, (state, nothing), (slots[:-1], jnp.arange(self.steps)), self.steps)
        return state, *noted(notes, state, slots[-1], self.steps)

    def _stopped(
        self, state: State, step: Step, keys: Keys, loss_at: LossAt, meets: Meets
    ) -> tuple[State, Float[Array, "1"], Int[Array, " target"]]:
        """A run to its goal or its last step: a table cannot stop early, since its runs go side by side."""

        def on(carry: tuple[State, Array]) -> Array:
            return (carry[1] < self.steps) & ~jnp.all(meets(loss_at(carry[0])))

        def go(carry: tuple[State, Array]) -> tuple[State, Array]:
            return step(carry[0], *keys(carry[1] + 1)), carry[1] + 1

        state, number = jax.lax.while_loop(on, go, (state, jnp.asarray(0)))
        loss = loss_at(state)
        return state, loss[None], jnp.where(meets(loss), number, -1)

    def levels(self, start_loss: Float[Array, ""], instance: Instance) -> Float[Array, " target"]:
        """The losses at which targets are met: fractions of the start, and the tolerance of the problem."""
        start, _ = self.above_minimum(start_loss, start_loss, instance)
        tolerance: Any = getattr(self.problem, "tolerance", None)
        each = [tolerance if target == SOLVED else target * start for target in self.recorded]
        return jnp.stack([jnp.asarray(level, start.dtype) for level in each])

    def _meeting(self, start_loss: Float[Array, ""], instance: Instance) -> Meets:
        """Whether a loss is at or below each target. A negative loss meets none: the declared minimum is wrong."""
        levels = self.levels(start_loss, instance) if self.recorded else jnp.empty(0)

        def meets(loss: Float[Array, ""]) -> Bool[Array, " target"]:
            above, _ = self.above_minimum(loss, start_loss, instance)
            return (above >= 0) & (above <= levels)

        return meets

    def above_minimum(self, loss: Array, start_loss: Array, instance: Instance) -> tuple[Array, Array]:
        """Losses above the known minimum, and where a rounding error was counted as zero."""
        if not isinstance(self.problem, AbstractKnownMinimum) or isinstance(self.problem, AbstractMetric):
            return loss, jnp.zeros_like(loss, dtype=bool)
        minimum = self.problem.minimum(instance)
        # A difference carries the rounding errors of its terms, however small it is itself.
        scale = jnp.maximum(jnp.abs(start_loss), start_loss - minimum)
        tolerance = ROUNDING * float(np.finfo(loss.dtype).eps / np.finfo(np.float64).eps)
        gap = loss - minimum
        clamped = (gap < 0) & (gap >= -tolerance * scale)
        return jnp.where(clamped, 0.0, gap), clamped
