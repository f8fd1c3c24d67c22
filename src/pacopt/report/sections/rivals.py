"""Learned against each baseline, instance by instance, and the instances on which the learned runs end worst."""

from typing import Any, NamedTuple

import altair as alt
import numpy as np

from pacopt.comparison import Comparison, between
from pacopt.loss_table import LossTable
from pacopt.report.figures import (
    INK,
    LEARNED,
    MUTED,
    STANDARD,
    SURFACE,
    TINY,
    Axis,
    Chart,
    Figure,
    Key,
    Listed,
    Numbers,
    drawing,
    drawn,
    specification,
)
from pacopt.report.looks import MEDIAN, called
from pacopt.report.source import Reported
from pacopt.report.words import estimate, kept
from pacopt.support.intervals import Factor
from pacopt.support.rounding import PERCENT, down

TITLE = "Instances"
#: So many baselines have a chart, with so many marks; so many of the worst instances are listed.
CHARTS, POINTS, LISTED = 3, 500, 5
#: Smaller values than this part of the median are drawn at the edge.
DEEP = 1e12
#: Decades are drawn from this ratio of the ends on.
WIDE = 8.0


class Look(NamedTuple):
    """A mark that can be told from the others without colours, its colour, and its entry in the legend."""

    shape: str
    colour: str
    mark: str
    tone: str


BETTER, WORSE, FAILED = (
    Look("circle", LEARNED, "circle", "learned"),
    Look("triangle-up", STANDARD, "triangle", "standard"),
    Look("cross", "var(--bad)", "cross", "bad"),
)


def rivals_figure(source: Reported) -> Figure | None:
    """A mark for each test instance: across what a baseline does, upwards what was learned; None without either."""
    comparison, test = source.comparison, source.test
    if comparison is None or test is None:
        return None
    names = [row.name for row in comparison.rows if row.name not in ("learned", MEDIAN)][:CHARTS]
    if not names:
        return None
    scale, usual = 1.0 if comparison.relative else source.certificate.design.score.scale, source.origin.usual
    scores = {row.name: scale * values for row, values in zip(comparison.rows, comparison.scores, strict=True)}
    outcomes = test.outcomes(slice(0, 1))[0]
    failed = ~(outcomes <= 1.0) if comparison.relative else ~np.isfinite(outcomes)
    worst = np.lexsort((-scores["learned"], -outcomes))[:LISTED]
    charts = tuple(
        _chart(f"rival{place}", called(name, usual), scores["learned"], scores[name], failed, worst)
        for place, name in enumerate(names)
    )
    relative = ", with the safeguard" if comparison.relative else ""
    caption = (
        f"Each mark is one of the {comparison.instances} test {comparison.noun}: "
        f"{'final loss relative to the start' if comparison.relative else comparison.averaged}{relative}. Below the "
        "diagonal the learned one is better. Numbers are indices of the worst."
    )
    numbers = _factors(comparison, names, scores, usual)
    return Figure(
        "rivals",
        TITLE,
        _heading(comparison, names, scores, usual),
        caption,
        charts,
        numbers,
        listed=_listed(comparison, names, scores, outcomes, worst, test, usual),
    )


def _heading(comparison: Comparison, names: list[str], scores: dict[str, np.ndarray], usual: str) -> str:
    """How often it is better than the first baseline, and than the best one."""
    best = min(names, key=lambda name: float(scores[name].mean()))
    told = []
    for name in dict.fromkeys((names[0], best)):
        better = int(np.sum(scores["learned"] < scores[name]))
        rival = f"the {called(name, usual)}" if name == "standard" else called(name, usual)
        told.append(f"than {rival} on {better}")
    return f"Better {' and '.join(told)} of {comparison.instances} test {comparison.noun}"


def _factors(comparison: Comparison, names: list[str], scores: dict[str, np.ndarray], usual: str) -> Numbers:
    """By how much the mean is smaller than that of each baseline, with an interval, and how often it is better."""
    rows = []
    for name in names:
        factor, ours, theirs = comparison.factor("learned", name), scores["learned"], scores[name]
        counts = (int(np.sum(ours < theirs)), int(np.sum(ours == theirs)), int(np.sum(ours > theirs)))
        rows.append(
            (called(name, usual), estimate(factor.measured), _interval(factor), *map(str, counts)),
        )
    header = ("baseline", "its mean over the learned one", f"95{PERCENT} interval", "better", "equal", "worse")
    return Numbers(header, tuple(rows))


def _interval(factor: Factor) -> str:
    """The interval of a factor, its ends rounded outwards."""
    if np.isfinite(factor.high):
        return between((factor.low, factor.high))
    return f"at least {down(factor.low, 3)}"


