"""A rule as a machine for hosts that supply one gradient at a time: what it is told, and where it asks next."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from pacopt.engines.traced.precision import precision
from pacopt.errors import ExportError
from pacopt.exporting.program import Program, Unknown, traced
from pacopt.exporting.rule import Rule
from pacopt.problems.base import Objective, Point


class Machine(NamedTuple):
    """Programs on the leaves of points and of states.

    `begin` makes a state from a start, `step` the next state, `where` the point at which a step asks, and `read` the
    point that a state represents. `shapes` are those of the leaves of a state.
    """

    begin: Program
    step: Program
    read: Program
    shapes: tuple[Any, ...]

    @property
    def where(self) -> Program:
        """The point at which a step asks."""
        return self.step.until(0)

    @property
    def spends(self) -> bool:
        """Whether `begin` takes a gradient, so that a run of K steps takes K + 1."""
        return any(ask.gradient is not None for ask in self.begin.asks)

    @property
    def needs_value(self) -> bool:
        """Whether losses are asked for, and not only gradients."""
        return any(ask.value is not None for ask in (*self.begin.asks, *self.step.asks))

    @property
    def held(self) -> dict[int, int]:
        """Leaves of a state that are also leaves of the point where it asks: the host has them, so no copy is kept."""
        where = self.where
        return {where.inputs.index(each): leaf for leaf, each in enumerate(where.outputs) if each in where.inputs}


class NoInstance(eqx.Module, Mapping[str, Any]):  # type: ignore[misc]  # both define equality
    """Takes the place of an instance, and has no fields."""

    algorithm: str = eqx.field(static=True)

    def __getitem__(self, name: Any) -> Any:
        raise ExportError(
            f"{self.algorithm} reads {name!r} of the instance.",
            "Other libraries supply only losses and gradients.",
            "They do not know the instance, and cannot use a start that depends on it.",
            "Use learned.solve(instance), or learn the inner algorithm without this start and export that.",
        )

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def machine_for(rule: Rule, point: Point) -> Machine:
    """The machine for points of these shapes, in their precision."""
    algorithm = rule.algorithm
    objective = Objective(Unknown(), NoInstance(type(algorithm).__name__))
    hyper = rule.hyper(jnp.result_type(*(leaf.dtype for leaf in jax.tree.leaves(point))))

    def begun(x: Point) -> Any:
        return jax.tree.map(jnp.asarray, algorithm.init(x, hyper, objective))

    begin, state = traced(begun, point, algorithm=algorithm)
    step, _ = traced(lambda state: algorithm.step(state, hyper, objective), state, algorithm=algorithm)
    read, _ = traced(algorithm.read, state, algorithm=algorithm)
    return Machine(begin, step, read, tuple(jax.tree.leaves(state)))


def machine_for_one(rule: Rule) -> Machine:
    """The machine for points of the problem, for a host that supplies one gradient at a time."""
    with precision(rule.dtype):
        machine = machine_for(rule, rule.point)
        _check_one_point(machine, rule)
    return machine


def _check_one_point(machine: Machine, rule: Rule) -> None:
    """Refuse an algorithm that asks at points where a host with one gradient at a time cannot follow.

    The first gradient that a host supplies is at the start, and each later one at the point it was told.
    """
    name = type(rule.algorithm).__name__
    if len(machine.step.asks) > 1 or len(machine.begin.asks) > 1:
        raise ExportError(
            f"A step of {name} evaluates the loss at several points.",
            "It may evaluate the loss at one point per step.",
            "The other library gives each update the gradient at a single point.",
            "Use learned.as_scipy_method(), which is given the loss as a function.",
        )
    rng = np.random.default_rng(0)
    x = [jnp.asarray(rng.standard_normal(leaf.shape), rule.dtype) for leaf in rule.leaves]
    asks = [machine.begin.until(0)(*x)] if machine.begin.asks else []
    if not machine.spends:
        given = [jnp.ones((), x[0].dtype) for ask in machine.begin.asks for _ in ask.answers]
        asks.append(machine.where(*machine.begin.until(len(machine.begin.asks))(*x, *given)))
    if not all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for ask in asks for a, b in zip(ask, x, strict=True)):
        raise ExportError(
            f"The first point that {name} evaluates is not the start.",
            "The first gradient that the other library supplies is at the start.",
            "It would be mistaken for the gradient at the first point.",
            "Use learned.as_scipy_method(), which is given the loss as a function.",
        )
