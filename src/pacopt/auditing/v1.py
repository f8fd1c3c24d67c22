"""Certificates of the first version (schema /1), recomputed by the formulas that they were made with. Frozen.

There half of the share of success was for Clopper & Pearson, and half for kl under the posterior.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from pacopt.auditing.comparing import TOLERANCE, Disagreement, broken_rule, content, hashed
from pacopt.auditing.recomputation import (
    kl_lower,
    largest_mean,
    largest_posterior_mean,
    least_success,
    order_statistic,
    relative,
    success,
)
from pacopt.loss_table import LossTable


def impossible(stored: dict[str, Any], table: LossTable) -> Disagreement | None:
    """The first part of the design that no certificate may have."""
    design, shares = stored["design"], stored["design"]["shares"]
    pi, w = _weights(design), np.array(design["t_grid"]["weights"], dtype=float)
    t, cut = np.array(design["t_grid"]["points"], dtype=float), design["truncation"]
    parts = (shares["risk"], shares["success"], shares["quantile"])
    moment = None if cut is None else cut["second_moment"]
    absolute = shares["absolute"]
    known = {"candidates", "log_weights", "quantile_level", "shares", "t_grid", "target_ratio", "truncation"}
    rules = {
        "confidence": (0 < stored["confidence"] < 1, "a number between 0 and 1"),
        "design": (set(design) == known, f"exactly {', '.join(sorted(known))}"),
        "design.log_weights": (pi.min() >= 0 and abs(pi.sum() - 1) < 1e-9, "weights that sum to one"),
        "design.t_grid.points": (t.min() > 0 and t.max() < 1, "numbers between 0 and 1"),
        "design.t_grid.weights": (w.min() > 0 and abs(w.sum() - 1) < 1e-9, "positive weights that sum to one"),
        "design.shares": (min(parts) > 0 and absolute >= 0 and sum(parts) + absolute <= 1 + 1e-9, "shares of one"),
        "design.target_ratio": (0 < design["target_ratio"] <= 1, "a number above 0 and at most 1"),
        "design.quantile_level": (0 < design["quantile_level"] < 1, "a number between 0 and 1"),
        "design.truncation": ((cut is None) == (absolute == 0), "a declaration if and only if it has a share"),
        "design.truncation.excess": (
            cut is None or (cut["excess"] == moment / (4 * cut["level"]) if moment is not None else cut["excess"] >= 0),
            "what follows from the declaration",
        ),
    }
    return broken_rule(stored, rules)


def _weights(design: dict[str, Any]) -> np.ndarray:
    """The prior weights, from logarithms in which null stands for no weight."""
    return np.array([0.0 if weight is None else np.exp(weight) for weight in design["log_weights"]])


#: What every certificate rests on, written out once more.
LEDGER = (
    ("declared", "the training instances are independent draws from the distribution of the new one"),
    (
        "declared",
        "candidates, weights, grids, levels, shares and sizes were fixed before the training instances were seen",
    ),
    ("declared", "the algorithm is deterministic, with this number of steps and this precision"),
    ("proved", "0 <= min(l / l0, 1) <= 1 for every run, whatever happens in it"),
)


def _ledger(cut: dict[str, Any] | None, provenance: Mapping[str, Any]) -> list[dict[str, str]]:
    entries, split = list(LEDGER), provenance.get("split")
    if provenance.get("known_minimum"):
        entries.append(("declared", "the minimum that the problem states is the smallest loss of each instance"))
    if split is not None and split["allow_duplicates"]:
        entries.append(("declared", "instances that are equal are separate draws from the distribution"))
    elif split is not None:
        entries.append(("checked", "no training instance stands twice, in the prior split or in the test split"))
    if cut is not None and cut["second_moment"] is not None:
        entries.append(("declared", f"E l0^2 <= {cut['second_moment']!r}"))
    elif cut is not None:
        entries.append(("declared", f"E (l0 - {cut['level']!r})_+ <= {cut['excess']!r}, since {cut['reason']}"))
    return [{"status": status, "text": text} for status, text in entries]


def recomputed(stored: dict[str, Any], table: LossTable) -> dict[str, Any]:
    """What the stored value should be, given its design, confidence, min_success and provenance.

    What takes long is a function without arguments, called only if all before it agreed.
    """
    design = stored["design"]
    epsilon, shares = 1 - stored["confidence"], design["shares"]
    pi = _weights(design)
    pi = pi / pi.sum()
    t, w = np.array(design["t_grid"]["points"]), np.array(design["t_grid"]["weights"])
    rows, n = table.shape
    z = relative(table)
    wealth = np.stack([np.log1p(-s * np.minimum(z, 1)).sum(axis=1) for s in t], axis=1)
    good = success(table, design["target_ratio"])
    counts = good.sum(axis=1)

    eps_risk, eps_half = shares["risk"] * epsilon, shares["success"] * epsilon / 2
    p_lo = least_success(counts, n, eps_half * pi)
    eligible, attained = pi > 0, True
    wanted = stored["min_success"]
    if wanted is not None:
        attained = bool(np.any(p_lo[eligible] >= wanted))
        eligible = eligible & (p_lo >= (wanted if attained else p_lo[eligible].max()))
    with np.errstate(divide="ignore"):
        log_pi = np.log(pi)
        kept = np.where(eligible, log_pi, -np.inf)
    index = int(stored["deployed"]["index"]) % rows
    risk = largest_mean(wealth[index], t, w, n, eps_risk * pi[index]) if eligible[index] else np.inf
    # A candidate does better if its e-value is beyond its threshold already below that risk; equally good ones do not.
    below = min(1.0, risk) * (1 - TOLERANCE)
    log_es = logsumexp(wealth - n * np.log1p(-t * below), axis=1, b=w)
    for rival in np.flatnonzero(
        eligible & (log_es > -np.log(eps_risk) - log_pi + 1e-9 * (1 + np.abs(wealth).max(axis=1)))
    ):
        better = largest_mean(wealth[rival], t, w, n, eps_risk * pi[rival])
        if better < risk:
            index, risk = int(rival), better
    sums = logsumexp(kept[:, None] + wealth, axis=0)
    values = (1 - np.exp((sums + np.log(eps_risk * w)) / n)) / t
    best = int(np.argmin(values))
    log_q = kept + wealth[:, best] - sums[best]
    q = np.exp(log_q)
    divergence = max(0.0, float(np.sum(q[q > 0] * (log_q[q > 0] - log_pi[q > 0]))))
    means = np.minimum(z, 1).mean(axis=1)
    free = largest_mean(wealth[index], t, w, n, eps_risk)

    cut = design["truncation"]
    deployed_absolute: float | None = None
    posterior_absolute: Callable[[], float] | None = None
    if cut is not None:
        capped = np.where(np.isnan(table.losses), np.inf, table.losses)
        capped = np.minimum(np.minimum(capped, table.starts), cut["level"]) / cut["level"]
        other = np.stack([np.log1p(-s * capped).sum(axis=1) for s in t], axis=1)
        eps_absolute = shares["absolute"] * epsilon
        single = largest_mean(other[index], t, w, n, eps_absolute * pi[index])
        deployed_absolute = cut["level"] * single + cut["excess"]

        price = divergence - np.log(eps_absolute)
        posterior_absolute = partial(_absolute, cut["level"], cut["excess"], (other, t, w, n, q, price))

    return {
        "attained": attained,
        "confidence": stored["confidence"],
        "deployed": {
            "absolute": deployed_absolute,
            "confidence_cost": free - means[index],
            "empirical_risk": means[index],
            "empirical_success": counts[index] / n,
            "hyper": {name: values[index] for name, values in table.candidates.items()},
            "index": index,
            "quantile": order_statistic(z[index], design["quantile_level"], shares["quantile"] * epsilon * pi[index]),
            "risk": risk,
            "selection_cost": risk - free,
            "success": p_lo[index],
            "weight": pi[index],
        },
        "design": design | {"candidates": {name: list(values) for name, values in table.candidates.items()}},
        "design_hash": hashed(json.dumps(design, sort_keys=True).encode()),
        "ever_succeeded": int((counts > 0).sum()),
        "hash": hashed(json.dumps({k: v for k, v in stored.items() if k != "hash"}, sort_keys=True).encode()),
        "instances": n,
        "ledger": _ledger(cut, table.provenance),
        "min_success": wanted,
        "posterior": {
            "absolute": posterior_absolute,
            "empirical_risk": float(q @ means),
            "kl": divergence,
            "risk": lambda: largest_posterior_mean(wealth, t, w, n, q, divergence - np.log(eps_risk)),
            "success": kl_lower(float(q @ (counts / n)), (divergence + np.log(2 * np.sqrt(n) / eps_half)) / n),
            "t": t[best],
            "t_at_edge": best == 0 or best == len(t) - 1,
            "weights": list(q),
        },
        "provenance": dict(table.provenance),
        "schema": "pacopt.certificate/1",
        "table_hash": hashed(*(content(array) for array in (table.losses, table.start, table.success))),
        "user_success": table.success is not None,
        "zero_starts": int((table.starts == 0).sum()),
    }


def _absolute(level: float, excess: float, programme: tuple[Any, ...]) -> float:
    return level * largest_posterior_mean(*programme) + excess


def not_recomputed(stored: dict[str, Any]) -> tuple[str, ...]:
    """Nothing: all claims are pacopt's own."""
    return ()
