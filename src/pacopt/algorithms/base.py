"""An algorithm: how its state starts, how it moves, and how to read the current point from it."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np

from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective, Point
from pacopt.space import AbstractSpace, Tree

#: Named hyperparameters, as declared by the algorithm's spaces: numbers, plain values of a choice, arrays, pytrees.
Hyper = Mapping[str, Any]
#: Whatever an algorithm carries from step to step; its structure and shapes never change.
State = Any


class AbstractAlgorithm(eqx.Module):
    """An iterative method with named hyperparameters.

    `hyperparameters` belong to the object, as a class attribute, a field or a property, so they can depend on a number
    of steps or a network size given at construction. There may be none.

    >>> from pacopt import Interval
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

    if TYPE_CHECKING:

        @property
        def hyperparameters(self) -> Mapping[str, AbstractSpace | Tree]:
            """What is learned, by name."""
            ...
    else:
        hyperparameters: eqx.AbstractVar[Mapping[str, AbstractSpace | Tree]]

    @abstractmethod
    def init(self, x: Point, hyper: Hyper, objective: Objective) -> State:
        """The state before the first step, at the starting point x."""

    @abstractmethod
    def step(self, state: State, hyper: Hyper, objective: Objective) -> State:
        """The state one step later."""

    @abstractmethod
    def read(self, state: State) -> Point:
        """The current point."""


class AbstractStochasticAlgorithm(AbstractAlgorithm):
    """An algorithm that draws random numbers: `init` and `step` each get a fresh key.

    The engine derives keys from a root seed and the content of the instance. Never put seeds into the data: several
    runs on one instance are not independent instances.

    >>> from pacopt import Interval
    >>> class Perturbed(AbstractStochasticAlgorithm):
    ...     hyperparameters = {"step_size": Interval(1e-6, 1.0, log=True)}
    ...
    ...     def init(self, x, hyper, objective, key):
    ...         return x
    ...
    ...     def step(self, x, hyper, objective, key):
    ...         noise = jax.random.normal(key, x.shape)
    ...         return x - hyper["step_size"] * (objective.gradient(x) + noise)
    ...
    ...     def read(self, x):
    ...         return x
    """

    @abstractmethod
    def init(self, x: Point, hyper: Hyper, objective: Objective, key: Any) -> State:  # type: ignore[override]
        """The state before the first step, at the starting point x."""

    @abstractmethod
    def step(self, state: State, hyper: Hyper, objective: Objective, key: Any) -> State:  # type: ignore[override]
        """The state one step later."""


class AbstractStandardHyper(eqx.Module):
    """For algorithms with textbook hyperparameters, which worst-case theory derives from curvature alone."""

    @abstractmethod
    def standard(self, mu: float, L: float) -> dict[str, float]:
        """The textbook hyperparameters if all curvatures lie between mu and L."""

    @property
    def rivals(self) -> tuple["AbstractAlgorithm", ...]:
        """Alternative algorithms, with their own textbook hyperparameters; gains are over these first."""
        return ()


class AbstractInitialHyper(eqx.Module):
    """For algorithms with many hyperparameters that know where training should start."""

    @abstractmethod
    def initial(self, seed: int) -> dict[str, Any]:
        """Hyperparameters to start from, as the algorithm sees them; another seed gives another start."""


class AbstractPrepared(eqx.Module):
    """For algorithms whose steps share something costly, such as a factorization, that is computed once for all steps.

    If it does not depend on the instance, a table computes it once for all instances that run side by side.
    """

    @abstractmethod
    def prepared(self, hyper: Hyper, objective: Objective) -> Hyper:
        """The hyperparameters as `init` and `step` see them, plus whatever all steps share, under a separate name."""


class AbstractDecisions(eqx.Module):
    """For algorithms that decide something at each step, so that a report can show their decisions."""

    @abstractmethod
    def decisions(self, state: State) -> Mapping[str, Any]:
        """The numbers the last step decided, by name, read from the state after it; NaN where it decided none."""

    def textbook(self, state: State, mu: float, L: float) -> Mapping[str, Any]:
        """What the textbook would have used instead if all curvatures lie between mu and L."""
        return {}


def prepared(algorithm: AbstractAlgorithm, hyper: Hyper, objective: Objective) -> Hyper:
    """The hyperparameters as `init` and `step` see them."""
    return algorithm.prepared(hyper, objective) if isinstance(algorithm, AbstractPrepared) else hyper


def initial_of(algorithm: AbstractAlgorithm, seed: int) -> dict[str, Any]:
    """Where training starts: where the algorithm says, or else the middle of each of its spaces."""
    if isinstance(algorithm, AbstractInitialHyper):
        return algorithm.initial(seed)
    return {name: _middle(space) for name, space in algorithm.hyperparameters.items()}


def _middle(space: AbstractSpace | Tree) -> Any:
    if isinstance(space, Tree):
        middle = 0.5 * (space.low + space.high)
        return jax.tree.map(lambda array: np.full(np.shape(array), middle), space.like)
    place = np.full((1, space.dimension), 0.5)
    return space.at(place if space.shape else place[0])[0]


def checked_curvature(curvature: Any) -> tuple[float, float]:
    """(mu, L) as the user gave them."""
    try:
        mu, L = (float(value) for value in curvature)
    except (TypeError, ValueError) as error:
        raise AlgorithmError(
            f"curvature is {curvature!r}.",
            "It must be a pair of numbers, (mu, L).",
            "",
            "Leave it out to have it estimated.",
        ) from error
    check_curvature(mu, L)
    return mu, L


def check_curvature(mu: float, L: float) -> None:
    """Refuse a curvature range for which the textbook formulas are meaningless."""
    if not 0 <= mu <= L < float("inf") or L == 0:
        raise AlgorithmError(
            f"The curvature range is mu = {mu}, L = {L}.",
            "It must satisfy 0 <= mu <= L, with L positive and finite.",
            "The textbook hyperparameters are derived for losses with curvature between mu and L.",
            "Let mu be the smallest and L the largest eigenvalue of the Hessian over all instances.",
        )
