"""The steps of an algorithm as programs: plain lists of operations, with gaps where a loss or a gradient is asked for.

An algorithm evaluates the loss wherever it likes, but other libraries supply gradients at points of their own. So its
`init` and `step` are traced once, with a problem that knows nothing: each evaluation becomes an operation of its own.
Before it, the program computes the point; after it, the program continues with the answer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import Literal, Primitive

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.errors import ExportError
from pacopt.problems.base import AbstractProblem, Instance, Point

VALUE: Any = Primitive("pacopt_value")
GRADIENT: Any = Primitive("pacopt_gradient")
GRADIENT.multiple_results = True
VALUE.def_abstract_eval(lambda *x: jax.core.ShapedArray((), x[0].dtype))
GRADIENT.def_abstract_eval(lambda *x: list(x))
ASKS = (VALUE, GRADIENT)
#: Operations that just run the program inside them.
CALLS = ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "checkpoint", "remat2")


class Constant(NamedTuple):
    """A number or an array known when the program is made."""

    value: Any


#: What an operation works on: the number of a variable, or a constant.
Operand = int | Constant


class Operation(NamedTuple):
    """One JAX operation, with its operands and the variables it defines."""

    primitive: Any
    params: dict[str, Any]
    inputs: tuple[Operand, ...]
    outputs: tuple[int, ...]


class Ask(NamedTuple):
    """A point, and the variables for the loss and its gradient there, as far as they are used."""

    point: tuple[Operand, ...]
    value: int | None
    gradient: tuple[int, ...] | None

    @property
    def answers(self) -> tuple[int, ...]:
        """The variables to be filled in."""
        return (*(() if self.value is None else (self.value,)), *(self.gradient or ()))


@dataclass(frozen=True, eq=False)
class Program:
    """Operations that turn inputs into outputs, without unneeded ones."""

    inputs: tuple[int, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[Operand, ...]

    @property
    def asks(self) -> tuple[Ask, ...]:
        """What is asked for, in order; loss and gradient at the same point are one."""
        found: dict[tuple[Any, ...], Ask] = {}
        for each in self.operations:
            if each.primitive in ASKS:
                key = tuple(operand if isinstance(operand, int) else id(operand) for operand in each.inputs)
                ask = found.get(key, Ask(each.inputs, None, None))
                is_value = each.primitive is VALUE
                found[key] = ask._replace(value=each.outputs[0]) if is_value else ask._replace(gradient=each.outputs)
        return tuple(found.values())

    def until(self, number: int) -> "Program":
        """The program up to the point of this ask, or to the end; answers to earlier asks are inputs."""
        asks = self.asks
        known = (*self.inputs, *(answer for ask in asks[:number] for answer in ask.answers))
        wanted = asks[number].point if number < len(asks) else self.outputs
        others = tuple(each for each in self.operations if each.primitive not in ASKS)
        return pruned(replace(self, inputs=known, operations=others, outputs=wanted))

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """The outputs, for a program that asks for nothing."""
        known = dict(zip(self.inputs, values, strict=True))

        def read(operand: Operand) -> Any:
            return known[operand] if isinstance(operand, int) else operand.value

        for each in self.operations:
            made = each.primitive.bind(*map(read, each.inputs), **each.params)
            known |= zip(each.outputs, made if each.primitive.multiple_results else [made], strict=True)
        return tuple(map(read, self.outputs))


def pruned(program: Program) -> Program:
    """The program without unneeded operations."""
    needed, kept = {each for each in program.outputs if isinstance(each, int)}, []
    for each in reversed(program.operations):
        if needed & set(each.outputs):
            kept.append(each)
            needed |= {operand for operand in each.inputs if isinstance(operand, int)}
    return replace(program, operations=tuple(reversed(kept)))


class Unknown(AbstractProblem):
    """A problem whose loss and gradient are gaps in a program."""

    def start(self, instance: Instance) -> Point:
        """Nobody knows."""
        raise NotImplementedError

    def loss(self, x: Point, instance: Instance) -> Any:
        """A gap."""
        return _asked(x)


@jax.custom_vjp
def _asked(x: Point) -> Any:
    return VALUE.bind(*jax.tree.leaves(x))


def _forward(x: Point) -> tuple[Any, Any]:
    leaves, structure = jax.tree.flatten(x)
    return VALUE.bind(*leaves), jax.tree.unflatten(structure, GRADIENT.bind(*leaves))


def _backward(gradient: Any, weight: Any) -> tuple[Any]:
    return (jax.tree.map(lambda each: each * weight, gradient),)


_asked.defvjp(_forward, _backward)


def traced(function: Callable[..., Any], *arguments: Any, algorithm: AbstractAlgorithm) -> tuple[Program, Any]:
    """The program of a function of pytrees, and the shapes of what it returns."""
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    return traced_inside(closed, algorithm), shape


def traced_inside(closed: Any, algorithm: AbstractAlgorithm) -> Program:
    """The program of a function inside an operation."""
    numbers: Iterator[int] = count()
    inputs = tuple(next(numbers) for _ in closed.jaxpr.invars)
    operations: list[Operation] = []
    outputs = _inlined(closed, inputs, operations, numbers, algorithm)
    return pruned(Program(inputs, tuple(operations), outputs))


def _inlined(
    closed: Any,
    inputs: Sequence[Operand],
    operations: list[Operation],
    numbers: Iterator[int],
    algorithm: AbstractAlgorithm,
) -> tuple[Operand, ...]:
    """Append the operations of a traced function, with the functions it calls inlined."""
    jaxpr, constants = (closed.jaxpr, closed.consts) if hasattr(closed, "jaxpr") else (closed, ())
    known: dict[Any, Operand] = dict(zip(jaxpr.invars, inputs, strict=True))
    known |= {variable: Constant(np.asarray(each)) for variable, each in zip(jaxpr.constvars, constants, strict=True)}

    def read(variable: Any) -> Operand:
        if isinstance(variable, Literal):
            kind: Any = variable.aval
            return Constant(np.asarray(variable.val, kind.dtype))
        return known[variable]

    for equation in jaxpr.eqns:
        operands, name = tuple(map(read, equation.invars)), equation.primitive.name
        inside = [each for each in equation.params.values() if hasattr(each, "eqns")]
        if name in CALLS and len(inside) == 1:
            made = _inlined(inside[0], operands, operations, numbers, algorithm)
            known |= zip(equation.outvars, made, strict=True)
            continue
        if any(map(_asks, _parts(equation))):
            raise ExportError(
                f"{type(algorithm).__name__} evaluates the loss within a {name}.",
                "Other libraries provide one gradient at a time.",
                "How often it is asked for, and where, has to be known when a step begins.",
                "Make it a step that asks once, and keep the state of the loop between steps.",
            )
        outputs = tuple(next(numbers) for _ in equation.outvars)
        operations.append(Operation(equation.primitive, dict(equation.params), operands, outputs))
        known |= zip(equation.outvars, outputs, strict=True)
    return tuple(map(read, jaxpr.outvars))


def _parts(equation: Any) -> list[Any]:
    """The traced functions inside an operation."""
    found = []
    for each in equation.params.values():
        found += [part for part in (each if isinstance(each, tuple | list) else (each,)) if hasattr(part, "eqns")]
    return found


def _asks(jaxpr: Any) -> bool:
    return any(each.primitive in ASKS or any(map(_asks, _parts(each))) for each in jaxpr.eqns)
