"""Every claim beside what the test split shows of it, with its interval."""

import numpy as np

from pacopt.claims import AbstractClaim
from pacopt.claims.measuring import Measured, measured_name
from pacopt.comparison import between, percentages
from pacopt.design import Design
from pacopt.loss_table import LossTable
from pacopt.report.endings import first_runs
from pacopt.report.figures import Figure, Numbers
from pacopt.report.sections.summary import ordered, over_itself
from pacopt.report.source import Reported
from pacopt.report.strongest import strongest_first
from pacopt.report.tested import measured_runs, nothing, tested_claims
from pacopt.report.words import certified, estimate, noun, useless
from pacopt.support.rounding import PERCENT, down, percent, up

TITLE = "Test"
#: What was measured lies on the wrong side, but so few instances do not tell.
UNSURE = "not contradicted"


def held_figure(source: Reported) -> Figure | None:
    """A row for each claim: what is certified, what was measured and how exactly; None without a test split."""
    tested, design, comparison = measured_runs(source), source.certificate.design, source.comparison
    if tested is None or comparison is None:
        return None
    found = tested_claims(source)
    if not found:
        return None
    rows = []
    for claim in ordered(source.certificate):
        if over_itself(source, claim):
            continue
        for each, value in strongest_first(claim, source.certificate):
            if value is None or nothing(each, value):
                rows.append(_unstated(each, design, tested))
            else:
                rows += [_row(row, design) for row in found if row.name == measured_name(each)]
    verdicts = [_verdict(each) for each in found]
    heading = _heading(verdicts, f"{comparison.instances} test {comparison.noun}")
    caption = (
        f"What is certified beside what the test split shows, with 95{PERCENT} intervals. Nothing that is certified "
        "rests on the test split."
    )
    if UNSURE in verdicts:
        caption += " Not contradicted: measured on the wrong side, but no interval excludes the certified number."
    if single := first_runs(tested, comparison.noun):
        caption += f" Means are over all runs; probabilities and quantiles are measured{single.removeprefix(',')}."
    header = ("claim", "certified", "on the test split", f"95{PERCENT} interval", "holds")
    return Figure("held", TITLE, heading, caption, (), Numbers(header, tuple(rows)))


def _heading(verdicts: list[str], place: str) -> str:
    """How many of the claims the test split contradicts; one that lies within its interval is none of them."""
    count, failed = len(verdicts), verdicts.count("no")
    if failed:
        which = "The claim does" if count == 1 else f"{failed} of {count} claims {'does' if failed == 1 else 'do'}"
        return f"{which} not hold on the {place}"
    if UNSURE in verdicts:
        return f"No claim is contradicted by the {place}"
    return f"{'The claim holds' if count == 1 else f'All {count} claims hold'} on the {place}"


def _row(each: Measured, design: Design) -> tuple[str, ...]:
    claim, interval = each.claim, each.interval
    return (
        noun(claim, design),
        _certified(claim, each.certified, design),
        _estimated(claim, each.measured),
        "" if interval is None else _between(interval, percent=claim.probability),
        _verdict(each),
    )


def _unstated(claim: AbstractClaim, design: Design, tested: LossTable) -> tuple[str, ...]:
    """The row of a claim that has no number, or one that says nothing."""
    measured = claim.measured(tested, design)
    interval = claim.interval(tested, design)
    return (
        noun(claim, design),
        claim.missing,
        "" if measured is None else _estimated(claim, float(measured[0])),
        "" if interval is None else _between(interval, percent=claim.probability),
        "",
    )


def _estimated(claim: AbstractClaim, value: float) -> str:
    return f"{100 * value:.4g}{PERCENT}" if claim.probability else estimate(value)


def _certified(claim: AbstractClaim, value: float, design: Design) -> str:
    text = certified(claim, value, design)
    if claim.probability:
        text = percent(down(value) if claim.at_least else up(value))
    return text if useless(claim, value, design) else f"{'≥' if claim.at_least else '≤'}\u00a0{text}"


def _between(interval: tuple[float, float], *, percent: bool) -> str:
    if percent:
        return percentages(interval).replace(" %", PERCENT)
    low, high = interval
    if not np.isfinite(low):
        return "∞"
    if not np.isfinite(high):
        return f"at least {between((low, low)).partition(' ')[0]}"
    return between(interval)


def _verdict(each: Measured) -> str:
    """Whether the test split contradicts a claim; where it does not, whether the claim holds as measured."""
    if each.contradicted:
        return "no"
    return "yes" if each.holds else UNSURE
