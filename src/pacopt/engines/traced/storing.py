"""Problems and algorithms as plain data, and back, without running anything that was stored."""

import dataclasses
import importlib
import math
import sys
from importlib.util import find_spec
from typing import Any

import jax
import numpy as np

from pacopt.engines.traced.provenance import described
from pacopt.provenance import Code


def stored(value: Any, prefix: str) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """The class and the fields of a problem or algorithm; None if a field is neither an array nor plain."""
    fields: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        if isinstance(content, np.ndarray | jax.Array):
            arrays[f"{prefix}.{field.name}"] = np.asarray(content)
            if arrays[f"{prefix}.{field.name}"].dtype.kind not in "biufc":
                return None, {}
        elif _plain(content):
            fields[field.name] = content
        else:
            return None, {}
    return {"class": described(value)["class"], "fields": fields}, arrays


def restored(description: Any, arrays: dict[str, np.ndarray], prefix: str, base: type, before: Code) -> Any:
    """The problem or algorithm that `stored` described, or None.

    Its class is looked up among the modules that are imported already, so that no stored name can make this import
    anything but pacopt's own problems and algorithms; and its code has to be what it was.
    """
    if description is None:
        return None
    module, _, name = description["class"].partition(":")
    if module.startswith(("pacopt.problems.", "pacopt.algorithms.")) and find_spec(module) is not None:
        importlib.import_module(module)
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, base)):
        return None
    own = {key.removeprefix(f"{prefix}."): array for key, array in arrays.items() if key.startswith(f"{prefix}.")}
    try:
        value = found(**description["fields"], **own)
    except TypeError:  # its fields have changed, or it has a constructor of its own
        return None
    return value if Code.of(described(value)) == before else None


def _plain(content: Any) -> bool:
    if isinstance(content, float):
        return math.isfinite(content)
    return content is None or isinstance(content, bool | int | str)
