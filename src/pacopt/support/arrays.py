"""Values that nobody can change, hashed by content and stored without pickle."""

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pacopt.errors import StorageError

#: The date written on every archive member, so that equal arrays give equal bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def frozen(array: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> np.ndarray:
    """A read-only array with these values; a copy, unless nobody can write to the array through another name."""
    result = np.asarray(array, dtype=dtype)
    owner: Any = result
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        owner = owner.base
    if owner is not None:
        result = result.copy()
        result.flags.writeable = False
    return result


def digest(value: Any) -> str:
    """A hash of a JSON value."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def save_npz(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays to exactly this path, whole or not at all.

    NumPy's own `savez` takes the names as keyword arguments, so that a field called `file` breaks it, and leaves
    half a file behind when it is interrupted.
    """
    path = Path(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(arrays):
                with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(arrays[name]), allow_pickle=False)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays stored in an npz file; never executes anything that is in it."""
    try:
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array without a name")
            arrays = {name: archive[name] for name in archive.files}
        for name, values in arrays.items():
            if not isinstance(values, np.ndarray):
                raise ValueError(f"its member {name} is no array")
        return arrays
    except FileNotFoundError:
        raise
    except (
        ValueError,
        OSError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        AttributeError,
        MemoryError,
        RuntimeError,
    ) as error:
        raise StorageError(
            f"{os.fspath(path)} could not be read as an npz archive: {error}.",
            "An npz archive of plain numeric arrays is needed.",
            "Pickled objects are refused because loading them could run code; a truncated file has lost data.",
            "Write it with numpy.savez(path, name=array, ...) or with the save method of the pacopt value.",
        ) from error
