"""Which fields of an instance a loss reads."""

from collections.abc import Callable
from typing import Any

import jax
from jax.interpreters import partial_eval

from pacopt.errors import AlgorithmError, suggest
from pacopt.problems.base import AbstractProblem, Instance, Point


def fields_of_loss(problem: AbstractProblem, x: Point, instance: Instance) -> tuple[str, ...]:
    """The names of the fields that the loss at a point depends on, found by tracing it.

    Fields that only `start`, `minimum` or `metric` read are not among them.
    """
    return fields_read(lambda fields: problem.loss(x, fields), instance)


def fields_read(function: Callable[[Any], Any], instance: Instance) -> tuple[str, ...]:
    """The names of the instance fields that a function's result depends on, found by tracing it."""
    fields = {name: jax.numpy.asarray(value) for name, value in instance.items()}
    traced = jax.make_jaxpr(function)(fields).jaxpr
    _, used = partial_eval.dce_jaxpr(traced, [True] * len(traced.outvars))
    return tuple(name for name, read in zip(sorted(fields), used, strict=True) if read)


def refuse_hidden(reads: tuple[str, ...], reader: str, problem: AbstractProblem, x: Point, instance: Instance) -> None:
    """Refuse fields that do not exist, and those that the loss does not read."""
    kind = type(problem).__name__
    for name in reads:
        if name not in instance:
            raise AlgorithmError(
                f"{reader} reads the field {name!r} of an instance of {kind}.",
                f"An instance has {', '.join(map(repr, sorted(instance)))}.",
                "",
                f"For {name!r}: {suggest(name, instance)}",
            )
    known = fields_of_loss(problem, x, instance)
    for name in reads:
        if name not in known:
            raise AlgorithmError(
                f"{reader} reads the field {name!r}, but the loss of {kind} does not.",
                f"It may read only fields that the loss reads: {', '.join(map(repr, known)) or 'there are none'}.",
                "Any other field may hold something known only once the instance is solved, such as its minimum, and "
                "would be missing in use.",
                "Leave it out.",
            )
