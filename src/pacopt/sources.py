"""What a design was made from, so that the same instances are not used twice."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from pacopt.errors import DesignError
from pacopt.loss_table import LossTable
from pacopt.support.repeats import sharing_by_chance

#: Bytes of the hash of an instance's name: two of a million are taken for each other once in 10^7.
NAME = 8
#: Bytes of each of the hashes of a column.
LOOK = 6
#: In place of a hash, where a column tells nothing.
BLANK = "-" * 2 * LOOK
#: A column is looked at as ratios, as losses, and in this many parts of its rows, if it has at least twice as many.
PARTS = 4
#: Losses that agree to this part of their size are the same.
GRAIN = 1e-9
#: Beyond this size of a logarithm, in grains, there are only 0 and failures.
BEYOND = 1e13
#: Separate draws share as much as this with a probability that nobody needs to reckon with.
CHANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Sources:
    """Hashes of the instances on which a design was made, where they are known, and of the table's columns.

    A column is known by what its runs came to: ratios to the start, or losses without one, to nine digits. So a table
    is known again in other units, in another order, with verdicts or without, after roundings in the last digits, and
    with some rows missing, if columns agree on a quarter of the rows. Not seen are losses in another precision or after
    another transformation, and columns on which every candidate failed, or came to the same round number, under another
    start.
    """

    instances: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Keep them sorted: the order of instances does not matter."""
        for name in ("instances", "columns"):
            object.__setattr__(self, name, tuple(sorted(getattr(self, name))))

    @staticmethod
    def of(table: LossTable) -> "Sources":
        """The instances of a table, and its columns by their content."""
        return Sources(_instances(table), tuple("".join(looks) for looks in _looks(table).T.tolist()))

    @staticmethod
    def of_instances(fingerprints: np.ndarray) -> "Sources":
        """Instances that are known by their fingerprints."""
        return Sources(tuple(_hash(name, NAME) for name in fingerprints.tolist()))

    def to_dict(self) -> dict[str, Any]:
        """A JSON value."""
        return {"columns": list(self.columns), "instances": list(self.instances)}


def refuse_reuse(sources: Sources | None, table: LossTable, *, separate_draws: bool) -> None:
    """Refuse a training table that shares instances with what the design was made from.

    Instances are compared by their names, where both sides have them, and by the content of their columns. Where equal
    instances are declared to be separate draws, only the very same table is refused, and one that shares more than
    separate draws would.
    """
    if sources is None:
        return
    named = _reused_names(sources, table, separate_draws)
    used = np.flatnonzero(named | reused_columns(sources, table, separate_draws=separate_draws))
    if len(used):
        possible = not separate_draws and not _reused_names(sources, table, True).any()
        possible = possible and not reused_columns(sources, table, separate_draws=True).any()
        raise DesignError(
            f"{len(used)} of the {len(named)} training instances were used to make the design (first: column {used[0]})"
            + ("." if named[used[0]] else ", going by the content of their columns."),
            "Weights, grids and candidates are chosen on other instances than those that certify them.",
            "Chosen on the same ones, what seems best has been lucky, and the certificate is void.",
            "Make the design from a table of the prior split"
            + (
                "; or, if equal columns are separate draws from your distribution, say so: "
                "certify(..., allow_duplicates=True)."
                if possible
                else "."
            ),
        )


def reused_columns(sources: Sources, table: LossTable, *, separate_draws: bool) -> np.ndarray:
    """For each column whether the design was made from one like it.

    Where both sides name their instances, and the names differ, one column in common is a sign only if its losses have
    many digits: solvers that took 12 and 15 iterations do so again. The same goes for columns that agree on a part of
    their rows. Many columns in common are a sign whatever they hold.
    """
    used = np.zeros(table.losses.shape[1], dtype=bool)
    if not sources.columns:
        return used
    named, size = bool(sources.instances) and table.fingerprints is not None, 2 * LOOK
    for look, ours in enumerate(_looks(table)):
        theirs = np.array([column[look * size : (look + 1) * size] for column in sources.columns])
        whole, known = look < 2, ours != BLANK
        common = known & np.isin(ours, theirs)
        if not common.any():
            continue
        same = whole and separate_draws and np.array_equal(np.sort(ours), np.sort(theirs))
        if not same and sharing_by_chance(ours[known], theirs[theirs != BLANK]) > CHANCE:
            if separate_draws:
                continue
            if named or not whole:
                common[common] = _telling(table.losses[:, common])
        used |= common
    return used


def _reused_names(sources: Sources, table: LossTable, separate_draws: bool) -> np.ndarray:
    ours, theirs = np.array(_instances(table), dtype=str), np.array(sources.instances, dtype=str)
    common = np.isin(ours, theirs) if len(ours) else np.zeros(table.losses.shape[1], dtype=bool)
    if separate_draws and not np.array_equal(np.sort(ours), theirs) and sharing_by_chance(ours, theirs) > CHANCE:
        return np.zeros_like(common)
    return common


def _instances(table: LossTable) -> tuple[str, ...]:
    return () if table.fingerprints is None else tuple(_hash(name, NAME) for name in table.fingerprints.tolist())


def _looks(table: LossTable) -> np.ndarray:
    """Hashes of each column, one row for each way to look at it; blank where it tells nothing."""
    losses = np.where(np.isfinite(table.losses), table.losses, np.inf)
    views = [_grains(losses if table.start is None else table.run_ratios()), _grains(losses)]
    start = None if table.start is None else _grains(table.start)
    alike = (views[1] == views[1][:1]).all(axis=0) & _round(losses[0])
    parts = PARTS if len(losses) >= 2 * PARTS else 0
    found = np.full((2 + PARTS, losses.shape[1]), BLANK)
    columns = [np.ascontiguousarray(view.T) for view in views]
    for j in range(losses.shape[1]):
        if alike[j]:
            # Ending at 0 everywhere, say, does not tell the instance. The start may.
            if start is not None or np.isfinite(losses[0, j]):
                beside = b"" if start is None else start[j].tobytes()
                found[:2, j] = _hash(b"alike" + columns[1][j].tobytes() + beside, LOOK)
            continue
        found[:2, j] = [_hash(view[j].tobytes(), LOOK) for view in columns]
        for part in range(parts):
            cells = columns[0][j, part::parts]
            if np.any(cells != cells[0]):
                found[2 + part, j] = _hash(cells.tobytes(), LOOK)
    return found


def _grains(values: np.ndarray) -> np.ndarray:
    """Logarithms as whole numbers of grains: what differs by a rounding is, nearly always, the same."""
    with np.errstate(divide="ignore"):
        grains: np.ndarray = np.clip(np.rint(np.log(values) / GRAIN), -BEYOND, BEYOND)
    return grains.astype(np.int64)


def _telling(losses: np.ndarray) -> np.ndarray:
    """For each column whether it holds at least two different losses that are no round numbers."""
    return np.array([len(np.unique(column[~_round(column)])) > 1 for column in losses.T], dtype=bool)


def _round(values: np.ndarray) -> np.ndarray:
    """Whether a number is given by its first six digits, is 0, or a failure."""
    plain = ~np.isfinite(values) | (values == 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shown = values / 10.0 ** (np.floor(np.log10(values)) - 5)
    near: np.ndarray = plain | (np.abs(shown - np.rint(shown)) < 1e-3)
    return near


def _hash(content: bytes, size: int) -> str:
    return hashlib.blake2b(content, digest_size=size).hexdigest()
