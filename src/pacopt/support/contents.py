"""Hashes of what instances are that are no arrays: files, and objects of the user's."""

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pacopt.errors import InstancesError

#: The name of the field that holds files, or objects; and under which hashes of contents are stored beside fields.
FILE, OBJECT, CONTENT = "file", "object", "pacopt.content"


def files_and_contents(paths: Sequence[str | os.PathLike[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Absolute paths, and a hash of the bytes of each file."""
    if isinstance(paths, str | bytes | os.PathLike) or not len(paths := list(paths)):
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
            "Instances are run again as they were.",
            "",
            "Bring them back.",
        )


def _hash_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest().encode()


def objects_and_contents(objects: Sequence[Any], fingerprint: Callable[[Any], Any]) -> tuple[np.ndarray, np.ndarray]:
    """The objects as an array, and a hash of what the user's function says of each."""
    kept = list(objects)
    if not kept or not callable(fingerprint):
        raise InstancesError(
            f"{len(kept)} objects with the fingerprint {fingerprint!r} were given.",
            "There is at least one object, and a function that returns bytes, a text or a number for each: equal ones "
            "exactly for equal objects.",
            "By it an instance is recognised that was used before.",
            "Use Instances.of_objects(models, fingerprint=lambda model: model.to_json()).",
        )
    array = np.empty(len(kept), dtype=object)
    array[:] = kept
    return array, np.array([_hash_of_mark(fingerprint(each), number) for number, each in enumerate(kept)], dtype="S32")


def _hash_of_mark(mark: Any, number: int) -> bytes:
    if isinstance(mark, np.generic):
        mark = mark.item()
    if isinstance(mark, bool) or not isinstance(mark, bytes | str | int | float):
        raise InstancesError(
            f"The fingerprint of object {number} is {str(type(mark).__name__)!r}.",
            "It is bytes, a text or a number.",
            "What differs from one start of Python to the next recognises nothing.",
            "Return what the object is made of: its bytes, its JSON, its number in a database.",
        )
    content = mark if isinstance(mark, bytes) else f"{type(mark).__name__}\0{mark}".encode()
    return hashlib.blake2b(content, digest_size=16).hexdigest().encode()
