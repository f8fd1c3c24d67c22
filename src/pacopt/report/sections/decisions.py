"""What the algorithm does over the steps, where it says so: each of its decisions against the textbook's."""

from typing import Any

import altair as alt
import numpy as np

from pacopt.decisions import Decisions
from pacopt.report.colours import INK, LEARNED, STANDARD
from pacopt.report.figures import Axis, Chart, Figure, Key, Numbers, drawing, drawn, specification, ticks
from pacopt.report.source import Reported
from pacopt.report.words import estimate

TITLE = "What it does"
#: Decades are drawn from this ratio of the ends on.
WIDE = 30.0


def decisions_figure(source: Reported) -> Figure | None:
    """A chart for each decision: median and the middle 80 % over the test runs; None where nothing is known of any."""
    decisions, comparison = source.decisions, source.comparison
    if decisions is None or comparison is None:
        return None
    told = [text for text in map(_range, decisions.names, decisions.median) if text]
    heading = f"Step by step: {', '.join(told)}" if told else "It decided nothing that can be drawn"
    caption = (
        f"What the learned algorithm decided in the runs on {comparison.instances} test {comparison.noun}. Lines: "
        "median. Bands: from the 10 % to the 90 % quantile."
    )
    caption += _beside(source, decisions)
    charts = tuple(_chart(decisions, i) for i in range(len(decisions.names)) if np.isfinite(decisions.median[i]).any())
    return Figure("decisions", TITLE, heading, caption, charts, _numbers(decisions))


def _range(name: str, median: np.ndarray) -> str:
    """Between which numbers the median of a decision lies."""
    known = median[np.isfinite(median)]
    if not len(known):
        return ""
    low, high = estimate(float(known.min()), 3), estimate(float(known.max()), 3)
    return f"{name} {low}" if low == high else f"{name} from {low} to {high}"


def _beside(source: Reported, decisions: Decisions) -> str:
    """What the textbook's numbers are for."""
    known, curvature = np.isfinite(decisions.textbook).any(), source.origin.curvature
    if known and curvature is not None:
        return (
            " Dashed: what the textbook would have taken in the same runs (median), with its constants for curvatures "
            f"between {curvature.mu:.4g} and {curvature.L:.4g}."
        )
    return "" if known else " The textbook's values are not shown: nobody said between which mu and L curvatures lie."


def _chart(decisions: Decisions, i: int) -> Chart:
    name, usual = decisions.names[i], decisions.textbook[i]
    known = np.isfinite(decisions.median[i])
    ends = [*decisions.low[i, known], *decisions.high[i, known], *usual[np.isfinite(usual)]]
    axis = Axis.around(ends, log=bool(min(ends) > 0 and max(ends) > WIDE * min(ends)))
    rows: list[dict[str, Any]] = [
        {
            "step": int(decisions.steps[k]),
            **{what: drawn(getattr(decisions, what)[i, k]) for what in ("median", "low", "high")},
            **({"textbook": drawn(usual[k])} if np.isfinite(usual[k]) else {}),
        }
        for k in np.flatnonzero(known)
    ]
    span = [0, int(decisions.steps[-1])]
    x = alt.X("step:Q", axis=ticks("step", grid=False), scale=alt.Scale(nice=False, domain=span))
    scale, title = axis.scale(), axis.ticks(name)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale, axis=title)

    base = drawing(rows)
    tips = [alt.Tooltip("step:Q")] + [
        alt.Tooltip(f"{what}:Q", title=said, format=".3~g")
        for what, said in (("median", "median"), ("low", "10 %"), ("high", "90 %"))
    ]
    layers = [
        base.mark_area(color=LEARNED, opacity=0.16).encode(x=x, y=y("low"), y2="high:Q"),
        base.mark_line(color=LEARNED, strokeWidth=2.4).encode(x=x, y=y("median")),
    ]
    legend = [Key("solid", "learned", "learned")]
    words = f"{_range(name, decisions.median[i])} (medians)"
    if np.isfinite(usual).any():
        dashed = base.mark_line(color=STANDARD, strokeWidth=2, strokeDash=[8, 4])
        layers.append(dashed.encode(x=x, y=y("textbook")))
        legend.append(Key("dashed", "standard", _range("textbook", usual)))
        words += f"; {_range('textbook', usual)}"
    hover = alt.selection_point(
        name=f"at{i}", fields=["step"], nearest=True, on="pointermove", clear="pointerout", empty=False
    )
    rule = base.mark_rule(color=INK).encode(
        x=x, tooltip=tips, opacity=alt.condition(hover, alt.value(0.5), alt.value(0.0))
    )
    layers.append(rule.properties(name=f"over{i}").add_params(hover))
    number = f"decision{i}"
    return Chart(number, specification(number, layers, height=260), f"Lines over steps: {words}.", tuple(legend))


def _numbers(decisions: Decisions) -> Numbers:
    """Each decision at some steps, and the textbook's."""
    shown = np.unique(np.linspace(0, len(decisions.steps) - 1, 7).round().astype(int))
    columns = ("median", "10 to 90 %", "textbook")
    header = ("step", *(f"{name}: {what}" for name in decisions.names for what in columns))
    rows = [
        (
            str(decisions.steps[k]),
            *(
                cell
                for i in range(len(decisions.names))
                for cell in (
                    _told(decisions.median[i, k]),
                    f"{_told(decisions.low[i, k])} to {_told(decisions.high[i, k])}"
                    if np.isfinite(decisions.median[i, k])
                    else "",
                    _told(decisions.textbook[i, k]) if np.isfinite(decisions.textbook[i, k]) else "",
                )
            ),
        )
        for k in shown.tolist()
    ]
    return Numbers(header, tuple(rows))


def _told(value: float) -> str:
    return estimate(float(value), 3) if np.isfinite(value) else "none yet"
