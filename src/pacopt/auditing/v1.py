"""Every number of a certificate recomputed from the table, by code that shares nothing with what it audits."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp

from pacopt.auditing.recomputation import (
    kl_lower,
    largest_mean,
    largest_posterior_mean,
    least_success,
    order_statistic,
    relative,
    success,
)
from pacopt.errors import StorageError
from pacopt.loss_table import LossTable

#: Stored and recomputed numbers may differ by this much, relative; a change of 1e-6 is seen.
TOLERANCE = 1e-8


class Stored(Protocol):
    """Anything that can be written as a certificate's JSON value."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON value."""
        ...


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A number that does not follow from the table."""

    name: str
    stored: Any
    recomputed: Any

    def __str__(self) -> str:
        return f"{self.name} is stored as {self.stored!r} and recomputed as {self.recomputed!r}"


@dataclass(frozen=True, slots=True)
class Audit:
    """How many numbers were recomputed, and the first that disagreed, if any did."""

    compared: int
    disagreement: Disagreement | None

    @property
    def passed(self) -> bool:
        """Whether everything agreed."""
        return self.disagreement is None


def audit(certificate: Stored | dict[str, Any], table: LossTable) -> Audit:
    """Recompute every number of a certificate from its table, after a look at whether its design could hold at all."""
    try:
        stored = certificate if isinstance(certificate, dict) else certificate.to_dict()
        impossible = _impossible(stored)
        if impossible is not None:
            return Audit(1, impossible)
        pairs = _flat(stored, _recomputed(stored, table))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"This is no certificate of this table ({type(error).__name__}: {error}).",
            "The JSON value of a certificate and the LossTable that it was made of are needed.",
            "Nothing can be recomputed from anything else.",
            "Write certificates with to_dict() and tables with save(), and keep them together.",
        ) from error
    compared = 0
    for name, ours, expected in pairs:
        theirs = expected() if callable(expected) else expected
        compared += 1
        if not _agree(name, ours, theirs):
            return Audit(compared, Disagreement(name, ours, theirs))
    return Audit(compared, None)


def _impossible(stored: dict[str, Any]) -> Disagreement | None:
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
    for name, (holds, needed) in rules.items():
        if not holds:
            value: Any = stored
            for key in name.split("."):
                value = value[key]
            return Disagreement(f"certificate.{name}", value, needed)
    return None


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


def _recomputed(stored: dict[str, Any], table: LossTable) -> dict[str, Any]:
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
        capped = np.minimum(np.minimum(capped, table.start), cut["level"]) / cut["level"]
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
        "design_hash": _hash(json.dumps(design, sort_keys=True).encode()),
        "ever_succeeded": int((counts > 0).sum()),
        "hash": _hash(json.dumps({k: v for k, v in stored.items() if k != "hash"}, sort_keys=True).encode()),
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
        "table_hash": _hash(*(_bytes(array) for array in (table.losses, table.start, table.success))),
        "user_success": table.success is not None,
        "zero_starts": int((table.start == 0).sum()),
    }


def _absolute(level: float, excess: float, programme: tuple[Any, ...]) -> float:
    return level * largest_posterior_mean(*programme) + excess


def _bytes(array: np.ndarray | None) -> bytes:
    return b"none" if array is None else repr(array.shape).encode() + np.ascontiguousarray(array).tobytes()


def _hash(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _flat(ours: Any, theirs: Any, name: str = "certificate") -> list[tuple[str, Any, Any]]:
    """Pairs of leaves by their path; a missing one is paired with None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted(ours.keys() | theirs.keys())
        return [leaf for key in keys for leaf in _flat(ours.get(key), theirs.get(key), f"{name}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [leaf for i, pair in enumerate(zip(ours, theirs, strict=True)) for leaf in _flat(*pair, f"{name}[{i}]")]
    return [(name, ours, theirs)]


def _agree(name: str, ours: Any, theirs: Any) -> bool:
    numbers = (int, float, np.number)
    if isinstance(ours, numbers) and isinstance(theirs, numbers) and not isinstance(ours, bool):
        ours, theirs = float(ours), float(theirs)
        # A difference of two numbers carries their rounding, however small it is itself.
        rounding = 1e-13 if name.endswith(("_cost", ".kl")) else 0.0
        return bool(abs(ours - theirs) <= TOLERANCE * max(abs(ours), abs(theirs)) + rounding)
    return bool(ours == theirs)
