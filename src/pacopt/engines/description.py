"""Code and data as hashes and plain values: how an engine is recognised, stored and rebuilt."""

import ast
import dataclasses
import hashlib
import importlib
import inspect
import json
import math
import re
import sys
import textwrap
from collections.abc import Hashable, Iterator, Mapping
from functools import cache, partial
from importlib.util import find_spec
from tokenize import TokenError
from types import CodeType
from typing import Any, cast

import numpy as np

from pacopt.engines.naming import named, renamed
from pacopt.instances import Instances
from pacopt.provenance import Code
from pacopt.support.arrays import digest
from pacopt.support.values import marked

#: An object's memory address, which its text may contain, differs each time.
ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
#: What may have a docstring.
DOCUMENTED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def candidates_hash(candidates: Mapping[str, np.ndarray]) -> str:
    """A hash of all values of all candidates."""
    if all(values.dtype.kind in "biuf" for values in candidates.values()):
        return Instances(dict(candidates)).fingerprint
    return digest({name: marked(values) for name, values in candidates.items()})


def described(value: Any) -> dict[str, str]:
    """The class of a problem or algorithm, the code of its classes, and its fields."""
    kind = type(value)
    sources = [_source(base) for base in kind.__mro__ if _own(base)]
    content = hashlib.blake2b(digest_size=16)
    inside = (id(value),) if hasattr(value, "hyperparameters") else ()
    for name, field in _fields(value).items():
        for part in (name.encode(), *_parts(field, inside)):
            content.update(part + b"\0")
    return {
        "class": f"{kind.__module__}:{kind.__qualname__}",
        "fields": content.hexdigest(),
        "source": hashed(json.dumps(sources).encode()),
    }


def identity(engine: Any) -> str:
    """A hash of an engine with its problem and algorithm, if it has them, but without its search space."""
    fields = {name: each for name, each in _fields(engine).items() if each is not engine.space}
    parts = [described(each) for each in fields.values() if dataclasses.is_dataclass(each)]
    content = [part.hex() for name, each in fields.items() for part in (name.encode(), *_parts(each))]
    return digest([described(engine)["class"], described(engine)["source"], parts, content])


def _fields(value: Any) -> dict[str, Any]:
    """What an object is made of: the fields of a dataclass, else its attributes."""
    others = dict(sorted(vars(value).items())) if hasattr(value, "__dict__") else {}
    if dataclasses.is_dataclass(value):
        others = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)} | others
    return {name: each for name, each in others.items() if name not in getattr(type(value), "undescribed", ())}


def _is_array(value: Any) -> bool:
    if isinstance(value, type):  # numpy.float64 has both attributes
        return False
    return isinstance(value, np.ndarray) or (hasattr(value, "__array__") and hasattr(value, "dtype"))


def _own(kind: type) -> bool:
    """Whether a class holds code of this particular problem or algorithm, rather than the machinery below it."""
    package, _, _ = kind.__module__.partition(".")
    return package not in ("abc", "builtins", "equinox", "typing") and kind.__module__ not in (
        "pacopt.problems.base",
        "pacopt.algorithms.base",
        "pacopt.engines.base",
        "pacopt.engines.cellwise",
    )


def criterion(success: Any) -> str | None:
    """The name of a success predicate."""
    if success is None:
        return None
    named = success if hasattr(success, "__qualname__") else type(success)
    return f"{named.__module__}:{named.__qualname__}"


def predicate_hash(success: Any) -> str | None:
    """A hash of a success predicate with everything it encloses."""
    return None if success is None else hashed(b"\0".join(_parts(success)))


def _parts(value: Any, inside: tuple[int, ...] = ()) -> Iterator[bytes]:
    """Everything a value is made of, field by field, including static fields and closures.

    Code reached through a global name is not followed; in general there is no telling what it depends on. `inside`
    lists the objects this is part of: a function may enclose itself.
    """
    if id(value) in inside:
        yield b"itself"
        return
    within = (*inside, id(value))
    if _is_array(value):
        yield f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    elif dataclasses.is_dataclass(value):
        if inside and hasattr(value, "hyperparameters"):  # an algorithm in an algorithm: its class is content
            yield described(value)["class"].encode() + described(value)["source"].encode()
        for field in dataclasses.fields(value):
            yield field.name.encode()
            yield from _parts(getattr(value, field.name), within)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=repr):
            yield repr(key).encode()
            yield from _parts(value[key], within)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item, within)
    elif hasattr(value, "tocoo") and hasattr(value, "nnz"):  # a sparse matrix, which prints as its shape
        entries = value.tocoo()
        yield from _parts([entries.shape, *map(np.asarray, (*entries.coords, entries.data))], within)
    elif inspect.isfunction(value):
        yield _source(value).encode()
        yield from _parts([cell.cell_contents for cell in value.__closure__ or ()], within)
        yield from _parts(value.__defaults__ or (), within)
        if value.__kwdefaults__:
            yield from _parts(value.__kwdefaults__, within)
    elif inspect.ismethod(value):
        yield from _parts([value.__func__, value.__self__], within)
    elif isinstance(value, partial):
        yield from _parts([value.func, value.args, value.keywords], within)
    elif hasattr(value, "__dict__") and cast(Any, type(value)).__repr__ is object.__repr__:
        yield _source(cast(Hashable, type(value))).encode()
        yield from _parts(vars(value), within)
    else:
        yield ADDRESS.sub("", repr(value)).encode()


