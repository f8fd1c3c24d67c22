"""The certified trade-off between the objective and what may be required, with a choice to be made by hand."""

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from pacopt.claims import AbstractClaim
from pacopt.report.candidates import Candidates
from pacopt.report.colours import LEARNED, MUTED, SURFACE
from pacopt.report.figures import Axis, Chart, Figure, Key, Numbers, drawing, drawn, specification
from pacopt.report.source import Reported
from pacopt.report.words import hyper_text, is_ratio, kept, level_percent, noun, solve_line, usable

TITLE = "Choices"
#: So many choices can be reached by the slider, and so many other candidates are drawn behind them.
REACHED, BEHIND = 400, 600
#: From this ratio of largest to smallest number of the objective on, decades are drawn.
WIDE = 4.0
#: Where nothing is traded, so many of the best candidates are listed.
LISTED = 10


@dataclass(frozen=True, slots=True)
class Pick:
    """What the page says of one choice: a number for each claim, rounded to the safe side, and how it is used."""

    numbers: tuple[str, ...]
    hyper: str
    code: str


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices from the best objective to the safest, headings for their numbers, and at which of them to start.

    That is the deployed one, or else one that is certified to be as good and safer (`deployed` is false). `ends` names
    the first and the last.
    """

    figure: Figure | None
    headings: tuple[str, ...] = ()
    picks: tuple[Pick, ...] = ()
    start: int = 0
    deployed: bool = False
    ends: tuple[str, str] = ("", "")


def choices_of(source: Reported, candidates: Candidates) -> Choices:
    """The frontier of the objective and what is traded against it, with the words for each of its choices."""
    every, certificate = candidates.undominated(), source.certificate
    if not every or candidates.traded is None or candidates.deployed not in candidates.best():
        return Choices(_listed(source, candidates))
    costs = candidates.costs(candidates.design.objective)
    nearest = max(k for k, i in enumerate(every) if costs[i] <= costs[candidates.deployed])
    reached = kept(len(every), REACHED, np.array([0, nearest, len(every) - 1]))
    indices = [every[k] for k in reached.tolist()]
    picks = tuple(_pick(source, candidates, i) for i in indices)
    start = int(np.searchsorted(reached, nearest))
    deployed = indices[start] == candidates.deployed and usable(certificate)
    headings = candidates.headings()
    numbers = Numbers((*headings, "hyperparameters"), tuple((*pick.numbers, pick.hyper) for pick in picks))
    first, last = picks[0], picks[-1]
    objective, traded = candidates.design.objective, candidates.traded
    ratio = is_ratio(certificate)
    ends = _ends(objective, traded, candidates, ratio=ratio)
    if len(picks) == 1:
        one = _one(first, candidates, certificate.ever_succeeded, ratio=ratio)
        return Choices(one, headings, picks, start, deployed, ends)
    heading = f"{len(every)} certified choices, " + ("from fast to safe" if ratio else f"from {ends[0]} to {ends[1]}")
    caption = (
        "Each point is a candidate that no other one beats in both certified numbers: from "
        f"{headings[0]} {first.numbers[0]} with {headings[1]} {first.numbers[1]}, to {last.numbers[0]} with "
        f"{last.numbers[1]}. All of them hold together with confidence {level_percent(certificate.confidence)}, so you "
        "may pick one after looking."
    )
    if len(picks) < len(every):
        caption += f" {len(picks)} of {len(every)} are shown."
    spec, legend = _drawing(candidates, traded, indices, picks, start)
    words = f"Steps from {ends[0]} to {ends[1]}. {caption}"
    chart = Chart("choices", spec, words, legend)
    return Choices(
        Figure("choices", TITLE, heading, caption, (chart,), numbers), headings, picks, start, deployed, ends
    )


def _ends(objective: AbstractClaim, traded: AbstractClaim, candidates: Candidates, *, ratio: bool) -> tuple[str, str]:
    if ratio:
        return "the fastest", "the safest"
    return f"the best {noun(objective, candidates.design)}", f"the best {noun(traded, candidates.design)}"


def _one(pick: Pick, candidates: Candidates, ever_succeeded: int, *, ratio: bool) -> Figure | None:
    """The words where there is nothing to trade; None where there is nothing to choose either."""
    if not ever_succeeded or len(candidates) == 1:
        return None
    headings = candidates.headings()
    heading = "The fastest candidate is also the safest" if ratio else "One candidate is the best in both numbers"
    caption = (
        f"{pick.hyper} has the best certified numbers of all {len(candidates)} candidates, {headings[1]} "
        f"{pick.numbers[1]} and {headings[0]} {pick.numbers[0]}: there is nothing to trade."
    )
    return Figure("choices", TITLE, heading, caption)


def _listed(source: Reported, candidates: Candidates) -> Figure | None:
    """The best candidates by the objective alone."""
    design, best = candidates.design, candidates.best()
    if design.objective.name not in candidates.bounds:
        caption = (
            f"The code of the claim {design.objective.name!r} is not imported, so its number is known for the "
            f"{candidates.chosen} candidate only. Import it and call pacopt.report_html to see the others."
        )
        return Figure("choices", TITLE, "The other candidates cannot be compared here", caption)
    what = noun(design.objective, design)
    if not best:
        return None
    shown = best[:LISTED]
    rows = tuple((hyper_text(source.table.hyper(i)), *candidates.told(i)) for i in shown)
    level = level_percent(source.certificate.confidence)
    caption = (
        f"All of these numbers hold together with confidence {level}, so you may "
        f"pick another candidate after looking. {len(shown)} of {len(candidates)} are listed, the best {what} first."
    )
    heading = f"The best certified {what}: {hyper_text(source.table.hyper(shown[0]))}"
    return Figure("choices", TITLE, heading, caption, (), Numbers(("hyperparameters", *candidates.headings()), rows))


def _pick(source: Reported, candidates: Candidates, i: int) -> Pick:
    hyper = source.table.hyper(i)
    return Pick(candidates.told(i), hyper_text(hyper), solve_line(hyper, i) if source.learned else f"{hyper!r}")


def _drawing(
    candidates: Candidates, traded: AbstractClaim, indices: list[int], picks: tuple[Pick, ...], start: int
) -> tuple[dict[str, Any], tuple[Key, ...]]:
    """What is traded across, the objective upwards; `picks` tell them in this order."""
    design, objective = candidates.design, candidates.design.objective
    horizontal, vertical = candidates.bounds[traded.name], candidates.bounds[objective.name]
    chosen = vertical[indices]
    across = Axis.around(horizontal[indices], log=False, margin=0.08)
    along = Axis.around(chosen, log=bool(min(chosen) > 0 and max(chosen) > WIDE * min(chosen)))
    points = [
        {
            "i": k,
            "x": drawn(horizontal[i]),
            "y": drawn(vertical[i]),
            "across": pick.numbers[0],
            "up": pick.numbers[1],
            "of": pick.hyper,
        }
        for k, (i, pick) in enumerate(zip(indices, picks, strict=True))
    ]
    x = alt.X("x:Q", scale=across.scale(), axis=across.ticks(_title(traded, candidates)))
    y = alt.Y("y:Q", scale=along.scale(), axis=along.ticks(_title(objective, candidates)))
    tips = [
        alt.Tooltip("across:N", title=traded.heading(design)),
        alt.Tooltip("up:N", title=objective.heading(design)),
        alt.Tooltip("of:N", title="hyperparameters"),
    ]
    circle: dict[str, Any] = {"shape": "circle", "opacity": 1}
    stairs = [{"x": drawn(across.low), "y": points[0]["y"]}, *({"x": point["x"], "y": point["y"]} for point in points)]
    base = drawing(points)
    layers = [
        drawing(stairs).mark_line(color=LEARNED, interpolate="step-before", strokeWidth=2).encode(x=x, y=y),
        base.mark_point(**circle, fill=LEARNED, stroke=SURFACE, strokeWidth=1.5, size=80).encode(
            x=x, y=y, tooltip=tips
        ),
        base.add_params(alt.param(name="chosen", value=start))
        .transform_filter("datum.i == chosen")
        .mark_point(**circle, fill="transparent", stroke=LEARNED, strokeWidth=2.5, size=320)
        .encode(x=x, y=y),
    ]
    legend = [Key("circle", "learned", "choice"), Key("ring", "learned", "picked below")]
    held = (candidates.prior > 0) & across.holds(horizontal) & along.holds(vertical)
    others = np.setdiff1d(np.flatnonzero(held), indices)
    others = others[kept(len(others), BEHIND, np.array([], dtype=int))]
    if len(others):
        cloud = [{"x": drawn(horizontal[i]), "y": drawn(vertical[i])} for i in others.tolist()]
        layers.insert(0, drawing(cloud).mark_point(shape="circle", fill=MUTED, size=14, opacity=0.5).encode(x=x, y=y))
        legend.append(Key("dot", "muted", "dominated candidates"))
    return specification("choices", layers, height=320), tuple(legend)


def _title(claim: AbstractClaim, candidates: Candidates) -> str:
    return f"certified {noun(claim, candidates.design)}, at {'least' if claim.at_least else 'most'}"
