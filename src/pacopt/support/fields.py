"""What instances are made of, checked: named arrays, and labels of groups."""

from typing import Any

import numpy as np

from pacopt.errors import InstancesError
from pacopt.support.arrays import frozen
from pacopt.support.contents import CONTENT

#: Under which the groups are stored beside the fields.
GROUPS = "pacopt.groups"


def checked_field(name: object, array: Any, *, hashed: bool = False) -> np.ndarray:
    """A read-only array of numbers with a leading axis, or of anything that is hashed; its name can be stored."""
    plain = isinstance(name, str) and name and "/" not in name and "\0" not in name
    if not plain or str(name).endswith(".npy") or name in (GROUPS, CONTENT):
        raise InstancesError(
            f"A field is named {name!r}.",
            f"A name is a non-empty text without a slash that does not end in .npy; {GROUPS} and {CONTENT} are taken.",
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
            f"Field {name!r} is not an array: {error}.",
            "Every instance needs the same shape.",
            "Instances are solved in batches.",
            "Pad the rows to a common shape.",
        ) from error
    if not hashed and result.dtype.kind not in "biufc":
        raise InstancesError(
            f"Field {name!r} holds {_words(result.dtype)}.",
            "Instances are boolean, integer, real or complex numbers.",
            "Anything else could only be stored as pickled objects, which loading would execute.",
            "Encode it as numbers, and pad rows of unequal length; a solver outside JAX can also read instances from "
            "files (Instances.of_files) or be given objects (Instances.of_objects).",
        )
    if result.ndim == 0:
        raise InstancesError(
            f"Field {name!r} is a single number.",
            "Each array needs a leading axis that counts the instances.",
            "",
            "A value shared by all instances belongs on the problem.",
        )
    return frozen(result)


def _words(kind: np.dtype) -> str:
    """What an array of such a type holds, in words."""
    return {"U": "text", "S": "text", "O": "Python objects"}.get(kind.kind, f"{kind} values")


def checked_groups(groups: Any, rows: int) -> np.ndarray | None:
    """A number or a text for each row that says to which group it belongs."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.ravel()):
        labels = labels.astype(str)
    if labels.shape != (rows,) or labels.dtype.kind not in "iuUS":
        raise InstancesError(
            f"groups holds {labels.dtype} values of shape {labels.shape}.",
            f"There is a whole number or a text for each of the {rows} rows.",
            "Rows with the same one belong together and count as one draw.",
            'Pass groups=table["user"], for example.',
        )
    return frozen(labels)


def joined_groups(parts: list[np.ndarray | None]) -> np.ndarray | None:
    """The labels of parts one behind the other; all of them have some, or none has."""
    given = [groups for groups in parts if groups is not None]
    if given and len(given) < len(parts):
        raise InstancesError(
            f"{len(given)} of {len(parts)} parts have groups.",
            "All parts have groups, or none.",
            "A row without a group would be counted as another draw.",
            "Give groups to all of them.",
        )
    return np.concatenate(given) if given else None