@cache
def _source(value: Hashable) -> str:
    try:
        return hashed(_undocumented(inspect.getsource(cast(Any, value))).encode())
    except (OSError, TypeError, SyntaxError, TokenError):  # typed at a prompt, say: no source, but there is code
        functions = vars(value).values() if isinstance(value, type) else [value]
        codes = [code for function in functions if (code := getattr(function, "__code__", None)) is not None]
        return hashed(repr([_code(code) for code in codes]).encode())


def _undocumented(source: str) -> str:
    """Source without its docstrings, so that rewording one does not change the code; unchanged if it cannot be parsed.

    They are cut out of the text, because a printed syntax tree differs between versions of Python.
    """
    lines = textwrap.dedent(source).encode().splitlines(keepends=True)
    try:
        tree = ast.parse(b"".join(lines))
    except SyntaxError:  # a lambda in the middle of something
        return source
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            said = node.body[0]
            first, last = said.lineno - 1, cast(int, said.end_lineno) - 1
            rest = lines[first][: said.col_offset] + lines[last][said.end_col_offset :]
            lines[first : last + 1] = [rest if rest.strip() else b"", *[b""] * (last - first)]
    return b"".join(lines).decode()


def _code(code: CodeType) -> Any:
    """What a function does, regardless of where it is defined."""
    constants = [_code(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return code.co_name, code.co_code.hex(), code.co_names, constants


def hashed(content: bytes) -> str:
    """A hash of bytes."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def stored(value: Any, prefix: str) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """The class and the fields of a problem or algorithm; None if a field is neither an array nor plain.

    An algorithm inside an algorithm is stored as a field with its own class and fields; spaces and optax functions are
    stored by name.
    """
    fields: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, content in _fields(value).items():
        if _is_array(content):
            arrays[f"{prefix}.{name}"] = np.asarray(content)
            if arrays[f"{prefix}.{name}"].dtype.kind not in "biufc":
                return None, {}
        elif _plain(content) or _plain_mapping(content):
            fields[name] = content
        elif hasattr(content, "hyperparameters"):
            fields[name], inner = stored(content, f"{prefix}.{name}")
            if fields[name] is None:
                return None, {}
            arrays |= inner
        elif (known := named(content)) is not None:
            fields[name] = known
        else:
            return None, {}
    return {"class": described(value)["class"], "fields": fields}, arrays


def restored(description: Any, arrays: dict[str, np.ndarray], prefix: str, base: type, before: Code) -> Any:
    """The problem or algorithm that `stored` described, or None; its code must not have changed."""
    value = None if description is None else _made(description, arrays, prefix, base)
    try:
        return value if value is not None and Code.of(described(value)) == before else None
    except AttributeError:  # its fields have changed
        return None


def _made(description: Any, arrays: dict[str, np.ndarray], prefix: str, base: type) -> Any:
    """The object, with its class looked up among the modules already imported.

    So a stored name cannot make this import anything but pacopt's own problems and algorithms.
    """
    module, _, name = description["class"].partition(":")
    if (
        module.startswith(("pacopt.problems.", "pacopt.algorithms.", "pacopt.engines."))
        and find_spec(module) is not None
    ):
        importlib.import_module(module)
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, base)):
        return None
    own = {key.removeprefix(f"{prefix}."): array for key, array in arrays.items() if key.startswith(f"{prefix}.")}
    fields = {**description["fields"], **{key: array for key, array in own.items() if "." not in key}}
    for field, content in fields.items():
        if isinstance(content, list):  # JSON has no tuples
            fields[field] = tuple(content)
        if isinstance(content, dict) and "class" in content:
            known = renamed(content)
            fields[field] = _made(content, arrays, f"{prefix}.{field}", base) if known is None else known
            if fields[field] is None:
                return None
    # No constructor is called: it may take something other than the fields, and a run depends on the fields.
    value = object.__new__(found)
    try:
        for field, content in fields.items():
            object.__setattr__(value, field, content)
    except AttributeError:  # its fields have changed
        return None
    return value


def _plain(content: Any) -> bool:
    if isinstance(content, tuple):
        return all(_plain(each) and not isinstance(each, tuple) for each in content)
    if isinstance(content, float):
        return math.isfinite(content)
    return content is None or isinstance(content, bool | int | str)


def _plain_mapping(content: Any) -> bool:
    """Numbers by name."""
    return (
        isinstance(content, dict)
        and "class" not in content
        and all(isinstance(name, str) and _plain(each) for name, each in content.items())
    )
