"""Values of hyperparameters: numbers, texts, booleans and arrays, as they are stored, compared and printed."""

import hashlib
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np

from pacopt.support.rounding import legible

#: What a single candidate without hyperparameters is named by.
ONLY = "candidate"
#: Hexadecimal digits of a mark that people are shown.
SHOWN = 8


def mark(array: Any) -> str:
    """What stands for an array in JSON and in texts: its type and shape, its norm, a hash of its content.

    >>> mark(np.array([3.0, 4.0]))
    'float64[2] of norm 5, #13e6afe9a93a3e7b89f1b984b14a3afd'
    """
    values = np.ascontiguousarray(array)
    content = hashlib.blake2b(values.astype(values.dtype.newbyteorder("<")).tobytes(), digest_size=16).hexdigest()
    kind = f"{values.dtype.newbyteorder('=')}{list(values.shape)}"
    return f"{kind} of norm {np.linalg.norm(values.astype(np.float64)):.4g}, #{content}"


def marked(values: np.ndarray) -> list[Any]:
    """One JSON value for each candidate: numbers, texts and booleans as they are, arrays by their marks."""
    return list(values.tolist()) if values.ndim == 1 else [mark(value) for value in values]


def marked_hyper(hyper: Mapping[str, Any]) -> dict[str, Any]:
    """Named values as a JSON value."""
    return {name: mark(value) if isinstance(value, np.ndarray) else value for name, value in hyper.items()}


def value_of(values: np.ndarray, candidate: int) -> Any:
    """The value of one candidate: a plain number, text or boolean, or an array."""
    found = values[candidate]
    return found if values.ndim > 1 else found.item()


def exact(value: Any) -> str:
    """A value to the last digit; an array by its mark, of which a few digits are enough to tell it.

    >>> exact(0.1), exact("polyak"), exact(np.array([3.0, 4.0]))
    ('0.1', "'polyak'", 'float64[2] of norm 5, #13e6afe9')
    """
    if isinstance(value, np.ndarray):
        value = mark(value)
    if is_mark(value):
        text, _, content = value.rpartition("#")
        return f"{text}#{content[:SHOWN]}"
    return repr(value)


def short(value: Any) -> str:
    """A value in a table: real numbers with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else exact(value) if _is_array(value) else f"{value}"


def readable(value: Any) -> str:
    """A value in a sentence: a real number with few digits, anything else as it is.

    >>> readable(0.99996123), readable("polyak"), readable(20)
    ('0.99996', "'polyak'", '20')
    """
    return legible(value) if isinstance(value, float) else exact(value)


def is_shortened(value: Any) -> bool:
    """Whether a sentence shows less than the whole value."""
    return isinstance(value, float) and float(legible(value)) != value


def named(hyper: Mapping[str, Any], write: Any = short) -> str:
    """Hyperparameters in a line; several arrays by how many numbers they have, and one hash of all their marks.

    >>> named({"first": 0.5, "one": np.ones((2, 3)), "two": np.ones(4)})
    'first = 0.5 and 10 numbers in 2 arrays, #e31e0db7'
    """
    arrays = {name: value if is_mark(value) else mark(value) for name, value in hyper.items() if _is_array(value)}
    if len(arrays) < 2:
        return ", ".join(f"{name} = {write(value)}" for name, value in hyper.items()) or "no hyperparameters"
    numbers = sum(_size(each) for each in arrays.values())
    content = hashlib.blake2b("\n".join(f"{n}={m}" for n, m in sorted(arrays.items())).encode(), digest_size=16)
    others = ", ".join(f"{name} = {write(value)}" for name, value in hyper.items() if name not in arrays)
    told = f"{numbers} numbers in {len(arrays)} arrays, #{content.hexdigest()[:SHOWN]}"
    return f"{others} and {told}" if others else told


def _size(text: str) -> int:
    """How many numbers the array has that a mark stands for."""
    shape = text.partition("[")[2].partition("]")[0]
    return prod(int(each) for each in shape.split(",") if each.strip())


def is_mark(value: Any) -> bool:
    """Whether a text stands for an array."""
    head, _, content = value.rpartition(" of norm ")[2].partition(", #") if isinstance(value, str) else ("", "", "")
    return bool(head) and len(content) == 32


def same_hyper(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two candidates have the same values, arrays compared by content."""
    return marked_hyper(one) == marked_hyper(other)


def keys(candidates: Mapping[str, np.ndarray], names: Iterable[str]) -> list[tuple[Any, ...]]:
    """One hashable key for each candidate, equal exactly if all values are."""
    columns = []
    for name in names:
        values = np.asarray(candidates[name])
        columns.append(values.tolist() if values.ndim == 1 else [value.tobytes() for value in values])
    return list(zip(*columns, strict=True))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_mark(value)
