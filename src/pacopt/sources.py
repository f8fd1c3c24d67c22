"""What a design was made from, so that the same instances are not used twice."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from pacopt.errors import DesignError
from pacopt.loss_table import LossTable

#: Hexadecimal digits that are kept of a fingerprint: two of a million instances are taken for each other once in 10^7.
DIGITS = 16


@dataclass(frozen=True, slots=True)
class Sources:
    """Fingerprints of the instances on which a design was made, where they are known, and of the table's columns."""

    instances: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Keep them sorted: the order of instances does not matter."""
        for name in ("instances", "columns"):
            object.__setattr__(self, name, tuple(sorted(getattr(self, name))))

    @staticmethod
    def of(table: LossTable) -> "Sources":
        """The instances of a table, and its columns by their content."""
        return Sources(_instances(table), _columns(table))

    @staticmethod
    def of_instances(fingerprints: np.ndarray) -> "Sources":
        """Instances that are known by their fingerprints."""
        return Sources(tuple(name.decode()[:DIGITS] for name in fingerprints.tolist()))

    def to_dict(self) -> dict[str, Any]:
        """A JSON value."""
        return {"columns": list(self.columns), "instances": list(self.instances)}


def refuse_reuse(sources: Sources | None, table: LossTable, *, separate_draws: bool) -> None:
    """Refuse a training table that shares instances with what the design was made from.

    Instances are compared where both sides know them, else the contents of the columns. Where equal instances are
    declared to be separate draws only the very same table is refused.
    """
    if sources is None:
        return
    ours, theirs = _instances(table), sources.instances
    if not (ours and theirs):
        ours, theirs = _columns(table), sources.columns
    common = np.flatnonzero(np.isin(np.array(ours, dtype=str), np.array(theirs, dtype=str)))
    again = len(ours) == len(theirs) and sorted(ours) == list(theirs)
    if again or (len(common) and not separate_draws):
        raise DesignError(
            f"{len(common)} of the {len(ours)} training instances were used to make the design (first: column "
            f"{common[0]}).",
            "Weights, grids and candidates are chosen on other instances than those that certify them.",
            "Chosen on the same ones, what seems best has been lucky, and the certificate is void.",
            "Make the design from a table of the prior split"
            + (
                "."
                if again
                else "; or, if equal columns are separate draws from your distribution, say so: "
                "certify(..., allow_duplicates=True)."
            ),
        )


def _instances(table: LossTable) -> tuple[str, ...]:
    return () if table.fingerprints is None else tuple(name.decode()[:DIGITS] for name in table.fingerprints.tolist())


def _columns(table: LossTable) -> tuple[str, ...]:
    """A hash of each column: start, losses and verdicts."""
    parts = [array for array in (table.losses, table.success) if array is not None]
    parts = [np.ascontiguousarray(array.T) for array in parts]
    if table.start is not None:
        parts.append(table.start[:, None])
    found = []
    for column in range(table.losses.shape[1]):
        content = hashlib.blake2b(digest_size=DIGITS // 2)
        for array in parts:
            content.update(array[column].tobytes())
        found.append(content.hexdigest())
    return tuple(found)
