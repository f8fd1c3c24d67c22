"""Stored numbers beside recomputed ones, leaf by leaf."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

#: Stored and recomputed numbers may differ by this much, relative; a change of 1e-6 is seen.
TOLERANCE = 1e-8


NUMBERS = (int, float, np.number)
#: Parts of a certificate that are chosen, declared or said, and not computed from the table.
CHOSEN = [
    "confidence",
    "design",
    "earlier",
    "min_success",
    "provenance",
    "required",
    "schema",
    "sentences",
    "separate_draws",
    "theorems",
]


@dataclass(frozen=True, slots=True)
class Given:
    """A value that was not recomputed: what is stored stands for itself."""

    value: Any


class Stored(Protocol):
    """Anything that can be written as a certificate's JSON value."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON value."""
        ...


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A number that does not follow from the table, or in words a problem that is not one of numbers."""

    name: str
    stored: Any
    recomputed: Any
    problem: str = ""

    def __str__(self) -> str:
        stored, recomputed = plain(self.stored), plain(self.recomputed)
        return self.problem or f"{self.name} is stored as {stored!r} and recomputed as {recomputed!r}"


class ContradictionError(Exception):
    """Something is stored that cannot be, whatever the other numbers are."""

    def __init__(self, name: str, stored: Any, needed: Any, problem: str = "") -> None:
        super().__init__(name, stored, needed, problem)
        self.disagreement = Disagreement(name, stored, needed, problem)


@dataclass(frozen=True, slots=True)
class Audit:
    """How many numbers were recomputed, the first that disagreed, if any did, and what was not recomputed.

    Not recomputed are claims, by their names, and numbers beside a claim, by their places: "deployed.mine_mean".
    """

    compared: int
    disagreement: Disagreement | None
    not_recomputed: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything that was recomputed agreed."""
        return self.disagreement is None


def compared(pairs: Iterable[tuple[str, Any, Any]], not_recomputed: tuple[str, ...] = ()) -> Audit:
    """The audit of pairs of stored and expected values; what takes long is a function, called when its turn comes."""
    count = 0
    for name, ours, expected in pairs:
        theirs = expected() if callable(expected) else expected
        if isinstance(theirs, Given):
            continue
        count += isinstance(ours, NUMBERS) and not isinstance(ours, bool) and name.split(".")[1] not in CHOSEN
        if not _agree(name, ours, theirs):
            return Audit(count, Disagreement(name, ours, theirs), not_recomputed)
    return Audit(count, None, not_recomputed)


def content(array: np.ndarray | None) -> bytes:
    """The bytes of an array with its shape."""
    return b"none" if array is None else repr(array.shape).encode() + np.ascontiguousarray(array).tobytes()


def plain(value: Any) -> Any:
    """The same in Python's own numbers, lists and dictionaries, so that people read 0.5 and not np.float64(0.5)."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(map(plain, value))
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def hashed(*parts: bytes, size: int = 16) -> str:
    """One hash of all parts."""
    digest = hashlib.blake2b(digest_size=size)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def broken_rule(stored: dict[str, Any], rules: dict[str, tuple[bool, str]]) -> Disagreement | None:
    """The first rule that does not hold: the place of its value, and what is needed there."""
    for name, (holds, needed) in rules.items():
        if not holds:
            value: Any = stored
            for key in name.split("."):
                value = value[key]
            return Disagreement(f"certificate.{name}", value, needed)
    return None


def flat(ours: Any, theirs: Any, name: str = "certificate") -> list[tuple[str, Any, Any]]:
    """Pairs of leaves by their path; a missing one is paired with None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted(ours.keys() | theirs.keys())
        return [leaf for key in keys for leaf in flat(ours.get(key), theirs.get(key), f"{name}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [leaf for i, pair in enumerate(zip(ours, theirs, strict=True)) for leaf in flat(*pair, f"{name}[{i}]")]
    return [(name, ours, theirs)]


def _agree(name: str, ours: Any, theirs: Any) -> bool:
    if isinstance(ours, NUMBERS) and isinstance(theirs, NUMBERS) and not isinstance(ours, bool):
        ours, theirs = float(ours), float(theirs)
        # A difference of two numbers carries their rounding, however small it is itself.
        rounding = 1e-11 if name.endswith(("_cost", ".kl")) else 0.0
        return bool(abs(ours - theirs) <= TOLERANCE * max(abs(ours), abs(theirs)) + rounding)
    return bool(ours == theirs)
