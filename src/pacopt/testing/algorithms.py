"""An algorithm of one's own: what it does in a table is what it does step by step."""

from typing import Any

import jax
import numpy as np

from pacopt.algorithms.base import AbstractAlgorithm, AbstractStochasticAlgorithm
from pacopt.engines.traced.engine import Traced
from pacopt.engines.traced.nesting import nested
from pacopt.instances import Instances
from pacopt.problems.base import AbstractProblem, Objective
from pacopt.testing.checking import need, told
from pacopt.testing.engines import check_engine, some_candidates


def check_algorithm(algorithm: AbstractAlgorithm, problem: AbstractProblem, instances: Instances) -> None:
    """Raise unless an algorithm runs on a problem like pacopt's own: traced, batched, compiled and step by step.

    >>> from pacopt import HeavyBall, VaryingCurvature
    >>> law = VaryingCurvature.draw(seed=0, n=5)
    >>> check_algorithm(HeavyBall(), law.problem, law.sample(20, seed=1))
    """
    name = type(algorithm).__name__
    engine = Traced(problem, algorithm, 3)
    check_engine(engine, instances)
    few = instances[:3].drawn(root=0, part="check")
    with told(f"a table of {name}"):
        table = engine.table(some_candidates(engine, 4), few)
    for row in range(table.shape[0]):
        for column in range(len(few)):
            with told(f"{name} step by step"):
                loss = _by_hand(engine, table.hyper(row), few[column], few.draws.seeds[column, 0])  # type: ignore[union-attr]
            found = table.losses[row, column]
            same = np.isclose(loss, found, rtol=1e-6, atol=1e-9 * table.starts[column])
            need(
                same or not np.isfinite([loss, found]).any(), f"{name} ends at {found} in a table and at {loss} by hand"
            )


def _by_hand(engine: Traced, hyper: Any, instance: Any, seed: Any) -> float:
    """The loss after the steps, without scan, vmap or jit."""
    with jax.enable_x64(True):
        objective = Objective(engine.problem, {name: jax.numpy.asarray(array) for name, array in instance.items()})
        values: Any = nested(engine.algorithm, hyper)
        words = np.array([seed], dtype="<u8").view("<u4")
        root = jax.random.wrap_key_data(jax.numpy.asarray(words))
        random = isinstance(engine.algorithm, AbstractStochasticAlgorithm)

        def key(number: int) -> tuple[Any, ...]:
            return (jax.random.fold_in(root, number),) if random else ()

        algorithm: Any = engine.algorithm
        start = jax.tree.map(jax.numpy.asarray, engine.problem.start(objective.instance))
        state = algorithm.init(start, values, objective, *key(0))
        for number in range(1, engine.steps + 1):
            state = algorithm.step(state, values, objective, *key(number))
        loss = float(objective.loss(algorithm.read(state)))
        minimum = getattr(engine.problem, "minimum", None)
        return loss if minimum is None else loss - float(minimum(objective.instance))
