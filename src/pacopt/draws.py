"""Random numbers that belong to an instance: the seeds of its runs, and the lot that decides who leads its group.

A seed is a hash of the root seed, the part of the split, the content of the instance and how many equal ones came
before it in that part. It does not depend on where the instance stands, so that reordering instances, resuming, racing
and running cells again change no number. Seeds modelled as independent draws make the pairs (instance, seed)
independent, and statements are about a new instance with a fresh seed. Candidates share seeds, which sharpens
comparisons and costs nothing.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from pacopt.support.arrays import frozen


@dataclass(frozen=True, eq=False)
class Draws:
    """For each row of some instances the seeds of its replicates, and its lot."""

    seeds: np.ndarray  # uint64 [row, replicate]
    lots: np.ndarray  # uint64 [row]

    def __post_init__(self) -> None:
        """Freeze."""
        for name in ("seeds", "lots"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.uint64))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as what it was made of, for worker processes."""
        return Draws, (self.seeds, self.lots)

    def at(self, rows: Any) -> "Draws":
        """Those of some rows."""
        return Draws(self.seeds[rows], self.lots[rows])


def drawn(fingerprints: np.ndarray, *, root: int, part: str, replicates: int = 1) -> Draws:
    """The draws of all instances of one part of a split, which go by their fingerprints.

    >>> marks = np.array([b"a", b"b", b"a"])
    >>> there, back = (drawn(order, root=0, part="train").seeds[:, 0] for order in (marks, marks[::-1]))
    >>> bool(there[1] == back[1]), set(there.tolist()) == set(back.tolist()), len(set(there.tolist()))
    (True, True, 3)
    """
    seen: dict[bytes, int] = {}
    seeds, lots = np.empty((len(fingerprints), replicates), dtype=np.uint64), np.empty(len(fingerprints), np.uint64)
    for row, mark in enumerate(fingerprints.tolist()):
        occurrence = seen.get(mark, 0)
        seen[mark] = occurrence + 1
        lots[row] = seed_of(root, part, mark, occurrence, "lot")
        for replicate in range(replicates):
            seeds[row, replicate] = seed_of(root, part, mark, occurrence, f"{replicate}")
    return Draws(seeds, lots)


def seed_of(root: int, part: str, fingerprint: bytes, occurrence: int, purpose: str = "0") -> int:
    """One seed: 64 bits."""
    content = f"{root}\0{part}\0{fingerprint.decode()}\0{occurrence}\0{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
