"""The results of contests: one line per family, for people and for machines."""

from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

from pacopt.families.base import LEARNED, TUNED
from pacopt.families.outcome import Contest
from pacopt.support.rounding import down, percent

#: The headings of the measured columns, and of the certified ones.
MEASURED = ("family", "steps", "textbook", "best usual solver", "Optuna", "learned")
CERTIFIED = ("certified", "gain", "better on", "success", "data to report")
#: A smaller fraction of the instances is not worth showing.
WORTH = 0.01


class Line(NamedTuple):
    """One family: how solvers do on fresh instances, and what is certified, as text in the order of the headings."""

    family: str
    steps: str
    textbook: str
    usual: str
    optuna: str
    learned: str
    certified: str
    gain: str
    win: str
    success: str
    time: str


def line(found: Contest) -> Line:
    """A contest in one line."""
    score, deployed = found.score, found.learned.certificate.deployed
    unit = " digits" if score.unit == "digits" else " times"
    bound, win = score.highlight(deployed.values["risk"])[1], deployed.values["win"] or 0.0
    return Line(
        family=found.family.name,
        steps=f"{found.family.steps}",
        textbook=score.told(found[found.family.textbook].mean),
        usual=f"{score.told(found[found.best].mean)} ({found.best})",
        optuna=score.told(found[TUNED].mean),
        learned=score.told(found[LEARNED].mean),
        certified=bound if score.unit in bound else f"{bound} {score.unit}",
        gain="none shown" if deployed.values["gain"] is None else f"≥ {down(deployed.values['gain'], 3)}{unit}",
        win="none shown" if win < WORTH else f"≥ {percent(down(win, 3))}",
        success=f"≥ {percent(down(deployed.values['success']))}",
        time=f"{found.seconds:.0f} s",
    )


def verdict(found: Contest) -> str:
    """Whether learning helps, in a sentence: what is certified, or what the fresh instances say."""
    score, best = found.score, found.best
    means = f"{score.told(found[LEARNED].mean)} against {score.told(found[best].mean)} of {best}"
    deployed = found.learned.certificate.deployed
    if deployed.values["gain"] is not None:
        text = f"learning helps, and that is certified: {means}"
    elif (deployed.values["win"] or 0) > 0.5:
        text = f"learning helps on most instances, and that is certified: {means}"
    elif found[LEARNED].mean < found[best].mean:
        text = f"learning may help, but no gain could be certified: {means}"
    else:
        text = f"learning does not help: {means}"
    if not text.startswith("learning does not"):
        text += _but_optuna(found)
    return f"{found.family.name}: {text}; {_held(found)}{_failed(found)}"


def _but_optuna(found: Contest) -> str:
    """That tuning alone does as well, where it does."""
    ours, theirs = found[LEARNED], found[TUNED]
    if theirs.mean > ours.mean:
        return ""
    better = found.factor(TUNED).high < 1
    return f", but Optuna's settings do {'better' if better else 'as well'}: {found.score.told(theirs.mean)}"


def _held(found: Contest) -> str:
    """Whether the claims hold on the fresh draws."""
    draws = f"{found.fresh:,} fresh draws"
    if wrong := [check.name for check in found.violations]:
        return f"{draws} contradict {', '.join(wrong)}"
    if close := [check.name for check in found.undecided]:
        return f"{draws} contradict no claim, but are too few to confirm {', '.join(close)}"
    return f"every claim holds on {draws}"


def _failed(found: Contest) -> str:
    """Which solvers failed, and how often."""
    runs = f"{len(found.methods[0].ends):,} fresh runs"
    told = [
        f"; {each.name} failed in {each.failed:,} of {runs} ({', '.join(each.failures)}), which count as no progress"
        for each in found.methods
        if each.failed
    ]
    return "".join(told)


def said(found: Contest) -> list[str]:
    """Sentences about a contest: whether learning helps, what to know about the family, warnings."""
    note, warnings = found.family.note.rstrip("."), [f"Note: {remark}." for remark in found.learned.remarks]
    return [f"{verdict(found)}.", *([f"{note}."] if note else []), *warnings]


def document(found: Contest) -> dict[str, Any]:
    """A contest as a JSON value: all numbers, with intervals and factors."""
    certificate = found.learned.certificate
    return {
        "family": found.family.name,
        "title": found.family.title,
        "steps": found.family.steps,
        "instances": certificate.instances,
        "confidence": certificate.confidence,
        "score": found.score.to_dict(),
        "best_usual": found.best,
        "textbook": found.family.textbook,
        "methods": [
            {"name": each.name, "text": each.text, "mean": each.mean, "interval": list(each.interval)}
            | {"told": each.told, "mean_ratio": each.ratio, "failures": dict(each.failures)}
            | ({} if each.name == LEARNED else _factors(found, each.name))
            for each in found.methods
        ],
        "claims": [
            {"name": each.name, "certified": each.certified, "measured": each.measured}
            | {"interval": None if each.interval is None else [_finite(end) for end in each.interval]}
            | {"holds": each.holds, "contradicted": each.contradicted}
            for each in found.checks
        ],
        "fresh": found.fresh,
        "runs": found.runs,
        "optuna": found.study._asdict(),
        "seconds": found.seconds,
        "run": None if found.place is None else str(found.place),
        "verdict": verdict(found),
        "note": found.family.note,
        "remarks": list(found.learned.remarks),
    }


def _finite(end: float) -> float | None:
    """An end of an interval; None if it is unbounded."""
    return float(end) if isfinite(end) else None


def _factors(found: Contest, over: str) -> dict[str, Any]:
    """How many times smaller the learned means of scores and of ratios are, with 95 % intervals; None is unbounded."""
    ratio = found.ratio_factor(over)
    return {
        "factor": [_finite(end) for end in found.factor(over).ends],
        "ratio_factor": None if ratio is None else [_finite(end) for end in ratio.ends],
    }


def markdown(found: Sequence[Contest]) -> str:
    """A Markdown table, with the verdicts below it."""
    headings = (*MEASURED, *CERTIFIED)
    cells = [tuple(cell.replace("|", "\\|") for cell in line(each)) for each in found]
    rows = [headings, tuple("---" for _ in headings), *cells]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\n" + "\n".join(f"- {' '.join(said(each))}" for each in found) + "\n"
