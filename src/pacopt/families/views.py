"""A contest in a notebook: solvers and claims as HTML, solvers as a data frame."""

from typing import TYPE_CHECKING

from pacopt.families.base import LEARNED
from pacopt.families.outcome import Contest
from pacopt.families.results import document, verdict
from pacopt.support import html
from pacopt.support.frames import data_frame, real
from pacopt.support.rounding import between, times

if TYPE_CHECKING:
    from pandas import DataFrame


def contest_html(found: Contest) -> str:
    """How solvers do on fresh instances, and how the certified claims compare with them."""
    score, design = found.score, found.learned.certificate.design
    digits = score.unit == "digits"  # digits are gained: a smaller score means more of them
    told = document(found)
    solvers = []
    for each in told["methods"]:
        low, high = each["interval"]
        ends = between((max(0.0, score.scale - high), score.scale - low) if digits else (low, high))
        factor = "" if each["name"] == LEARNED else times(found.factor(each["name"]))
        cells = (each["name"], score.told(each["mean"]), f"{ends} {score.unit}".rstrip())
        solvers.append((*cells, *(() if digits else (factor,)), each["text"]))
    claims = [
        (
            each["name"],
            "at least" if check.claim.at_least else "at most",
            check.claim.missing if nothing else check.claim.with_unit(check.certified, design),
            f"{check.measured:.4g}",
            "" if nothing else "yes" if check.holds else "NO" if check.contradicted else "undecided",
        )
        for each, check in zip(told["claims"], found.checks, strict=True)
        for nothing in [check.claim.leading and not check.certified]
    ]
    return html.boxed(
        html.title(f"{found.family.title}: {found.fresh:,} fresh draws"),
        html.table(
            ("solver", "mean", "95 % interval", *(() if digits else ("learned is smaller",)), "what it is"),
            solvers,
            left=("solver", "what it is"),
        ),
        html.table(("claim", "", "certified", "on the fresh draws", "holds"), claims, left=("claim", "")),
        html.note(f"{verdict(found)}."),
    )


def contest_frame(found: Contest) -> "DataFrame":
    """One row per solver: its mean, and how many times smaller the learned mean is, with 95 % intervals."""
    methods = found.methods
    factors = [(None, None, None) if each.name == LEARNED else found.factor(each.name).ends for each in methods]
    return data_frame(
        {"name": [each.name for each in methods], "text": [each.text for each in methods]}
        | {"mean": [each.mean for each in methods], "told": [each.told for each in methods]}
        | {f"mean_{end}": [each.interval[k] for each in methods] for k, end in enumerate(("low", "high"))}
        | {"failed": [each.failed for each in methods]}
        | {"mean_ratio": real([each.ratio for each in methods])}
        | {name: real([ends[k] for ends in factors]) for k, name in enumerate(("factor", "factor_low", "factor_high"))}
    )
