"""Twenty random tables of all kinds, each with the design under which it is certified."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, logsumexp

from pacopt import Design, DiscreteMeasure, Grid, LossTable, Shares, Truncation


@dataclass(frozen=True)
class Case:
    table: LossTable
    design: Design
    confidence: float
    min_success: float | None


def digest(array: Any) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array, dtype=np.float64).tobytes(), digest_size=16).hexdigest()


def canary() -> str:
    """Equal where elementary functions round alike: elsewhere bits of a certificate may differ, its numbers not."""
    x = np.random.default_rng(0).uniform(0.01, 0.99, (8, 1000))
    parts = [np.log(x), np.exp(x), np.log1p(-x), np.expm1(x), logsumexp(x, axis=1), betaincinv(3.0, 5.0, x), x.sum(1)]
    return digest(np.concatenate([np.ravel(part) for part in parts]))


def random_tables() -> dict[str, Case]:
    """By their numbers; the odd ones ask for a success probability, and every third has something special."""
    return {str(number): _case(number) for number in range(20)}


def _case(number: int) -> Case:
    rng = np.random.default_rng(1000 + number)
    rows, columns = int(rng.integers(1, 40)), int(rng.integers(20, 600))
    start = rng.lognormal(0.0, 1.0, columns)
    losses = start * rng.lognormal(rng.normal(-2.0, 1.5, (rows, 1)), 1.0, (rows, columns))
    losses[rng.random(losses.shape) < 0.01] = np.nan
    losses[rng.random(losses.shape) < 0.01] = np.inf
    special = number % 6
    success = missing = None
    if special == 1:
        success = rng.random(losses.shape) < 0.9
    if special == 2:
        missing = np.zeros(losses.shape, dtype=bool)
        missing[rng.random(rows) < 0.4, columns // 3 :] = True
    if special == 3:
        start[:3], losses[:, 0] = 0.0, 0.0
    table = LossTable(
        losses=losses,
        start=start,
        candidates={"step": rng.uniform(0, 1, rows), "other": rng.uniform(0, 1, rows)},
        success=success,
        missing=missing,
    )
    weights = rng.dirichlet(np.ones(rows))
    if special == 4 and rows > 1:
        weights[0] = 0.0
    points = np.sort(rng.uniform(0.01, 0.99, 9))
    options: dict[str, Any] = {"target_ratio": float(rng.uniform(0.1, 1.0)) if special != 5 else 1.0}
    options["quantile_level"] = float(rng.choice([0.5, 0.9, 0.95]))
    if special in (0, 5):
        options["shares"] = Shares(0.4, 0.2, 0.2, 0.2)
        options["truncation"] = Truncation.from_second_moment(3.0, 10.0)
    design = Design(
        DiscreteMeasure.of(table.candidates, weights / weights.sum()),
        t_grid=Grid(points, rng.dirichlet(np.full(9, 5.0))),
        **options,
    )
    return Case(table, design, float(rng.choice([0.9, 0.99])), float(rng.choice([0.5, 0.9])) if number % 2 else None)
