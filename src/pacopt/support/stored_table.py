"""A loss table as a file: plain arrays, without pickle."""

import hashlib
import json
import os
from typing import Any

import numpy as np

from pacopt.errors import StorageError
from pacopt.support.arrays import load_npz, save_npz

#: The version of the stored form.
SCHEMA = "pacopt.loss-table/1"
CANDIDATES, BASELINES, TIMES = "candidates.", "baselines.", "times."


def save_table(table: Any, path: str | os.PathLike[str]) -> None:
    """Write a table as npz."""
    arrays = {"losses": table.losses}
    arrays |= {f"{CANDIDATES}{name}": values for name, values in table.candidates.items()}
    arrays |= {f"{BASELINES}{name}": row for name, row in table.baselines.items()}
    arrays |= {f"{TIMES}{target!r}": times for target, times in table.times.items()}
    optional = ("start", "success", "missing", "fingerprints")
    arrays |= {name: array for name in optional if (array := getattr(table, name)) is not None}
    if table.columns is not None:
        arrays |= {"columns.sizes": table.columns.sizes, "columns.lead": table.columns.lead}
    header = json.dumps({"schema": SCHEMA, "provenance": dict(table.provenance)}, sort_keys=True)
    save_npz(path, arrays | {"header": np.array(header)})


def load_table(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a table that was written is made of; columns are a pair of arrays, or None."""
    arrays = load_npz(path)
    try:
        header = json.loads(str(arrays["header"]))
        schema, provenance = header["schema"], header["provenance"]
    except (KeyError, TypeError, ValueError):
        schema = "none"
    if schema != SCHEMA or "losses" not in arrays:
        raise StorageError(
            f"{os.fspath(path)} has the schema {schema} and the arrays {', '.join(sorted(arrays))}.",
            f"This version of pacopt reads {SCHEMA}.",
            "Numbers of another layout could be taken for something that they are not.",
            "Read it with the version of pacopt that wrote it.",
        )

    def under(prefix: str) -> dict[str, np.ndarray]:
        return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

    return {
        "losses": arrays["losses"],
        "start": arrays.get("start"),
        "candidates": under(CANDIDATES),
        "success": arrays.get("success"),
        "missing": arrays.get("missing"),
        "provenance": provenance,
        "fingerprints": arrays.get("fingerprints"),
        "columns": (arrays["columns.sizes"], arrays["columns.lead"]) if "columns.sizes" in arrays else None,
        "baselines": under(BASELINES),
        "times": {float(target): times for target, times in under(TIMES).items()},
    }


def table_hash(table: Any) -> str:
    """A hash of the numbers that a certificate rests on."""
    content = hashlib.blake2b(digest_size=16)
    parts = [table.losses, table.start, table.success]
    if table.columns is not None:
        parts += [table.columns.sizes, table.columns.lead]
    for name, row in table.baselines.items():
        content.update(name.encode())
        parts.append(row)
    for target, times in table.times.items():
        content.update(repr(target).encode())
        parts.append(times)
    for array in parts:
        content.update(b"none" if array is None else repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return content.hexdigest()
