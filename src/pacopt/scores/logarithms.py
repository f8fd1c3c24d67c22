"""Ratios as logarithms, which neither overflow nor underflow."""

import numpy as np
from jaxtyping import Float

from pacopt.loss_table import LossTable


def log_ratios(table: LossTable, rows: slice) -> Float[np.ndarray, "hyper run"]:
    """log l - log l0 of every run; infinite if it failed, and for a start of 0 unless the loss stayed there."""
    losses, starts = table.losses[rows], table.starts
    with np.errstate(divide="ignore", invalid="ignore"):
        found: np.ndarray = np.log(losses) - np.log(starts)
    found = np.where(np.isfinite(losses), found, np.inf)
    found[losses == 0] = -np.inf
    return found
