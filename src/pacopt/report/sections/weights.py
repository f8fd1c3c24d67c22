"""Prior and posterior weight over the values of one hyperparameter: a histogram, or a bar for each name."""

from typing import Any

import altair as alt
import numpy as np

from pacopt.report.candidates import Candidates
from pacopt.report.colours import INK, LEARNED, MUTED, STANDARD
from pacopt.report.figures import Axis, Chart, Key, drawing, drawn, specification
from pacopt.report.words import undrawn, value_text

#: So many bars in a histogram, and at most so many names with a bar.
BINS, NAMES = 40, 15
#: Whole numbers that are no further apart have a bar each.
WHOLE = 60
#: The height of the bar of a name, and of the axis below.
BAR, BELOW = 30, 24


def weights_chart(candidates: Candidates, name: str, number: int, finding: str) -> Chart:
    """The weights over a hyperparameter that is a number, or over one that goes by names, or by a few numbers."""
    named = not all(map(candidates.numeric, candidates.values))
    if candidates.numeric(name) and not (named and len(np.unique(candidates.values[name])) <= NAMES):
        return _histogram(candidates, name, number, finding)
    return _bars(candidates, name, number, finding)


def _bars(candidates: Candidates, name: str, number: int, finding: str) -> Chart:
    """One bar for each value, the heaviest on top; numbers in their order."""
    texts = np.array([value_text(value) for value in candidates.values[name].tolist()])
    found, where = np.unique(texts, return_inverse=True)
    posterior = np.bincount(where, weights=candidates.posterior)
    prior = np.bincount(where, weights=candidates.prior)
    order = np.lexsort((-prior, -posterior))
    here = int(where[candidates.deployed])
    shown = [*order[:NAMES]] if here in order[:NAMES] else [*order[: NAMES - 1], here]
    listed = ", ".join(f"{found[k]} {posterior[k]:.1%}" for k in shown[:5])
    if candidates.numeric(name):
        shown.sort(key=lambda k: float(candidates.values[name][where == k][0]))
    rows: list[dict[str, Any]] = [
        {"name": str(found[k]), "posterior": drawn(posterior[k]), "prior": drawn(prior[k])} for k in shown
    ]
    y = alt.Y("name:N", sort=[row["name"] for row in rows], axis=alt.Axis(title=name, labelLimit=260, grid=False))
    weight = alt.Axis(title="weight", format="~%", tickCount=5)
    tips = [
        alt.Tooltip("name:N", title=name),
        alt.Tooltip("posterior:Q", format=".2%"),
        alt.Tooltip("prior:Q", format=".2%"),
    ]
    base = drawing(rows)
    layers = [
        base.mark_bar(fill=LEARNED, opacity=0.7, height={"band": 0.62}).encode(
            x=alt.X("posterior:Q", axis=weight), y=y, tooltip=tips
        ),
        base.mark_bar(fill="transparent", stroke=MUTED, strokeWidth=1.4, height={"band": 0.8}).encode(
            x=alt.X("prior:Q", axis=weight), y=y, tooltip=tips
        ),
        drawing([row for row in rows if row["name"] == found[here]])
        .mark_point(shape="diamond", fill="transparent", stroke=INK, strokeWidth=2.4, size=150, opacity=1)
        .encode(x=alt.X("posterior:Q", axis=weight), y=y, tooltip=tips),
    ]
    legend = [
        Key("box", "learned", "posterior"),
        Key("hollow", "muted", "prior"),
        Key("diamond", "ink", f"{candidates.chosen}, {name} = {found[here]}"),
    ]
    if len(shown) < len(found):
        legend.append(Key("none", "muted", f"{len(found) - len(shown)} of {len(found)} values are not drawn"))
    words = f"Weight over {name}, {len(found)} values, the heaviest first: {listed}. {finding}"
    spec = specification(f"marginal{number}", layers, height=BAR * len(rows) + BELOW)
    return Chart(f"marginal{number}", spec, words, tuple(legend))


def _histogram(candidates: Candidates, name: str, number: int, finding: str) -> Chart:
    """Prior and posterior weight over the values of one hyperparameter."""
    axis, values = candidates.axis(name), candidates.values[name].astype(float)
    edges = axis.edges(BINS)
    if candidates.values[name].dtype.kind in "iu" and np.ptp(values) <= WHOLE:  # a bar for each whole number
        axis = Axis(values.min() - 0.5, values.max() + 0.5, False)
        edges = np.arange(axis.low, axis.high + 0.5)
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
    marks = [(here, f"{candidates.chosen}, {value_text(here)}", INK, [1, 0])]
    legend = [
        Key("box", "learned", "posterior"),
        Key("hollow", "muted", "prior"),
        Key("solid", "ink", f"{candidates.chosen}, {name} = {value_text(here)}"),
    ]
    if candidates.standard is not None:
        there = candidates.standard[name]
        marks.append((there, f"{candidates.usual}, {value_text(there)}", STANDARD, [8, 4]))
        legend.append(Key("dashed", "standard", f"{candidates.usual}, {name} = {value_text(there)}"))
    outside = int(np.sum(~axis.holds(values)))
    if outside:
        legend.append(Key("none", "muted", undrawn(outside)))
    for value, text, colour, dash in marks:
        rule = drawing([{"from": drawn(value), "text": text}]).mark_rule(color=colour, strokeWidth=2, strokeDash=dash)
        layers.append(rule.encode(x=x, tooltip=[alt.Tooltip("text:N", title=name)]))
    words = f"Weight over {name}, {len(candidates)} candidates. {finding}"
    return Chart(f"marginal{number}", specification(f"marginal{number}", layers, height=240), words, tuple(legend))
