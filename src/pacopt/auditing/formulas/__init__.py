"""The formula of each claim, written once more: one claim, one file. A claim of the user's own may bring its own."""

import sys
from typing import Any, Protocol

import numpy as np

from pacopt.auditing.formulas import absolute, quantile, risk, success
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


#: The class of each claim as it is stored, and its formula.
FORMULAS: dict[str, Any] = {
    "pacopt.claims.risk:Risk": risk,
    "pacopt.claims.success:Success": success,
    "pacopt.claims.quantile:Quantile": quantile,
    "pacopt.claims.absolute:Absolute": absolute,
}


class Supplied:
    """A formula that a claim of the user's own brings along: its class has `recompute`.

    claim.recompute(table, weights, level, posterior) -> (numbers of all candidates, number of the posterior or None)
    """

    def __init__(self, claim: Any) -> None:
        self.recompute = claim.recompute

    def candidates(self, s: Setting, claim: dict[str, Any]) -> np.ndarray:
        """The numbers of all candidates."""
        return np.asarray(self.recompute(s.table, s.pi, claim["share"] * s.epsilon, s.pi)[0], dtype=float)

    def deployed(self, s: Setting, claim: dict[str, Any], index: int) -> dict[str, Any]:
        """The number of one candidate."""
        value = float(self.candidates(s, claim)[index])
        return {claim["name"]: value if np.isfinite(value) else None}

    def posterior(self, s: Setting, claim: dict[str, Any], q: np.ndarray, divergence: float) -> dict[str, Any]:
        """The number of the posterior."""
        return {claim["name"]: self.recompute(s.table, s.pi, claim["share"] * s.epsilon, q)[1]}


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
    return Supplied(found.from_settings(claim["share"], claim["settings"]))
