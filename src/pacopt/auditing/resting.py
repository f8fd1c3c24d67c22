"""The ledger of a certificate of schema /2, written once more from the provenance of its table."""

from collections.abc import Mapping
from typing import Any

from pacopt.auditing.formulas import FORMULAS
from pacopt.auditing.setting import GENERAL
from pacopt.loss_table import LossTable

GROUPS = "the training groups are independent draws from the distribution of the new one; rows of one group need not be"
ALL_FIELDS = (
    "copies of an instance agree in every field: none holds a row number or anything else that runs do not read"
)
DISJOINT_GROUPS = (
    "no training group appears in another split",
    "no training instance appears in two groups or in another split",
)
#: Units of a score that a clock measures.
CLOCKS = ("seconds", "s", "milliseconds", "ms", "microseconds", "us", "minutes", "min", "hours", "h")
SEEDS = (
    "seeds, derived from the root seed of the design and the content of each instance, behave like independent draws, "
    "and every run in use gets a fresh one",
    "no two instances are the same problem with a different seed in the data",
)


def known(provenance: Mapping[str, Any], name: str, key: str) -> dict[str, Any] | None:
    """What pacopt itself wrote under a name; what somebody else wrote there is a note."""
    value = provenance.get(name)
    return value if isinstance(value, dict) and key in value else None


def ledger(stored: dict[str, Any], table: LossTable) -> list[dict[str, str]]:
    """What it rests on; lines that only a claim of the user's own can know are taken as they stand."""
    design, provenance = stored["design"], table.provenance
    own = [claim for claim in design["claims"] if claim["class"] in FORMULAS]
    lines = [line for claim in own for line in FORMULAS[claim["class"]].ledger(design, claim)]
    seeds = known(provenance, "seeds", "replicates")
    grouped = table.losses.shape[1] != stored["instances"] * (1 if seeds is None else seeds["replicates"])
    if grouped:
        lines = [("declared", GROUPS) if line == GENERAL[0] else line for line in lines]
    if seeds is not None:
        lines += [("declared", text) for text in SEEDS]
    if design["score"].get("unit") in CLOCKS:
        text = "each run's time is an independent draw, on the same machine under the same load"
        lines.append(("declared", text))
    elif seeds is None and isinstance(provenance.get("steps"), int):
        lines.append(
            ("declared", "the algorithm is deterministic and runs with this number of steps and this precision")
        )
    elif seeds is None:
        lines.append(("declared", "running a candidate again on the same instance gives the same result"))
    if provenance.get("known_minimum") is True:
        lines.append(("declared", "no loss of an instance lies below the minimum that the problem states for it"))
    lines += _algorithm(provenance)
    others: Any = provenance.get("baselines", {})
    foreign = sorted(name for name, about in others.items() if "engine" in about) if isinstance(others, dict) else []
    if foreign:
        text = "the losses reported for other solvers ({}) are losses of this problem at the points they return"
        lines.append(("declared", text.format(", ".join(foreign))))
    if stored["separate_draws"]:
        lines.append(("declared", "equal instances are separate draws from the distribution"))
    elif known(provenance, "split", "allow_duplicates") is not None:
        twice = "no training instance is duplicated or appears in another split"
        lines += [("checked", text) for text in (DISJOINT_GROUPS if grouped else (twice,))]
        lines += [("declared", ALL_FIELDS)] if known(provenance, "engine", "class") is not None else []
        if provenance.get("fields") == {"object": "object"}:
            lines.append(("declared", "objects with different fingerprints are different instances"))
    elif design["sources"] is not None:
        lines.append(("checked", "no training instance was used to make the design"))
    given = known(provenance, "curvature", "given")
    if given is not None and given["given"]:
        values = f"mu = {given['mu']!r}, L = {given['L']!r}"
        lines.append(("declared", f"the curvature that was given ({values}) was not estimated on training instances"))
    lines += _studied(known(provenance, "study", "recorded"), stored["separate_draws"])
    if stored["earlier"]:
        count = stored["earlier"]
        made = "an earlier certificate was" if count == 1 else f"{count} earlier certificates were"
        equal = "instances equal to " if stored["separate_draws"] else ""
        text = f"{made} made with {equal}some of these training instances, and this one was not chosen for being better"
        lines.append(("declared", text))
    expected = [{"status": status, "text": text} for status, text in dict.fromkeys(lines)]
    theirs = [claim["name"] for claim in design["claims"] if claim["class"] not in FORMULAS]
    found: list[dict[str, str]] = stored["ledger"]
    if not theirs:
        return expected
    for name in theirs:
        text = f"the claim {name!r} holds by a theorem of the user's own"
        if not any(entry["status"] == "declared" and entry["text"].startswith(text) for entry in found):
            expected.append({"status": "declared", "text": text})
    return found if all(entry in found for entry in expected) else expected


def _studied(study: dict[str, Any] | None, separate: bool) -> list[tuple[str, str]]:
    """What is known of the study that the candidates come from, if they come from one."""
    counts = [] if study is None else [study.get(name) for name in ("trials", "completed", "recorded")]
    told = study is not None and study.keys() >= {"hash", "name", "numbers"}
    if study is None or not told or any(isinstance(each, bool) or not isinstance(each, int) for each in counts):
        return []
    lines = [("declared", "the study that the candidates come from used no training instance")]
    if study["recorded"] and not separate:
        every, some = study["trials"], study["recorded"]
        who = f"{'all' if some == every else some} of its {every} trials"
        text = f"{who} recorded what they saw, and no instance of these is equal to one for training or test"
        lines.append(("checked", text))
    return lines


def _algorithm(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the algorithm reads of an instance before it starts, and the arrays that it was made with."""
    texts = {
        "start_reads": (
            "checked",
            "runs start at a point computed from fields of the instance that the loss reads too ({})",
        ),
        "given_arrays": ("declared", "arrays built into the algorithm ({}) were not computed from training instances"),
    }
    found = {key: provenance.get(key) for key in texts}
    named = {key: each for key, each in found.items() if isinstance(each, list) and each}
    return [
        (texts[key][0], texts[key][1].format(", ".join(each)))
        for key, each in named.items()
        if all(isinstance(name, str) for name in each)
    ]
