"""Values that nobody can change, hashed by content and stored without pickle."""

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pacopt.errors import StorageError
from pacopt.support.whole import whole

#: The date written on every archive member, so that equal arrays give equal bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: How a file with a single array begins.
_NPY = b"\x93NUMPY"
#: The environment variable that says how many bytes a small file may unpack to; 1 GiB without it.
UNPACK_LIMIT = "PACOPT_UNPACK_LIMIT"


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
    with whole(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _EPOCH), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(arrays[name]), allow_pickle=False)


def load_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays stored in an npz file; never executes anything that is in it."""
    try:
        return _loaded(Path(path))
    except FileNotFoundError:
        raise
    except Exception as error:  # NumPy and zipfile raise errors of a dozen types for what is in a damaged file
        raise StorageError(
            f"{os.fspath(path)} could not be read as an npz archive: {str(error).rstrip('.') or type(error).__name__}.",
            "An npz archive of plain numeric arrays is needed.",
            "Pickled objects are refused because loading them could run code; a truncated file has lost data.",
            "Write it again, for example with numpy.savez(path, name=array, ...) and arrays of numbers only.",
        ) from error


def _loaded(path: Path) -> dict[str, np.ndarray]:
    if path.exists() and not path.is_file():  # nobody writes to a pipe that is forgotten in a directory
        raise ValueError("it is not a regular file")
    with open(path, "rb") as file:
        if file.read(len(_NPY)) == _NPY:
            raise ValueError("it holds a single array without a name")
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            names = [member.filename.removesuffix(".npy") for member in members]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"it holds {name} twice")
            _refuse_bomb(sum(member.file_size for member in members), path.stat().st_size)
            return {name: _member(archive, member) for name, member in zip(names, members, strict=True)}


def _refuse_bomb(unpacked: int, packed: int) -> None:
    """Refuse what would fill the memory: far more than its file lets expect."""
    limit = int(os.environ.get(UNPACK_LIMIT, 2**30))
    if unpacked > limit and unpacked > 50 * packed:
        raise ValueError(
            f"its {packed:,} bytes unpack to {unpacked:,}; if that is right, allow it by the environment variable "
            f"{UNPACK_LIMIT}={unpacked}"
        )


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        try:
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
        except ValueError as error:
            if "allow_pickle" not in str(error):  # an option that whoever reads this does not have
                raise
            raise ValueError(f"its array {member.filename.removesuffix('.npy')} holds Python objects") from error
        if file.read(1):
            raise ValueError(f"its member {member.filename} is longer than its array")
    return array
