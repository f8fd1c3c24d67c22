"""Proximal gradient steps, without and with momentum."""

from typing import ClassVar, NamedTuple

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStandardHyper, Hyper, check_curvature
from pacopt.algorithms.vectors import along, difference, proximal
from pacopt.problems.base import Objective, Point
from pacopt.space import Interval


class ProximalGradient(AbstractAlgorithm, AbstractStandardHyper):
    """x_next = prox(x - step_size gradient(x)): ISTA, if the other part is a multiple of |x|_1.

    **Theory** Daubechies, Defrise and De Mol (2004); Beck and Teboulle (2009, Thm 3.1): with step_size = 1 / L the loss
    is at most L |x0 - x*|^2 / (2 k) above its minimum after k steps, and never rises.

    **Gradients** One per step and none at the start. For a problem without a proximal map, prox is the identity.
    """

    hyperparameters: ClassVar = {"step_size": Interval(1e-8, 1e2, log=True)}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Point:
        """The point itself."""
        return x

    def step(self, state: Point, hyper: Hyper, objective: Objective) -> Point:
        """The point after a gradient step and the proximal map."""
        step_size = hyper["step_size"]
        return proximal(along(state, -step_size, objective.gradient(state)), step_size, objective)

    def read(self, state: Point) -> Point:
        """The point itself."""
        return state

    def standard(self, mu: float, L: float) -> dict[str, float]:
        """1 / L (Beck and Teboulle 2009)."""
        check_curvature(mu, L)
        return {"step_size": 1.0 / L}


class State(NamedTuple):
    """The point, and the one before it."""

    x: Point
    previous: Point


class ProximalNesterov(AbstractAlgorithm):
    """y = x + momentum (x - x_previous), x_next = prox(y - step_size gradient(y), threshold step_size).

    **Theory** Nesterov (2013) for strongly convex losses, with a constant momentum. The `threshold` scales the
    step in the proximal map. At 1 every fixed point is a minimum; with few steps, values near 1 can do better. That
    makes three numbers to tune; `Schedule(ProximalNesterov(), steps)` has three per step, like an unfolded network
    (Gregor and LeCun 2010).

    **Gradients** One per step and none at the start. For a problem without a proximal map, prox is the identity.
    """

    hyperparameters: ClassVar = {
        "step_size": Interval(1e-8, 1e2, log=True),
        "momentum": Interval(0.0, 1.0),
        "threshold": Interval(0.5, 2.0, log=True),
    }

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The point, at rest."""
        return State(x, x)

    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The points after a proximal gradient step from the point ahead."""
        ahead = along(state.x, hyper["momentum"], difference(state.x, state.previous))
        moved = along(ahead, -hyper["step_size"], objective.gradient(ahead))
        return State(proximal(moved, hyper["threshold"] * hyper["step_size"], objective), state.x)

    def read(self, state: State) -> Point:
        """The point itself, not the one ahead."""
        return state.x
