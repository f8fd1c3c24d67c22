"""Programs run by torch: the torch version of each operation of an exported algorithm. Nothing here needs JAX."""

from collections.abc import Callable, Mapping, Sequence
from string import ascii_letters
from typing import Any

#: A program as plain values: inputs, operations as [name, params, inputs, outputs], and outputs. Variables are numbers,
#: and constants are texts by which they are found.
Plain = Mapping[str, Any]


def run(program: Plain, values: Sequence[Any], constants: Mapping[str, Any]) -> list[Any]:
    """The outputs of a program."""
    known: dict[Any, Any] = {**constants, **dict(zip(program["inputs"], values, strict=True))}
    for name, params, inputs, outputs in program["operations"]:
        operands = [known[each] for each in inputs]
        loop = LOOPS.get(name)
        made = OPERATIONS[name](*operands, **params) if loop is None else loop(operands, params, constants)
        known.update(zip(outputs, made if isinstance(made, list | tuple) else [made], strict=True))
    return [known[each] for each in program["outputs"]]


def _scan(operands: list[Any], params: Mapping[str, Any], constants: Mapping[str, Any]) -> list[Any]:
    """The result of a loop with a fixed number of iterations, with rows in and rows out."""
    import torch

    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]
    fixed, carry, rows = operands[:first], operands[first:second], operands[second:]
    turns = range(params["length"])
    made: list[list[Any]] = []
    for turn in reversed(turns) if params["reverse"] else turns:
        found = run(params["jaxpr"], [*fixed, *carry, *(each[turn] for each in rows)], constants)
        carry = found[: params["num_carry"]]
        made.append(found[params["num_carry"] :])
    if params["reverse"]:
        made.reverse()
    return [*carry, *(torch.stack(list(each)) for each in zip(*made, strict=True))]


def _while(operands: list[Any], params: Mapping[str, Any], constants: Mapping[str, Any]) -> list[Any]:
    first = params["cond_nconsts"]
    second = first + params["body_nconsts"]
    asked, fixed, carry = operands[:first], operands[first:second], operands[second:]
    while bool(run(params["cond_jaxpr"], [*asked, *carry], constants)[0]):
        carry = run(params["body_jaxpr"], [*fixed, *carry], constants)
    return carry


def _cond(operands: list[Any], params: Mapping[str, Any], constants: Mapping[str, Any]) -> list[Any]:
    branches = params["branches"]
    return run(branches[min(max(int(operands[0]), 0), len(branches) - 1)], operands[1:], constants)


LOOPS: dict[str, Callable[..., list[Any]]] = {"scan": _scan, "while": _while, "cond": _cond}


