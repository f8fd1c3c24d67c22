"""Random numbers drawn before they are needed, once for all candidates.

Candidates share the key of an instance, so what a step computes from its key alone is the same for all of them. Left
in place, it is repeated by the compiler for each candidate, which made a step with a normal draw fifteen times as slow.
So a step is split by its equations: what depends only on the key is computed first, for several steps at a time, and
the rest is given the results.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core

from pacopt.engines.traced.loops import looped

#: Random numbers of one run drawn ahead, in bytes.
READY = 2**18

Draw = Callable[[Any], list[Any]]
Rest = Callable[[Any, list[Any]], Any]


def divided_step(step: Callable[[Any, Any], Any], state: Any, key: Any) -> tuple[Draw, Rest]:
    """draw(key) and rest(state, drawn), which together are step(state, key)."""
    traced, shape = jax.make_jaxpr(step, return_shape=True)(state, key)
    structure, jaxpr = jax.tree.structure(shape), traced.jaxpr
    known: dict[Any, None] = {jaxpr.invars[-1]: None}  # in the order in which they are computed
    first: list[Any] = []
    later: list[Any] = []
    for equation in jaxpr.eqns:
        inputs = _variables(equation.invars)
        alone = bool(inputs) and all(atom in known for atom in inputs) and not equation.effects
        (first if alone else later).append(equation)
        if alone:
            known |= dict.fromkeys(equation.outvars)
    asked = {atom for equation in later for atom in _variables(equation.invars)} | {*_variables(jaxpr.outvars)}
    handed = [atom for atom in known if atom in asked]
    draw = _function(jaxpr, [], jaxpr.invars[-1:], first, handed, [])
    rest = _function(jaxpr, jaxpr.constvars, [*jaxpr.invars[:-1], *handed], later, jaxpr.outvars, traced.consts)
    return draw, lambda state, drawn: jax.tree.unflatten(structure, rest(*jax.tree.leaves(state), *drawn))


def scanned(step: Callable[[Any, Any], Any], state: Any, key_of: Callable[[Any], Any], steps: int, unroll: int) -> Any:
    """The state after the steps 1, 2, ..., each with its own key; numbers are drawn for some steps at a time."""
    draw, rest = divided_step(step, state, key_of(0))
    shapes = jax.eval_shape(lambda: draw(key_of(0)))
    bytes_ = sum(prod(each.shape) * each.dtype.itemsize for each in shapes)
    length = min(steps, max(1, READY // max(1, bytes_)))

    left, whole = steps % length, steps // length

    def several(state: Any, first: Any, count: int) -> Any:
        numbers = first + jnp.arange(count)
        drawn = jax.vmap(lambda number: draw(key_of(number)))(numbers)
        if count == 1:
            return rest(state, [array[0] for array in drawn])
        return looped(rest, state, drawn, count, unroll)

    def part(state: Any, number: Any) -> Any:
        return several(state, 1 + left + number * length, length)

    if left:
        state = several(state, 1, left)
    if length == 1:
        return looped(part, state, jnp.arange(whole), whole)
    # The remainder is a loop of its own.
    return jax.lax.scan(lambda state, number: (part(state, number), None), state, jnp.arange(whole))[0]


def _function(jaxpr: Any, constants: Any, inputs: Any, equations: Any, outputs: Any, values: Any) -> Any:
    """A part of a traced function as a function."""
    part = jaxpr.replace(
        constvars=list(constants),
        invars=list(inputs),
        eqns=equations,
        outvars=list(outputs),
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    return core.jaxpr_as_fun(core.ClosedJaxpr(part, values))


def _variables(atoms: Any) -> list[Any]:
    return [atom for atom in atoms if not isinstance(atom, core.Literal)]
