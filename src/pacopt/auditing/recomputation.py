"""The numbers of a certificate written from the theorems once more, for the audit, with other algorithms.

Only NumPy and SciPy: nothing of `bounds`, `measure`, `exponential_family` or `certificate` is used. Logarithms are
summed one by one, roots are found by Brent's method, the convex programme is solved in its primal.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtrc, logsumexp

from pacopt.loss_table import LossTable


def relative(table: LossTable) -> np.ndarray:
    """l / l0, infinite for a run that failed."""
    with np.errstate(all="ignore"):
        ratio: np.ndarray = table.losses / table.starts
    ratio[(table.starts == 0) & (table.losses == 0)] = 0.0
    ratio[~np.isfinite(table.losses) | np.isnan(ratio)] = np.inf
    return ratio


def log_relative(table: LossTable) -> np.ndarray:
    """log(l / l0), by logarithms to base 2 of both; infinite for a run that failed."""
    with np.errstate(all="ignore"):
        logs: np.ndarray = (np.log2(table.losses) - np.log2(table.starts)) * np.log(2)
    logs[~np.isfinite(table.losses)] = np.inf
    logs[table.losses == 0] = -np.inf
    return logs


def success(table: LossTable, target: float) -> np.ndarray:
    """Where a run succeeded, by the user's verdict if there is one."""
    if table.success is not None:
        return table.success
    with np.errstate(invalid="ignore"):
        reached: np.ndarray = (table.losses <= target * table.starts) & (table.losses < np.inf)
    return reached


def log_e(wealth: np.ndarray, t: np.ndarray, w: np.ndarray, n: int, m: float) -> float:
    """log sum_k w_k exp(G_k) / (1 - t_k m)^n."""
    return float(logsumexp(wealth - n * np.log1p(-t * m), b=w))


def largest_mean(wealth: np.ndarray, t: np.ndarray, w: np.ndarray, n: int, level: float) -> float:
    """sup {m : sum_k w_k exp(G_k) / (1 - t_k m)^n < 1 / level}."""
    threshold = -np.log(level) + 1e-12 * (1 + np.abs(wealth).max()) + 4e-16 * n
    if log_e(wealth, t, w, n, 1.0) < threshold:
        return 1.0
    return float(brentq(lambda m: log_e(wealth, t, w, n, m) - threshold, 0.0, 1.0, xtol=1e-15, rtol=1e-14))


def largest_posterior_mean(
    wealth: np.ndarray, t: np.ndarray, w: np.ndarray, n: int, q: np.ndarray, price: float
) -> float:
    """max sum q m over m in [0, 1]^M with sum q log e(m) <= price: the primal, along its multipliers."""
    held = q > 0
    q, wealth = q[held], wealth[held]
    price = price + 1e-12 * (1 + float(q @ np.abs(wealth).max(axis=1))) + 4e-16 * n

    def log_e(m: np.ndarray) -> np.ndarray:
        return np.asarray(logsumexp(wealth - n * np.log1p(-np.outer(m, t)), axis=1, b=w))

    if q @ log_e(np.ones(len(q))) <= price:
        return 1.0

    weighted = np.log(w) + wealth

    def slopes(m: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second derivative of log e at m, for some rows."""
        with np.errstate(all="ignore"):
            odds = t / (1 - np.outer(m, t))
            logs = weighted[rows] - n * np.log1p(-np.outer(m, t))
            share = np.exp(logs - logs.max(axis=1, keepdims=True))
            share *= odds / share.sum(axis=1, keepdims=True)
            first = n * share.sum(axis=1)
            return first, (n * n + n) * (share * odds).sum(axis=1) - first**2

    everybody = np.arange(len(q))
    least, most = (slopes(np.full(len(q), end), everybody)[0] for end in (0.0, 1.0))

    def point(log_nu: float) -> np.ndarray:
        """Where the derivative of log e is 1 / nu, by Newton's method kept inside a bracket; at an end if beyond."""
        goal, low, high = np.exp(-log_nu), np.zeros(len(q)), np.ones(len(q))
        m = np.where(most <= goal, 1.0, np.where(least >= goal, 0.0, 0.5))
        rows = np.flatnonzero(m == 0.5)  # those that still move
        for _ in range(200):
            at = m[rows]
            first, second = slopes(at, rows)
            low[rows], high[rows] = np.where(first < goal, at, low[rows]), np.where(first < goal, high[rows], at)
            step = at + (goal - first) / np.maximum(second, 1e-300)
            new = np.where((step > low[rows]) & (step < high[rows]), step, (low[rows] + high[rows]) / 2)
            m[rows] = new
            # The value is flat in m, so that the rounding of its derivative does no harm.
            rows = rows[np.abs(new - at) >= 1e-14]
            if not len(rows):
                break
        return m

    log_nu = brentq(lambda s: float(q @ log_e(point(s))) - price, -60.0, 60.0, xtol=1e-12)
    return min(1.0, float(q @ point(log_nu)))


def least_success(counts: np.ndarray, n: int, levels: np.ndarray) -> np.ndarray:
    """The p at which so many successes or more of n have probability `levels`; 0 without a success."""
    low, high = np.zeros(len(counts)), np.ones(len(counts))
    for _ in range(100):
        middle = (low + high) / 2
        below = bdtrc(np.maximum(counts - 1, 0), n, middle) < levels * (1 - 1e-9)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(counts > 0, low, 0.0)


def order_statistic(ratios: np.ndarray, q: float, level: float) -> float | None:
    """The smallest order statistic that bounds the q-quantile, if there is a finite one."""
    n, level = len(ratios), level * (1 - 1e-9)
    enough = np.flatnonzero(bdtrc(np.arange(n), n, q) <= level)
    value = np.sort(ratios)[enough[0]] if len(enough) else np.inf
    return float(value) if np.isfinite(value) else None


def kl_lower(q: float, price: float) -> float:
    """The smallest p with kl(q, p) <= price."""
    price = price * (1 + 1e-9) + 1e-14
    q = min(q, 1.0)
    if q < 1e-300:
        return 0.0

    def excess(p: float) -> float:
        tail = 0.0 if q == 1 else (1 - q) * (np.log1p(-q) - np.log1p(-p))
        return float(q * (np.log(q) - np.log(p)) + tail - price)

    return float(brentq(excess, 1e-300, q, xtol=1e-300, rtol=1e-14))
