"""The probability of success, by the binomial tail."""

from typing import Any

import numpy as np

from pacopt.auditing.recomputation import least_success
from pacopt.auditing.setting import GENERAL, Setting


def candidates(s: Setting, claim: dict[str, Any]) -> np.ndarray:
    """The p at which so many successes or more have the probability of each candidate's share."""
    return least_success(s.good.sum(axis=1), s.n, claim["share"] * s.epsilon * s.pi)


def deployed(s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
    """The bound, and the frequency."""
    return {"success": candidates(s, claim)[index], "empirical_success": s.good[index].sum() / s.n}


def posterior(s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
    """The mean of the candidates' bounds."""
    return {"success": float(q @ candidates(s, claim))}


def ledger(design: dict[str, Any], claim: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The general lines."""
    return GENERAL


def possible(claim: dict[str, Any]) -> bool:
    """It has no settings."""
    return bool(claim["settings"] == {} and claim["at_least"] is True)
