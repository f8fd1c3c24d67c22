"""Every number of a certificate recomputed from the table, by code written from the theorems and sharing nothing.

Only NumPy and SciPy: no function of `bounds`, `measure`, `exponential_family` or `certificate` is used, other
algorithms are (logarithms summed one by one, root finding in place of bisection, the primal of the convex programme
in place of its dual).
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import beta, binom

from pacopt.loss_table import LossTable

#: Stored and recomputed numbers may differ by this much, relative; a change of 1e-6 is seen.
TOLERANCE = 1e-8


class Stored(Protocol):
    """Anything that can be written as a certificate's JSON value."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON value."""
        ...


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A number that does not follow from the table."""

    name: str
    stored: Any
    recomputed: Any

    def __str__(self) -> str:
        return f"{self.name} is stored as {self.stored!r} and recomputed as {self.recomputed!r}"


@dataclass(frozen=True, slots=True)
class Audit:
    """How many numbers were recomputed, and the first that disagreed, if any did."""

    compared: int
    disagreement: Disagreement | None

    @property
    def passed(self) -> bool:
        """Whether everything agreed."""
        return self.disagreement is None


def audit(certificate: Stored | dict[str, Any], table: LossTable) -> Audit:
    """Recompute every number of a certificate from its table."""
    stored = certificate if isinstance(certificate, dict) else certificate.to_dict()
    compared = 0
    for name, ours, expected in _flat(stored, _recomputed(stored, table)):
        theirs = expected() if callable(expected) else expected
        compared += 1
        if not _agree(name, ours, theirs):
            return Audit(compared, Disagreement(name, ours, theirs))
    return Audit(compared, None)


def _recomputed(stored: dict[str, Any], table: LossTable) -> dict[str, Any]:
    """What the stored value should be, given its design, confidence, min_success and provenance.

    What takes long is a function without arguments, called only if all before it agreed.
    """
    design = stored["design"]
    epsilon, shares = 1 - stored["confidence"], design["shares"]
    pi = np.array(design["weights"])
    pi = pi / pi.sum()
    t, w = np.array(design["t_grid"]["points"]), np.array(design["t_grid"]["weights"])
    rows, n = table.shape
    z = _relative(table)
    wealth = np.stack([np.log1p(-s * np.minimum(z, 1)).sum(axis=1) for s in t], axis=1)
    good = _success(table, design["target_ratio"])
    counts = good.sum(axis=1)

    eps_risk, eps_half = shares["risk"] * epsilon, shares["success"] * epsilon / 2
    usable = (counts > 0) & (pi > 0)
    p_lo = np.zeros(rows)
    p_lo[usable] = beta.ppf(eps_half * pi[usable] * (1 - 1e-9), counts[usable], n - counts[usable] + 1)
    eligible, attained = pi > 0, True
    wanted = stored["min_success"]
    if wanted is not None:
        attained = bool(np.any(p_lo[eligible] >= wanted))
        eligible = eligible & (p_lo >= (wanted if attained else p_lo[eligible].max()))
    with np.errstate(divide="ignore"):
        log_pi = np.log(pi)
        kept = np.where(eligible, log_pi, -np.inf)
    index = int(stored["deployed"]["index"]) % rows
    risk = _largest_mean(wealth[index], t, w, n, eps_risk * pi[index]) if eligible[index] else np.inf
    # A candidate does better if its e-value is beyond its threshold already below that risk; equally good ones do not.
    below = min(1.0, risk) * (1 - TOLERANCE)
    log_es = logsumexp(wealth - n * np.log1p(-t * below), axis=1, b=w)
    for rival in np.flatnonzero(
        eligible & (log_es > -np.log(eps_risk) - log_pi + 1e-9 * (1 + np.abs(wealth).max(axis=1)))
    ):
        better = _largest_mean(wealth[rival], t, w, n, eps_risk * pi[rival])
        if better < risk:
            index, risk = int(rival), better
    sums = logsumexp(kept[:, None] + wealth, axis=0)
    values = (1 - np.exp((sums + np.log(eps_risk * w)) / n)) / t
    best = int(np.argmin(values))
    log_q = kept + wealth[:, best] - sums[best]
    q = np.exp(log_q)
    divergence = max(0.0, float(np.sum(q[q > 0] * (log_q[q > 0] - log_pi[q > 0]))))
    means = np.minimum(z, 1).mean(axis=1)
    free = _largest_mean(wealth[index], t, w, n, eps_risk)

    cut = design["truncation"]
    deployed_absolute: float | None = None
    posterior_absolute: Callable[[], float] | None = None
    if cut is not None:
        capped = np.where(np.isnan(table.losses), np.inf, table.losses)
        capped = np.minimum(np.minimum(capped, table.start), cut["level"]) / cut["level"]
        other = np.stack([np.log1p(-s * capped).sum(axis=1) for s in t], axis=1)
        eps_absolute = shares["absolute"] * epsilon
        single = _largest_mean(other[index], t, w, n, eps_absolute * pi[index])
        deployed_absolute = cut["level"] * single + cut["excess"]

        price = divergence - np.log(eps_absolute)
        level, excess = cut["level"], cut["excess"]
        posterior_absolute = lambda: level * _largest_posterior_mean(other, t, w, n, q, price) + excess  # noqa: E731

    return {
        "attained": attained,
        "confidence": stored["confidence"],
        "deployed": {
            "absolute": deployed_absolute,
            "confidence_cost": free - means[index],
            "empirical_risk": means[index],
            "empirical_success": counts[index] / n,
            "hyper": {name: values[index] for name, values in table.candidates.items()},
            "index": index,
            "quantile": _order_statistic(z[index], design["quantile_level"], shares["quantile"] * epsilon * pi[index]),
            "risk": risk,
            "selection_cost": risk - free,
            "success": p_lo[index],
            "weight": pi[index],
        },
        "design": design | {"candidates": {name: list(values) for name, values in table.candidates.items()}},
        "design_hash": _hash(json.dumps(design, sort_keys=True).encode()),
        "hash": _hash(json.dumps({k: v for k, v in stored.items() if k != "hash"}, sort_keys=True).encode()),
        "instances": n,
        "ledger": stored["ledger"],
        "min_success": wanted,
        "posterior": {
            "absolute": posterior_absolute,
            "empirical_risk": float(q @ means),
            "kl": divergence,
            "risk": lambda: _largest_posterior_mean(wealth, t, w, n, q, divergence - np.log(eps_risk)),
            "success": _kl_lower(float(q @ (counts / n)), (divergence + np.log(2 * np.sqrt(n) / eps_half)) / n),
            "t": t[best],
            "t_at_edge": best == 0 or best == len(t) - 1,
            "weights": list(q),
        },
        "provenance": dict(table.provenance),
        "schema": "pacopt.certificate/1",
        "table_hash": _hash(*(_bytes(array) for array in (table.losses, table.start, table.success))),
        "user_success": table.success is not None,
    }


def _relative(table: LossTable) -> np.ndarray:
    with np.errstate(all="ignore"):
        ratio = table.losses / table.start
    ratio = np.where((table.start == 0) & (table.losses == 0), 0.0, ratio)
    return np.where(np.isfinite(table.losses) & ~np.isnan(ratio), ratio, np.inf)


def _success(table: LossTable, target: float) -> np.ndarray:
    if table.success is not None:
        return table.success
    with np.errstate(invalid="ignore"):
        reached: np.ndarray = (table.losses <= target * table.start) & (table.losses < np.inf)
    return reached


def _log_e(wealth: np.ndarray, t: np.ndarray, w: np.ndarray, n: int, m: float) -> float:
    return float(logsumexp(wealth - n * np.log1p(-t * m), b=w))


def _largest_mean(wealth: np.ndarray, t: np.ndarray, w: np.ndarray, n: int, level: float) -> float:
    """sup {m : sum_k w_k exp(G_k) / (1 - t_k m)^n < 1 / level}."""
    threshold = -np.log(level) + 1e-12 * (1 + np.abs(wealth).max()) + 4e-16 * n
    if _log_e(wealth, t, w, n, 1.0) < threshold:
        return 1.0
    return float(brentq(lambda m: _log_e(wealth, t, w, n, m) - threshold, 0.0, 1.0, xtol=1e-15, rtol=1e-14))


def _largest_posterior_mean(
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

    def point(log_nu: float) -> np.ndarray:
        """Where the derivative of log e is 1 / nu, by Newton's method kept inside a bracket."""
        goal, low, high = np.exp(-log_nu), np.zeros(len(q)), np.ones(len(q))
        m = np.full(len(q), 0.5)
        for _ in range(200):
            odds = t / (1 - np.outer(m, t))
            logs = np.log(w) + wealth - n * np.log1p(-np.outer(m, t))
            share = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
            first = n * (share * odds).sum(axis=1)
            second = (share * (n * n + n) * odds**2).sum(axis=1) - first**2
            low, high = np.where(first < goal, m, low), np.where(first < goal, high, m)
            step = m + (goal - first) / np.maximum(second, 1e-300)
            new = np.where((step > low) & (step < high), step, (low + high) / 2)
            if np.max(np.abs(new - m)) < 1e-16:
                break
            m = new
        return m

    log_nu = brentq(lambda s: float(q @ log_e(point(s))) - price, -60.0, 60.0, xtol=1e-12)
    return min(1.0, float(q @ point(log_nu)))


