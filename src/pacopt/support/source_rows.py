"""Which rows of a source the instances of each part of a split are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pacopt.errors import SplitError
from pacopt.support.arrays import frozen
from pacopt.support.rounding import and_more


@dataclass(frozen=True, eq=False, repr=False)
class SourceRows(Mapping[str, np.ndarray]):
    """Source rows by the names of the parts, and hashes of the content that the parts had, whatever their order."""

    numbers: Mapping[str, np.ndarray]
    content: Mapping[str, str]

    def __getitem__(self, part: str) -> np.ndarray:
        return self.numbers[part]

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return repr(dict(self.numbers))


def checked_rows(rows: object, sizes: Mapping[str, int], content: Mapping[str, str]) -> SourceRows:
    """The source rows of each part, as read-only arrays of whole numbers; a draw that is used twice is refused."""
    given = {name: np.asarray(values) for name, values in rows.items()} if isinstance(rows, Mapping) else {}
    shapes = {name: array.shape for name, array in given.items()}
    whole = all(not len(a) or (a.dtype.kind in "iu" and a.min() >= 0) for a in given.values() if a.ndim)
    if shapes != {name: (size,) for name, size in sizes.items()} or not whole:
        wanted = ", ".join(f"{size} ({name})" for name, size in sizes.items())
        found = ", ".join(f"{name}: {array.dtype}{list(array.shape)}" for name, array in given.items())
        low = [f" The smallest is {a.min()}." for a in given.values() if a.dtype.kind == "i" and a.size and a.min() < 0]
        raise SplitError(
            f"rows is {found or rows!r}, and the parts have {wanted} instances.{''.join(low[:1])}",
            "For each part there is one source row for each instance, a whole number, not negative.",
            "They tell separate draws that are equal from one draw used twice.",
            "Make the parts with pacopt.split, which records them, or leave out rows.",
        )
    _refuse_shared(given)
    if isinstance(rows, SourceRows):
        _refuse_exchanged(rows.content, content)
    return SourceRows({name: frozen(given[name], np.int64) for name in sizes}, dict(content))


def _refuse_shared(rows: Mapping[str, np.ndarray]) -> None:
    """Refuse one draw that is used twice, whatever was declared about equal rows."""
    values, counts = np.unique(rows["train"], return_counts=True)
    shared = {"twice in train": values[counts > 1]}
    shared |= {f"in {one} and in {two}": np.intersect1d(rows[one], rows[two]) for one, two in combinations(rows, 2)}
    for where, found in shared.items():
        if len(found):
            raise SplitError(
                f"Source row {found[0]} is {where}{and_more(len(found) - 1)}.",
                "A source row is one draw: it is in one part only, and in train only once.",
                "allow_duplicates=True is about separate draws that are equal. One draw used twice is counted as two, "
                "or chooses the candidates that it certifies: the certificate would be void.",
                "Make the parts with pacopt.split, which gives each row to one part.",
            )


def _refuse_exchanged(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse a part that has taken the content of another one, and kept its own rows."""
    for one in now:
        for other in before:
            if now[one] == before[other] != before[one]:
                raise SplitError(
                    f"The {one} split holds the same rows as the {other} split did, and `rows` says that they are "
                    "others.",
                    "If a part is replaced, its source rows are given too.",
                    "They tell separate draws that are equal from one draw used twice, which voids the certificate.",
                    "Make the parts with pacopt.split from one set of instances.",
                )
