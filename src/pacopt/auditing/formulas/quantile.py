"""A quantile of how runs end, by order statistics."""

from typing import Any

import numpy as np

from pacopt.auditing.recomputation import order_statistic
from pacopt.auditing.setting import GENERAL, Setting


def _one(s: Setting, claim: dict[str, Any], index: int) -> float | None:
    return order_statistic(s.outcomes[index], claim["settings"]["level"], claim["share"] * s.epsilon * s.pi[index])


def candidates(s: Setting, claim: dict[str, Any]) -> np.ndarray:
    """The order statistic of every candidate; infinite where there is none."""
    found = [_one(s, claim, index) for index in range(len(s.pi))]
    return np.array([np.inf if value is None else value for value in found])


def deployed(s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
    """The order statistic."""
    return {"quantile": _one(s, claim, index)}


def posterior(s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
    """It has no such form."""
    return {"quantile": None}


def ledger(design: dict[str, Any], claim: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The general lines."""
    return GENERAL


def possible(claim: dict[str, Any]) -> bool:
    """Its level lies between 0 and 1."""
    return bool(set(claim["settings"]) == {"level"} and 0 < claim["settings"]["level"] < 1 and not claim["at_least"])