def _listed(
    comparison: Comparison,
    names: list[str],
    scores: dict[str, np.ndarray],
    outcomes: np.ndarray,
    worst: np.ndarray,
    test: LossTable,
    usual: str,
) -> Listed:
    grouped = comparison.noun == "groups"
    first = "without the safeguard" if comparison.relative else "learned"
    header = ("group" if grouped else "split.test[...]", f"learned, {first}" if comparison.relative else first)
    rows = tuple(
        (
            str(i),
            estimate(float(outcomes[i])) if np.isfinite(outcomes[i]) else "failed",
            *(estimate(float(scores[name][i])) for name in names),
        )
        for i in worst.tolist()
    )
    numbers = Numbers((*header, *(called(name, usual) for name in names)), rows)
    return Listed(f"The {len(worst)} worst of {test.shape[1]} test {comparison.noun}", tuple(worst.tolist()), numbers)


def _axis(ours: np.ndarray, theirs: np.ndarray) -> Axis:
    """One axis for both directions."""
    values = np.concatenate([ours, theirs])
    positive = values[values > 0]
    if not len(positive):
        return Axis(0.0, 1.0, log=False)
    low = max(float(positive.min()), float(np.median(positive)) / DEEP, TINY)
    high = max(float(positive.max()), low)
    return Axis.around([low, high], log=True) if high > WIDE * low else Axis(0.0, 1.05 * high, log=False)


def _chart(name: str, rival: str, ours: np.ndarray, theirs: np.ndarray, failed: np.ndarray, worst: np.ndarray) -> Chart:
    axis = _axis(ours, theirs)
    shown = kept(len(ours), POINTS, np.union1d(worst, np.flatnonzero(ours > theirs)[:POINTS]))
    clip = [np.clip(values, axis.low, axis.high) for values in (theirs, ours)]
    points: list[dict[str, Any]] = [
        {
            "x": drawn(clip[0][i]),
            "y": drawn(clip[1][i]),
            "i": i,
            "theirs": estimate(float(theirs[i])),
            "ours": estimate(float(ours[i])),
            "kind": 2 if failed[i] else int(ours[i] > theirs[i]),
            **({"href": f"#instance-{i}"} if i in worst else {}),
        }
        for i in shown.tolist()
    ]
    x = alt.X("x:Q", scale=axis.scale(), axis=axis.ticks(rival))
    y = alt.Y("y:Q", scale=axis.scale(), axis=axis.ticks("learned"))
    tips = [
        alt.Tooltip("i:Q", title="test instance"),
        alt.Tooltip("ours:N", title="learned"),
        alt.Tooltip("theirs:N", title=rival),
    ]
    ends = [{"x": drawn(end), "y": drawn(end)} for end in (axis.low, axis.high)]
    layers = [drawing(ends).mark_line(color=MUTED, strokeWidth=1.2, strokeDash=[4, 3]).encode(x=x, y=y)]
    legend = []
    for kind, (look, text) in enumerate(
        ((BETTER, "learned is as good or better"), (WORSE, "worse"), (FAILED, "the learned run failed, or ended above"))
    ):
        rows = [point for point in points if point["kind"] == kind]
        if rows:
            mark = drawing(rows).mark_point(
                shape=look.shape, fill=look.colour, stroke=SURFACE, strokeWidth=0.5, opacity=0.75, size=44 + 30 * kind
            )
            layers.append(mark.encode(x=x, y=y, tooltip=tips, href="href:N"))
            legend.append(Key(look.mark, look.tone, f"{text} ({len(rows)})"))
    places = worst.tolist()
    listed = sorted((point for point in points if "href" in point), key=lambda point: places.index(point["i"]))
    for first, sign in enumerate((1, -1)):  # right and left in turn, since they often lie together
        names = drawing(listed[first::2]).mark_text(baseline="middle", dx=sign * 14, fontSize=11, color=INK)
        layers.append(names.encode(x=x, y=y, text="i:Q", href="href:N"))
    marked = drawing(listed)
    picked = marked.add_params(alt.param(name="picked", value=-1)).transform_filter("datum.i == picked")
    layers.append(picked.mark_point(shape="circle", stroke=INK, strokeWidth=2.4, size=340, opacity=1).encode(x=x, y=y))
    if len(shown) < len(ours):
        legend.append(Key("none", "muted", f"{len(ours) - len(shown)} of {len(ours)} are not drawn"))
    better = int(np.sum(ours < theirs))
    words = f"Scatter of {len(ours)} instances, learned against {rival}: on {better} of them the learned one is better."
    return Chart(name, specification(name, layers, height=320), words, tuple(legend))
