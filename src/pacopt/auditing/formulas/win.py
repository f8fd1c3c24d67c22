"""The probability of ending below a baseline, by the binomial tail."""

from typing import Any

import numpy as np

from pacopt.auditing.formulas.gain import key, ledger, possible
from pacopt.auditing.recomputation import least_success
from pacopt.auditing.setting import Setting

__all__ = ["candidates", "deployed", "ledger", "possible", "posterior"]


def _below(s: Setting, baseline: str) -> np.ndarray:
    """Where a run ends below that of the baseline; one that failed or ended above its start counts as the start."""
    score, table = s.design["score"], s.table
    top = np.full(table.losses.shape[1], score.get("cap", np.inf)) if table.start is None else table.start
    least = 10.0 ** -score["top"] * top if score["name"] == "digits" else np.zeros_like(top)
    ours, theirs = (
        np.clip(np.where(np.isfinite(losses), losses, np.inf), least, top)
        for losses in (table.losses, table.baselines[baseline])
    )
    return s.leading(ours < theirs)


def _bounds(s: Setting, claim: dict[str, Any], baseline: str) -> np.ndarray:
    levels = claim["share"] * s.epsilon * s.pi / len(claim["settings"]["over"])
    return least_success(_below(s, baseline).sum(axis=1), s.n, levels)


def candidates(s: Setting, claim: dict[str, Any]) -> np.ndarray:
    """The probability for every candidate."""
    return _bounds(s, claim, claim["settings"]["over"][0])


def deployed(s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
    """The probabilities, and what was measured."""
    first, *others = claim["settings"]["over"]
    found = {"win": candidates(s, claim)[index], "win_measured": _below(s, first)[index].mean()}
    return found | {key("win", other): _bounds(s, claim, other)[index] for other in others}


def posterior(s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
    """The mean of the candidates' bounds."""
    return {"win": float(q @ candidates(s, claim))}
