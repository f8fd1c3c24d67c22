"""Which share of the instances ends how well, or gets there how soon: measured lines, and what is certified of one.

Certified is a lower bound on the learned line only, and only where a claim says so: the points of claims on how runs
end (`ending`), which hold together, and the whole line where a budget is claimed, for all steps at once. Between two
such points nothing more is drawn than that a distribution function never falls.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from pacopt.bounds.baselines import baseline_table
from pacopt.bounds.budget import Stairs, Target
from pacopt.comparison import Comparison
from pacopt.loss_table import LossTable
from pacopt.report.budgets import Budgets
from pacopt.report.colours import INK, LEARNED
from pacopt.report.endings import Ending, ending_of, first_runs, told
from pacopt.report.figures import TINY, Axis, Chart, Figure, Key, Numbers, drawing, drawn, specification
from pacopt.report.looks import MEDIAN, Look, called, looks_of
from pacopt.report.source import Reported
from pacopt.report.words import FAR, estimate, kept, rivals_of, share, useless
from pacopt.support.rounding import down, percent, up

TITLE = "Performance profile"
#: So many points make a line, and so many targets have a chart.
POINTS, TARGETS = 300, 2
#: Decades are drawn from this ratio of the ends on; lines reach so far below the middle of the learned one at most.
WIDE, DEEP = 30.0, 1e8
#: Of a target that a smaller part is certified to reach, no chart is drawn.
ENOUGH = 0.1
#: At these parts of the instances the table reads the lines.
PARTS = (0.5, 0.75, 0.9, 0.95)

Points = list[tuple[float, float]]


class Lines(NamedTuple):
    """One chart: its name and axis, what each method reached on the test split, and certified points of the learned.

    Values above `top` are not on the axis.
    """

    name: str
    axis: str
    measured: Mapping[str, np.ndarray]
    certified: Points
    top: float
    log: bool = False


def profile_figure(source: Reported) -> Figure | None:
    """Distribution functions on the test split; None without one."""
    comparison = source.comparison
    if source.test is None or comparison is None:
        return None
    charts = [_endings(source), *_targets(source)]
    shown, usual = charts[0], source.origin.usual
    ending = ending_of(source.certificate.design.score, relative=comparison.relative)
    others = "other charts" if len(charts) > 2 else "other chart"
    caption = (
        f"The share of {comparison.instances} test {comparison.noun} that ends at or below a value"
        + (", without the safeguard" if comparison.relative else "")
        + (f"; in the {others}, the share that reaches a target within so many steps" if len(charts) > 1 else "")
        + f". Higher is better. Lines: measured{first_runs(source.test, comparison.noun)}."
    )
    if any(chart.certified for chart in charts):
        caption += (
            " Shaded: where the true line of the learned ones lies, as certified. Where there is no shade, nothing is "
            "certified of it."
        )
    caption += _beyond(shown, ending, usual)
    heading = _heading(comparison, shown, ending, usual)
    numbers = _numbers(shown, usual)
    return Figure(
        "profile", TITLE, heading, caption, tuple(_chart(chart, usual, [*shown.measured]) for chart in charts), numbers
    )


def _heading(comparison: Comparison, shown: Lines, ending: Ending, usual: str) -> str:
    """Where nine in ten of the learned runs end, and those of the strongest rival."""
    part = PARTS[2]
    ours = _reached(shown.measured["learned"], part)
    heading = f"{share(part)} of the test {comparison.noun} {ending.at(ours)}"
    if not np.isfinite(ours):
        heading = ending.below(part, f" of the test {comparison.noun}").capitalize()
    for rival in rivals_of(comparison)[:1]:
        theirs = _reached(shown.measured[rival.name], part)
        heading += f" ({called(rival.name, usual)}: {estimate(theirs) if np.isfinite(theirs) else ending.below(part)})"
    return heading


def _beyond(shown: Lines, ending: Ending, usual: str) -> str:
    """Which runs have no place on the axis, as a sentence; empty if all have one."""
    beyond = {name: values[values > shown.top] for name, values in shown.measured.items()}
    if not any(map(len, beyond.values())):
        return ""
    every = np.concatenate([*beyond.values()])
    far = f"ended above {ending.number(shown.top)}"
    kinds = [*([ending.fails] if np.isinf(every).any() else []), *([far] if np.isfinite(every).any() else [])]
    told = ", ".join(f"{called(name, usual)} {len(values)}" for name, values in beyond.items() if len(values))
    return f" Not on the axis: runs that {'were ' * ending.fails.startswith('not ')}{' or '.join(kinds)} ({told})."


def _endings(source: Reported) -> Lines:
    """How runs end, and the certified points of that."""
    test, c = source.test, source.certificate
    assert test is not None
    measured = {
        name: test.outcomes(slice(i, i + 1))[0] for i, name in enumerate(test.origin.rows) if name != MEDIAN
    } | {name: baseline_table(test, name).outcomes()[0] for name in test.baselines}
    points: Points = []
    for claim in c.design.claims:
        value = c.deployed.values[claim.name]
        if value is None or useless(claim, value, c.design):
            continue
        ending = claim.ending(value, c.design)
        if ending is not None and not (ending.by_verdict and c.user_success):
            points.append((float(ending.outcome), float(ending.part)))
    budgets = Budgets.of(c, None)
    if budgets is not None and isinstance(budgets.stairs.targets[0], str):  # how runs end is when they got there
        points += _stairs(budgets.stairs, budgets.stairs.targets[0])
    score = c.design.score
    noun = "final loss relative to the start" if test.start is not None else score.noun
    axis = noun if not score.unit or score.unit in noun or test.start is not None else f"{noun} ({score.unit})"
    ends = np.concatenate([values[np.isfinite(values) & (values > 0)] for values in measured.values()])
    log = bool(len(ends) and ends.max() > WIDE * ends.min())
    return Lines("profile", axis, measured, _rising(points), FAR * score.scale if score.on_outcomes else FAR, log)


def _targets(source: Reported) -> list[Lines]:
    """How soon targets are reached, the hardest first for which anything is certified."""
    budgets, test = Budgets.of(source.certificate, None), source.test
    if budgets is None or test is None or isinstance(budgets.stairs.targets[0], str):
        return []
    some = [each for each in budgets.stairs.targets if budgets.stairs.probability(np.inf, each) >= ENOUGH]
    return [
        Lines(f"reach{place}", f"steps until {target!r} times the start", _times(test, target), points, np.inf)
        for place, target in enumerate(some[-TARGETS:])
        if (points := _stairs(budgets.stairs, target))
    ]


def _times(test: LossTable, target: Target) -> dict[str, np.ndarray]:
    rows = enumerate(test.origin.rows)
    return {name: test.time_to(target, slice(i, i + 1))[0] for i, name in rows if name != MEDIAN}


def _stairs(stairs: Stairs, target: Target) -> Points:
    """The certified part at each step at which it rises."""
    times = np.unique(np.concatenate([each[np.isfinite(each)] for each in stairs.times]))
    found, best = [], 0.0
    for time in times[kept(len(times), POINTS, np.array([0, len(times) - 1]))] if len(times) else ():
        part = stairs.probability(float(time), target)
        if part > best:
            found.append((float(time), part))
            best = part
    return found


def _axis(lines: Lines) -> Axis:
    """An axis with room for the lines; what lies far off, or failed, is not on it."""
    learned = lines.measured["learned"]
    values = np.concatenate([*lines.measured.values(), np.array([x for x, _ in lines.certified])])
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Axis.around([TINY, 1.0], log=lines.log)
    ours, top = learned[np.isfinite(learned)], min(float(finite.max()), lines.top)
    if not lines.log:
        return Axis(0.0, top * 1.03 or 1.0, log=False)
    positive = finite[finite > 0]
    middle = float(np.median(ours[ours > 0])) if (ours > 0).any() else float(positive.min())
    low = max(float(positive.min()), middle / DEEP, TINY)
    return Axis.around([min(low, top), top], log=True)


def _chart(lines: Lines, usual: str, every: list[str]) -> Chart:
    axis = _axis(lines)
    x = alt.X("x:Q", scale=axis.scale(), axis=axis.ticks(lines.axis, grid=False))
    ticks = alt.Axis(title="share of instances", format="~%", tickCount=5)
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, 1]), axis=ticks)
    layers, legend = [], []
    if lines.certified:
        steps = _certified(lines.certified, axis)
        area = drawing(steps).mark_area(color=LEARNED, opacity=0.13, interpolate="step-after", clip=True)
        layers.append(area.encode(x=x, y=y, y2="top:Q"))
        edge = drawing(steps).mark_line(color=INK, strokeWidth=1.6, interpolate="step-after", clip=True)
        tips = [alt.Tooltip("said:N", title="certified: at least"), alt.Tooltip("x:Q", title="at", format=".4~g")]
        layers.append(edge.encode(x=x, y=y))
        marks = [row for row in steps if row["said"]]
        if len(marks) <= len(PARTS):
            dots = drawing(marks).mark_point(shape="diamond", fill=INK, stroke=INK, size=60, opacity=1, clip=True)
            layers.append(dots.encode(x=x, y=y, tooltip=tips))
        legend.append(Key("box", "mark", "certified: the learned line lies in here"))
    looks = looks_of([*lines.measured], every)
    for name, look in reversed(looks.items()):
        layers.append(_line(lines.measured[name], look, axis, x, y, called(name, usual)))
    legend[:0] = [Key(look.mark, look.tone, called(name, usual)) for name, look in looks.items()]
    words = "; ".join(f"at least {_part(part)} at or below {up(x)}" for x, part in lines.certified[-3:])
    text = f"Rising lines over {lines.axis}, one for each of {', '.join(called(name, usual) for name in looks)}."
    text += f" Certified of the learned ones: {words}." if words else " Nothing is certified of this."
    return Chart(lines.name, specification(lines.name, layers, height=280), text, tuple(legend))


def _line(values: np.ndarray, look: Look, axis: Axis, x: alt.X, y: alt.Y, name: str) -> alt.Chart:
    finite = np.sort(values[np.isfinite(values)])
    parts = np.arange(1, len(finite) + 1) / len(values)
    some = kept(len(finite), POINTS, np.array([0, len(finite) - 1])) if len(finite) else np.array([], dtype=int)
    rows: list[dict[str, Any]] = [{"x": drawn(axis.low), "y": 0.0, "name": name}]
    rows += [{"x": drawn(max(finite[k], axis.low)), "y": drawn(parts[k]), "name": name} for k in some.tolist()]
    rows.append({"x": drawn(axis.high), "y": rows[-1]["y"], "name": name})
    line = drawing(rows).mark_line(
        color=look.colour, strokeWidth=2.4, strokeDash=list(look.dash), interpolate="step-after", clip=True
    )
    found: alt.Chart = line.encode(x=x, y=y, tooltip=[alt.Tooltip("name:N", title="this is")])
    return found


def _rising(points: Points) -> Points:
    """The points that say more than those before them."""
    found: Points = []
    for outcome, part in sorted(points):
        if part > (found[-1][1] if found else 0.0):
            found.append((outcome, part))
    return found


def _certified(points: Points, axis: Axis) -> list[dict[str, Any]]:
    """The steps of the certified bound, from the first one to the end of the axis; parts are rounded down."""
    rows: list[dict[str, Any]] = []
    for outcome, part in points:
        place, low = float(f"{outcome:.6g}"), float(down(part, 6))
        if place < outcome:  # never to the left of where it is certified
            place = float(np.nextafter(outcome, np.inf))
        rows.append({"x": max(place, drawn(axis.low)), "y": low, "top": 1.0, "said": _part(part)})
    return [*rows, {"x": drawn(axis.high), "y": rows[-1]["y"], "top": 1.0, "said": ""}]


def _reached(values: np.ndarray, part: float) -> float:
    """The smallest of the values that this part of them is at or below; between two of them nothing is interpolated."""
    return float(np.percentile(values, 100 * part, method="inverted_cdf"))


def _part(part: float) -> str:
    return percent(down(part))


def _numbers(lines: Lines, usual: str) -> Numbers:
    """Where the lines reach some parts."""
    header = (lines.axis, *(called(name, usual) for name in lines.measured))
    rows = [
        (
            f"{share(part)} at or below",
            *(told(_reached(values, part), "not reached") for values in lines.measured.values()),
        )
        for part in PARTS
    ]
    said = [("certified: " + _part(part) + " at or below", up(x)) for x, part in lines.certified]
    short = said if len(said) <= len(PARTS) else []
    width = len(header) - 2
    return Numbers(header, (*rows, *((*row, *[""] * width) for row in short)))
