"""The certified trade-off between success and speed, with a choice to be made by hand."""

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from pacopt.certificate import CandidateBounds
from pacopt.report.candidates import Candidates
from pacopt.report.figures import (
    LEARNED,
    MUTED,
    SURFACE,
    Axis,
    Chart,
    Figure,
    Key,
    Numbers,
    drawing,
    drawn,
    specification,
)
from pacopt.report.source import Reportable
from pacopt.report.words import hyper_text, kept, level_percent, percent, solve_line
from pacopt.statement import down, up

TITLE = "Choices"
#: So many choices can be reached by the slider, and so many other candidates are drawn behind them.
REACHED, BEHIND = 400, 600
#: From this ratio of largest to smallest risk on, decades are drawn.
WIDE = 4.0


@dataclass(frozen=True, slots=True)
class Pick:
    """What the page says of one choice, rounded to the safe side."""

    success: str
    risk: str
    quantile: str
    hyper: str
    code: str


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices from the fastest to the safest, and at which of them to start.

    That is the deployed one, or else one that is certified to be as fast and safer (`deployed` is false).
    """

    figure: Figure
    picks: tuple[Pick, ...]
    start: int
    deployed: bool


def choices_of(learned: Reportable, candidates: Candidates) -> Choices:
    """The frontier of certified success and certified risk, with the words for each of its choices."""
    bounds, table, certificate = candidates.bounds, learned.table, learned.certificate
    every = candidates.frontier()
    nearest = max(k for k, i in enumerate(every) if bounds.risk[i] <= bounds.risk[candidates.deployed])
    reached = kept(len(every), REACHED, np.array([0, nearest, len(every) - 1]))
    indices = [every[k] for k in reached.tolist()]
    picks = tuple(_pick(table.hyper(i), bounds, i) for i in indices)
    start = int(np.searchsorted(reached, nearest))
    deployed = indices[start] == candidates.deployed
    level = level_percent(certificate.design.quantile_level)
    header = ("success at least", "mean ratio at most", f"{level} quantile at most", "hyperparameters")
    numbers = Numbers(header, tuple((pick.success, pick.risk, pick.quantile, pick.hyper) for pick in picks))
    first, last = picks[0], picks[-1]
    if len(picks) == 1:
        heading, caption = _one(first, len(candidates), certificate.ever_succeeded)
        return Choices(Figure("choices", TITLE, heading, caption, (), numbers), picks, start, deployed)
    heading = f"{len(every)} certified choices, from fast to safe"
    caption = (
        "Each point is a candidate that no other one beats in both certified numbers: from success of at least "
        f"{first.success} with a mean ratio of at most {first.risk}, to {last.success} with {last.risk}. All of them "
        f"hold together with confidence {level_percent(certificate.confidence)}, so you may pick one after looking."
    )
    if len(picks) < len(every):
        caption += f" {len(picks)} of {len(every)} are shown."
    spec, legend = _drawing(bounds, indices, candidates.prior > 0, picks, start)
    chart = Chart("choices", spec, f"Steps rising from the fastest choice to the safest. {caption}", legend)
    return Choices(Figure("choices", TITLE, heading, caption, (chart,), numbers), picks, start, deployed)


def _one(pick: Pick, candidates: int, ever_succeeded: int) -> tuple[str, str]:
    """The heading and the words where there is nothing to trade."""
    if not ever_succeeded:
        return "There is nothing to choose", "No candidate succeeded on any training instance."
    if candidates == 1:
        return "There is nothing to choose", f"{pick.hyper} was the only candidate."
    return "The fastest candidate is also the safest", (
        f"{pick.hyper} has both the smallest certified mean ratio, {pick.risk}, and the largest certified success, "
        f"{pick.success}, of all {candidates} candidates: there is nothing to trade."
    )


def _pick(hyper: dict[str, float], bounds: CandidateBounds, i: int) -> Pick:
    quantile = float(bounds.quantile[i])
    return Pick(
        success=percent(down(float(bounds.success[i]))),
        risk=up(float(bounds.risk[i])),
        quantile=up(quantile) if np.isfinite(quantile) else "no finite bound",
        hyper=hyper_text(hyper),
        code=solve_line(hyper),
    )


def _drawing(
    bounds: CandidateBounds, indices: list[int], held: np.ndarray, picks: tuple[Pick, ...], start: int
) -> tuple[dict[str, Any], tuple[Key, ...]]:
    risk, success = bounds.risk[indices], bounds.success[indices]
    across = Axis.around(success, log=False, margin=0.08)
    along = Axis.around(risk, log=bool(risk[-1] > WIDE * risk[0]))
    points = [
        {
            "i": k,
            "success": drawn(success[k]),
            "risk": drawn(risk[k]),
            "at_least": pick.success,
            "at_most": pick.risk,
            "of": pick.hyper,
        }
        for k, pick in enumerate(picks)
    ]
    x = alt.X("success:Q", scale=across.scale(), axis=across.ticks("certified success probability, at least"))
    y = alt.Y("risk:Q", scale=along.scale(), axis=along.ticks("certified mean ratio, at most"))
    tips = [
        alt.Tooltip("at_least:N", title="success at least"),
        alt.Tooltip("at_most:N", title="mean ratio at most"),
        alt.Tooltip("of:N", title="hyperparameters"),
    ]
    circle: dict[str, Any] = {"shape": "circle", "opacity": 1}
    stairs = [{"success": drawn(across.low), "risk": points[0]["risk"]}, *points]
    base = drawing(points)
    layers = [
        drawing([{"success": step["success"], "risk": step["risk"]} for step in stairs])
        .mark_line(color=LEARNED, interpolate="step-before", strokeWidth=2)
        .encode(x=x, y=y),
        base.mark_point(**circle, fill=LEARNED, stroke=SURFACE, strokeWidth=1.5, size=80).encode(
            x=x, y=y, tooltip=tips
        ),
        base.add_params(alt.param(name="chosen", value=start))
        .transform_filter("datum.i == chosen")
        .mark_point(**circle, fill="transparent", stroke=LEARNED, strokeWidth=2.5, size=320)
        .encode(x=x, y=y),
    ]
    legend = [Key("circle", "learned", "choice"), Key("ring", "learned", "picked below")]
    others = np.setdiff1d(np.flatnonzero(held & across.holds(bounds.success) & along.holds(bounds.risk)), indices)
    others = others[kept(len(others), BEHIND, np.array([], dtype=int))]
    if len(others):
        cloud = [{"success": drawn(bounds.success[i]), "risk": drawn(bounds.risk[i])} for i in others.tolist()]
        layers.insert(0, drawing(cloud).mark_point(shape="circle", fill=MUTED, size=14, opacity=0.5).encode(x=x, y=y))
        legend.append(Key("dot", "muted", "candidates that another one beats"))
    return specification("choices", layers, height=320), tuple(legend)
