"""Hashes of what instances are that are no arrays: files, and objects of the user's."""

import copy
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pacopt.errors import InstancesError

#: So many objects are copied to see whether a copy has the same fingerprint.
COPIES = 3
#: The name of the field that holds files, or objects; and under which hashes of contents are stored beside fields.
FILE, OBJECT, CONTENT = "file", "object", "pacopt.content"


def files_and_contents(paths: Sequence[str | os.PathLike[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Absolute paths, and a hash of the bytes of each file."""
    if isinstance(paths, str | bytes | os.PathLike) or not isinstance(paths, Iterable) or not (paths := list(paths)):
        raise InstancesError(
            f"{paths!r} was given.",
            "Each instance is a file: a list of paths is needed.",
            "",
            'Use Instances.of_files(sorted(Path("problems").glob("*.mps"))).',
        )
    try:
        found = [os.path.abspath(os.fspath(path)) for path in paths]
        return np.array(found), np.array([_hash_of(path) for path in found], dtype="S32")
    except (OSError, TypeError, ValueError) as error:
        raise InstancesError(
            f"An instance cannot be read: {error}.",
            "Each instance is a file that can be read.",
            "",
            "Correct the path.",
        ) from error


def refuse_changed_files(paths: np.ndarray, contents: np.ndarray) -> None:
    """Refuse files that are not there any more, or have other bytes than they had."""

    def same(path: str, content: bytes) -> bool:
        try:
            return _hash_of(path) == content
        except OSError:
            return False

    pairs = zip(paths.tolist(), contents.tolist(), strict=True)
    changed = [path for path, content in pairs if not same(path, content)]
    if changed:
        raise InstancesError(
            f"{len(changed)} of {len(paths)} files are gone or have other bytes than before (first: {changed[0]}).",
            "Instances must be the same when they are run again.",
            "",
            "Restore them.",
        )


def _hash_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest().encode()


def objects_and_contents(objects: Sequence[Any], fingerprint: Callable[[Any], Any]) -> tuple[np.ndarray, np.ndarray]:
    """The objects as an array, and a hash of what the user's function says of each."""
    kept = list(objects) if isinstance(objects, Iterable) else []
    if not kept or not callable(fingerprint):
        raise InstancesError(
            f"{len(kept)} objects with the fingerprint {fingerprint!r} were given.",
            "There is at least one object, and a function that returns bytes, a text or a number for each: equal ones "
            "exactly for equal objects.",
            "It is how an instance that was used before is recognised.",
            "Use Instances.of_objects(models, fingerprint=lambda model: model.to_json()).",
        )
    array = np.empty(len(kept), dtype=object)
    array[:] = kept
    content = [_hash_of_object(each, fingerprint, number) for number, each in enumerate(kept)]
    for number, each in enumerate(kept[:COPIES]):
        if _hash_of_object(copy_of(each), fingerprint, number) != content[number]:
            raise InstancesError(
                f"A copy of object {number} has another fingerprint than the object itself.",
                "Equal objects have equal fingerprints.",
                "An instance that was used before could not be recognised. What `repr` or `id` says of an object is "
                "another thing each time.",
                "Return what the object is made of: its bytes, its JSON, its number in a database.",
            )
    return array, np.array(content, dtype="S32")


def copy_of(value: Any) -> Any:
    """A copy of an object, or the object itself if it cannot be copied."""
    try:
        return copy.deepcopy(value)
    except Exception:  # of whatever kind the object is
        return value


def _hash_of_object(value: Any, fingerprint: Callable[[Any], Any], number: int) -> bytes:
    try:
        mark = fingerprint(value)
    except Exception as error:
        raise InstancesError(
            f"The fingerprint of object {number} cannot be computed: {type(error).__name__}: {error}.",
            "The function returns bytes, a text or a number for each object.",
            "",
            "Correct the function.",
        ) from error
    if isinstance(mark, np.generic):
        mark = mark.item()
    if isinstance(mark, float) and mark.is_integer():
        mark = int(mark)
    if isinstance(mark, bool) or not isinstance(mark, bytes | str | int | float):
        raise InstancesError(
            f"The fingerprint of object {number} is {str(type(mark).__name__)!r}.",
            "It is bytes, a text or a number.",
            "What differs from one start of Python to the next recognises nothing.",
            "Return what the object is made of: its bytes, its JSON, its number in a database.",
        )
    content = mark if isinstance(mark, bytes) else f"{type(mark).__name__}\0{mark}".encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=16).hexdigest().encode()
