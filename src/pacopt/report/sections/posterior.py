"""Where the posterior puts its weight among the candidates."""

from itertools import combinations
from typing import Any

import altair as alt
import numpy as np

from pacopt.claims.standard import REQUIRED
from pacopt.report.candidates import Candidates
from pacopt.report.colours import INK, LEARNED, MUTED, STANDARD, SURFACE
from pacopt.report.figures import Chart, Figure, Key, Numbers, drawing, drawn, specification
from pacopt.report.sections.weights import weights_chart
from pacopt.report.source import Reported
from pacopt.report.words import chosen, hyper_text, kept, share, undrawn

TITLE = "Posterior"
#: So many points are drawn in all maps together.
POINTS = 2000
#: Three hyperparameters have three pairs, each of which gets a map; four have six, too many to read.
MAPS = 3
#: So many of the heaviest candidates are listed.
LISTED = 6
#: The area of the mark of a candidate without weight, in which a cross can still be told from a circle.
SMALLEST = 44


def posterior_figure(source: Reported, candidates: Candidates) -> Figure | None:
    """Maps of pairs of numbers, or the weights over each hyperparameter where there are too many pairs, or names.

    None where there is one candidate.
    """
    c, table, count = source.certificate, source.table, len(candidates)
    if count == 1:
        return None  # it has all the weight
    weights = candidates.posterior
    heaviest = np.argsort(-weights, kind="stable")
    enough = int(np.searchsorted(np.cumsum(weights[heaviest]), 0.9 * weights.sum())) + 1
    heading = f"90 % of the posterior's weight sits on {enough} of {count} candidates"
    top = int(heaviest[0])
    same = f" which is {chosen(c)}," if top == c.deployed.index else ""
    finding = f"The heaviest, {hyper_text(table.hyper(top))},{same} has {share(weights[top])} of the weight"
    finding += "." if same else f"; {chosen(c)} is {hyper_text(c.deployed.hyper)}."
    shown = {} if source.arrays and source.decisions is not None else candidates.values
    pairs = list(combinations(shown, 2))
    named = not all(map(candidates.numeric, shown))
    if 1 <= len(pairs) <= MAPS and not named:
        caption = f"Each mark is a candidate; its area grows with its posterior weight.{_able(candidates)} {finding}"
        charts = [_map(candidates, pair, POINTS // len(pairs), i, finding) for i, pair in enumerate(pairs)]
    else:
        drawn_over = "Weight of prior and posterior over the values of each hyperparameter. " if shown else ""
        caption = f"{drawn_over}{finding}"
        charts = [weights_chart(candidates, name, i, finding) for i, name in enumerate(shown)]
    rows = tuple(
        (hyper_text(table.hyper(i)), share(weights[i]), share(candidates.prior[i]), *candidates.told(i))
        for i in heaviest[:LISTED].tolist()
    )
    header = ("heaviest candidates", "posterior", "prior", *candidates.headings())
    return Figure("posterior", TITLE, heading, caption, tuple(charts), Numbers(header, rows), named)


def _able(candidates: Candidates) -> str:
    """What circles and crosses are."""
    if candidates.able is None:
        return ""
    heading, count = candidates.design[REQUIRED].heading(candidates.design), int(candidates.able.sum())
    if count == len(candidates):
        return f" For all of them, {heading} {candidates.level!r} is certified."
    return (
        f" For circles, {heading} {candidates.level!r} is certified ({count} of {len(candidates)}), for crosses it is "
        "not: the less prior weight, the more successes that takes."
    )


def _map(candidates: Candidates, pair: tuple[str, str], limit: int, number: int, finding: str) -> Chart:
    """Candidates by two of their hyperparameters."""
    horizontal, vertical = pair
    across, along = candidates.axis(horizontal), candidates.axis(vertical)
    weights = candidates.posterior
    able = np.ones(len(candidates), dtype=bool) if candidates.able is None else candidates.able
    inside = np.flatnonzero(across.holds(candidates.values[horizontal]) & along.holds(candidates.values[vertical]))
    heaviest = np.argsort(-weights[inside], kind="stable")[: limit // 2]
    safest = np.flatnonzero(np.isin(inside, candidates.undominated()))
    chosen = inside[kept(len(inside), limit, np.union1d(heaviest, safest))]
    points = [
        {
            "x": drawn(candidates.values[horizontal][i]),
            "y": drawn(candidates.values[vertical][i]),
            "weight": drawn(weights[i]),
            "able": bool(able[i]),
            **{f"claim{k}": text for k, text in enumerate(candidates.told(i))},
        }
        for i in chosen.tolist()
    ]
    x = alt.X("x:Q", scale=across.scale(), axis=across.ticks(horizontal))
    y = alt.Y("y:Q", scale=along.scale(), axis=along.ticks(vertical))
    tips = [
        alt.Tooltip("x:Q", title=horizontal, format=".4~g"),
        alt.Tooltip("y:Q", title=vertical, format=".4~g"),
        alt.Tooltip("weight:Q", title="posterior weight", format=".2%"),
        *(alt.Tooltip(f"claim{k}:N", title=heading) for k, heading in enumerate(candidates.headings())),
    ]
    size = alt.Size("weight:Q", scale=alt.Scale(domain=[0, drawn(weights.max())], range=[SMALLEST, 520]), legend=None)
    layers: list[Any] = []
    legend: list[Key] = []
    names = ("candidate", "")
    if candidates.able is not None:
        heading = candidates.design[REQUIRED].heading(candidates.design)
        names = (f"{heading} {candidates.level!r} certified", "not certified at that level")
    for reached in (False, True):
        look: dict[str, Any] = (
            {"shape": "circle", "fill": LEARNED, "stroke": SURFACE, "strokeWidth": 0.6, "opacity": 0.62}
            if reached
            else {"shape": "cross", "fill": MUTED, "stroke": MUTED, "strokeWidth": 0.6, "opacity": 0.8}
        )
        rows = [row for row in points if row["able"] == reached]
        if rows:
            layers.append(drawing(rows).mark_point(**look).encode(x=x, y=y, size=size, tooltip=tips))
            legend.insert(0, Key(*(("circle", "learned") if reached else ("cross", "muted")), names[not reached]))
    here = {name: float(values[candidates.deployed]) for name, values in candidates.values.items()}
    marks = [(here, candidates.chosen, "diamond", INK)]
    legend.append(Key("diamond", "ink", candidates.chosen))
    if candidates.standard is not None:
        marks.append((candidates.standard, candidates.usual, "square", STANDARD))
        legend.append(Key("square", "standard", candidates.usual))
    for hyper, name, shape, colour in marks:
        point = drawing([{"x": drawn(hyper[horizontal]), "y": drawn(hyper[vertical]), "name": name}])
        layers.append(
            point.mark_point(
                shape=shape, fill="transparent", stroke=colour, strokeWidth=2.4, size=190, opacity=1
            ).encode(x=x, y=y, tooltip=[alt.Tooltip("name:N", title="this is"), *tips[:2]])
        )
    if missing := undrawn(len(candidates) - len(inside), len(inside) - len(chosen)):
        legend.append(Key("none", "muted", missing))
    words = f"Map of {horizontal} against {vertical}, {len(chosen)} candidates. {finding}"
    return Chart(f"map{number}", specification(f"map{number}", layers, height=340), words, tuple(legend))
