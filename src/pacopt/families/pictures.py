"""A contest in one picture: each solver's progress by number of gradients, and what is certified."""

from collections import Counter
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from pacopt.families.base import LEARNED, TUNED
from pacopt.families.contests import ENOUGH
from pacopt.families.outcome import Contest
from pacopt.report.figures import Axis, drawing
from pacopt.scores import Digits
from pacopt.support.rounding import down, up

#: Colours that colour-blind readers can tell apart (Okabe & Ito): learned, Optuna, best usual solver, others.
BLUE, ORANGE, RED = "#0072B2", "#E69F00", "#D55E00"
OTHERS = ("#009E73", "#CC79A7", "#56B4E9", "#666666", "#8C6D1F", "#5B4B8A", "#8A1C4A", "#98C93C")
#: The most points in a line, and the smallest share that is drawn.
POINTS, LEAST = 400, 1e-4
#: What is drawn if the score counts steps.
AWAY = "share of instances not there yet"


def picture(found: Contest, path: Path) -> Path:
    """Write the picture of a contest, as PNG or SVG depending on the path's suffix, and return the path."""
    chart(found).save(str(path), scale_factor=2)
    return path


def chart(found: Contest) -> alt.LayerChart:
    """The picture as an Altair chart."""
    return _relative(found) if found.score.relative else _effort(found)


def _relative(found: Contest) -> alt.LayerChart:
    """Mean losses over the steps; geometric means if the score is in digits, whose mean is certified."""
    score, certificate = found.score, found.learned.certificate
    digits = isinstance(score, Digits)

    def loss(mean: Any) -> Any:
        return 10.0 ** (mean - score.scale) if digits else mean

    rows = [
        {"step": int(step), "value": float(loss(value)), "solver": _label(found, each.name)}
        for each in found.methods
        if each.curve is not None
        for step, value in zip(found.at, each.curve, strict=True)
    ]
    rows += [  # a solver that only reports its end is a point
        {"step": found.family.steps, "value": float(loss(each.mean)), "solver": _label(found, each.name)}
        for each in found.methods
        if each.curve is None
    ]
    bound = loss(certificate.deployed.values["risk"])
    kind = "geometric mean of loss / start loss" if digits else "mean of loss / start loss"
    risk = float(certificate.deployed.values["risk"])
    told = f"at least {down(max(0.0, score.scale - risk), 3)} digits" if digits else f"at most {up(float(bound), 3)}"
    mark = {"step": found.family.steps, "value": float(bound), "words": f"◆ certified for learned: {told}"}
    whole = alt.Axis(tickMinStep=1, format="d")
    x = alt.X("step:Q", title="gradients", axis=whole, scale=alt.Scale(domain=[0, found.family.steps], nice=False))
    axis = Axis.around([*(row["value"] for row in rows), float(bound)], log=True)
    return _finished(found, rows, mark, x, alt.Y("value:Q", scale=axis.scale(), axis=axis.ticks(kind)), step=False)


def _effort(found: Contest) -> alt.LayerChart:
    """The fraction of runs that have not met their target yet; the mean is the area under the line."""
    score = found.score
    most = float(getattr(score, "cap", None) or score.scale)
    ks = np.unique(np.linspace(0, most, POINTS).round())
    rows = [
        {"step": float(k), "value": float(share), "solver": _label(found, each.name)}
        for each in found.methods
        for k, share in zip(ks, (np.mean(~(each.ends <= k)) for k in ks), strict=True)
        if share >= LEAST
    ]
    x = alt.X("step:Q", title=score.unit, scale=alt.Scale(domain=[0, most], nice=False))
    y = alt.Y("value:Q", title=AWAY, scale=alt.Scale(type="log"), axis=alt.Axis(format="%", tickCount=5))
    return _finished(found, rows, None, x, y, step=True)


def _finished(
    found: Contest, rows: list[dict[str, Any]], mark: dict[str, Any] | None, x: alt.X, y: alt.Y, *, step: bool
) -> alt.LayerChart:
    shown = sorted(
        (each for each in found.methods if any(row["solver"] == _label(found, each.name) for row in rows)),
        key=lambda each: -each.mean,
    )
    labels, colours = [_label(found, each.name) for each in shown], _colours(found)
    legend = alt.Legend(title=None, orient="right", labelLimit=320, symbolType="stroke", symbolStrokeWidth=3)
    colour = alt.Color(
        "solver:N",
        legend=legend,
        sort=labels,
        scale=alt.Scale(domain=labels, range=[colours[each.name] for each in shown]),
    )
    width = alt.condition(alt.datum.solver == _label(found, LEARNED), alt.value(3), alt.value(1.6))
    lines = drawing(rows).mark_line(interpolate="step-after" if step else "linear")
    layers: list[Any] = [lines.encode(x, y, colour, strokeWidth=width)]
    times = Counter(row["solver"] for row in rows)
    if alone := [row for row in rows if times[row["solver"]] == 1]:
        points = drawing(alone).mark_point(shape="circle", size=90, filled=True, opacity=1, clip=False)
        layers.append(points.encode(x, y, colour))
    if mark is not None:
        place = drawing([mark]).encode(alt.X("step:Q"), alt.Y("value:Q"))
        layers.append(place.mark_point(shape="diamond", size=110, filled=True, color="black", opacity=1, clip=False))
    runs = len(found.methods[0].ends)
    fresh = f"{found.fresh:,} fresh draws" + ("" if runs == found.fresh else f" ({runs:,} runs)")
    words = [] if mark is None else [mark["words"]]
    if found.score.relative and runs > ENOUGH:
        words.append(f"lines: the first {ENOUGH:,} of them; numbers, and solvers that are points: all of them")
    title = alt.TitleParams(f"{found.family.title}: {fresh}", subtitle=words, subtitleFontSize=12, subtitlePadding=4)
    chart = alt.layer(*layers).properties(width=520, height=320, title=title, background="white")
    looks: alt.LayerChart = (
        chart.configure(font="DejaVu Sans")
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", gridColor="#E6E6E6")
        .configure_legend(labelFontSize=12, rowPadding=4)
        .configure_title(fontSize=13, anchor="start")
        .configure_view(stroke=None)
    )
    return looks


def _label(found: Contest, name: str) -> str:
    called = {LEARNED: "learned", TUNED: "tuned by Optuna"}.get(name, name)
    return f"{called}: {found.score.told(found[name].mean)}"


def _colours(found: Contest) -> dict[str, str]:
    names = [each.name for each in found.methods if each.name not in (LEARNED, TUNED, found.best)]
    rest = {name: _colour(k) for k, name in enumerate(names)}
    return {LEARNED: BLUE, TUNED: ORANGE, found.best: RED} | rest


def _colour(k: int) -> str:
    """The colour of the k-th other solver; where there are more than colours, darker and darker shades of them."""
    turn, place = divmod(k, len(OTHERS))
    parts = (int(OTHERS[place][i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part * 0.6**turn):02X}" for part in parts)
