"""Newton's method with a model of the Hessian: a few learned numbers, corrected by a memory of moves."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from pacopt.algorithms.base import AbstractAlgorithm, AbstractInitialHyper, Hyper
from pacopt.algorithms.line import Place, place_at
from pacopt.algorithms.scalars import cosine, length, safe_ratio, size
from pacopt.algorithms.secants import Pairs
from pacopt.algorithms.vectors import chosen, refuse_nonsmooth
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective, Point
from pacopt.space import Array as ArraySpace
from pacopt.space import Interval

#: A pair with a smaller cosine is left out of the memory.
FLAT = 1e-8
#: A move that ends higher is repeated, shortened by fitting a parabola, but never below this fraction.
SHORTER = 0.1
#: A loss this many rounding errors higher does not count as higher.
ROUNDING = 10.0


class AbstractHessianModel(eqx.Module):
    """A model of the Hessian for a family of problems: easy to invert, with a few learned numbers.

    It may use the point and whatever the loss reads of the instance (`objective.instance`), but not its minimum.

    >>> class Diagonal(AbstractHessianModel):  # of 1/2 |diag(d) x - b|^2 + ...
    ...     numbers = {"floor": (0.1, Interval(1e-4, 10.0, log=True))}
    ...
    ...     def solved(self, vector, x, hyper, objective):
    ...         return vector / (objective.instance["diagonal"] ** 2 + hyper["floor"])
    """

    #: What is learned, by name: where training starts, and the interval to search for good values.
    numbers: eqx.AbstractClassVar[Mapping[str, tuple[float, Interval]]]

    @abstractmethod
    def solved(self, vector: Point, x: Point, hyper: Hyper, objective: Objective) -> Point:
        """About H^-1 times the vector, H the Hessian at x; the map must be symmetric and positive definite."""


class State(NamedTuple):
    """The current place, the next move, the last pairs, the number of moves, and the lowest point seen."""

    place: Place
    move: Float[Array, " n"]
    pairs: Pairs
    taken: Int[Array, ""]
    best: Point
    lowest: Float[Array, ""]


class ModelledNewton(AbstractAlgorithm, AbstractInitialHyper):
    """x_next = x - t_k H gradient(x) + m_k s: H is a learned model of the inverse Hessian, corrected by a memory.

    **Theory** With H the inverse Hessian and t = 1 this is Newton's method. The model (`AbstractHessianModel`) holds
    what is known about the family, such as the part that is diagonal in Fourier space. Errors of the model are
    corrected along the way: as in L-BFGS (Nocedal 1980), H is updated by the last `memory` moves s and gradient changes
    y, so that it maps the newest y to s. L-BFGS starts from a multiple of the identity; this starts from the model at
    the current point. With `memory=0` and constant t and m it is heavy-ball in the metric of the model.

    **Safeguard** A move that ends above its start is repeated, shorter: to the minimum of the parabola through both
    losses and the slope, between a tenth and a half of the way. The curvature it revealed is remembered all the same.
    Momentum that would point uphill is dropped. So losses never rise, and there is no other line search. No rate is
    promised; the certificate says how well it does.

    **What is learned** The numbers of the model, and for each iteration a step t_k (`step_size`) and a momentum m_k.
    Untrained, t = 1 and m = 0. Runs longer than `steps` keep using the last ones.

    **Gradients** One per step and one at the start; a repeated move is a step too. `read` gives the lowest point
    evaluated. A pair without positive curvature is left out of the memory.
    """

    model: AbstractHessianModel
    steps: int = eqx.field(static=True, converter=size("steps"))
    memory: int = eqx.field(static=True, default=5)

    def __check_init__(self) -> None:
        """Refuse names already taken, and an invalid memory."""
        taken = {"step_size", "momentum"} & set(self.model.numbers)
        if taken:
            raise AlgorithmError(
                f"{type(self.model).__name__} has a number {min(taken)!r}.",
                "ModelledNewton already has a hyperparameter of that name.",
                "Hyperparameters are told apart by name.",
                "Give it another name.",
            )
        if not isinstance(self.memory, int) or self.memory < 0:
            raise AlgorithmError(
                f"memory is {self.memory!r}.",
                "It must be a number of pairs, 0 or more.",
                "",
                "Leave it out to remember 5 pairs.",
            )

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The numbers of the model, and the steps and momenta."""
        own = {
            "step_size": ArraySpace((self.steps,), 0.1, 3.0, log=True),
            "momentum": ArraySpace((self.steps,), -0.5, 0.9),
        }
        return {name: space for name, (_, space) in self.model.numbers.items()} | own

    def initial(self, seed: int) -> dict[str, Any]:
        """The initial numbers of the model, unit steps, and no momentum."""
        own = {"step_size": np.ones(self.steps), "momentum": np.zeros(self.steps)}
        return {name: np.asarray(start) for name, (start, _) in self.model.numbers.items()} | own

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The start, with its loss and gradient, and the first move."""
        refuse_nonsmooth(self, objective)
        flat, _ = ravel_pytree(x)
        place = place_at(flat, x, objective)
        empty = jnp.zeros((self.memory, flat.size), flat.dtype)
        state = State(
            place, jnp.zeros_like(flat), Pairs(empty, empty, empty[:, :1].sum(1)), jnp.asarray(0), x, place.value
        )
        return state._replace(move=self._move(state, hyper, objective))

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after one move, which is then followed by the next, or repeated, shorter."""
        here, s = state.place, state.move
        there = place_at(here.x + s, state.best, objective)
        finite = jnp.isfinite(there.value) & jnp.all(jnp.isfinite(there.gradient))
        accepted = finite & (there.value <= here.value + ROUNDING * float(np.finfo(s.dtype).eps) * jnp.abs(here.value))
        y = there.gradient - here.gradient
        usable = finite & (cosine(s, y, length(s), length(y)) > FLAT)
        pairs = state.pairs.updated(s, y, usable) if self.memory else state.pairs
        _, as_point = ravel_pytree(state.best)
        better = finite & (there.value < state.lowest)
        best, lowest = chosen(better, (as_point(there.x), there.value), (state.best, state.lowest))
        moved = State(chosen(accepted, there, here), s, pairs, state.taken + 1, best, lowest)
        slope = jnp.sum(here.gradient * s)
        part = jnp.clip(safe_ratio(-0.5 * slope, there.value - here.value - slope), SHORTER, 0.5)
        again = jnp.where(finite, part, SHORTER) * s
        return moved._replace(move=jnp.where(accepted, self._move(moved, hyper, objective), again))

    def read(self, state: State) -> Point:
        """The lowest point evaluated so far."""
        return state.best

    def _move(self, state: State, hyper: Hyper, objective: Objective) -> Float[Array, " n"]:
        """-t H g + m s."""
        _, as_point = ravel_pytree(state.best)
        x = as_point(state.place.x)

        def modelled(vector: Array) -> Array:
            return ravel_pytree(self.model.solved(as_point(vector), x, hyper, objective))[0].astype(vector.dtype)

        now = jnp.minimum(state.taken, self.steps - 1)
        newton = -jnp.asarray(hyper["step_size"])[now] * state.pairs.solved(state.place.gradient, modelled)
        move = newton + jnp.asarray(hyper["momentum"])[now] * state.move
        return jnp.where(jnp.sum(move * state.place.gradient) < 0, move, newton)
