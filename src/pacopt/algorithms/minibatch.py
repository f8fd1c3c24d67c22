"""Any algorithm with gradients of some rows of the data, redrawn at each step."""

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
    """An algorithm that sees `batch` rows of an instance at each step, redrawn each time without replacement.

    `rows` are the fields of an instance whose first axis is observations. The algorithm sees the same problem with the
    drawn rows only, so loss and gradient are unbiased estimates if the loss is a mean over rows. The final point is
    judged by the loss over all rows.

    **Theory** Robbins and Monro (1951): with unbiased gradients and step sizes that fall slowly enough, the method
    converges to a minimum of a convex loss; with constant step sizes it ends in a neighbourhood of one (Bottou, Curtis
    and Nocedal 2018, Thm 4.6).

    **Gradients** As many as the inner algorithm takes; each costs batch / (number of rows) of a full gradient. Methods
    that compare the gradients of two steps, such as L-BFGS, would compare different batches: use one that does not,
    such as an optax transformation.

    Batches are drawn with the key of the run, so statements are about a new instance and a fresh seed.

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
        """Refuse anything but an algorithm that draws no random numbers itself."""
        refuse_unwrappable(self, self.algorithm, "Rows are drawn")

    @property
    def hyperparameters(self) -> Any:
        """The hyperparameters of the algorithm."""
        return self.algorithm.hyperparameters

    def initial(self, seed: int) -> dict[str, Any]:
        """Where the algorithm starts training."""
        return initial_of(self.algorithm, seed)

    def init(self, x: Point, hyper: Hyper, objective: Objective, key: Any) -> State:  # type: ignore[override]
        """The algorithm at the start, with a batch in case it takes a gradient there."""
        return self.algorithm.init(x, hyper, self._seen(objective, key))

    def step(self, state: State, hyper: Hyper, objective: Objective, key: Any) -> State:  # type: ignore[override]
        """The state after one step, on its own batch."""
        return self.algorithm.step(state, hyper, self._seen(objective, key))

    def read(self, state: State) -> Point:
        """The current point of the algorithm."""
        return self.algorithm.read(state)

    def _seen(self, objective: Objective, key: Any) -> Objective:
        """The problem with only the drawn rows."""
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
                f"The fields of an instance have these numbers of rows: {told}. A batch has {self.batch}.",
                "All of these fields must have the same number of rows, at least as many as a batch.",
                "The rows of a batch are drawn without replacement, and the same rows are taken from all fields.",
                f"Name fields of {type(objective.problem).__name__} with one row per observation, or use a smaller "
                "batch.",
            )
        return int(min(found)[0])
