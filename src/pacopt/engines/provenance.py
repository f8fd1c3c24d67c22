"""Where a table comes from: hashes of everything that determines its numbers."""

import hashlib
import inspect
from collections.abc import Hashable
from functools import cache
from typing import Any, cast

import jax
import numpy as np

from pacopt._version import __version__
from pacopt.engines.cell import Cell
from pacopt.instances import Instances


def provenance(
    cell: Cell, candidates: dict[str, np.ndarray], instances: Instances, dtype: np.dtype[Any]
) -> dict[str, Any]:
    """A JSON value that says what was run on what, in which versions."""
    return {
        "algorithm": _described(cell.algorithm),
        "candidates": Instances(candidates).fingerprint,
        "fields": {name: f"{array.dtype}{list(array.shape[1:])}" for name, array in instances.fields.items()},
        "instances": instances.fingerprint,
        "platform": jax.default_backend(),
        "precision": str(dtype),
        "problem": _described(cell.problem),
        "recorded_steps": list(cell.at),
        "steps": cell.steps,
        "success": None if cell.success is None else _source(cell.success),
        "versions": {"jax": jax.__version__, "numpy": np.__version__, "pacopt": __version__},
    }


def _described(value: Any) -> dict[str, str | None]:
    """The class of a problem or algorithm, its source code if it is at hand, and its fields."""
    kind = type(value)
    fields = hashlib.blake2b(digest_size=16)
    for path, leaf in jax.tree_util.tree_leaves_with_path(value):
        content = np.ascontiguousarray(leaf) if isinstance(leaf, np.ndarray | jax.Array) else None
        body = (
            repr(leaf).encode() if content is None else f"{content.dtype}{content.shape}".encode() + content.tobytes()
        )
        fields.update(jax.tree_util.keystr(path).encode() + b"\0" + body + b"\0")
    return {
        "class": f"{kind.__module__}:{kind.__qualname__}",
        "source": _source(cast(Hashable, kind)),
        "fields": fields.hexdigest(),
    }


@cache
def _source(value: Hashable) -> str | None:
    try:
        return _hash(inspect.getsource(cast(Any, value)).encode())
    except (OSError, TypeError):  # typed at a prompt, or built in
        return None


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
