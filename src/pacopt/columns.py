"""Runs that belong together are one column of a table: replicates of an instance, rows of a group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from pacopt.errors import TableError
from pacopt.support.arrays import frozen


@dataclass(frozen=True, eq=False)
class Columns:
    """How runs, which stand side by side, make up columns, and which of them speaks for its column.

    A certificate counts columns: independent draws. What is averaged is averaged over the runs of a column first; what
    can only be counted (successes, quantiles) is counted on one run of each, `lead`, that was drawn beforehand.

    >>> pairs = Columns(sizes=np.array([2, 2]), lead=np.array([0, 2]))
    >>> pairs.averaged(np.array([[0.0, 1.0, 0.5, 0.5]])), pairs.leads(np.array([[0.0, 1.0, 0.5, 0.5]]))
    (array([[0.5, 0.5]]), array([[0. , 0.5]]))
    """

    sizes: Int[np.ndarray, " column"]
    lead: Int[np.ndarray, " column"]

    def __post_init__(self) -> None:
        """Check and freeze."""
        sizes, lead = (np.asarray(array) for array in (self.sizes, self.lead))
        whole = sizes.dtype.kind in "iu" and lead.dtype.kind in "iu" and sizes.ndim == 1 and sizes.shape == lead.shape
        if not whole or not sizes.size or sizes.min() < 1:
            raise TableError(
                f"The columns have sizes {sizes.tolist()} and leads {lead.tolist()}.",
                "Each column has at least one run, and one of them leads.",
                "",
                "Leave columns out if each run is an instance of its own.",
            )
        ends = np.cumsum(sizes)
        if np.any(lead < ends - sizes) or np.any(lead >= ends):
            raise TableError(
                f"The leads {lead.tolist()} are not in their columns.",
                "The run that speaks for a column is one of its runs.",
                "",
                "Number the runs from 0 on, column after column.",
            )
        for name, array in (("sizes", sizes), ("lead", lead)):
            object.__setattr__(self, name, frozen(array, np.int64))

    def __len__(self) -> int:
        return len(self.sizes)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as what it was made of, for worker processes."""
        return Columns, (self.sizes, self.lead)

    @property
    def runs(self) -> int:
        """How many runs there are in all."""
        return int(self.sizes.sum())

    def averaged(self, values: np.ndarray) -> np.ndarray:
        """Means over the runs of each column, along the last axis."""
        firsts = np.cumsum(self.sizes) - self.sizes
        means: np.ndarray = np.add.reduceat(values, firsts, axis=-1) / self.sizes
        return means

    def leads(self, values: np.ndarray) -> np.ndarray:
        """The values of the leading runs, along the last axis."""
        return np.take(values, self.lead, axis=-1)

    def at(self, columns: np.ndarray) -> "tuple[Columns, np.ndarray]":
        """Some of the columns, and the numbers of their runs."""
        firsts = np.cumsum(self.sizes) - self.sizes
        runs = np.concatenate([np.arange(firsts[j], firsts[j] + self.sizes[j]) for j in columns])
        sizes = self.sizes[columns]
        return Columns(sizes, np.cumsum(sizes) - sizes + self.lead[columns] - firsts[columns]), runs


def columns_of(groups: np.ndarray, lots: np.ndarray, replicates: int) -> Columns:
    """The columns of rows in groups (equal numbers side by side), each run so many times in a row.

    The row with the smallest lot leads its group, with its first replicate.
    """
    firsts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    sizes = np.diff(np.append(firsts, len(groups)))
    lead = [first + int(np.argmin(lots[first : first + size])) for first, size in zip(firsts, sizes, strict=True)]
    return Columns(sizes * replicates, np.array(lead) * replicates)


def grouped_columns(groups: object, runs: int, seed: int) -> Columns:
    """Columns from a label for each run, those of a group side by side; leads are drawn by the seed."""
    labels = np.asarray(groups)
    if labels.shape != (runs,):
        raise TableError(
            f"groups has shape {labels.shape}, and there are {runs} columns.",
            "There is one label for each column.",
            "",
            "Pass the labels in the order of the columns.",
        )
    _, codes = np.unique(labels, return_inverse=True)
    if np.count_nonzero(np.diff(codes)) + 1 != len(np.unique(codes)):
        raise TableError(
            "The columns of a group do not stand side by side.",
            "The columns of each group follow each other.",
            "",
            "Sort the columns by their groups.",
        )
    return columns_of(codes, np.random.default_rng(seed).random(runs), 1)


def joined(parts: "Sequence[Columns | None]") -> Columns | None:
    """The columns of runs that follow each other; None if each run is one."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    before = np.cumsum([0, *(part.runs for part in found[:-1])])
    leads = [part.lead + first for part, first in zip(found, before, strict=True)]
    return Columns(np.concatenate([part.sizes for part in found]), np.concatenate(leads))
