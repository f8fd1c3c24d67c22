"""Charts of the report as charts of Altair: with colours, a legend and words of their own."""

import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt

from pacopt.plot.showing import pictured
from pacopt.report.colours import sheets
from pacopt.report.figures import PICTURED, Figure, Key, axes

#: What a notebook shows.
AltairChart = alt.LayerChart | alt.VConcatChart

WIDTH = 600
#: So many characters of a title, and of the words below it, are as wide as a chart.
TITLE, WORDS = 72, 104
#: Themes of Altair whose pages are dark.
DARK = frozenset({"dark", "carbong90", "carbong100"})
LINE = "M-1.7,0L1.7,0"
#: The marks of a legend: a shape, and whether it is filled.
SHAPES = {
    "solid": (LINE, False),
    "dashed": (LINE, False),
    "dotted": (LINE, False),
    "circle": ("circle", True),
    "dot": ("circle", True),
    "ring": ("circle", False),
    "cross": ("cross", True),
    "triangle": ("triangle-up", True),
    "box": ("square", True),
    "hollow": ("square", False),
    "square": ("square", False),
    "diamond": ("diamond", False),
    "none": ("M0,0", False),
}
DASHES = {"dashed": [5, 3], "dotted": [2, 2]}


def dressed(figure: Figure) -> AltairChart:
    """All charts of a figure below each other, under its heading and its caption."""
    charts = [with_legend(chart.spec, chart.legend, chart.alt) for chart in figure.charts]
    return finished(charts, figure.heading, figure.caption)


def finished(charts: Sequence[alt.LayerChart], heading: str, words: str) -> AltairChart:
    """Charts below each other with their words, in the colours of the page that they are made for."""
    apart: Any = dict.fromkeys(("shape", "stroke", "fill", "strokeDash"), "independent")
    whole = charts[0] if len(charts) == 1 else alt.vconcat(*charts, spacing=28).resolve_scale(**apart)
    title = alt.TitleParams(
        textwrap.wrap(heading, TITLE),
        subtitle=textwrap.wrap(words, WORDS),
        anchor="start",
        fontSize=15,
        fontWeight=600,
        subtitleFontSize=12,
        subtitlePadding=6,
        offset=14,
    )
    shades = colours()
    found: AltairChart = whole.properties(title=title).configure(
        background=shades["surface"],
        font=PICTURED,
        padding=12,
        view=alt.ViewConfig(stroke=None),
        title=alt.TitleConfig(color=shades["ink"], subtitleColor=shades["muted"]),
        legend=alt.LegendConfig(
            labelColor=shades["ink"], labelFontSize=12, labelLimit=0, labelOffset=8, rowPadding=3, columnPadding=18
        ),
        axis=axes(shades),
    )
    return pictured(found)


def colours() -> dict[str, str]:
    """The colours of the report by their names, for a light page, or for a dark one if Altair's theme is dark."""
    light, dark = sheets()
    return light | dark if alt.theme.active in DARK else light


def coloured(value: Any) -> Any:
    """A specification with the colours that the style sheet has under their names."""
    if isinstance(value, dict):
        return {name: coloured(each) for name, each in value.items()}
    if isinstance(value, list):
        return [coloured(each) for each in value]
    if isinstance(value, str) and value.startswith("var(--"):
        return colours()[value.removeprefix("var(--").removesuffix(")")]
    return value


def with_legend(spec: dict[str, Any], legend: Sequence[Key], description: str) -> alt.LayerChart:
    """The layers of a specification in their colours, with a legend at the bottom."""
    params, layers = _alone(spec)
    # Charts below each other have no common data sets: each holds its rows itself, those of most layers once.
    own = [layer.get("data", spec.get("data", {})).get("name") for layer in layers]
    most, sets = max(own, key=own.count), spec.get("datasets", {})
    held = [
        {key: value for key, value in layer.items() if key != "data" or name is None}
        | ({} if name in (most, None) else {"data": {"values": sets[name]}})
        for name, layer in zip(own, layers, strict=True)
    ]
    whole = coloured({"layer": held, "height": spec["height"], "params": params})
    whole["layer"].append(_legend(legend))
    found: alt.LayerChart = alt.LayerChart.from_dict(
        whole | {"width": WIDTH, "description": description, "data": {"values": sets[most]}},
        validate=False,  # which is done when it is shown
    )
    return found


def _alone(spec: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Parameters and layers without what only the page of a report can do: pick a mark by a script, follow a link."""
    params = [param for param in spec.get("params", []) if "select" in param]
    picked = [param["name"] for param in spec.get("params", []) if "select" not in param]
    layers = [
        layer | {"encoding": {name: channel for name, channel in layer["encoding"].items() if name != "href"}}
        for layer in spec["layer"]
        if not any(name in str(layer.get("transform", "")) for name in picked)
    ]
    return params, layers


def _legend(keys: Sequence[Key]) -> dict[str, Any]:
    """A layer that draws nothing, and has a legend."""
    texts, tones = [key.text for key in keys], [colours()[key.tone] for key in keys]
    looks = [SHAPES[key.mark] for key in keys]
    fills = [tone if filled else "transparent" for tone, (_, filled) in zip(tones, looks, strict=True)]
    ranges = {
        "shape": [shape for shape, _ in looks],
        "stroke": tones,
        "fill": fills,
        "strokeDash": [DASHES.get(key.mark, [1, 0]) for key in keys],
    }
    short = sum(map(len, texts)) + 6 * len(texts) < WORDS
    place = {"title": None, "orient": "bottom", "columns": len(texts) if short else 1}
    return {
        "data": {"values": [{"key": text} for text in texts]},
        "mark": {"type": "point", "opacity": 0},
        "encoding": {
            channel: {
                "field": "key",
                "type": "nominal",
                "scale": {"domain": texts, "range": values},
                "legend": place | {"symbolOpacity": 1, "symbolStrokeWidth": 2, "symbolSize": 110},
            }
            for channel, values in ranges.items()
        },
    }
