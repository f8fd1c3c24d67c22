"""Steps within which a part of the instances reaches a target, by binomial tails of every number of late runs."""

from typing import Any

import numpy as np
from scipy.special import bdtrc

from pacopt.auditing.recomputation import least_success
from pacopt.auditing.setting import GENERAL, Setting


def _times(s: Setting, target: float | str) -> np.ndarray:
    return s.outcomes if isinstance(target, str) else s.leading(s.table.times[target])


def _harder(claim: dict[str, Any], target: float | str) -> list[tuple[float | str, float]]:
    """The targets that nobody meets without this one, with their weights."""
    settings = claim["settings"]
    pairs = zip(settings["targets"], settings["weights"], strict=True)
    return [(each, weight) for each, weight in pairs if isinstance(each, str) or each <= target]


def _steps(s: Setting, claim: dict[str, Any], index: int, target: float | str) -> float | None:
    """The earliest time after which so few runs are late that the part is shown."""
    late, found = np.arange(s.n), np.inf
    chance = bdtrc(s.n - late - 1, s.n, claim["settings"]["part"])  # of n - late or more in time
    for each, weight in _harder(claim, target):
        level = claim["share"] * s.epsilon * s.pi[index] * weight * (1 - 1e-9)
        enough = np.flatnonzero((chance <= level / (late + 1) / (late + 2)) & (level > 1e-290))
        if len(enough):
            times = _times(s, each)[index]
            reached = [m for m in np.unique(times[np.isfinite(times)]) if (times > m).sum() <= enough[-1]]
            found = min([found, *reached])
    return float(found) if np.isfinite(found) else None


def _reach(s: Setting, claim: dict[str, Any], index: int, target: float | str) -> float:
    """The part that meets a target at all."""
    best = 0.0
    for each, weight in _harder(claim, target):
        late = int(np.isinf(_times(s, each)[index]).sum())
        level = claim["share"] * s.epsilon * s.pi[index] * weight / (late + 1) / (late + 2)
        best = max(best, float(least_success(np.array([s.n - late]), s.n, np.array([level]))[0]) if level > 0 else 0.0)
    return best


def _key(target: float | str) -> str:
    return "it" if isinstance(target, str) else "".join({".": "_", "-": "m"}.get(c, c) for c in repr(target))


def candidates(s: Setting, claim: dict[str, Any]) -> np.ndarray:
    """The steps of every candidate; infinite where there are none."""
    found = [_steps(s, claim, index, claim["settings"]["targets"][-1]) for index in range(len(s.pi))]
    return np.array([np.inf if value is None else value for value in found])


def deployed(s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
    """The steps for each target, and the parts that reach it."""
    targets = claim["settings"]["targets"]
    steps = {f"budget_steps_{_key(each)}": _steps(s, claim, index, each) for each in targets}
    reach = {f"budget_reach_{_key(each)}": _reach(s, claim, index, each) for each in targets}
    return {"budget": steps[f"budget_steps_{_key(targets[-1])}"]} | steps | reach


def posterior(s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
    """It has no such form."""
    return {"budget": None}


def ledger(design: dict[str, Any], claim: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The general lines."""
    return GENERAL


def possible(claim: dict[str, Any]) -> bool:
    """Targets in order, weights that sum to at most one, a part between 0 and 1."""
    settings = claim["settings"]
    if set(settings) != {"part", "targets", "weights"} or claim["at_least"]:
        return False
    targets, weights = settings["targets"], settings["weights"]
    if any(isinstance(each, str) for each in targets):
        known = len(targets) == 1
    else:
        known = all(0 < each < 1 for each in targets) and targets == sorted(set(targets), reverse=True)
    return bool(known and min(weights) > 0 and sum(weights) <= 1 + 1e-9 and 0 < settings["part"] < 1)
