"""FISTA with restart: accelerated proximal gradient steps."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStandardHyper, Hyper, check_curvature
from pacopt.algorithms.vectors import along, chosen, difference, dot
from pacopt.problems.base import AbstractProximable, Objective, Point
from pacopt.space import Interval


class State(NamedTuple):
    """The point, the point ahead where the gradient is taken, and the weight t of the acceleration."""

    x: Point
    ahead: Point
    weight: Float[Array, ""]


class FISTA(AbstractAlgorithm, AbstractStandardHyper):
    """x_next = prox(y - step_size gradient(y)), y_next = x_next + ((t - 1) / t_next) (x_next - x), with restart.

    **Theory** Beck and Teboulle (2009, Thm 4.4): with t_next = (1 + sqrt(1 + 4 t^2)) / 2 and step_size = 1 / L the loss
    is at most 2 L |x0 - x*|^2 / (k + 1)^2 above its minimum after k steps. O'Donoghue and Candès (2015, sec. 3.2): the
    momentum is reset (t = 1) where it points uphill, (y - x_next)'(x_next - x) > 0; on strongly convex losses this
    recovers the linear rate without knowing mu. The restart is a heuristic: the bound above is proved without it.

    **Gradients** One per step and none at the start. For a problem without a proximal map, prox is the identity.
    """

    hyperparameters: ClassVar = {"step_size": Interval(1e-8, 1e2, log=True)}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The point, at rest."""
        return State(x, x, jnp.ones((), jnp.result_type(*jax.tree.leaves(x))))

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state after a proximal gradient step from the point ahead: extrapolated, or at rest again."""
        step_size = hyper["step_size"]
        moved = along(state.ahead, -step_size, objective.gradient(state.ahead))
        x = objective.prox(moved, step_size) if isinstance(objective.problem, AbstractProximable) else moved
        move = difference(x, state.x)
        uphill = dot(difference(state.ahead, x), move) > 0
        weight = (1 + jnp.sqrt(1 + 4 * state.weight**2)) / 2
        ahead = along(x, (state.weight - 1) / weight, move)
        return State(x, chosen(uphill, x, ahead), jnp.where(uphill, jnp.ones_like(weight), weight))

    def read(self, state: State) -> Point:
        """The point itself, not the one ahead."""
        return state.x

    def standard(self, mu: float, L: float) -> dict[str, float]:
        """1 / L (Beck and Teboulle 2009); the restart makes mu unnecessary."""
        check_curvature(mu, L)
        return {"step_size": 1.0 / L}
