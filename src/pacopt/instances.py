"""Instances: one row, one problem. Plain arrays with a common leading axis, and a fingerprint for each row."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, overload

import numpy as np

from pacopt.errors import InstancesError
from pacopt.support.arrays import frozen, load_npz, save_npz

#: What selects several rows: a slice, an array of row numbers, or a boolean mask.
Rows = slice | np.ndarray | Sequence[int]


@dataclass(frozen=True, eq=False)
class Instances:
    """Instances of a problem: named arrays whose row j together are instance j.

    >>> instances = Instances({"A": np.ones((3, 2, 2)), "b": np.arange(6.0).reshape(3, 2)})
    >>> len(instances), sorted(instances[1]), instances[1]["b"]
    (3, ['A', 'b'], array([2., 3.]))
    >>> len(instances[[0, 2]])
    2
    """

    fields: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        """Check and freeze the fields."""
        if not isinstance(self.fields, Mapping):
            raise InstancesError(
                f"An object of type {type(self.fields).__name__} was given.",
                "Instances are made of named arrays.",
                "A problem asks for its data by name.",
                'Pass a mapping such as {"A": array, "b": array}; for a list of instances, '
                '{"A": numpy.stack([row["A"] for row in rows]), ...}.',
            )
        fields = {name: _checked(name, array) for name, array in self.fields.items()}
        if not fields:
            raise InstancesError(
                "No arrays were given.",
                "At least one named array with a leading axis is needed.",
                "Without it there is nothing in which one instance differs from another.",
                'Pass a mapping such as {"A": array, "b": array}.',
            )
        lengths = {name: len(array) for name, array in fields.items()}
        if len(set(lengths.values())) > 1:
            raise InstancesError(
                f"The arrays have different leading axes: {', '.join(f'{k} has {v}' for k, v in lengths.items())}.",
                "All arrays need the same leading axis: row j of each belongs to instance j.",
                "Otherwise rows of different problems would be paired.",
                "Move data shared by all instances onto the problem, or cut the arrays to the same length.",
            )
        object.__setattr__(self, "fields", MappingProxyType(dict(sorted(fields.items()))))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it was made of, for worker processes."""
        return Instances, (dict(self.fields),)

    def __len__(self) -> int:
        return len(next(iter(self.fields.values())))

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        return (self[row] for row in range(len(self)))

    @overload
    def __getitem__(self, rows: int | np.integer[Any]) -> dict[str, np.ndarray]: ...
    @overload
    def __getitem__(self, rows: Rows) -> "Instances": ...
    def __getitem__(self, rows: int | np.integer[Any] | Rows) -> "dict[str, np.ndarray] | Instances":
        """One instance as a dict for a row number, else `Instances` with the selected rows."""
        if isinstance(rows, str | bool) or rows is None:
            raise InstancesError(
                f"Instances were indexed with {rows!r}.",
                "An index selects rows: a number, a slice, a list of numbers, a mask.",
                "",
                'For an array by its name use instances.fields["name"].',
            )
        if isinstance(rows, int | np.integer):
            return {name: array[rows] for name, array in self.fields.items()}
        index = rows if isinstance(rows, slice) else np.asarray(rows, dtype=None if len(rows) else np.intp)
        return Instances({name: _read_only(array[index]) for name, array in self.fields.items()})

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {array.dtype}{list(array.shape[1:])}" for name, array in self.fields.items())
        return f"Instances({len(self)} x {{{shapes}}})"

    @staticmethod
    def concatenate(parts: "Sequence[Instances]") -> "Instances":
        """The rows of all parts, in order; the parts must have the same fields and shapes."""
        if not parts:
            raise InstancesError(
                "There is nothing to concatenate.", "At least one part is needed.", "", "Check the list."
            )
        first = parts[0].fields
        for part in parts[1:]:
            ours = {name: array.shape[1:] for name, array in first.items()}
            theirs = {name: array.shape[1:] for name, array in part.fields.items()}
            if ours != theirs:
                raise InstancesError(
                    f"Instances with fields {theirs} cannot follow instances with fields {ours}.",
                    "Parts to be concatenated need the same names and the same shapes behind the leading axis.",
                    "Otherwise they are instances of different problems.",
                    "Rename or reshape the arrays first.",
                )
        joined = {name: np.concatenate([part.fields[name] for part in parts]) for name in first}
        return Instances({name: _read_only(array) for name, array in joined.items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arrays as npz, without pickle."""
        save_npz(path, self.fields)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Instances":
        """Instances from an npz file, as written by `save` or by `numpy.savez`."""
        return Instances({name: _read_only(array) for name, array in load_npz(path).items()})

    @cached_property
    def fingerprints(self) -> np.ndarray:
        """One content hash for each row, as hexadecimal bytes.

        Rows have the same fingerprint exactly if they hold the same numbers under the same names and shapes: the
        order of rows and fields, the memory layout, the byte order and the width of the number type do not enter.
        """
        columns = [(_header(name, array), *_canonical(array)) for name, array in self.fields.items()]
        digests = np.empty(len(self), dtype="S32")
        for row in range(len(self)):
            digest = hashlib.blake2b(digest_size=16)
            for header, values, remainder in columns:
                digest.update(header)
                digest.update(values[row].tobytes())
                if remainder is not None and remainder[row].any():
                    digest.update(remainder[row].tobytes())
            digests[row] = digest.hexdigest().encode()
        return _read_only(digests)

    @cached_property
    def fingerprint(self) -> str:
        """One content hash for all rows in their order."""
        return hashlib.blake2b(self.fingerprints.tobytes(), digest_size=16).hexdigest()


def _checked(name: object, array: Any) -> np.ndarray:
    if not isinstance(name, str) or not name or "/" in name or "\0" in name or name.endswith(".npy"):
        raise InstancesError(
            f"A field is named {name!r}.",
            "A name is a non-empty string without a slash that does not end in .npy.",
            "It becomes the name of a file in an archive.",
            "Rename it.",
        )
    if isinstance(array, np.ma.MaskedArray):
        raise InstancesError(
            f"Field {name!r} is a masked array.",
            "Every number of an instance is used.",
            "The mask would be lost silently.",
            "Fill it, and pass the mask as a field of its own.",
        )
    try:
        result = np.asarray(array)
    except ValueError as error:
        raise InstancesError(
            f"Field {name!r} is no array: {error}.",
            "Every instance needs the same shape.",
            "Instances are solved in batches.",
            "Pad the rows to a common shape.",
        ) from error
    if result.dtype.kind not in "biufc":
        raise InstancesError(
            f"Field {name!r} holds {result.dtype} values.",
            "Instances are boolean, integer, real or complex numbers.",
            "Anything else could only be stored as pickled objects, which loading would execute.",
            "Encode it as numbers, and pad rows of unequal length.",
        )
    if result.ndim == 0:
        raise InstancesError(
            f"Field {name!r} is a single number.",
            "Each array needs a leading axis that counts the instances.",
            "",
            "A value shared by all instances belongs on the problem.",
        )
    return frozen(result)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


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
