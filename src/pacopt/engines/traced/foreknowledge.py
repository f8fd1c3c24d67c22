"""Algorithms that read something known only after an instance is solved."""

from typing import Any

import jax

from pacopt.engines.traced.cell import Cell
from pacopt.engines.traced.metrics import metric_of
from pacopt.engines.traced.static import as_run
from pacopt.errors import AlgorithmError
from pacopt.problems.base import AbstractKnownMinimum, AbstractProximable, Objective
from pacopt.problems.reading import fields_read


def refuse_foreknowledge(cell: Cell, values: Any, instance: Any) -> None:
    """Refuse an algorithm whose first step depends on fields that `minimum` reads but loss and start do not.

    Found by tracing, so a dependence in name only (times 0) counts as a dependence.
    """
    problem: Any = as_run(cell.problem)
    algorithm: Any = cell.algorithm
    if not isinstance(cell.problem, AbstractKnownMinimum) or metric_of(cell.problem) is not None:
        return
    x = jax.tree.map(jax.numpy.asarray, problem.start(instance))
    known = {*fields_read(lambda fields: problem.loss(x, fields), instance), *fields_read(problem.start, instance)}
    if isinstance(cell.problem, AbstractProximable):
        known |= {*fields_read(lambda fields: problem.smooth(x, fields), instance)}
        known |= {*fields_read(lambda fields: problem.prox(x, jax.numpy.ones(()), fields), instance)}
    hidden = {*fields_read(problem.minimum, instance)} - known
    if not hidden:
        return
    key = (jax.random.key(0),) if cell.random else ()

    def moved(fields: Any) -> Any:
        given = cell.hyper(values), Objective(problem, fields), *key
        return algorithm.read(algorithm.step(algorithm.init(problem.start(fields), *given), *given))

    for name in sorted(hidden & {*fields_read(moved, instance)}):
        raise AlgorithmError(
            f"{type(algorithm).__name__} reads the field {name!r}; in {type(problem).__name__} only `minimum` does.",
            f"An algorithm may read only what loss and start read: {', '.join(map(repr, sorted(known))) or 'nothing'}.",
            "The minimum is known only after an instance is solved. In use the field would be missing, so the "
            "certificate would be about an algorithm that knows the answer.",
            f"Do not read {name!r} in the algorithm.",
        )
