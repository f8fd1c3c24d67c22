"""An algorithm with separate hyperparameters for each iteration."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pacopt.algorithms.base import (
    AbstractAlgorithm,
    AbstractInitialHyper,
    AbstractStochasticAlgorithm,
    Hyper,
    State,
    initial_of,
)
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective, Point
from pacopt.space import Array as ArraySpace
from pacopt.space import Interval
from pacopt.support.numbers import is_real, is_whole


class Timed(NamedTuple):
    """The state of the algorithm, and the number of steps taken."""

    inner: State
    taken: Int[Array, ""]


class Schedule(AbstractAlgorithm, AbstractInitialHyper):
    """An algorithm whose hyperparameters are arrays, with one number for each of `steps` iterations.

    `Schedule(HeavyBall(), steps=50)` has 50 step sizes and 50 momenta for `pacopt.priors.Train` to train. It works the
    same way with `GradientDescent`, `Nesterov`, `FISTA` and every other algorithm whose hyperparameters are intervals.

    **Theory** On quadratics with curvatures in a known range, the best step sizes of gradient descent differ from step
    to step: one over the roots of a Chebyshev polynomial (Young 1953), and with momentum the Chebyshev semi-iteration
    (Golub and Varga 1961), whose numbers converge to those of heavy-ball. For smooth convex losses, too, some schedules
    beat every constant step size (Altschuler and Parrilo 2023). But a fixed schedule does not adapt to the instance: on
    the paper's quadratics the best possible one ends only 1.12 times below the best constant pair, while rules that do
    adapt gain more (`ScalarRule`, `QuasiNewtonRule`).

    Training begins from `start`, one number per hyperparameter of the algorithm, such as its textbook values
    (`standard`); without it, from the middle of each interval. Runs longer than `steps` keep using the last numbers.

    >>> from pacopt import HeavyBall
    >>> Schedule(HeavyBall(), steps=50).hyperparameters["momentum"].shape
    (50,)
    """

    algorithm: AbstractAlgorithm
    steps: int = eqx.field(static=True)
    start: Mapping[str, float] | None = None

    def __check_init__(self) -> None:
        """Refuse algorithms without intervals, and invalid steps or starts."""
        given = self.algorithm
        spaces = given.hyperparameters if isinstance(given, AbstractAlgorithm) else {}
        if isinstance(given, AbstractStochasticAlgorithm) or not (
            spaces and all(isinstance(space, Interval) for space in spaces.values())
        ):
            raise AlgorithmError(
                f"A {type(given).__name__} was given to Schedule.",
                "It needs an algorithm that draws no random numbers and whose hyperparameters are intervals.",
                "Each interval becomes an array with one number per iteration.",
                "Pass Schedule(pacopt.HeavyBall(), steps=50), for example.",
            )
        if not is_whole(self.steps, 1):
            raise AlgorithmError(
                f"steps of a Schedule is {self.steps!r}.",
                "It must be a whole number, at least 1.",
                "The size of the arrays is fixed when the schedule is made.",
                "Use Schedule(pacopt.HeavyBall(), steps=50), with the number of steps a run will have.",
            )
        if self.start is not None and (
            set(self.start) != set(spaces) or not all(is_real(value) for value in self.start.values())
        ):
            raise AlgorithmError(
                f"start is {dict(self.start)!r}.",
                f"It must have one number for each of {', '.join(spaces)}.",
                "Training starts there.",
                "Leave it out to start in the middle of each interval.",
            )

    @property
    def hyperparameters(self) -> dict[str, ArraySpace]:
        """The hyperparameters of the algorithm as arrays, one entry per step."""
        spaces: Mapping[str, Any] = self.algorithm.hyperparameters
        return {name: ArraySpace((self.steps,), each.low, each.high, each.log) for name, each in spaces.items()}

    def initial(self, seed: int) -> dict[str, Any]:
        """The same numbers for every iteration."""
        given = initial_of(self.algorithm, seed) if self.start is None else self.start
        return {name: np.full(self.steps, float(value)) for name, value in given.items()}

    def init(self, x: Point, hyper: Hyper, objective: Objective) -> Timed:
        """The algorithm at the start, with its first numbers."""
        return Timed(self.algorithm.init(x, _at(hyper, 0), objective), jnp.asarray(0))

    def step(self, state: Timed, hyper: Hyper, objective: Objective) -> Timed:
        """The state after one step, with the numbers for that step."""
        now = jnp.minimum(state.taken, self.steps - 1)
        return Timed(self.algorithm.step(state.inner, _at(hyper, now), objective), state.taken + 1)

    def read(self, state: Timed) -> Point:
        """The current point of the algorithm."""
        return self.algorithm.read(state.inner)


def _at(hyper: Hyper, number: Any) -> dict[str, Any]:
    return {name: jnp.asarray(values)[number] for name, values in hyper.items()}
