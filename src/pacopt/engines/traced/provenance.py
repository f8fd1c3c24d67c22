"""Where a table comes from: hashes of everything that determines its numbers."""

import dataclasses
import hashlib
import inspect
import json
from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from tokenize import TokenError
from types import CodeType
from typing import Any, cast

import jax
import numpy as np

from pacopt._version import __version__
from pacopt.engines.traced.cell import Cell
from pacopt.instances import Instances
from pacopt.problems.base import AbstractKnownMinimum


def provenance(
    cell: Cell, candidates: dict[str, np.ndarray], instances: Instances, dtype: np.dtype[Any]
) -> dict[str, Any]:
    """A JSON value that says what was run on what, in which versions."""
    return {
        "algorithm": described(cell.algorithm),
        "candidates": Instances(candidates).fingerprint,
        "criterion": criterion(cell.success),
        "fields": {name: f"{array.dtype}{list(array.shape[1:])}" for name, array in instances.fields.items()},
        "instances": instances.fingerprint,
        "known_minimum": isinstance(cell.problem, AbstractKnownMinimum),
        "platform": jax.default_backend(),
        "precision": str(dtype),
        "problem": described(cell.problem),
        "recorded_steps": list(cell.at),
        "steps": cell.steps,
        "success": predicate_hash(cell.success),
        "versions": {"jax": jax.__version__, "numpy": np.__version__, "pacopt": __version__},
    }


def described(value: Any) -> dict[str, str]:
    """The class of a problem or algorithm, the code of its classes, and its fields."""
    kind = type(value)
    sources = [_source(base) for base in kind.__mro__ if _own(base)]
    content = hashlib.blake2b(digest_size=16)
    for part in _parts(value):
        content.update(part + b"\0")
    return {
        "class": f"{kind.__module__}:{kind.__qualname__}",
        "fields": content.hexdigest(),
        "source": _hash(json.dumps(sources).encode()),
    }


def _own(kind: type) -> bool:
    """Whether a class holds code of this very problem or algorithm, and not of the machinery below it."""
    package, _, _ = kind.__module__.partition(".")
    return package not in ("abc", "builtins", "equinox", "typing") and kind.__module__ not in (
        "pacopt.problems.base",
        "pacopt.algorithms.base",
    )


def criterion(success: Any) -> str | None:
    """What a success predicate is called."""
    if success is None:
        return None
    named = success if hasattr(success, "__qualname__") else type(success)
    return f"{named.__module__}:{named.__qualname__}"


def predicate_hash(success: Any) -> str | None:
    """A hash of a success predicate with all that it encloses."""
    return None if success is None else _hash(b"\0".join(_parts(success)))


def _parts(value: Any) -> Iterator[bytes]:
    """Everything that a value is made of, field by field, static fields and closures included.

    Code that is reached through a global name is not followed; nobody can tell in general what it depends on.
    """
    if isinstance(value, np.ndarray | jax.Array):
        yield f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield field.name.encode()
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key in sorted(value, key=repr):
            yield repr(key).encode()
            yield from _parts(value[key])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item)
    elif inspect.isfunction(value):
        yield _source(value).encode()
        yield from _parts([cell.cell_contents for cell in value.__closure__ or ()])
        yield from _parts(value.__defaults__ or ())
    else:
        yield repr(value).encode()


@cache
def _source(value: Hashable) -> str:
    try:
        return _hash(inspect.getsource(cast(Any, value)).encode())
    except (OSError, TypeError, SyntaxError, TokenError):  # typed at a prompt, say: no source, but there is code
        functions = vars(value).values() if isinstance(value, type) else [value]
        codes = [code for function in functions if (code := getattr(function, "__code__", None)) is not None]
        return _hash(repr([_code(code) for code in codes]).encode())


def _code(code: CodeType) -> Any:
    """What a function does, without where it stands."""
    constants = [_code(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return code.co_name, code.co_code.hex(), code.co_names, constants


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