def _type(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _same(x: Any) -> Any:
    return x


def _torch(name: str) -> Callable[..., Any]:
    """A torch function with the same operands, looked up when it is used."""

    def called(*operands: Any) -> Any:
        import torch

        return getattr(torch, name)(*operands)

    return called


def _select(which: Any, *cases: Any) -> Any:
    import torch

    chosen = cases[0]
    for number, case in enumerate(cases[1:], start=1):
        chosen = torch.where(which == number, case, chosen)
    return chosen


def _summed(x: Any, axes: Sequence[int]) -> Any:
    return x.sum(dim=tuple(axes), dtype=x.dtype) if axes else x


def _reduced(name: str) -> Callable[..., Any]:
    def reduced(x: Any, axes: Sequence[int]) -> Any:
        for axis in sorted(axes, reverse=True):
            x = getattr(x, name)(dim=axis)
        return x

    return reduced


def _broadcast(x: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    sizes = [1] * len(shape)
    for axis, place in enumerate(broadcast_dimensions):
        sizes[place] = x.shape[axis]
    return x.reshape(sizes).expand(tuple(shape))


def _squeezed(x: Any, dimensions: Sequence[int]) -> Any:
    return x.reshape([size for axis, size in enumerate(x.shape) if axis not in dimensions])


def _sliced(x: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None) -> Any:
    steps = strides or [1] * len(start_indices)
    return x[tuple(slice(*each) for each in zip(start_indices, limit_indices, steps, strict=True))]


def _dynamic(x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> tuple[slice, ...]:
    """The place of a slice whose start is only known at run time; it never leaves the array."""
    first = [min(max(int(each), 0), total - size) for each, total, size in zip(starts, x.shape, sizes, strict=True)]
    return tuple(slice(each, each + size) for each, size in zip(first, sizes, strict=True))


def _updated(x: Any, rows: Any, *starts: Any) -> Any:
    changed = x.clone()
    changed[_dynamic(x, starts, rows.shape)] = rows
    return changed


def _dot(x: Any, y: Any, dimension_numbers: Any) -> Any:
    """A sum over pairs of axes, batched over others."""
    import torch

    (over_x, over_y), (side_x, side_y) = dimension_numbers
    letters = iter(ascii_letters)
    of_x = [next(letters) for _ in x.shape]
    of_y = [next(letters) for _ in y.shape]
    for a, b in (*zip(over_x, over_y, strict=True), *zip(side_x, side_y, strict=True)):
        of_y[b] = of_x[a]
    free_x = [each for axis, each in enumerate(of_x) if axis not in (*over_x, *side_x)]
    free_y = [each for axis, each in enumerate(of_y) if axis not in (*over_y, *side_y)]
    made = "".join([*(of_x[axis] for axis in side_x), *free_x, *free_y])
    return torch.einsum(f"{''.join(of_x)},{''.join(of_y)}->{made}", x, y)


def _counted(dtype: str, shape: Sequence[int], dimension: int) -> Any:
    import torch

    sizes = [1] * len(shape)
    sizes[dimension] = shape[dimension]
    return torch.arange(shape[dimension], dtype=_type(dtype)).reshape(sizes).expand(tuple(shape))


#: Operations that have the same name and the same operands in torch.
SAME = (
    *("abs", "add", "atan2", "ceil", "cos", "cosh", "eq", "erf", "exp", "expm1", "floor", "ge", "gt", "le", "log"),
    *("log1p", "lt", "mul", "ne", "neg", "pow", "rsqrt", "sign", "sin", "sinh", "sqrt", "square", "sub", "tan", "tanh"),
)
#: By the names of JAX.
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: _torch(name) for name in SAME},
    "add_any": _torch("add"),
    "and": _torch("bitwise_and"),
    "or": _torch("bitwise_or"),
    "xor": _torch("bitwise_xor"),
    "not": _torch("bitwise_not"),
    "div": _torch("true_divide"),
    "rem": _torch("fmod"),
    "is_finite": _torch("isfinite"),
    "logistic": _torch("sigmoid"),
    "max": _torch("maximum"),
    "min": _torch("minimum"),
    "integer_pow": lambda x, y: x**y,
    "clamp": lambda low, x, high: _torch("minimum")(_torch("maximum")(x, low), high),
    "copy": _same,
    "stop_gradient": _same,
    "select_n": _select,
    "convert_element_type": lambda x, new_dtype: x.to(_type(new_dtype)),
    "reduce_sum": _summed,
    "reduce_max": _reduced("amax"),
    "reduce_min": _reduced("amin"),
    "reduce_and": _reduced("all"),
    "reduce_or": _reduced("any"),
    "reduce_prod": _reduced("prod"),
    "broadcast_in_dim": _broadcast,
    "reshape": lambda x, new_sizes: x.reshape(tuple(new_sizes)),
    "squeeze": _squeezed,
    "transpose": lambda x, permutation: x.permute(tuple(permutation)),
    "rev": lambda x, dimensions: x.flip(tuple(dimensions)),
    "slice": _sliced,
    "dynamic_slice": lambda x, *starts, slice_sizes: x[_dynamic(x, starts, slice_sizes)],
    "dynamic_update_slice": _updated,
    "concatenate": lambda *parts, dimension: _torch("cat")(parts, dimension),
    "stack": lambda *parts, axis: _torch("stack")(parts, axis),
    "split": lambda x, sizes, axis: list(x.split(list(sizes), axis)),
    "dot_general": _dot,
    "iota": _counted,
}
