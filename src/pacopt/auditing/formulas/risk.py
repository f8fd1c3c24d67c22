"""The mean score, by betting."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from pacopt.auditing.comparing import TOLERANCE
from pacopt.auditing.recomputation import largest_mean, largest_posterior_mean
from pacopt.auditing.setting import GENERAL, Setting


def _level(s: Setting, claim: dict[str, Any]) -> float:
    return float(claim["share"] * s.epsilon)


def _one(s: Setting, claim: dict[str, Any], index: int) -> float:
    if s.pi[index] == 0:
        return 1.0
    return min(1.0, largest_mean(s.wealth[index], s.t, s.w, s.n, _level(s, claim) * s.pi[index]) + s.rounding)


def candidates(s: Setting, claim: dict[str, Any]) -> np.ndarray:
    """The largest mean that is not excluded, for every candidate."""
    return s.scale * np.array([_one(s, claim, index) for index in range(len(s.pi))])


def best(s: Setting, claim: dict[str, Any], eligible: np.ndarray, index: int) -> int:
    """The candidate with the smallest bound; the given one if no other is better by more than rounding."""
    risk = _one(s, claim, index) if eligible[index] else np.inf
    # A candidate does better if its e-value is beyond its threshold already below that risk; equally good ones do not.
    below = min(1.0, risk) * (1 - TOLERANCE)
    log_es = logsumexp(s.wealth - s.n * np.log1p(-s.t * below), axis=1, b=s.w)
    with np.errstate(divide="ignore"):
        thresholds = -np.log(_level(s, claim)) - np.log(s.pi) + 1e-9 * (1 + np.abs(s.wealth).max(axis=1))
    for rival in np.flatnonzero(eligible & (log_es > thresholds)).tolist():
        better = _one(s, claim, rival)
        if better < risk:
            index, risk = rival, better
    return index


def learned(s: Setting, claim: dict[str, Any], eligible: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """The Gibbs posterior of the best t, its logarithms, and what explains it."""
    with np.errstate(divide="ignore"):
        kept = np.where(eligible, np.log(s.pi), -np.inf)
    sums = logsumexp(kept[:, None] + s.wealth, axis=0)
    values = (1 - np.exp((sums + np.log(_level(s, claim) * s.w)) / s.n)) / s.t
    k = int(np.argmin(values))
    log_q = kept + s.wealth[:, k] - sums[k]
    q = np.exp(log_q)
    means = s.scale * s.z.mean(axis=1)
    details = {"empirical_risk": float(q @ means), "t": s.t[k], "t_at_edge": k in (0, len(s.t) - 1)}
    return q, log_q, details


def deployed(s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
    """The bound, and its three parts."""
    value, mean = s.scale * _one(s, claim, index), s.scale * s.z[index].mean()
    free = s.scale * largest_mean(s.wealth[index], s.t, s.w, s.n, _level(s, claim))
    return {
        "risk": value,
        "empirical_risk": mean,
        "confidence_cost": free - mean,
        "selection_cost": value - free,
    }


def posterior(s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
    """The convex programme, in its primal."""
    return {"risk": partial(_drawn, s, q, divergence - np.log(_level(s, claim)))}


def _drawn(s: Setting, q: np.ndarray, price: float) -> float:
    return s.scale * min(1.0, largest_posterior_mean(s.wealth, s.t, s.w, s.n, q, price) + s.rounding)


def ledger(design: dict[str, Any], claim: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The general lines, and why the score lies in [0, 1]."""
    score = design["score"]
    if score["name"] == "ratio":
        return (*GENERAL, ("proved", "0 <= min(l / l0, 1) <= 1 for every run, whatever happens in it"))
    if score["name"] == "rate":
        return (*GENERAL, ("proved", "0 <= min(l / l0, 1)^(1/K) <= 1 for every run, whatever happens in it"))
    if score["name"] == "effort":
        cap, most = float(score["cap"]), float(score["cap"] * score["penalty"])
        text = f"a run that does not meet its target within {_short(cap)} {score['unit']} counts as {_short(most)}"
        return (*GENERAL, ("proved", text))
    top = repr(float(score["top"]))
    if score["name"] == "digits":
        text = f"0 <= digits gained <= {top} for every run, whatever happens in it: others are counted as these"
        return (*GENERAL, ("proved", text))
    text = f"losses are not negative, and a loss above {top} or a run that failed counts as {top}"
    return (*GENERAL, ("proved", text))


def possible(claim: dict[str, Any]) -> bool:
    """It has no settings."""
    return bool(claim["settings"] == {} and claim["at_least"] is False)


def _short(number: float) -> str:
    """All digits of a number; a whole one has no others."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e16 else repr(number)
