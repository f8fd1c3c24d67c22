"""The formula of each claim, written once more: one claim, one file. A claim of the user's own may bring its own."""

import sys
from typing import Any, Protocol

import numpy as np

from pacopt.auditing.comparing import ContradictionError
from pacopt.auditing.formulas import absolute, budget, gain, quantile, risk, success, win
from pacopt.auditing.setting import Setting


class Formula(Protocol):
    """What a file of this folder has; `claim` is the stored claim, `q` are the weights of the posterior."""

    def candidates(self, s: Setting, claim: dict[str, Any]) -> np.ndarray:
        """The number of every candidate."""
        ...

    def deployed(self, s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
        """What stands under `deployed`: the number, and those that explain it."""
        ...

    def posterior(self, s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
        """What stands under `posterior`; what takes long is a function without arguments."""
        ...

    def ledger(self, design: dict[str, Any], claim: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        """What it rests on, as pairs of status and text."""
        ...

    def possible(self, claim: dict[str, Any]) -> bool:
        """Whether its settings make sense."""
        ...


#: The name of each claim, its class as it is stored, and its formula.
TABLE: tuple[tuple[str, str, Any], ...] = (
    ("risk", "pacopt.claims.risk:Risk", risk),
    ("success", "pacopt.claims.success:Success", success),
    ("quantile", "pacopt.claims.quantile:Quantile", quantile),
    ("absolute", "pacopt.claims.absolute:Absolute", absolute),
    ("gain", "pacopt.claims.gain:Gain", gain),
    ("win", "pacopt.claims.win:Win", win),
    ("budget", "pacopt.claims.budget:Budget", budget),
)
FORMULAS: dict[str, Any] = {kind: formula for _, kind, formula in TABLE}
NAMES: dict[str, str] = {kind: name for name, kind, _ in TABLE}


class Supplied:
    """A formula that a claim of the user's own brings along: its class has `recompute`.

    claim.recompute(table, weights, level, posterior) -> (numbers of all candidates, number of the posterior or None)
    """

    def __init__(self, claim: Any) -> None:
        self.recompute = claim.recompute

    def candidates(self, s: Setting, claim: dict[str, Any]) -> np.ndarray:
        """The numbers of all candidates; one that is none is the worst there is."""
        values = self._found(s, claim, s.pi)[0]
        return np.where(np.isnan(values), -np.inf if claim["at_least"] else np.inf, values)

    def deployed(self, s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
        """The number of one candidate."""
        value = float(self.candidates(s, claim)[index])
        return {claim["name"]: value if np.isfinite(value) else None}

    def posterior(self, s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
        """The number of the posterior."""
        return {claim["name"]: self._found(s, claim, q)[1]}

    def _found(self, s: Setting, claim: dict[str, Any], q: np.ndarray) -> tuple[np.ndarray, float | None]:
        """What the user's formula gives, if that is one number for each candidate and one or None for the posterior."""
        try:
            numbers, drawn = self.recompute(s.table, s.pi, claim["share"] * s.epsilon, q)
            values, drawn = np.asarray(numbers, dtype=float), None if drawn is None else float(drawn)
            if values.shape != s.pi.shape:
                raise ValueError(f"numbers of shape {values.shape} for {len(s.pi)} candidates")
        except Exception as error:  # whatever goes wrong in code of the user's
            problem = f"the formula of the claim {claim['name']!r} failed: {type(error).__name__}: {error}"
            raise ContradictionError(f"certificate.deployed.{claim['name']}", None, None, problem) from error
        return values, drawn if drawn is None or np.isfinite(drawn) else None


def formula_of(claim: dict[str, Any]) -> Any:
    """The formula of a stored claim, or None: that of pacopt, or what an imported class of the user's own supplies."""
    if claim["class"] in FORMULAS:
        return FORMULAS[claim["class"]]
    module, _, name = claim["class"].partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(getattr(found, "recompute", None)):
        return None
    try:
        return Supplied(found.from_settings(claim["share"], claim["settings"]))
    except Exception:  # a class that has other settings by now is not the one that made the claim
        return None
