"""Who could be deployed, and who was: chosen once more from the table, and trusted only where no formula is at hand."""

from typing import Any

import numpy as np

from pacopt.auditing.comparing import TOLERANCE, ContradictionError
from pacopt.auditing.formulas import FORMULAS, formula_of
from pacopt.auditing.setting import Setting


def eligible(s: Setting, stored: dict[str, Any]) -> tuple[np.ndarray, bool]:
    """Who may be deployed, and whether what was asked for is met; the deployed candidate is one of them.

    Two ways of computing a number differ by rounding: a candidate that is this near to what is asked for stands on the
    side where the certificate has it. Who met a requirement without a formula cannot be recomputed, which is said:
    those that the certificate holds did. All other requirements are recomputed, whatever their order.
    """
    chosen, attained = _chosen(s, stored)
    index = int(stored["deployed"]["index"])
    if not (0 <= index < len(chosen) and chosen[index]):
        raise ContradictionError("certificate.deployed.index", index, "a candidate that meets what is required")
    return chosen, attained


def _chosen(s: Setting, stored: dict[str, Any]) -> tuple[np.ndarray, bool]:
    chosen, taken, known, said = s.pi > 0, _taken(s, stored), True, bool(stored["attained"])
    by_name = {claim["name"]: claim for claim in s.design["claims"]}
    for name, wanted in stored["required"].items():
        claim = by_name[name]
        formula = formula_of(claim)
        if formula is None:
            chosen, known = chosen & taken, False
            continue
        if not (known or said):
            continue  # what could not be met may be the requirement without a formula
        side = 1 if claim["at_least"] else -1
        values = formula.candidates(s, claim) * side
        sure, near = chosen & (values > _above(side * wanted)), chosen & (values >= _below(side * wanted))
        if sure.any() or (said and (near & taken).any()):
            chosen = sure | (near & taken)
            continue
        if not known:
            raise ContradictionError("certificate.attained", said, "false: what is required is not met")
        nearest = chosen & (values >= _below(values[chosen].max()))
        return nearest & taken if (nearest & taken).any() else nearest, False
    return chosen, True if known else said


def objective(
    s: Setting, stored: dict[str, Any], eligible: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray, dict[str, Any]]:
    """The deployed candidate, the posterior with its logarithms, and what explains it."""
    claim, index = s.design["claims"][0], int(stored["deployed"]["index"])
    formula = formula_of(claim)
    if hasattr(formula, "learned"):
        index = formula.best(s, claim, eligible, index)
        q, log_q, details = formula.learned(s, claim, eligible)
        return index, q, log_q, details
    if formula is not None:
        values = np.where(eligible, formula.candidates(s, claim) * (1 if claim["at_least"] else -1), -np.inf)
        if values[index] < _below(values.max()):
            index = int(np.argmax(values))
    q = (np.arange(len(s.pi)) == index).astype(float)
    if claim["class"] not in FORMULAS:
        # It may have a way of its own to weigh candidates. What is said of a posterior holds for every one of them.
        q = np.array(stored["posterior"]["weights"], dtype=float)
        if q.shape != s.pi.shape or not (q.min() >= 0 and abs(q.sum() - 1) < 1e-9 and not q[~eligible].any()):
            needed = "a probability on the candidates that may be deployed"
            raise ContradictionError("certificate.posterior.weights", stored["posterior"]["weights"], needed)
    with np.errstate(divide="ignore"):
        return index, q, np.log(q), {}


def _taken(s: Setting, stored: dict[str, Any]) -> np.ndarray:
    """The candidates that the certificate holds: those of the posterior, and the deployed one."""
    weights = np.array(stored["posterior"]["weights"], dtype=float)
    held = weights > 0 if weights.shape == s.pi.shape else np.zeros(s.pi.shape, dtype=bool)
    return np.asarray(held | (np.arange(len(s.pi)) == int(stored["deployed"]["index"])))


def _above(level: float) -> float:
    return level + TOLERANCE * abs(level)


def _below(level: float) -> float:
    return level - TOLERANCE * abs(level)
