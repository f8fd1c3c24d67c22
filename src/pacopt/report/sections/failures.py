"""Where runs fail among the candidates, and how: by hyperparameters, and by what they said."""

from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from pacopt.report.candidates import Candidates
from pacopt.report.colours import INK, LEARNED, STANDARD, SURFACE
from pacopt.report.endings import ending_of
from pacopt.report.figures import Axis, Chart, Figure, Key, Numbers, drawing, drawn
from pacopt.report.figures import specification as specified
from pacopt.report.source import Reported
from pacopt.report.words import hyper_text, kept, undrawn, value_text
from pacopt.statement import subject_of

TITLE = "Failures"
#: So many candidates are drawn; so many pairs of hyperparameters have a map; so many hyperparameters have a chart.
POINTS, MAPS, CHARTS = 800, 3, 4
#: So many names have a bar at most; the height of one, and of the axis below.
NAMES, BAR, BELOW = 15, 30, 24


class Kind(NamedTuple):
    """Candidates that failed alike: the name, a shape that can be told without its colour, and the legend's mark."""

    name: str
    shape: str
    colour: str
    mark: str
    tone: str
    size: int


KINDS = (
    Kind("never failed", "circle", LEARNED, "circle", "learned", 34),
    Kind("failed on some instances", "triangle-up", STANDARD, "triangle", "standard", 80),
    Kind("failed on all", "cross", "var(--bad)", "cross", "bad", 80),
)


def failures_figure(source: Reported, candidates: Candidates) -> Figure | None:
    """Candidates by their hyperparameters, marked by how often they failed in training; None if nothing ever did."""
    table, c, origin = source.table, source.certificate, source.origin
    # Every run counts here, also where one of several speaks for its instance.
    failed = ~replace(table, columns=None).succeeded(c.design.target_ratio)
    run = np.ones_like(failed) if table.missing is None else ~table.missing
    runs, counts = run.sum(axis=1), (failed & run).sum(axis=1)
    if not counts.any() and not origin.failures:
        return None
    parts = counts / np.maximum(runs, 1)
    known = np.flatnonzero(runs > 0)
    kinds = np.where(counts == 0, 0, np.where(counts < runs, 1, 2))
    heading = f"{counts.sum():,} of {runs.sum():,} training runs failed, {_of(c.deployed.index, counts, runs)}"
    varied = [name for name, values in candidates.values.items() if len(np.unique(values[known])) > 1]
    numeric = [name for name in varied if candidates.numeric(name)]
    pairs, named = [*combinations(numeric, 2)], [name for name in varied if not candidates.numeric(name)]
    if 1 <= len(pairs) <= MAPS:
        charts = [_map(candidates, pair, k, known, kinds, parts) for k, pair in enumerate(pairs)]
    else:
        charts = [_chart(candidates, name, k, known, kinds, parts) for k, name in enumerate(numeric[:CHARTS])]
    for name in named[: CHARTS - len(charts)]:
        charts.append(_bars(candidates, name, len(charts), counts[known], runs[known], known))
    caption = "How often candidates fail on the training instances."
    if (event := subject_of(c).event) != c.design.score.event or c.design.score.relative:
        caption += f" A run fails here unless it {event}."
    numbers = _numbers(source, kinds[known], counts, runs)
    return Figure("failures", TITLE, heading, caption, tuple(charts), numbers, uneven=bool(named))


def _of(deployed: int, counts: np.ndarray, runs: np.ndarray) -> str:
    """How often the certified candidate failed."""
    failed = f"{counts[deployed]:,}" if counts[deployed] else "none"
    return f"{failed} of {runs[deployed]:,} with the certified candidate"


