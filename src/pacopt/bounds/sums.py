"""Sums over the instances for every candidate, on all cores and in bounded memory."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float

from pacopt.loss_table import LossTable
from pacopt.scores import AbstractScore, Ratio
from pacopt.support.arrays import frozen
from pacopt.support.machine import cores

#: Cells worked on at a time by one thread.
BLOCK = 2**16

_REMEMBERED: "WeakKeyDictionary[LossTable, dict[tuple[bytes, str], np.ndarray]]" = WeakKeyDictionary()


def by_rows(table: LossTable, function: Callable[[slice], np.ndarray]) -> np.ndarray:
    """function(rows) for consecutive slices of rows, concatenated; NumPy lets the threads run side by side."""
    rows, columns = table.losses.shape
    height = max(1, BLOCK // columns)
    slices = [slice(first, min(first + height, rows)) for first in range(0, rows, height)]
    if len(slices) == 1:
        return function(slices[0])
    with ThreadPoolExecutor(cores()) as pool:
        return np.concatenate(list(pool.map(function, slices)))


def log_wealth(
    table: LossTable, t: Float[np.ndarray, " grid"], score: AbstractScore | None = None
) -> Float[np.ndarray, "hyper grid"]:
    """G(alpha, t) = sum_j log(1 - t z_j): the log-wealth of betting the fraction t against large scores.

    It is remembered as long as the table is there: everything that a certificate says of a mean rests on it.
    """
    score = Ratio() if score is None else score
    key = (t.tobytes(), repr(score))
    remembered = _REMEMBERED.setdefault(table, {})
    if key not in remembered:
        remembered[key] = frozen(by_rows(table, lambda rows: log_products(score.of(table, rows), t)))
    return remembered[key]


def log_products(
    z: Float[np.ndarray, "hyper instance"], t: Float[np.ndarray, " grid"]
) -> Float[np.ndarray, "hyper grid"]:
    """sum_j log(1 - t z_j) for values in [0, 1], with one logarithm for each product that cannot underflow."""
    rows, columns = z.shape
    factors, total = np.empty((rows, columns)), np.empty((rows, len(t)))
    for k, fraction in enumerate(t):
        # The buffer is reused: a new array for each t would cost ten times as much as the arithmetic.
        np.multiply(z, -fraction, out=factors)
        np.add(factors, 1.0, out=factors)
        run = int(min(columns, 64, max(1.0, -600.0 / np.log1p(-fraction))))
        whole = columns - columns % run
        products = factors[:, :whole].reshape(rows, run, -1).prod(axis=1)
        total[:, k] = np.log(products).sum(axis=1) + np.log(factors[:, whole:]).sum(axis=1)
    return total
