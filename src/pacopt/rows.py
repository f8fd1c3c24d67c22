"""Sums over the instances for every candidate, on all cores and in bounded memory."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import log

import numpy as np
from jaxtyping import Float

from pacopt.loss_table import LossTable

#: Cells worked on at a time by one thread.
BLOCK = 2**18


def by_rows(table: LossTable, function: Callable[[slice], np.ndarray]) -> np.ndarray:
    """function(rows) for consecutive slices of rows, concatenated; NumPy lets the threads run side by side."""
    rows, columns = table.shape
    height = max(1, BLOCK // columns)
    slices = [slice(first, min(first + height, rows)) for first in range(0, rows, height)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return np.concatenate(list(pool.map(function, slices)))


def log_wealth(table: LossTable, t: Float[np.ndarray, " grid"]) -> Float[np.ndarray, "hyper grid"]:
    """G(alpha, t) = sum_j log(1 - t z_j): the log-wealth of betting the fraction t against large losses."""
    return by_rows(table, lambda rows: np.stack([log_product(table.safeguarded(rows), float(s)) for s in t], axis=1))


def log_product(z: Float[np.ndarray, "hyper instance"], t: float) -> Float[np.ndarray, " hyper"]:
    """sum_j log(1 - t z_j), with one logarithm for every run of factors whose product cannot underflow."""
    run = int(min(z.shape[1], 64, max(1.0, -600.0 / log(1.0 - t))))
    whole = z.shape[1] - z.shape[1] % run
    factors = 1.0 - t * z
    products = factors[:, :whole].reshape(len(z), -1, run).prod(axis=2)
    total: np.ndarray = np.log(products).sum(axis=1) + np.log(factors[:, whole:]).sum(axis=1)
    return total
