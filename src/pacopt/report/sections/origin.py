"""Where a run comes from, as names and values to read."""

from collections.abc import Mapping
from typing import Any

from pacopt.report.source import Reportable

NOT_CLAIMED = (
    "anything about one given instance",
    "anything about another distribution of instances",
    "anything about more steps than these",
    "anything about the minimiser",
    "anything after selecting again on the same instances with other candidates, which voids the certificate",
)


def short_class(path: str) -> str:
    """The name of a class without its module.

    >>> short_class("pacopt.algorithms.heavy_ball:HeavyBall")
    'HeavyBall'
    """
    return path.rpartition(":")[2].rpartition(".")[2]


def subject(learned: Reportable) -> str:
    """What the report is about: an algorithm on a problem."""
    provenance = learned.provenance
    parts = [short_class(provenance[part]["class"]) for part in ("algorithm", "problem") if part in provenance]
    return " on ".join(parts) or "Learned hyperparameters"


def textbook(learned: Reportable) -> str:
    """Which textbook's hyperparameters those are that the learned ones are compared with."""
    comparison, curvature = learned.comparison, _curvature(learned.provenance)
    if comparison is None or "standard" not in comparison or not curvature:
        return ""
    return f"Textbook: the recommendation for curvatures from mu to L, with {curvature}."


def _curvature(provenance: Mapping[str, Any]) -> str:
    curvature = provenance.get("curvature")
    if not curvature:
        return ""
    source = "given" if curvature["given"] else "estimated on the prior split"
    return f"mu = {curvature['mu']:.4g} and L = {curvature['L']:.4g} {source}"


def origin(learned: Reportable) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Names with their values, line by line."""
    p, c = learned.provenance, learned.certificate
    parts = [part for part in ("problem", "algorithm") if part in p]
    entries: list[tuple[str, tuple[str, ...]]] = [
        (part, (str(p[part]["class"]), f"source {p[part]['source']}")) for part in parts
    ]
    kinds = [f"{p['steps']} steps" if "steps" in p else "", str(p.get("precision", "")), str(p.get("platform", ""))]
    entries.append(("run", (", ".join(kind for kind in kinds if kind),)))
    entries.append(("split", _split(p.get("split", {}))))
    entries.append(("prior", (str(p.get("prior", "")),)))
    entries.append(
        ("domain searched", tuple(_interval(name, ends) for name, ends in sorted(p.get("domain", {}).items())))
    )
    entries.append(("curvature", (_curvature(p),)))
    entries.append(("success criterion", (f"{p['criterion']}, source {p['success']}" if p.get("criterion") else "",)))
    entries.append(("seed", (str(p.get("seed", "")),)))
    entries.append(("versions", (_pairs(p.get("versions", {})),)))
    entries.append(("hardware", (_pairs(p.get("hardware", {})),)))
    entries += [("certificate", (c.to_dict()["hash"],)), ("design", (c.design.hash,)), ("table", (c.table_hash,))]
    return tuple((name, values) for name, values in entries if any(values))


def _split(split: Mapping[str, Any]) -> tuple[str, ...]:
    parts = [
        f"{name} {split[name]['instances']}, {split[name]['fingerprint']}"
        for name in ("prior", "train", "test")
        if name in split
    ]
    return (*parts, "equal rows are declared to be separate draws") if split.get("allow_duplicates") else tuple(parts)


def _interval(name: str, ends: Any) -> str:
    low, high, log = ends
    return f"{name} in [{low:g}, {high:g}]{', in decades' if log else ''}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(values.items()))
