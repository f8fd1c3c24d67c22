"""Learned against each baseline, instance by instance, and the instances on which the learned runs end worst."""

from typing import Any, NamedTuple

import altair as alt
import numpy as np

from pacopt.bounds.baselines import baseline_table
from pacopt.comparison import Comparison, between
from pacopt.loss_table import LossTable
from pacopt.report.colours import INK, LEARNED, MUTED, STANDARD, SURFACE
from pacopt.report.endings import FRACTION, Ending, ending_of, first_runs, means_of, told
from pacopt.report.figures import TINY, Axis, Chart, Figure, Key, Listed, Numbers, drawing, drawn, specification
from pacopt.report.labels import placed
from pacopt.report.looks import called, in_words
from pacopt.report.source import Reported
from pacopt.report.words import estimate, kept, rivals_of, undrawn
from pacopt.support.intervals import Factor
from pacopt.support.rounding import PERCENT, down

TITLE = "Instances"
#: So many baselines have a chart, with so many marks; so many of the worst instances are listed.
CHARTS, POINTS, LISTED = 4, 500, 5
#: Smaller values than this part of the median of the learned ones are drawn at the edge.
DEEP = 1e8
#: A line begins so many pixels after the beginning of its label.
AFTER = 26
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
    every = [row.name for row in rivals_of(comparison)]
    if not every:
        return None
    names = _charted(every)
    scale, usual = 1.0 if comparison.relative else source.certificate.design.score.scale, source.origin.usual
    scores = {row.name: scale * values for row, values in zip(comparison.rows, comparison.scores, strict=True)}
    outcomes = test.outcomes(slice(0, 1))[0]
    # Of several runs of an instance, one that failed is enough.
    bad = ~(test.run_ratios(slice(0, 1)) <= 1.0) if comparison.relative else ~np.isfinite(test.losses[:1])
    failed = test.averaged(bad.astype(float))[0] > 0
    worst = np.lexsort((-scores["learned"], -outcomes))[:LISTED]
    ending = ending_of(source.certificate.design.score, relative=comparison.relative)
    means = means_of(test, comparison.noun)
    charts = tuple(
        _chart(f"rival{place}", called(name, usual), scores["learned"], scores[name], failed, worst, ending, means)
        for place, name in enumerate(names)
    )
    relative = ", with the safeguard" if comparison.relative else ""
    ours = scores["learned"]
    cut = any((np.minimum(ours, scores[name]) < _axis(ours, scores[name]).low).any() for name in names)
    caption = (
        f"Each mark is one of the {comparison.instances} test {comparison.noun}: "
        f"{'final loss relative to the start' if comparison.relative else comparison.averaged}{relative}{means}. "
        "Below the diagonal the learned one is better. Numbers are indices of the worst"
        + first_runs(test, comparison.noun)
        + "."
        + (" Marks at an edge lie beyond it." if cut else "")
        + (f" {len(names)} of {len(every)} baselines are drawn; the last table lists all." if names != every else "")
    )
    numbers = _factors(comparison, every, scores, usual)
    return Figure(
        "rivals",
        TITLE,
        _heading(comparison, every, scores, usual) + (f" ({means.removeprefix(', ')})" if means else ""),
        caption,
        charts,
        numbers,
        listed=_listed(comparison, names, worst, test, usual),
    )


def _charted(every: list[str]) -> list[str]:
    """Those that have a chart: the strongest, and what one would use otherwise."""
    names = every[:CHARTS]
    return [*names[:-1], "standard"] if "standard" in every[CHARTS:] else names


def _heading(comparison: Comparison, every: list[str], scores: dict[str, np.ndarray], usual: str) -> str:
    """How often it is better than the strongest baseline, and than what one would use otherwise."""
    told = []
    if (scores["learned"] == scores[every[0]]).all():
        return f"The same as {in_words(every[0], usual)} on all {comparison.instances} test {comparison.noun}"
    for name in dict.fromkeys((every[0], "standard" if "standard" in every else every[0])):
        better = int(np.sum(scores["learned"] < scores[name]))
        told.append(f"than {in_words(name, usual)} on {better or 'none'}")
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
    header = ("baseline", "mean relative to learned", f"95{PERCENT} interval", "better", "equal", "worse")
    return Numbers(header, tuple(rows))


def _interval(factor: Factor) -> str:
    """The interval of a factor, its ends rounded outwards."""
    if np.isfinite(factor.high):
        return between((factor.low, factor.high))
    return f"at least {down(factor.low, 3)}"


def _listed(comparison: Comparison, names: list[str], worst: np.ndarray, test: LossTable, usual: str) -> Listed:
    """How the runs on the worst instances ended, without any safeguard."""
    rows_of = test.origin.rows
    ends = [
        baseline_table(test, name).outcomes()[0] if name in test.baselines else test.outcomes()[rows_of.index(name)]
        for name in ("learned", *names)
    ]
    rows = tuple((str(i), *(told(float(values[i])) for values in ends)) for i in worst.tolist())
    header = ("group" if comparison.noun == "groups" else "split.test[...]", "learned")
    numbers = Numbers((*header, *(called(name, usual) for name in names)), rows)
    title = f"The {len(worst)} worst of {test.shape[1]} test {comparison.noun}"
    title += ", without the safeguard" if comparison.relative else ""
    return Listed(title + first_runs(test, comparison.noun), tuple(worst.tolist()), numbers)


