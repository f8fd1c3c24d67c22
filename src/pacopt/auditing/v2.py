"""Certificates made of claims (schema /2), recomputed claim by claim."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from pacopt.auditing.choosing import eligible, objective
from pacopt.auditing.comparing import ContradictionError, Disagreement, Given, broken_rule, content, hashed
from pacopt.auditing.formulas import FORMULAS, NAMES, formula_of
from pacopt.auditing.resting import known, ledger
from pacopt.auditing.reuse import unused
from pacopt.auditing.setting import Setting, prior_weights
from pacopt.loss_table import LossTable

KEYS = {"candidates", "claims", "log_weights", "score", "seeding", "sources", "t_grid", "target_ratio"}
#: What else stands beside the numbers of claims.
TAKEN = {"hyper", "index", "kl", "weight", "weights"}


def impossible(stored: dict[str, Any], table: LossTable) -> Disagreement | None:
    """The first part of the design that no certificate may have."""
    design, claims = stored["design"], stored["design"]["claims"]
    pi, w = prior_weights(design), np.array(design["t_grid"]["weights"], dtype=float)
    t, shares = np.array(design["t_grid"]["points"], dtype=float), [claim["share"] for claim in claims]
    names = [claim["name"] for claim in claims]
    own = [claim for claim in claims if claim["class"] in FORMULAS]
    rules = {
        "confidence": (0 < stored["confidence"] < 1, "a number between 0 and 1"),
        "design": (set(design) == KEYS, f"exactly {', '.join(sorted(KEYS))}"),
        "design.log_weights": (pi.min() >= 0 and abs(pi.sum() - 1) < 1e-9, "weights that sum to one"),
        "design.t_grid.points": (t.min() > 0 and t.max() < 1, "numbers between 0 and 1"),
        "design.t_grid.weights": (w.min() > 0 and abs(w.sum() - 1) < 1e-9, "positive weights that sum to one"),
        "design.claims": (
            min(shares) > 0 and sum(shares) <= 1 + 1e-9 and len(set(names) - TAKEN) == len(names),
            "claims with names of their own and shares of one",
        ),
        "design.target_ratio": (0 < design["target_ratio"] <= 1, "a number above 0 and at most 1"),
        "design.score": (_possible_score(design["score"]), "a score with a positive, finite range"),
        "design.sources": (
            unused(design["sources"], table, separate=stored["separate_draws"]),
            "none of the training instances",
        ),
        "earlier": (isinstance(stored["earlier"], int) and stored["earlier"] >= 0, "a number of certificates"),
        "required": (
            set(stored["required"]) <= set(names) and all(np.isfinite(list(stored["required"].values()))),
            "numbers for claims of the design",
        ),
    }
    for claim in claims:
        ours = claim["class"] in FORMULAS or claim["name"] in NAMES.values()
        if ours and NAMES.get(claim["class"]) != claim["name"]:
            return Disagreement(
                "certificate.design.claims", claim["class"], f"the class of the claim {claim['name']!r}"
            )
    for claim in own:
        if not FORMULAS[claim["class"]].possible(claim):
            return Disagreement(f"certificate.design.claims ({claim['name']})", claim, "settings that make sense")
    split = known(table.provenance, "split", "allow_duplicates")
    if split is not None and split["allow_duplicates"] and not stored["separate_draws"]:
        return Disagreement("certificate.separate_draws", False, True)
    return broken_rule(stored, rules) or _misled(design, table)


def _marks(values: np.ndarray) -> list[Any]:
    """Values of candidates as they are stored: an array by its shape, norm and content."""
    if values.ndim == 1:
        return list(values.tolist())
    return [
        f"{value.dtype}{list(value.shape)} of norm {np.sqrt((value.astype(float) ** 2).sum()):.4g}, "
        f"#{hashed(np.ascontiguousarray(value).tobytes())}"
        for value in values
    ]


def _misled(design: dict[str, Any], table: LossTable) -> Disagreement | None:
    """The first group that is led by another row than the one whose lot is the smallest."""
    seeding, columns = design["seeding"], table.columns
    if seeding is None or columns is None or table.fingerprints is None:
        return None
    replicates, seen, first = seeding["replicates"], dict[bytes, int](), 0
    if any(size % replicates for size in columns.sizes.tolist()):
        return Disagreement("certificate.design.seeding.replicates", replicates, "the number of runs of each instance")
    for size, lead in zip(columns.sizes.tolist(), columns.lead.tolist(), strict=True):
        lots = []
        for run in range(first, first + size, replicates):
            mark = bytes(table.fingerprints[run])
            earlier = seen.get(mark, 0)
            seen[mark] = earlier + 1
            text = f"{seeding['root']}\0train\0{mark.decode()}\0{earlier}\0lot"
            lots.append((int.from_bytes(bytes.fromhex(hashed(text.encode(), size=8)), "little"), run))
        if lead != min(lots)[1]:
            return Disagreement("table.columns.lead", lead, min(lots)[1])
        first += size
    return None


def _possible_score(score: dict[str, Any]) -> bool:
    score = {key: value for key, value in score.items() if key != "quantity" or score["name"] == "ranged"}
    if score["name"] == "ratio":
        return set(score) == {"name"}
    if score["name"] == "rate":
        return set(score) == {"name", "steps"} and isinstance(score["steps"], int) and score["steps"] >= 1
    if score["name"] == "digits":
        return set(score) == {"name", "top"} and 0 < score["top"] < np.inf
    if score["name"] == "effort":
        target, word = score["target"], isinstance(score["target"], str)
        return bool(
            set(score) == {"cap", "name", "penalty", "target", "unit"}
            and 0 < score["cap"] < np.inf
            and 1 <= score["penalty"] < np.inf
            and (word or 0 < target < 1)
        )
    return set(score) == {"name", "noun", "top", "unit"} and 0 < score["top"] < np.inf


def recomputed(stored: dict[str, Any], table: LossTable) -> dict[str, Any]:
    """What the stored value should be, given its design, confidence, requirements and provenance."""
    design, columns = stored["design"], [] if table.columns is None else [table.columns.sizes, table.columns.lead]
    s = Setting(table, design, 1 - stored["confidence"])
    allowed, attained = eligible(s, stored)
    index, q, log_q, details = objective(s, stored, allowed)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, q * (log_q - np.log(s.pi)), 0.0)
    divergence = max(0.0, float(terms.sum()))
    deployed: dict[str, Any] = {
        "hyper": {name: _marks(values)[index] for name, values in table.candidates.items()},
        "index": index,
        "weight": s.pi[index],
    }
    weights: Any = list(q) if design["claims"][0]["class"] in FORMULAS else Given(list(q))
    posterior: dict[str, Any] = {"kl": divergence, "weights": weights, **details}
    for claim in design["claims"]:
        formula = formula_of(claim)
        if formula is not None:
            deployed |= formula.deployed(s, claim, index)
            posterior |= formula.posterior(s, claim, q, divergence)
    # Not recomputed, which is said: what is stored stands for itself.
    deployed |= _own(stored, "deployed", deployed)
    posterior |= _own(stored, "posterior", posterior)
    return {
        "attained": attained,
        "confidence": stored["confidence"],
        "deployed": deployed,
        "design": design | {"candidates": {name: _marks(values) for name, values in table.candidates.items()}},
        "design_hash": hashed(json.dumps(design, sort_keys=True).encode()),
        "earlier": stored["earlier"],
        "ever_succeeded": int(s.good.any(axis=1).sum()),
        "hash": hashed(json.dumps({k: v for k, v in stored.items() if k != "hash"}, sort_keys=True).encode()),
        "instances": s.n,
        "ledger": ledger(stored, table),
        "posterior": posterior,
        "provenance": dict(table.provenance),
        "required": stored["required"],
        "runs": table.losses.shape[1],
        "schema": "pacopt.certificate/2",
        "sentences": stored["sentences"],  # words: `verify` compares them
        "separate_draws": stored["separate_draws"],
        "table_hash": _table_hash(table, columns),
        "theorems": stored["theorems"],  # likewise
        "user_success": table.success is not None,
        "zero_starts": 0 if table.start is None else int((table.start == 0).sum()),
    }


def _table_hash(table: LossTable, columns: list[np.ndarray]) -> str:
    names = [*(name.encode() for name in table.baselines), *(repr(target).encode() for target in table.times)]
    arrays = (table.losses, table.start, table.success, *columns, *table.baselines.values(), *table.times.values())
    return hashed(*names, *(content(array) for array in arrays))


def not_recomputed(stored: dict[str, Any]) -> tuple[str, ...]:
    """The claims whose formula is not at hand, and numbers that the formula of a claim does not give."""
    claims = [claim for claim in stored["design"]["claims"] if claim["class"] not in FORMULAS]
    missing = [claim["name"] for claim in claims if formula_of(claim) is None]
    beside = [
        f"{part}.{key}"
        for part in ("deployed", "posterior")
        for key in stored[part]
        for name in [_owner(key, stored)]
        if name is not None and name != key and name not in missing
    ]
    return (*missing, *beside)


def _own(stored: dict[str, Any], part: str, recomputed: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored for claims of the user's own without a formula; never what a formula gives, or another claim."""
    bare = {claim["name"] for claim in stored["design"]["claims"] if formula_of(claim) is None}
    for name in bare & recomputed.keys():
        raise ContradictionError("certificate.design.claims", name, "claims with names of their own")
    owners = {key: _owner(key, stored) for key in stored[part] if key not in recomputed}
    return {
        key: Given(stored[part][key])
        for key, name in owners.items()
        if name is not None and (name != key or name in bare)
    }


def _owner(key: str, stored: dict[str, Any]) -> str | None:
    """The claim of the user's own that a number belongs to, by its name or by the name that it begins with."""
    names = [claim["name"] for claim in stored["design"]["claims"]]
    found = max((name for name in names if key == name or key.startswith(f"{name}_")), key=len, default=None)
    return None if found in NAMES.values() else found