def _numbers(source: Reported, kinds: np.ndarray, counts: np.ndarray, runs: np.ndarray) -> Numbers:
    """Failures by their messages where there are any; else how many candidates failed how, and the worst of them."""
    origin = source.origin
    if origin.failures:
        rows = [
            (kind, str(count), origin.messages.get(kind, "").removeprefix(f"{kind}:").strip())
            for kind, count in sorted(origin.failures.items(), key=lambda each: -each[1])
        ]
        if (rest := int(counts.sum()) - sum(origin.failures.values())) > 0:
            c = source.certificate
            fails = ending_of(c.design.score, relative=source.table.start is not None).fails
            said = f"a run succeeds if it {subject_of(c).event}"
            rows.append(("no success", str(rest), said) if fails == "failed" else (fails, str(rest), ""))
        return Numbers(("kind of failure", "runs", "what the first of them said"), tuple(rows))
    worst = [i for i in np.argsort(-counts / np.maximum(runs, 1), kind="stable")[:5].tolist() if counts[i]]
    sizes = [(kind.name, int(np.sum(kinds == k))) for k, kind in enumerate(KINDS)]
    rows = [(name, f"{size} candidate{'s' if size > 1 else ''}", "") for name, size in sizes if size]
    rows += [
        ("failed most often" if not place else "", hyper_text(source.table.hyper(i)), f"{counts[i]} of {runs[i]}")
        for place, i in enumerate(worst)
    ]
    return Numbers(("", "candidates", "failed runs"), tuple(rows))


