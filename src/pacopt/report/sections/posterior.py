"""Where the posterior puts its weight among the candidates."""

from itertools import combinations
from typing import Any

import altair as alt
import numpy as np

from pacopt.report.candidates import Candidates
from pacopt.report.figures import (
    INK,
    LEARNED,
    MUTED,
    STANDARD,
    SURFACE,
    Chart,
    Figure,
    Key,
    Numbers,
    drawing,
    drawn,
    specification,
)
from pacopt.report.source import Reportable
from pacopt.report.words import hyper_text, kept, percent, share
from pacopt.statement import down, up

TITLE = "Posterior"
#: So many points are drawn in all maps together, and so many bars in a marginal.
POINTS, BINS = 2000, 40
#: Three hyperparameters have three pairs, each of which gets a map; four have six, too many to read.
MAPS = 3
#: So many of the heaviest candidates are listed.
LISTED = 10


def posterior_figure(learned: Reportable, candidates: Candidates) -> Figure:
    """Maps of pairs of hyperparameters, or a marginal for each where there are too many pairs, or none."""
    c, table, count = learned.certificate, learned.table, len(candidates)
    if count == 1:
        caption = f"The only candidate was {hyper_text(c.deployed.hyper)}: there was nothing to choose from."
        return Figure("posterior", TITLE, "There was one candidate, and it has all the weight", caption)
    weights, bounds = candidates.posterior, candidates.bounds
    heaviest = np.argsort(-weights, kind="stable")
    enough = int(np.searchsorted(np.cumsum(weights[heaviest]), 0.9 * weights.sum())) + 1
    heading = f"90 % of the posterior's weight sits on {enough} of {count} candidates"
    top = int(heaviest[0])
    same = " which is deployed," if top == c.deployed.index else ""
    finding = f"The heaviest, {hyper_text(table.hyper(top))},{same} has {share(weights[top])} of the weight"
    finding += "." if same else f"; deployed is {hyper_text(c.deployed.hyper)}."
    pairs = list(combinations(candidates.values, 2))
    if 1 <= len(pairs) <= MAPS:
        region = int(np.sum(bounds.success >= candidates.level))
        caption = (
            "Each mark is a candidate; its area grows with its posterior weight. Circles are certified to succeed with "
            f"probability at least {candidates.level_text} ({region} of {count}), crosses are not: the "
            f"less prior weight, the more successes that takes. {finding}"
        )
        charts = [_map(candidates, pair, POINTS // len(pairs), i, finding) for i, pair in enumerate(pairs)]
    else:
        caption = f"Weight of prior and posterior over the values of each hyperparameter. {finding}"
        charts = [_marginal(candidates, name, i, finding) for i, name in enumerate(candidates.values)]
    rows = tuple(
        (
            hyper_text(table.hyper(int(i))),
            share(weights[i]),
            share(candidates.prior[i]),
            percent(down(float(bounds.success[i]))),
            up(float(bounds.risk[i])),
        )
        for i in heaviest[:LISTED]
    )
    header = ("heaviest candidates", "posterior", "prior", "success at least", "mean ratio at most")
    return Figure("posterior", TITLE, heading, caption, tuple(charts), Numbers(header, rows))


def _map(candidates: Candidates, pair: tuple[str, str], limit: int, number: int, finding: str) -> Chart:
    """Candidates by two of their hyperparameters."""
    horizontal, vertical = pair
    across, along = candidates.axis(horizontal), candidates.axis(vertical)
    weights, bounds = candidates.posterior, candidates.bounds
    inside = np.flatnonzero(across.holds(candidates.values[horizontal]) & along.holds(candidates.values[vertical]))
    heaviest = np.argsort(-weights[inside], kind="stable")[: limit // 2]
    safest = np.flatnonzero(np.isin(inside, candidates.frontier()))
    chosen = inside[kept(len(inside), limit, np.union1d(heaviest, safest))]
    points = [
        {
            "x": drawn(candidates.values[horizontal][i]),
            "y": drawn(candidates.values[vertical][i]),
            "weight": drawn(weights[i]),
            "able": bool(bounds.success[i] >= candidates.level),
            "success": down(float(bounds.success[i])),
            "risk": up(float(bounds.risk[i])),
        }
        for i in chosen.tolist()
    ]
    x = alt.X("x:Q", scale=across.scale(), axis=across.ticks(horizontal))
    y = alt.Y("y:Q", scale=along.scale(), axis=along.ticks(vertical))
    tips = [
        alt.Tooltip("x:Q", title=horizontal, format=".4~g"),
        alt.Tooltip("y:Q", title=vertical, format=".4~g"),
        alt.Tooltip("weight:Q", title="posterior weight", format=".2%"),
        alt.Tooltip("success:N", title="success at least"),
        alt.Tooltip("risk:N", title="mean ratio at most"),
    ]
    size = alt.Size("weight:Q", scale=alt.Scale(domain=[0, drawn(weights.max())], range=[26, 520]), legend=None)
    layers = []
    for able in (False, True):
        look: dict[str, Any] = (
            {"shape": "circle", "fill": LEARNED, "stroke": SURFACE, "strokeWidth": 0.6, "opacity": 0.62}
            if able
            else {"shape": "cross", "fill": MUTED, "opacity": 0.55}
        )
        rows = [row for row in points if row["able"] == able]
        if rows:
            layers.append(drawing(rows).mark_point(**look).encode(x=x, y=y, size=size, tooltip=tips))
    here = {name: float(values[candidates.deployed]) for name, values in candidates.values.items()}
    marks = [(here, "deployed", "diamond", INK)]
    legend = [
        Key("circle", "learned", f"success at least {candidates.level_text} certified"),
        Key("cross", "muted", "not certified at that level"),
        Key("diamond", "ink", "deployed"),
    ]
    if candidates.standard is not None:
        marks.append((candidates.standard, "textbook", "square", STANDARD))
        legend.append(Key("square", "standard", "textbook"))
    for hyper, name, shape, colour in marks:
        point = drawing([{"x": drawn(hyper[horizontal]), "y": drawn(hyper[vertical]), "name": name}])
        layers.append(
            point.mark_point(
                shape=shape, fill="transparent", stroke=colour, strokeWidth=2.4, size=190, opacity=1
            ).encode(x=x, y=y, tooltip=[alt.Tooltip("name:N", title="this is"), *tips[:2]])
        )
    if len(chosen) < len(candidates):
        legend.append(
            Key("none", "muted", f"{len(candidates) - len(chosen)} of {len(candidates)} candidates are not drawn")
        )
    words = f"Map of {horizontal} against {vertical}, {len(chosen)} candidates. {finding}"
    return Chart(f"map{number}", specification(f"map{number}", layers, height=340), words, tuple(legend))


def _marginal(candidates: Candidates, name: str, number: int, finding: str) -> Chart:
    """Prior and posterior weight over the values of one hyperparameter."""
    axis, values = candidates.axis(name), candidates.values[name]
    edges = axis.edges(BINS)
    posterior, _ = np.histogram(values, bins=edges, weights=candidates.posterior)
    prior, _ = np.histogram(values, bins=edges, weights=candidates.prior)
    rows = [
        {
            "from": drawn(edges[k]),
            "to": drawn(edges[k + 1]),
            "posterior": drawn(posterior[k]),
            "prior": drawn(prior[k]),
        }
        for k in np.flatnonzero((prior > 0) | (posterior > 0)).tolist()
    ]
    base = drawing(rows)
    x = alt.X("from:Q", scale=axis.scale(), axis=axis.ticks(name, grid=False))
    tips = [
        alt.Tooltip("from:Q", title="from", format=".4~g"),
        alt.Tooltip("to:Q", title="to", format=".4~g"),
        alt.Tooltip("posterior:Q", format=".2%"),
        alt.Tooltip("prior:Q", format=".2%"),
    ]
    weight = alt.Axis(title="weight", format="~%", tickCount=5)
    layers = [
        base.mark_rect(fill=LEARNED, opacity=0.7).encode(
            x=x, x2="to:Q", y=alt.Y("posterior:Q", axis=weight), y2=alt.datum(0), tooltip=tips
        ),
        base.mark_rect(fill="transparent", stroke=MUTED, strokeWidth=1.4).encode(
            x=x, x2="to:Q", y=alt.Y("prior:Q", axis=weight), y2=alt.datum(0), tooltip=tips
        ),
    ]
    here = float(values[candidates.deployed])
    marks = [(here, f"deployed, {here:.4g}", INK, [1, 0])]
    legend = [
        Key("box", "learned", "posterior"),
        Key("hollow", "muted", "prior"),
        Key("solid", "ink", f"deployed, {name} = {here:.4g}"),
    ]
    if candidates.standard is not None:
        there = candidates.standard[name]
        marks.append((there, f"textbook, {there:.4g}", STANDARD, [8, 4]))
        legend.append(Key("dashed", "standard", f"textbook, {name} = {there:.4g}"))
    outside = int(np.sum(~axis.holds(values)))
    if outside:
        legend.append(Key("none", "muted", f"{outside} of {len(candidates)} candidates are not drawn"))
    for value, text, colour, dash in marks:
        rule = drawing([{"from": drawn(value), "text": text}]).mark_rule(color=colour, strokeWidth=2, strokeDash=dash)
        layers.append(rule.encode(x=x, tooltip=[alt.Tooltip("text:N", title=name)]))
    words = f"Weight over {name}, {len(candidates)} candidates. {finding}"
    return Chart(f"marginal{number}", specification(f"marginal{number}", layers, height=240), words, tuple(legend))
