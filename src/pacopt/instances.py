"""Instances: one row, one problem. Plain arrays with the same leading axis, and a fingerprint for each row."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, overload

import numpy as np

from pacopt.columns import Columns, columns_of
from pacopt.draws import Draws, drawn
from pacopt.errors import InstancesError, correction
from pacopt.support.arrays import load_npz, save_npz
from pacopt.support.contents import (
    CONTENT,
    FILE,
    OBJECT,
    files_and_contents,
    objects_and_contents,
    refuse_changed_files,
)
from pacopt.support.fields import GROUPS, checked_field, checked_groups, joined_groups
from pacopt.support.row_hashes import row_hashes

#: What selects several rows: a slice, an array of row numbers, or a boolean mask.
Rows = slice | np.ndarray | Sequence[int]


@dataclass(frozen=True, eq=False)
class Instances:
    """Instances of a problem: named arrays, in which row j of each belongs to instance j.

    >>> instances = Instances({"A": np.ones((3, 2, 2)), "b": np.arange(6.0).reshape(3, 2)})
    >>> len(instances), sorted(instances[1]), instances[1]["b"]
    (3, ['A', 'b'], array([2., 3.]))
    >>> len(instances[[0, 2]])
    2

    Rows that belong together (fits of one user, moments of one trajectory) are not independent draws. `groups` labels
    them, with a number or a string for each row: then a draw is a group, and statements are about a random row of a
    new group. `draws` are the random numbers of the rows, which `learn` fixes.

    For engines other than JAX, instances may be files (`Instances.of_files`) or objects (`Instances.of_objects`).
    """

    fields: Mapping[str, np.ndarray]
    groups: np.ndarray | None = None
    draws: Draws | None = field(default=None, repr=False)
    #: Hashes of the rows, where these are files or objects.
    content: np.ndarray | None = field(default=None, repr=False)

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
        fields = {
            name: checked_field(name, array, hashed=self.content is not None) for name, array in self.fields.items()
        }
        if not fields:
            raise InstancesError(
                "No arrays were given.",
                "At least one named array with a leading axis is needed.",
                "Without it, all instances would be the same.",
                'Pass a mapping such as {"A": array, "b": array}.',
            )
        lengths = {name: len(array) for name, array in fields.items()}
        if len(set(lengths.values())) > 1:
            raise InstancesError(
                f"The arrays have different leading axes: {', '.join(f'{k} has {v}' for k, v in lengths.items())}.",
                "All arrays need the same leading axis: row j of each belongs to instance j.",
                "Otherwise the rows of different instances would be mixed up.",
                "Move data shared by all instances onto the problem, or cut the arrays to the same length.",
            )
        object.__setattr__(self, "fields", MappingProxyType(dict(sorted(fields.items()))))
        object.__setattr__(self, "groups", checked_groups(self.groups, len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it was made of, for worker processes."""
        return Instances, (dict(self.fields), self.groups, self.draws, self.content)

    def __len__(self) -> int:
        return len(next(iter(self.fields.values())))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[row] for row in range(len(self)))

    @overload
    def __getitem__(self, rows: int | np.integer[Any]) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, rows: Rows) -> "Instances": ...
    def __getitem__(self, rows: int | np.integer[Any] | Rows) -> "dict[str, Any] | Instances":
        """One instance as a dict for a row number, else `Instances` with the selected rows."""
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
            texts = {FILE} if self.content is not None else set()
            return {name: str(array[rows]) if name in texts else array[rows] for name, array in self.fields.items()}
        index = rows if isinstance(rows, slice) else np.asarray(rows, dtype=None if np.size(rows) else np.intp)
        if isinstance(index, np.ndarray) and (index.ndim != 1 or index.dtype.kind not in "iub"):
            raise InstancesError(
                f"Instances were indexed with {rows!r}.",
                "An index is a row number, a slice, a list of row numbers or a mask.",
                "",
                'For an array by its name use instances.fields["name"].',
            )
        return Instances(
            {name: _read_only(array[index]) for name, array in self.fields.items()},
            None if self.groups is None else _read_only(self.groups[index]),
            None if self.draws is None else self.draws.at(index),
            None if self.content is None else _read_only(self.content[index]),
        )

    @staticmethod
    def of_files(paths: Sequence[str | os.PathLike[str]], *, groups: Any = None) -> "Instances":
        """Instances that are files: `instance["file"]` is a path. They are identified by their bytes."""
        files, content = files_and_contents(paths)
        return Instances({FILE: _read_only(files)}, groups, content=_read_only(content))

    @staticmethod
    def of_objects(objects: Sequence[Any], *, fingerprint: Callable[[Any], Any], groups: Any = None) -> "Instances":
        """Instances that are objects of any kind, `instance["object"]`; the function `fingerprint` identifies them.

        It returns bytes, a string or a number, the same for two objects exactly if they are equal. Objects are
        not stored with a run.

        >>> models = Instances.of_objects([{"n": 3}, {"n": 4}], fingerprint=lambda model: model["n"])
        >>> models, models[1]["object"]
        (Instances(2 x {object: object}), {'n': 4})
        """
        kept, content = objects_and_contents(objects, fingerprint)
        return Instances({OBJECT: _read_only(kept)}, groups, content=_read_only(content))

    @property
    def kinds(self) -> dict[str, str]:
        """Number type and shape of each field; or that it holds files, or objects."""
        if self.content is not None:
            return {name: name for name in self.fields}
        return {name: f"{array.dtype}{list(array.shape[1:])}" for name, array in self.fields.items()}

    @property
    def storable(self) -> bool:
        """Whether they can be stored without pickle."""
        return self.content is None or OBJECT not in self.fields

    def refuse_changed(self) -> None:
        """Reject files that have changed since these instances were made."""
        if self.content is not None and FILE in self.fields:
            refuse_changed_files(self.fields[FILE], self.content)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {kind}" for name, kind in self.kinds.items())
        groups = "" if self.groups is None else f" in {self.count} groups"
        return f"Instances({len(self)} x {{{shapes}}}{groups})"

    @cached_property
    def count(self) -> int:
        """The number of independent draws: of groups, or of rows if there are none."""
        return len(self) if self.groups is None else len(np.unique(self.groups))

    @cached_property
    def codes(self) -> np.ndarray:
        """The group of each row as a number, in order of first appearance."""
        if self.groups is None:
            return np.arange(len(self))
        _, first, code = np.unique(self.groups, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[code]

    def drawn(self, *, root: int, part: str, replicates: int = 1) -> "Instances":
        """These instances with their random numbers, as one part of a split with this root seed."""
        same = replace(self, draws=drawn(self.fingerprints, root=root, part=part, replicates=replicates))
        same.__dict__["fingerprints"] = self.fingerprints  # which depend on the content alone
        return same

    def columns(self, replicates: int = 1) -> Columns | None:
        """How the runs of these rows, with their replicates, form columns; None if each run is a column."""
        if self.groups is None and replicates == 1:
            return None
        codes = self.codes
        if np.any(np.diff(codes) < 0) or np.any(np.diff(codes) > 1):
            raise InstancesError(
                "The rows of a group are not next to each other.",
                "The rows of each group must be consecutive.",
                "They form one column of a table.",
                "Use pacopt.split, which sorts them, or sort the rows by their groups.",
            )
        lots = np.zeros(len(self)) if self.groups is None else self._lots()
        return columns_of(codes, lots, replicates)

    def _lots(self) -> np.ndarray:
        draws = self.draws or drawn(self.fingerprints, root=0, part="table")
        return draws.lots

    @staticmethod
    def concatenate(parts: "Sequence[Instances]") -> "Instances":
        """The rows of all parts, in order; the parts must have the same fields and shapes."""
        if not parts:
            raise InstancesError(
                "There is nothing to concatenate.", "At least one part is needed.", "", "Check the list."
            )
        for number, part in enumerate(parts):
            if not isinstance(part, Instances):
                raise InstancesError(
                    f"Part {number} is a {type(part).__name__}.",
                    "Parts are Instances.",
                    "",
                    "Make Instances of it first.",
                )
        first = parts[0].fields
        for part in parts[1:]:
            ours, theirs = _shapes(parts[0]), _shapes(part)
            if ours != theirs:
                raise InstancesError(
                    f"Instances with fields {theirs} cannot follow instances with fields {ours}.",
                    "Parts need the same names and the same shapes after the leading axis.",
                    "Otherwise they are instances of different problems.",
                    "Rename or reshape the arrays first.",
                )
        joined = {name: np.concatenate([part.fields[name] for part in parts]) for name in first}
        contents = [part.content for part in parts if part.content is not None]
        return Instances(
            {name: _read_only(array) for name, array in joined.items()},
            joined_groups([part.groups for part in parts]),
            content=_read_only(np.concatenate(contents)) if contents else None,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arrays as npz, without pickle."""
        if not self.storable:
            raise InstancesError(
                "These instances are objects, which cannot be stored.",
                "Only arrays and file names can be.",
                "Objects would have to be pickled, and loading a pickle runs code.",
                "Save a run with instances=False, and pass the objects to verify(..., instances=...).",
            )
        others = {GROUPS: self.groups, CONTENT: self.content}
        save_npz(path, dict(self.fields) | {name: array for name, array in others.items() if array is not None})

    @staticmethod
    def load(path: str | os.PathLike[str], *, groups: str | None = None) -> "Instances":
        """Instances from an npz file, as written by `save` or by `numpy.savez`.

        `groups` names the array of group labels, which is then not a field of the instances.
        """
        arrays = load_npz(path)
        if groups is not None and groups not in arrays:
            raise InstancesError(
                f"{os.fspath(path)} has no array {groups!r} to group by.",
                f"It has {', '.join(sorted(arrays))}.",
                "",
                correction(groups, arrays),
            )
        labels = arrays.pop(GROUPS if groups is None else groups, None)
        content = arrays.pop(CONTENT, None)
        return Instances({name: _read_only(array) for name, array in arrays.items()}, labels, content=content)

    @cached_property
    def fingerprints(self) -> np.ndarray:
        """One content hash for each row, as hexadecimal bytes.

        Rows have the same fingerprint exactly if they hold the same numbers under the same names and shapes. The
        order of rows and fields, the memory layout, the byte order and the width of the number type do not matter. For
        files, their bytes count; for objects, the result of the user's function.
        """
        if self.content is not None:
            return self.content
        return _read_only(row_hashes(self.fields, len(self)))

    @cached_property
    def fingerprint(self) -> str:
        """One content hash for all rows in their order."""
        groups = b"" if self.groups is None else self.codes.tobytes()
        return hashlib.blake2b(self.fingerprints.tobytes() + groups, digest_size=16).hexdigest()


def _shapes(part: Instances) -> dict[str, Any]:
    return {name: "hashed" if part.content is not None else array.shape[1:] for name, array in part.fields.items()}


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