def _points(
    candidates: Candidates, axes: dict[str, Axis], known: np.ndarray, kinds: np.ndarray
) -> tuple[list[int], list[Key]]:
    """Those on these axes that failed, and some of the others, to be drawn; and what the legend says of the rest."""
    held = np.logical_and.reduce([axis.holds(candidates.values[name][known]) for name, axis in axes.items()])
    inside, far = known[held], known[~held]
    failing = np.flatnonzero(kinds[inside] > 0)
    some = inside[kept(len(inside), POINTS, failing[kept(len(failing), POINTS // 2, failing[:0])])]
    failed = int(np.sum(kinds[far] > 0))
    text = undrawn(len(far), len(inside) - len(some), f" ({failed} failed)" if failed else "")
    return some.tolist(), [Key("none", "muted", text)] if text else []


def _marks(rows: list[dict[str, Any]], x: alt.X, y: alt.Y, tips: list[alt.Tooltip]) -> tuple[list[Any], list[Key]]:
    layers, legend = [], []
    for k, kind in enumerate(KINDS):
        of = [row for row in rows if row["kind"] == k]
        if of:
            mark = drawing(of).mark_point(
                shape=kind.shape, fill=kind.colour, stroke=SURFACE, strokeWidth=0.6, opacity=0.75, size=kind.size
            )
            layers.append(mark.encode(x=x, y=y, tooltip=tips))
            legend.append(Key(kind.mark, kind.tone, f"{kind.name} ({len(of)})"))
    return layers, legend


def _ring(x: alt.X, y: alt.Y, place: dict[str, Any], shape: str, colour: str) -> alt.Chart:
    mark = drawing([place]).mark_point(shape=shape, fill="transparent", stroke=colour, strokeWidth=2.4, size=190)
    ring: alt.Chart = mark.encode(x=x, y=y, opacity=alt.value(1))
    return ring


def _map(
    candidates: Candidates, pair: tuple[str, str], number: int, known: np.ndarray, kinds: np.ndarray, parts: np.ndarray
) -> Chart:
    """Candidates by two of their hyperparameters."""
    first, second = pair
    across, along = (candidates.wide_axis(name, known) for name in pair)
    x = alt.X("x:Q", scale=across.scale(), axis=across.ticks(first))
    y = alt.Y("y:Q", scale=along.scale(), axis=along.ticks(second))
    tips = [
        alt.Tooltip("x:Q", title=first, format=".4~g"),
        alt.Tooltip("y:Q", title=second, format=".4~g"),
        alt.Tooltip("part:Q", title="failed", format=".1%"),
    ]
    values = candidates.values
    shown, missing = _points(candidates, {first: across, second: along}, known, kinds)
    rows = [
        {
            "x": drawn(values[first][i]),
            "y": drawn(values[second][i]),
            "part": drawn(parts[i]),
            "kind": int(kinds[i]),
        }
        for i in shown
    ]
    layers, legend = _marks(rows, x, y, tips)
    words = f"Map of {first} against {second}: {', '.join(key.text for key in legend)}."
    here = candidates.deployed
    layers.append(_ring(x, y, {"x": drawn(values[first][here]), "y": drawn(values[second][here])}, "diamond", INK))
    legend.append(Key("diamond", "ink", candidates.chosen))
    if candidates.standard is not None:
        usual = {"x": drawn(candidates.standard[first]), "y": drawn(candidates.standard[second])}
        layers.append(_ring(x, y, usual, "square", STANDARD))
        legend.append(Key("square", "standard", candidates.usual))
    legend += missing
    return Chart(f"failed{number}", specified(f"failed{number}", layers, height=300), words, tuple(legend))


def _bars(
    candidates: Candidates, name: str, number: int, counts: np.ndarray, runs: np.ndarray, known: np.ndarray
) -> Chart:
    """The share of failed runs for each value of a hyperparameter that goes by names."""
    texts = np.array([value_text(value) for value in candidates.values[name].tolist()])
    found, where = np.unique(texts[known], return_inverse=True)
    failed, ran = (np.bincount(where, weights=each) for each in (counts, runs))
    worst = np.argsort(-failed / ran, kind="stable")[:NAMES]
    rows: list[dict[str, Any]] = [
        {"name": str(found[k]), "part": drawn(failed[k] / ran[k]), "runs": f"{failed[k]:.0f} of {ran[k]:.0f}"}
        for k in worst.tolist()
    ]
    y = alt.Y("name:N", sort=[row["name"] for row in rows], axis=alt.Axis(title=name, labelLimit=260, grid=False))
    x = alt.X("part:Q", axis=alt.Axis(title="failed", format="~%", tickCount=5))
    bars = drawing(rows).mark_bar(fill=STANDARD, opacity=0.75, height={"band": 0.62})
    tips = [alt.Tooltip("name:N", title=name), alt.Tooltip("runs:N", title="failed runs")]
    here = texts[candidates.deployed]
    legend = (Key("box", "standard", f"failed runs by {name}"), Key("none", "ink", f"{candidates.chosen}: {here}"))
    listed = ", ".join(f"{row['name']} {row['part']:.1%}" for row in rows[:5])
    words = f"Failed runs by {name}: {listed}."
    spec = specified(f"failed{number}", [bars.encode(x=x, y=y, tooltip=tips)], height=BAR * len(rows) + BELOW)
    return Chart(f"failed{number}", spec, words, legend)


def _chart(
    candidates: Candidates, name: str, number: int, known: np.ndarray, kinds: np.ndarray, parts: np.ndarray
) -> Chart:
    """The share of failed runs over one hyperparameter."""
    across, values, here = candidates.wide_axis(name, known), candidates.values[name], candidates.deployed
    x = alt.X("x:Q", scale=across.scale(), axis=across.ticks(name))
    top = min(1.0, 1.2 * float(parts[known].max()) or 1.0)
    y = alt.Y(
        "part:Q", scale=alt.Scale(domain=[0, drawn(top)]), axis=alt.Axis(title="failed", format="~%", tickCount=5)
    )
    tips = [
        alt.Tooltip("x:Q", title=name, format=".4~g"),
        alt.Tooltip("part:Q", title="failed", format=".1%"),
    ]
    shown, missing = _points(candidates, {name: across}, known, kinds)
    rows = [{"x": drawn(float(values[i])), "part": drawn(parts[i]), "kind": int(kinds[i])} for i in shown]
    layers, legend = _marks(rows, x, y, tips)
    words = f"Part of failed runs over {name}: {', '.join(key.text for key in legend)}."
    layers.append(_ring(x, y, {"x": drawn(float(values[here])), "part": drawn(parts[here])}, "diamond", INK))
    legend.append(Key("diamond", "ink", f"{candidates.chosen}, {name} = {value_text(values[here].item())}"))
    if candidates.standard is not None and candidates.textbook is not None:
        usual = {"x": drawn(float(candidates.standard[name])), "part": drawn(parts[candidates.textbook])}
        layers.append(_ring(x, y, usual, "square", STANDARD))
        legend.append(Key("square", "standard", candidates.usual))
    legend += missing
    return Chart(f"failed{number}", specified(f"failed{number}", layers, height=240), words, tuple(legend))