def _axis(ours: np.ndarray, theirs: np.ndarray) -> Axis:
    """One axis for both directions."""
    values = np.concatenate([ours, theirs])
    positive = values[values > 0]
    if not len(positive):
        return Axis(0.0, 1.0, log=False)
    own = ours[ours > 0] if (ours > 0).any() else positive
    low = max(float(positive.min()), float(np.median(own)) / DEEP, TINY)
    high = max(float(positive.max()), low)
    return Axis.around([low, high], log=True) if high > WIDE * low else Axis(0.0, 1.05 * high, log=False)


def _chart(
    name: str,
    rival: str,
    ours: np.ndarray,
    theirs: np.ndarray,
    failed: np.ndarray,
    worst: np.ndarray,
    ending: Ending,
    means: str,
) -> Chart:
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
            "equal": bool(ours[i] == theirs[i]),
            **({"href": f"#instance-{i}"} if i in worst else {}),
        }
        for i in shown.tolist()
    ]
    x = alt.X("x:Q", scale=axis.scale(), axis=axis.ticks([rival, f"({ending.measure})"]))
    y = alt.Y("y:Q", scale=axis.scale(), axis=axis.ticks(f"learned ({ending.measure})"))
    tips = [
        alt.Tooltip("i:Q", title="test instance"),
        alt.Tooltip("ours:N", title="learned"),
        alt.Tooltip("theirs:N", title=rival),
    ]
    ends = [{"x": drawn(end), "y": drawn(end)} for end in (axis.low, axis.high)]
    layers = [drawing(ends).mark_line(color=MUTED, strokeWidth=1.2, strokeDash=[4, 3]).encode(x=x, y=y)]
    legend = []
    for kind, (look, text) in enumerate(_kinds(points, ending, several=bool(means))):
        rows = [point for point in points if point["kind"] == kind]
        if rows:
            mark = drawing(rows).mark_point(
                shape=look.shape, fill=look.colour, stroke=SURFACE, strokeWidth=0.5, opacity=0.75, size=44 + 30 * kind
            )
            layers.append(mark.encode(x=x, y=y, tooltip=tips, href="href:N"))
            legend.append(Key(look.mark, look.tone, text))
    listed = [point for point in points if "href" in point]
    layers += _labels(listed, points, axis, x, y)
    marked = drawing(listed)
    picked = marked.add_params(alt.param(name="picked", value=-1)).transform_filter("datum.i == picked")
    layers.append(picked.mark_point(shape="circle", stroke=INK, strokeWidth=2.4, size=340, opacity=1).encode(x=x, y=y))
    if len(shown) < len(ours):
        legend.append(Key("none", "muted", undrawn(0, len(ours) - len(shown))))
    better = int(np.sum(ours < theirs))
    words = f"Scatter of {len(ours)} instances, learned against {rival}: on {better} of them the learned one is better"
    return Chart(name, specification(name, layers, height=320), f"{words}{means}.", tuple(legend))


def _kinds(points: list[dict[str, Any]], ending: Ending, *, several: bool) -> list[tuple[Look, str]]:
    """How each kind of mark looks, and what the legend says of it, with its count."""
    better, worse, failed = (sum(point["kind"] == kind for point in points) for kind in range(3))
    equal = sum(point["kind"] == 0 and point["equal"] for point in points)
    told = [f"better ({better - equal})"] * (better > equal) + [f"equal ({equal})"] * (equal > 0)
    above = ", or ended above its start" if ending.measure == FRACTION else ""
    run = "at least one of the learned runs" if several else "the learned run"
    lost = f"{run} {'was ' * ending.fails.startswith('not ')}{ending.fails}{above}"
    return [
        (BETTER, f"learned is {' or '.join(told)}"),
        (WORSE, f"worse ({worse})"),
        (FAILED, f"{lost} ({failed})"),
    ]


def _labels(
    listed: list[dict[str, Any]], points: list[dict[str, Any]], axis: Axis, x: alt.X, y: alt.Y
) -> list[alt.Chart]:
    """The indices of the worst instances, in a column where there is room, with lines to their marks."""
    cloud, marks = (
        np.stack([axis.parts(np.array([point[way] for point in some])) for way in "xy"], axis=1)
        for some in (points, listed)
    )
    found = placed(marks, cloud)
    rows: list[dict[str, Any]] = [
        {"x": drawn(axis.at(label.x)), "y": drawn(axis.at(label.y)), "mark_x": point["x"], "mark_y": point["y"]}
        | {"i": point["i"], "href": point["href"]}
        for point, label in zip(listed, found, strict=True)
    ]
    left = found[0].align == "left"
    lines = drawing(rows).mark_rule(color=INK, strokeWidth=0.8, opacity=0.55, xOffset=(1 if left else -1) * AFTER)
    rings = drawing(listed).mark_point(shape="circle", fill="transparent", stroke=INK, strokeWidth=1.2, size=80)
    text: dict[str, Any] = {"baseline": "middle", "align": found[0].align, "fontSize": 12}
    halo = drawing(rows).mark_text(stroke=SURFACE, strokeWidth=4, color=SURFACE, **text)
    names = drawing(rows).mark_text(color=INK, **text)
    return [
        lines.encode(x=x, y=y, x2="mark_x:Q", y2="mark_y:Q"),
        rings.encode(x=x, y=y, opacity=alt.value(1)),
        halo.encode(x=x, y=y, text="i:Q"),
        names.encode(x=x, y=y, text="i:Q", href="href:N"),
    ]
