"""A hash of the numbers of each row of some named arrays."""

import hashlib
from collections.abc import Mapping

import numpy as np


def row_hashes(fields: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    """One hash for each row, as hexadecimal bytes, whatever the memory layout and the width of the number types."""
    columns = [(_header(name, array), *_canonical(array)) for name, array in fields.items()]
    digests = np.empty(rows, dtype="S32")
    for row in range(rows):
        digest = hashlib.blake2b(digest_size=16)
        for header, values, remainder in columns:
            digest.update(header)
            digest.update(values[row].tobytes())
            if remainder is not None and remainder[row].any():
                digest.update(remainder[row].tobytes())
        digests[row] = digest.hexdigest().encode()
    return digests


def _header(name: str, array: np.ndarray) -> bytes:
    return f"{name}\0{array.shape[1:]}\0".encode()


def _canonical(array: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The values as little-endian doubles, and for integers what a double cannot hold of them."""
    if array.dtype.kind == "c":
        return np.ascontiguousarray(array, dtype="<c16") + 0.0, None
    # Adding zero turns -0.0 into 0.0: equal numbers, equal fingerprints.
    values = np.ascontiguousarray(array, dtype="<f8") + 0.0
    values[np.isnan(values)] = np.nan  # there are many bit patterns of NaN
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        # Beyond 2^53 several integers share a double; they differ from it in their low bits.
        low = array & array.dtype.type(0xFFFF)
        return values, (low.astype("<f8") - np.mod(values, 0x10000)).astype("<i4")
    return values, None
