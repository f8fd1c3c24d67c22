"""Any algorithm with gradients of some rows of the data, drawn anew at each step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from pacopt.algorithms.base import (
    AbstractAlgorithm,
    AbstractInitialHyper,
    AbstractStochasticAlgorithm,
    Hyper,
    State,
    initial_of,
)
from pacopt.algorithms.scalars import size
from pacopt.algorithms.warm_start import names
from pacopt.algorithms.wrapping import refuse_unwrappable
from pacopt.errors import AlgorithmError
from pacopt.problems.base import Objective, Point


class Minibatch(AbstractStochasticAlgorithm, AbstractInitialHyper):
    """An algorithm that sees `batch` rows of an instance at each step, drawn without replacement, and anew each time.

    `rows` are the fields of an instance that have a row for each observation, as their first axis. The algorithm is
    given the same problem with these rows alone, so that loss and gradient are unbiased estimates if the loss is a mean
    over rows. What is judged at the end is the loss of all rows.

    **Theory** Robbins and Monro (1951): with unbiased gradients and step sizes that fall slowly enough, the method
    converges to a minimum of a convex loss; with constant ones it ends in a neighbourhood (Bottou, Curtis and
    Nocedal 2018, Thm 4.6).

    **Gradients** As the algorithm in it; each costs batch / (number of rows) of a full one. Methods that compare
    gradients of two steps, such as L-BFGS, would compare different batches: it is for those that do not, such as
    transformations of optax.

    Batches are drawn by the key of the run, so that statements are about a new instance and a fresh seed.

    >>> import optax
    >>> from pacopt import Interval, Optax
    >>> adam = Optax(optax.adam, learning_rate=Interval(1e-4, 1.0, log=True))
    >>> Minibatch(adam, batch=10, rows=("inputs", "targets")).hyperparameters
    {'learning_rate': Interval(low=0.0001, high=1.0, log=True)}
    """

    algorithm: AbstractAlgorithm
    batch: int = eqx.field(static=True, converter=size("batch"), kw_only=True)
    rows: tuple[str, ...] = eqx.field(static=True, converter=names, kw_only=True)

    def __check_init__(self) -> None:
        """Refuse what is no algorithm, and one that draws random numbers itself."""
        refuse_unwrappable(self, self.algorithm, "Rows are drawn")

    @property
    def hyperparameters(self) -> Any:
        """Those of the algorithm."""
        return self.algorithm.hyperparameters

    def initial(self, seed: int) -> dict[str, Any]:
        """Where the algorithm starts."""
        return initial_of(self.algorithm, seed)

    def init(self, x: Point, hyper: Hyper, objective: Objective, key: Any) -> State:  # type: ignore[override]
        """The algorithm at the start, with a batch in case that it takes a gradient there."""
        return self.algorithm.init(x, hyper, self._seen(objective, key))

    def step(self, state: State, hyper: Hyper, objective: Objective, key: Any) -> State:  # type: ignore[override]
        """One step, with a batch of its own."""
        return self.algorithm.step(state, hyper, self._seen(objective, key))

    def read(self, state: State) -> Point:
        """The current point of the algorithm."""
        return self.algorithm.read(state)

    def _seen(self, objective: Objective, key: Any) -> Objective:
        """The problem with some of the rows."""
        count = self._count(objective)
        drawn = jax.random.permutation(key, count)[: self.batch]
        few = {name: jnp.asarray(objective.instance[name])[drawn] for name in self.rows}
        return Objective(objective.problem, {**objective.instance, **few})

    def _count(self, objective: Objective) -> int:
        lengths = {name: np.shape(objective.instance.get(name, 0.0))[:1] for name in self.rows}
        found = set(lengths.values())
        if len(found) != 1 or () in found or min(found)[0] < self.batch:
            told = ", ".join(f"{name}: {each[0] if each else 'none'}" for name, each in lengths.items())
            raise AlgorithmError(
                f"Rows of the fields of an instance: {told}. A batch has {self.batch}.",
                "Each of the fields has as many rows as the others, and at least as many as a batch.",
                "The rows of a batch are drawn without replacement, the same ones of all fields.",
                f"Name fields of {type(objective.problem).__name__} that have a row for each observation, or use a "
                "smaller batch.",
            )
        return int(min(found)[0])