def _order_statistic(ratios: np.ndarray, q: float, level: float) -> float | None:
    n, level = len(ratios), level * (1 - 1e-9)
    enough = np.flatnonzero(binom.sf(np.arange(n), n, q) <= level)
    value = np.sort(ratios)[enough[0]] if len(enough) else np.inf
    return float(value) if np.isfinite(value) else None


def _kl_lower(q: float, price: float) -> float:
    price = price * (1 + 1e-9) + 1e-14
    q = min(q, 1.0)
    if q < 1e-300:
        return 0.0

    def excess(p: float) -> float:
        tail = 0.0 if q == 1 else (1 - q) * (np.log1p(-q) - np.log1p(-p))
        return float(q * (np.log(q) - np.log(p)) + tail - price)

    return float(brentq(excess, 1e-300, q, xtol=1e-300, rtol=1e-14))


def _bytes(array: np.ndarray | None) -> bytes:
    return b"none" if array is None else np.ascontiguousarray(array).tobytes()


def _hash(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _flat(ours: Any, theirs: Any, name: str = "certificate") -> list[tuple[str, Any, Any]]:
    """Pairs of leaves by their path; a missing one is paired with None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted(ours.keys() | theirs.keys())
        return [leaf for key in keys for leaf in _flat(ours.get(key), theirs.get(key), f"{name}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [leaf for i, pair in enumerate(zip(ours, theirs, strict=True)) for leaf in _flat(*pair, f"{name}[{i}]")]
    return [(name, ours, theirs)]


def _agree(name: str, ours: Any, theirs: Any) -> bool:
    numbers = (int, float, np.number)
    if isinstance(ours, numbers) and isinstance(theirs, numbers) and not isinstance(ours, bool):
        ours, theirs = float(ours), float(theirs)
        # A difference of two numbers carries their rounding, however small it is itself.
        rounding = 1e-13 if name.endswith(("_cost", ".kl")) else 0.0
        return bool(abs(ours - theirs) <= TOLERANCE * max(abs(ours), abs(theirs)) + rounding)
    return bool(ours == theirs)
