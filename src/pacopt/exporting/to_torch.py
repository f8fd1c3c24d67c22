"""What was learned, written down as plain values, so that torch can run it without JAX."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from pacopt.errors import ExportError
from pacopt.exporting.machine import machine_for_one
from pacopt.exporting.program import Constant, Operation, Program, traced_inside
from pacopt.exporting.rule import Rule
from pacopt.exporting.torch_operations import LOOPS, OPERATIONS
from pacopt.exporting.torch_optimizer import Stored, optimizer_class

#: Params of operations that say how fast, or where, but not what.
SILENT = (
    *("accuracy", "dimensions:reshape", "linear", "out_dtype", "out_sharding", "precision", "preferred_element_type"),
    *("sharding", "unroll", "weak_type"),
)


def optimizer_of(rule: Rule) -> Any:
    """A torch optimizer class."""
    machine = machine_for_one(rule)
    begin, step = machine.begin, machine.step
    constants: dict[str, np.ndarray] = {}
    programs = {
        "begin": _plain(begin.until(len(begin.asks)), constants, rule),
        "step": _plain(step.until(len(step.asks)), constants, rule),
        "where": _plain(machine.where, constants, rule),
        "read": _plain(machine.read, constants, rule),
    }
    asks = {
        name: [any(ask.value is not None for ask in each.asks), any(ask.gradient is not None for ask in each.asks)]
        for name, each in (("begin", begin), ("step", step))
    }
    spent = int(machine.spends)
    about = {
        "algorithm": type(rule.algorithm).__name__,
        "asks": asks,
        "certificate": rule.identity,
        "claims": list(rule.claims(safeguard=rule.judged_by_loss)),
        "dtype": str(rule.dtype),
        "leaves": [list(leaf) for leaf in rule.leaves],
        "last": None if rule.horizon is None else rule.horizon + spent,
        "programs": programs,
        "safeguard": rule.judged_by_loss,
        "types": [str(each.dtype) for each in machine.shapes],
        "updates": rule.steps + spent,
        "words": rule.words("for torch", safeguard=rule.judged_by_loss),
    }
    return optimizer_class(Stored(about, constants))


def _plain(program: Program, constants: dict[str, np.ndarray], rule: Rule) -> dict[str, Any]:
    """A program as a JSON value; its constants are collected separately."""

    def written(operand: Any) -> Any:
        if not isinstance(operand, Constant):
            return operand
        array = np.asarray(operand.value)
        for name, known in constants.items():
            if known.dtype == array.dtype and known.shape == array.shape and known.tobytes() == array.tobytes():
                return name
        constants[f"constant{len(constants)}"] = array
        return f"constant{len(constants) - 1}"

    return {
        "inputs": list(program.inputs),
        "operations": [
            [each.primitive.name, _params(each, constants, rule), [*map(written, each.inputs)], list(each.outputs)]
            for each in program.operations
        ],
        "outputs": [*map(written, program.outputs)],
    }


def _params(operation: Operation, constants: dict[str, np.ndarray], rule: Rule) -> dict[str, Any]:
    name, params = operation.primitive.name, operation.params
    if name not in OPERATIONS and name not in LOOPS:
        raise ExportError(
            f"{type(rule.algorithm).__name__} uses {name!r}, which has no counterpart in torch here.",
            f"Known are {', '.join(sorted((*OPERATIONS, *LOOPS)))}.",
            "The algorithm is carried over operation by operation, without JAX.",
            "Write that part with other operations, or use learned.as_scipy_method() or learned.as_optax().",
        )
    kept = {key: value for key, value in params.items() if key not in SILENT and f"{key}:{name}" not in SILENT}
    return {key: _value(value, constants, rule) for key, value in kept.items()}


def _value(value: Any, constants: dict[str, np.ndarray], rule: Rule) -> Any:
    if hasattr(value, "eqns"):
        return _plain(traced_inside(value, rule.algorithm), constants, rule)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return str(np.dtype(value))
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_value(each, constants, rule) for each in value]
    return value
