"""The mean loss itself, by betting on truncated losses."""

from functools import partial
from typing import Any

import numpy as np

from pacopt.auditing.recomputation import largest_mean, largest_posterior_mean
from pacopt.auditing.setting import GENERAL, Setting


def _wealth(s: Setting, claim: dict[str, Any]) -> np.ndarray:
    level = claim["settings"]["truncation"]["level"]
    capped = np.where(np.isnan(s.table.losses), np.inf, s.table.losses)
    capped = np.minimum(np.minimum(capped, s.table.starts), level) / level
    capped = s.averaged(capped)
    return np.stack([np.log1p(-fraction * capped).sum(axis=1) for fraction in s.t], axis=1)


def _said(claim: dict[str, Any], part: float) -> float:
    """What a bound on the truncated part says of the loss."""
    cut = claim["settings"]["truncation"]
    return float(cut["level"] * part + cut["excess"])


def _one(s: Setting, claim: dict[str, Any], wealth: np.ndarray, index: int) -> float:
    if s.pi[index] == 0:
        return _said(claim, 1.0)
    return _said(claim, largest_mean(wealth[index], s.t, s.w, s.n, claim["share"] * s.epsilon * s.pi[index]))


def candidates(s: Setting, claim: dict[str, Any]) -> np.ndarray:
    """The bound of every candidate."""
    wealth = _wealth(s, claim)
    return np.array([_one(s, claim, wealth, index) for index in range(len(s.pi))])


def deployed(s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
    """The bound."""
    return {"absolute": _one(s, claim, _wealth(s, claim), index)}


def posterior(s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
    """The convex programme on truncated losses."""
    return {"absolute": partial(_drawn, s, claim, q, divergence - np.log(claim["share"] * s.epsilon))}


def _drawn(s: Setting, claim: dict[str, Any], q: np.ndarray, price: float) -> float:
    return _said(claim, largest_posterior_mean(_wealth(s, claim), s.t, s.w, s.n, q, price))


def ledger(design: dict[str, Any], claim: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The general lines, and the declaration."""
    cut = claim["settings"]["truncation"]
    if cut["second_moment"] is not None:
        return (*GENERAL, ("declared", f"E l0^2 <= {cut['second_moment']!r}"))
    return (*GENERAL, ("declared", f"E (l0 - {cut['level']!r})_+ <= {cut['excess']!r}, since {cut['reason']}"))


def possible(claim: dict[str, Any]) -> bool:
    """What is cut off follows from what is declared."""
    cut = claim["settings"]["truncation"]
    moment = cut["second_moment"]
    follows = cut["excess"] >= 0 and cut["reason"] if moment is None else cut["excess"] == moment / (4 * cut["level"])
    return bool(set(claim["settings"]) == {"truncation"} and cut["level"] > 0 and follows and not claim["at_least"])
