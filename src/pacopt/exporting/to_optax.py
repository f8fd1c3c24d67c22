"""What was learned as a gradient transformation of optax."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax  # type: ignore[import-untyped]
from jaxtyping import Array, Int

from pacopt.errors import ExportError
from pacopt.exporting.leaves import listed, misfit, warn_of_precision
from pacopt.exporting.machine import Machine, machine_for, machine_for_one
from pacopt.exporting.rule import Rule, leaves_of


class State(NamedTuple):
    """The number of updates made, and what the algorithm carries besides the host's point."""

    taken: Int[Array, ""]
    kept: tuple[Any, ...]


class Transformation(optax.GradientTransformationExtraArgs):
    """A gradient transformation that carries its certificate.

    `updates` is the number of updates in a certified run, `read(state, params)` returns the certified point,
    `claims` are the sentences that hold here, and `certificate` is the hash of the certificate.
    """

    certificate: str
    updates: int
    claims: tuple[str, ...]
    read: Callable[[State, Any], Any]


def transformation_of(rule: Rule) -> Transformation:
    """The rule as a transformation; parameters are always the point at which the rule wants the next gradient."""
    machines: dict[Any, Machine] = {}

    def machine_of(params: Any) -> Machine:
        shapes = jax.eval_shape(lambda: jax.tree.map(jnp.asarray, params))
        key = jax.tree.structure(params), tuple((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(shapes))
        if key not in machines:
            _check_point(rule, shapes)
            machines[key] = machine_for(rule, shapes)
        return machines[key]

    sample = machine_for_one(rule)
    updates = rule.steps + sample.spends
    last = None if rule.horizon is None else rule.horizon + sample.spends

    def init(params: Any) -> State:
        machine, leaves = machine_of(params), jax.tree.leaves(params)
        warn_of_precision((str(jnp.result_type(leaf)) for leaf in leaves), str(rule.dtype))
        if machine.begin.asks:
            state = tuple(jnp.zeros(each.shape, each.dtype) for each in machine.shapes)
        else:
            state = _typed(machine, machine.begin(*map(jnp.asarray, leaves)))
        return State(jnp.zeros((), jnp.int32), _without(machine, state))

    def update(grads: Any, state: State, params: Any = None, *, value: Any = None, **others: Any) -> tuple[Any, State]:
        del others  # what other transformations in the chain ask for
        machine = machine_of(_given(params))
        x, structure = jax.tree.flatten(params)
        _need_value(machine, rule, value)
        answers = (None if value is None else jnp.asarray(value, x[0].dtype), jax.tree.leaves(grads))
        kept = state.kept
        before = _with(machine, kept, x)
        if machine.spends:
            after = jax.lax.cond(
                state.taken == 0,
                lambda: _typed(machine, _told(machine.begin, x, answers)),
                lambda: _typed(machine, _told(machine.step, before, answers)),
            )
        else:
            if machine.begin.asks:
                begin = lambda: _typed(machine, _told(machine.begin, x, answers))  # noqa: E731
                before = jax.lax.cond(state.taken == 0, begin, lambda: _typed(machine, before))
            after = _typed(machine, _told(machine.step, before, answers))
        moves = [there - here for there, here in zip(machine.where(*after), x, strict=True)]
        new = _without(machine, after)
        if last is not None:  # there are no numbers for later steps
            on = state.taken < last
            moves = [jnp.where(on, move, jnp.zeros_like(move)) for move in moves]
            new = tuple(jnp.where(on, a, b) for a, b in zip(new, kept, strict=True))
        return jax.tree.unflatten(structure, moves), State(state.taken + 1, new)

    def read(state: State, params: Any) -> Any:
        machine = machine_of(_given(params))
        x, structure = jax.tree.flatten(params)
        found = machine.read(*_with(machine, state.kept, x))
        if machine.begin.asks:
            found = tuple(jnp.where(state.taken > 0, there, here) for there, here in zip(found, x, strict=True))
        return jax.tree.unflatten(structure, found)

    made = Transformation(init, update)
    made.certificate, made.updates, made.read = rule.identity, updates, read
    made.claims = rule.claims(safeguard=False)
    made.__doc__ = "\n".join([rule.words("for optax", safeguard=False), "", *_use(rule, sample, updates)])
    return made


def _use(rule: Rule, machine: Machine, updates: int) -> list[str]:
    """How it is used, and what happens after the last step."""
    value = ", and its loss as value=" if machine.needs_value else ""
    lines = [
        f"A run has {updates} updates, each with the gradient at the parameters{value}. `read(state, params)` is the "
        "point that the certificate speaks of."
    ]
    if rule.horizon is not None:
        return [*lines, f"It has numbers for {rule.horizon} steps: later updates are zero."]
    return [*lines, "Later updates go on as before, and are not covered."]


def _check_point(rule: Rule, params: Any) -> None:
    found = leaves_of(params)
    if found != rule.leaves:
        kind = type(rule.problem).__name__
        raise misfit(f"The parameters are {listed(found)}.", f"A point of {kind} is {listed(rule.leaves)}.")
    kinds = {str(leaf.dtype) for leaf in jax.tree.leaves(params) if not jnp.issubdtype(leaf.dtype, jnp.floating)}
    if kinds:
        raise misfit(f"The parameters are {', '.join(kinds)}.", "A point has floating-point numbers.")


def _given(params: Any) -> Any:
    if params is None:
        raise ExportError(
            "update was called without params.",
            "The parameters at which the gradient was taken are needed.",
            "The next point is found from them.",
            "Call update(grads, state, params).",
        )
    return params


def _need_value(machine: Machine, rule: Rule, value: Any) -> None:
    if machine.needs_value and value is None:
        raise ExportError(
            "update was called without value=.",
            f"{type(rule.algorithm).__name__} uses the loss at the parameters.",
            "",
            "Use jax.value_and_grad, and call update(grads, state, params, value=loss).",
        )


def _told(program: Any, inputs: Any, answers: tuple[Any, Any]) -> tuple[Any, ...]:
    """The outputs of a program that asks at most once."""
    given: list[Any] = []
    for ask in program.asks:
        given += [*(() if ask.value is None else (answers[0],)), *(() if ask.gradient is None else answers[1])]
    made: tuple[Any, ...] = program.until(len(program.asks))(*inputs, *given)
    return made


def _typed(machine: Machine, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        jax.lax.convert_element_type(leaf, shape.dtype) for leaf, shape in zip(leaves, machine.shapes, strict=True)
    )


def _without(machine: Machine, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
    """The leaves that the host does not have."""
    return tuple(leaf for place, leaf in enumerate(leaves) if place not in machine.held)


def _with(machine: Machine, kept: tuple[Any, ...], x: list[Any]) -> tuple[Any, ...]:
    """All leaves of a state."""
    rest = iter(kept)
    return tuple(
        x[machine.held[place]] if place in machine.held else next(rest) for place in range(len(machine.shapes))
    )
