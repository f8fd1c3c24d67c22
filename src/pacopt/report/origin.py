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
    curvature = p.get("curvature")
    if curvature:
        source = "given" if curvature["given"] else "estimated on the prior split"
        entries.append(("curvature", (f"mu = {curvature['mu']:.4g}, L = {curvature['L']:.4g}, {source}",)))
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
