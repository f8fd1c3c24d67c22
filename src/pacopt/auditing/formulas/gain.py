"""The mean score relative to that of a baseline, by betting on both at once."""

import re
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from pacopt.auditing.recomputation import largest_mean
from pacopt.auditing.setting import GENERAL, Setting

FIXED = ("declared", "the baselines were fixed before the training instances were seen")


def key(name: str, baseline: str) -> str:
    """Under which a number over a baseline is stored."""
    return name + "_" + "_".join(part.lower() for part in re.findall(r"\w+", baseline)).strip("_")


def _level(s: Setting, claim: dict[str, Any], index: int) -> float:
    return float(claim["share"] * s.epsilon * s.pi[index] / len(claim["settings"]["over"]))


def _factor(s: Setting, claim: dict[str, Any], index: int, baseline: str) -> float:
    """1 / sup {r : sum_k w_k prod_j (1 - t_k (z_j - r b_j)) < 1 / level}; minus infinity if that is no gain."""
    level, z, b = _level(s, claim, index), s.z[index], s.baseline(baseline)
    if level == 0:
        return -np.inf
    if s.design["score"]["name"] == "digits":
        y = np.minimum(1, (1 + z - b) / 2 + 1e-12)
        wealth = np.log1p(-np.outer(s.t, y)).sum(axis=1)
        more = -s.scale * (2 * largest_mean(wealth, s.t, s.w, s.n, level) - 1)
        return more if more > 0 else -np.inf
    z, b = np.minimum(1, z + 1e-12), np.maximum(0, b - 1e-12)

    def log_e(r: float) -> float:
        return float(logsumexp(np.log1p(-np.outer(s.t, z - r * b)).sum(axis=1), b=s.w))

    sizes = np.abs(np.log1p(-np.outer(s.t, z))).sum(axis=1).max() + np.log1p(s.t.max() * b).sum()
    threshold = -np.log(level) + 1e-12 * (1 + sizes) + 4e-16 * s.n
    if log_e(1.0) < threshold:
        return -np.inf
    return 1 / max(float(brentq(lambda r: log_e(r) - threshold, 0.0, 1.0, xtol=1e-15, rtol=1e-13)), 1e-300)


def candidates(s: Setting, claim: dict[str, Any]) -> np.ndarray:
    """The factor over the first baseline, for every candidate."""
    first = claim["settings"]["over"][0]
    return np.array([_factor(s, claim, index, first) for index in range(len(s.pi))])


def deployed(s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
    """The factors, and what was measured."""
    first, *others = claim["settings"]["over"]
    z, b = s.z[index].mean(), s.baseline(first).mean()
    measured = s.scale * (b - z) if s.design["score"]["name"] == "digits" else b / z if z > 0 else None
    found = {"gain": _factor(s, claim, index, first), "gain_measured": measured}
    found |= {key("gain", other): _factor(s, claim, index, other) for other in others}
    return {name: None if value is None or not np.isfinite(value) else value for name, value in found.items()}


def posterior(s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
    """There is no such form."""
    return {"gain": None}


def ledger(design: dict[str, Any], claim: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The general lines, and that baselines were fixed."""
    return (*GENERAL, FIXED)


def possible(claim: dict[str, Any]) -> bool:
    """It is over at least one baseline."""
    over, described = (claim["settings"].get(name, []) for name in ("over", "described"))
    known = claim["settings"].keys() == {"over", "described"} and len(described) in (0, len(over))
    return bool(known and claim["at_least"] is True and len(over) >= 1)
