"""The loss over the iterations: learned, textbook and baselines at equal numbers of steps."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from pacopt.comparison import Curves, between
from pacopt.report.colours import INK
from pacopt.report.figures import TINY, Axis, Chart, Figure, Key, Numbers, drawing, drawn, specification, ticks
from pacopt.report.looks import LOOKS, MEDIAN, Look, called, looks_of
from pacopt.report.source import Reported
from pacopt.report.words import estimate, rivals_of
from pacopt.support.rounding import PERCENT

TITLE = "Loss over iterations"
#: A band that reaches further than this factor below the lines is cut off.
FAR = 1e3
#: Lines that fall further than this factor below those of the learned hyperparameters leave the chart.
DEEP = 1e4


def curves_figure(source: Reported) -> Figure | None:
    """Mean, median and the middle 80 % of the safeguarded ratio on the test split; None where no steps are known."""
    curves, comparison = source.curves, source.comparison
    if curves is None or comparison is None:
        return None  # a table, no test split, or an engine that sees only where runs end
    shown = _drawn(curves, [row.name for row in comparison.rows], cloud=source.arrays)
    ends = {name: between(comparison[name].interval) for name in shown}
    heading = f"After {curves.steps[-1]} steps the loss is on average {ends['learned']} of its start"
    for rival in [row.name for row in rivals_of(comparison) if row.name in ends][:1]:
        name = "the textbook's hyperparameters" if rival == "standard" else rival
        heading += f", with {name} {ends[rival]}"
    caption = (
        f"Loss relative to the start on {comparison.instances} test {comparison.noun}, with the safeguard (a run above "
        f"its start counts as 1){_counted(shown)}. Thick lines: mean. Thin lines: median. Bands: from the 10 % to the "
        "90 % quantile. Measured, not certified; the means at the end with their 95 % intervals."
    )
    if MEDIAN in shown:
        caption += f" {MEDIAN.capitalize()}: the candidate that half of the others beat in training."
    names = curves.names
    below = [each for each in shown if (curves.mean[names.index(each)] <= _floor(curves)).any()]
    if below:
        left = [f"{called(each)} to {estimate(float(curves.mean[names.index(each), -1]))}" for each in below]
        caption += f" Lines that leave the chart go on falling: {', '.join(left)}."
    described = "; ".join(f"{called(name)} {interval}" for name, interval in ends.items())
    charts: tuple[Chart, ...] = ()
    if (curves.mean > 0).any():
        charts = (
            Chart(
                "curves",
                _spec(curves, shown),
                f"Lines over steps. Mean ratio at the end, 95 % interval: {described}.",
                tuple(Key(look.mark, look.tone, called(name)) for name, look in shown.items()),
            ),
        )
    else:
        caption += " All losses are zero, which a logarithmic axis cannot show."
    return Figure("curves", TITLE, heading, caption, charts, _numbers(curves, ends))


def _drawn(curves: Curves, every: list[str], *, cloud: bool) -> dict[str, Look]:
    """What is drawn, and how."""
    return {name: look for name, look in looks_of(curves.names, every).items() if name != MEDIAN or not cloud}


def _floor(curves: Curves) -> float:
    """Where the axis ends at the latest: a method that ends at 1e-30 would leave no room for the others."""
    own = np.concatenate([curves.mean[0], curves.median[0]])
    return float(own[own > 0].min()) / DEEP if (own > 0).any() else 0.0


def _counted(shown: Mapping[str, Look]) -> str:
    """What is equal for all methods."""
    return ", at equal numbers of steps" if any(name not in LOOKS for name in shown) else ""


def _spec(curves: Curves, shown: Mapping[str, Look]) -> dict[str, Any]:
    lines_at = [curves.names.index(name) for name in shown]
    banded = [curves.names.index(name) for name in shown if name in ("learned", "standard")]
    middle = np.concatenate([curves.mean[lines_at].ravel(), curves.median[banded].ravel()])
    middle = middle[middle > _floor(curves)]
    # A few runs that end at 1e-30 would leave no room for the rest.
    low = curves.low[banded][curves.low[banded] > middle.min() / FAR]
    axis = Axis.around([*middle, *low, 1.0], log=True)
    rows = [_row(curves, k, axis.low) for k in range(len(curves.steps))]
    base = drawing(rows)
    x = alt.X("step:Q", axis=ticks("step", grid=False), scale=alt.Scale(nice=False))
    scale, title = axis.scale(), axis.ticks("loss relative to the start")

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale, axis=title)

    bands, lines = [], []
    # The learned ones on top of the textbook's; above them the dashes of baselines, which would hide behind a line.
    own = [*((name, look) for name, look in shown.items() if name in LOOKS)]
    rivals = [*((name, look) for name, look in shown.items() if name not in LOOKS)]
    for name, look in (*reversed(own), *reversed(rivals)):
        i, colour, dash = curves.names.index(name), look.colour, list(look.dash)
        if i in banded:
            area = base.mark_area(color=colour, opacity=0.14, clip=True)
            bands.append(area.encode(x=x, y=y(f"low{i}"), y2=f"high{i}:Q"))
            thin = base.mark_line(color=colour, strokeWidth=1.2, strokeDash=dash, opacity=0.9, clip=True)
            lines.append(thin.encode(x=x, y=y(f"median{i}")))
        thick = base.mark_line(color=colour, strokeWidth=2.6 if name in LOOKS else 2, strokeDash=dash, clip=True)
        lines.append(thick.encode(x=x, y=y(f"mean{i}")))
    hover = alt.selection_point(
        name="hover", fields=["step"], nearest=True, on="pointermove", clear="pointerout", empty=False
    )
    # Numbers only: of texts, Vega-Lite shows "undefined" where the nearest mark is looked for.
    tips = [alt.Tooltip("step:Q")] + [
        alt.Tooltip(f"{what}{curves.names.index(name)}:Q", title=f"{called(name)}: {what}", format=".3~g")
        for name in shown
        for what in (("mean", "median") if name in LOOKS else ("mean",))
    ]
    rule = base.mark_rule(color=INK).encode(
        x=x, tooltip=tips, opacity=alt.condition(hover, alt.value(0.5), alt.value(0.0))
    )
    return specification("curves", [*bands, *lines, rule.properties(name="hovered").add_params(hover)], height=320)


def _row(curves: Curves, k: int, floor: float) -> dict[str, Any]:
    """The numbers of one step; zeros, which have no place on the axis, are left out or lie on its edge."""
    row: dict[str, Any] = {"step": int(curves.steps[k])}
    for i in range(len(curves.names)):
        mean, median, low, high = (float(a[i, k]) for a in (curves.mean, curves.median, curves.low, curves.high))
        row |= {
            f"mean{i}": drawn(mean) if mean > TINY else None,
            f"median{i}": drawn(median) if median > TINY else None,
            f"low{i}": drawn(max(low, floor)),
            f"high{i}": drawn(max(high, floor)),
        }
    return row


def _numbers(curves: Curves, ends: Mapping[str, str]) -> Numbers:
    """Medians at some steps; means only at the end, where they have an interval."""
    shown = np.unique(np.linspace(0, len(curves.steps) - 1, 6).round().astype(int))
    names = [(curves.names.index(name), name) for name in ends]
    rows = [
        (f"median, step {curves.steps[k]}", *(estimate(float(curves.median[i, k])) for i, _ in names)) for k in shown
    ]
    last = (f"mean, step {curves.steps[-1]}, 95{PERCENT} interval", *ends.values())
    return Numbers(("", *(called(name) for name in ends)), (*rows, last))
