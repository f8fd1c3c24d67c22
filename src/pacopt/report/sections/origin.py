"""Where a run comes from, as names and values to read."""

import json
from collections.abc import Mapping
from typing import Any

from pacopt.claims.foreign import ForeignClaim
from pacopt.provenance import Curvature, Origin, Part, SplitOrigin, StudyOrigin
from pacopt.report.source import Reported
from pacopt.report.words import all_digits, hyper_text, value_text

#: What somebody wrote about a table of their own is cut off after so many characters.
LONGEST = 300


def not_claimed(source: Reported) -> tuple[str, ...]:
    """What nobody should read into the certificate."""
    return (
        "anything about one given instance",
        "anything about another distribution of instances",
        *(("anything about more steps than these",) if source.origin.steps is not None else ()),
        *(("anything about the minimiser",) if source.certificate.design.score.relative else ()),
        "anything after selecting again on the same instances with other candidates, which voids the certificate",
    )


def short_class(path: str) -> str:
    """The name of a class without its module.

    >>> short_class("pacopt.algorithms.heavy_ball:HeavyBall")
    'HeavyBall'
    """
    return path.rpartition(":")[2].rpartition(".")[2]


def title_of(source: Reported) -> str:
    """What the report is about: an algorithm on a problem, or a table of some size."""
    o = source.origin
    parts = [short_class(code.name) for code in (o.engine, o.algorithm, o.problem) if code is not None]
    rows, columns = source.table.shape
    sizes = f"{rows} candidate{'s' if rows > 1 else ''} on {columns} instance{'s' if columns > 1 else ''}"
    return o.title or " on ".join(parts) or ("Learned hyperparameters" if source.learned else sizes)


def chosen_values(source: Reported) -> tuple[tuple[str, str], ...]:
    """The certified hyperparameters of a table of one's own, by their names, to the last digit."""
    values = source.certificate.deployed.hyper
    fractional = {name for name, value in values.items() if isinstance(value, float) and not value.is_integer()}
    return tuple(
        (name, all_digits(value) if name in fractional else value_text(value)) for name, value in values.items()
    )


def recomputed(source: Reported) -> str:
    """Which numbers of the certificate anybody can recompute."""
    own = [
        claim.name
        for claim in source.certificate.design.claims
        if isinstance(claim, ForeignClaim) or not type(claim).__module__.startswith("pacopt.")
    ]
    text = "every number of the certificate can be recomputed from them, without JAX"
    return f"{text}, but for {', '.join(own)}, whose formula is the user's own" if own else text


def _baselines(source: Reported) -> tuple[str, ...]:
    """What the learned hyperparameters are compared with."""
    comparison, curvature = source.comparison, _curvature(source.origin.curvature)
    if comparison is None:
        return ()
    lines = [f"{row.name}: {row.described}" for row in comparison.rows if row.described]
    if "standard" in comparison and curvature:
        hyper = hyper_text(comparison["standard"].hyper)
        lines.insert(0, f"textbook: {hyper}, recommended for curvatures from mu to L")
    return tuple(lines)


def _curvature(curvature: Curvature | None) -> str:
    if curvature is None:
        return ""
    source = "given" if curvature.given else "estimated on the prior split"
    return f"mu = {curvature.mu:.4g} and L = {curvature.L:.4g} {source}"


def origin(source: Reported) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Names with their values, line by line."""
    c, stored = source.certificate, source.certificate.to_dict()
    ours = source.learned or source.origin.algorithm is not None
    entries = _known(source.origin) if ours else _written(source.provenance)
    study = source.origin.study
    entries += [("deployed", () if study is None else (f"trial {study.numbers[c.deployed.index]} of the study",))]
    entries += [("compared with", _baselines(source))]
    hashes = [("certificate", (stored["hash"],)), ("design", (stored["design_hash"],)), ("table", (c.table_hash,))]
    return tuple((name, values) for name, values in [*entries, *hashes] if any(values))


def _known(o: Origin) -> list[tuple[str, tuple[str, ...]]]:
    """What pacopt wrote down."""
    kinds = [f"{o.steps} steps" if o.steps else "", o.precision or "", o.platform or ""]
    codes = (("engine", o.engine), ("problem", o.problem), ("algorithm", o.algorithm))
    parts = [(name, code) for name, code in codes if code is not None]
    return [
        *((name, (code.name, f"source {code.source}")) for name, code in parts),
        ("run", (", ".join(kind for kind in kinds if kind),)),
        ("split", () if o.split is None else _split(o.split)),
        ("prior", (o.prior or "",) if o.study is None else _study(o.study)),
        ("domain searched", tuple(f"{name} {space.words}" for name, space in sorted(o.domain.items()))),
        ("curvature", (_curvature(o.curvature),)),
        ("success criterion", (f"{o.criterion}, source {o.predicate}" if o.criterion else "",)),
        ("seed", ("" if o.seed is None else f"{o.seed}",)),
        ("random runs", ("" if o.seeds is None else f"{o.seeds.replicates} of each instance, {o.seeds.hash}",)),
        ("fixed settings", (_pairs(o.settings),)),
        ("versions", (_pairs(o.versions),)),
        ("hardware", (_pairs(o.hardware),)),
    ]


def _written(p: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """What somebody wrote down about a table of their own, word for word."""
    texts = {name: value if isinstance(value, str) else json.dumps(value, sort_keys=True) for name, value in p.items()}
    return [(name, (t if len(t) <= LONGEST else f"{t[:LONGEST]} …",)) for name, t in sorted(texts.items())]


def _split(split: SplitOrigin) -> tuple[str, ...]:
    named = (("prior", split.prior), ("train", split.train), ("test", split.test))
    parts = tuple(f"{name} {_size(part)}, {part.fingerprint}" for name, part in named)
    return (*parts, "equal rows are declared to be separate draws") if split.allow_duplicates else parts


def _size(part: Part) -> str:
    return f"{part.instances}" if part.groups is None else f"{part.groups} groups of {part.instances} instances"


def _study(study: StudyOrigin) -> tuple[str, ...]:
    named = "" if study.name is None else f" {study.name!r}"
    trials = f"of {study.trials} trials, {study.completed} of which completed"
    recorded = f"{study.recorded} trials recorded the instances that they saw" if study.recorded else ""
    best = f"the {len(study.numbers)} best different trials of the Optuna study{named} {trials}"
    return best, *([recorded] if recorded else []), f"study {study.hash}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(values.items()))
