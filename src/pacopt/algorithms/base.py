"""An algorithm is a state, how it starts, how it moves, and where in it the current point is."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective, Point

#: Named hyperparameters, one number each.
Hyper = Mapping[str, Float[Array, ""]]
#: Whatever an algorithm carries from step to step; its structure and shapes stay the same.
State = Any


@dataclass(frozen=True, slots=True)
class Interval:
    """Where good values of a hyperparameter are looked for; values outside are allowed.

    `log` says that decades count alike, as for step sizes.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        """Refuse an empty interval, and a logarithmic one that reaches zero."""
        if not self.low < self.high or (self.log and self.low <= 0):
            raise AlgorithmError(
                f"The domain is [{self.low}, {self.high}]{' in logarithmic scale' if self.log else ''}.",
                "low < high is needed, and low > 0 in logarithmic scale.",
                "A search needs room.",
                "Correct the bounds.",
            )


class AbstractAlgorithm(eqx.Module):
    """An iterative method with named hyperparameters.

    >>> class SignDescent(AbstractAlgorithm):
    ...     hyperparameters = {"step_size": Interval(1e-6, 1.0, log=True)}
    ...
    ...     def init(self, x, hyper, objective):
    ...         return x
    ...
    ...     def step(self, x, hyper, objective):
    ...         return x - hyper["step_size"] * jnp.sign(objective.gradient(x))
    ...
    ...     def read(self, x):
    ...         return x
    """

    hyperparameters: eqx.AbstractClassVar[Mapping[str, Interval]]

    @abstractmethod
    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The state before the first step, at the starting point x."""

    @abstractmethod
    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state one step later."""

    @abstractmethod
    def read(self, state: State) -> Point:
        """The current point."""


class AbstractStandardHyper(eqx.Module):
    """For algorithms whose worst-case theory recommends hyperparameters from the curvature alone."""

    @abstractmethod
    def standard(self, mu: float, L: float) -> dict[str, float]:
        """What theory recommends if all curvatures lie between mu and L."""


def check_curvature(mu: float, L: float) -> None:
    """Refuse a curvature range for which the textbook formulas mean nothing."""
    if not 0 <= mu <= L < float("inf") or L == 0:
        raise AlgorithmError(
            f"The curvature range is mu = {mu}, L = {L}.",
            "0 <= mu <= L is needed, with L positive and finite.",
            "The standard hyperparameters are derived for losses with curvature between mu and L.",
            "mu is the smallest and L the largest eigenvalue of the Hessian over all instances.",
        )
