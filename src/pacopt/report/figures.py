"""What a section with charts consists of, and how a chart looks: colours are the style sheet's, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from pacopt.report.colours import named

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
#: Of pictures. These are equally wide: a picture is laid out with the first, and may be read with another.
PICTURED = "'Liberation Sans', Arial, Helvetica, sans-serif"
#: Smaller numbers are drawn here: a logarithmic axis has no zero, and floats below lose their digits.
TINY = 1e-300
#: Values that differ by less than this part of them are drawn at the same place.
SAME = 1e-5
#: Numbers that are easily read are written out.
LABEL = "datum.value >= 0.001 && datum.value < 100000 ? format(datum.value, '.6~g') : format(datum.value, '~e')"
#: The same on a linear axis, which may hold zero and negative numbers.
LINEAR = (
    "datum.value == 0 || abs(datum.value) >= 0.0001 && abs(datum.value) < 1000000"
    " ? format(datum.value, '.6~g') : format(datum.value, '.6~e')"
)
#: About so many ticks on an axis; over less than so many decades there are some between the decades.
TICKS, FEW_DECADES = 6, 2.5


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend: how a mark looks (a class of the style sheet) and what it stands for."""

    mark: str
    tone: str
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: its Vega-Lite specification, its finding in words, its legend."""

    name: str
    spec: dict[str, Any]
    alt: str
    legend: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """The main numbers of a figure as a table."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """Instances by their index, each linked to its mark in the charts, under a title."""

    title: str
    indices: tuple[int, ...]
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class Figure:
    """A heading that says what one sees, a caption, charts (or none, where the caption says why) and numbers.

    `uneven` charts differ in height, and are aligned at their tops. `listed` are instances, each with its mark.
    """

    name: str
    title: str
    heading: str
    caption: str
    charts: tuple[Chart, ...] = ()
    numbers: Numbers | None = None
    uneven: bool = False
    listed: Listed | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis that holds some values with a margin, in decades or not."""

    low: float
    high: float
    log: bool

    @staticmethod
    def around(values: Any, *, log: bool, margin: float = 0.04) -> "Axis":
        """The axis around these values."""
        ends = np.array([np.min(values), np.max(values)])
        ends = np.log10(np.maximum(ends, TINY)) if log else ends
        size = 1.0 if log else float(np.abs(ends).max()) or 1.0
        width = np.ptp(ends) if np.ptp(ends) > SAME * size else size
        low, high = ends + margin * width * np.array([-1, 1])
        return Axis(10.0**low, 10.0**high, True) if log else Axis(low, high, False)

    def scale(self) -> alt.Scale:
        """The scale of a chart."""
        kind: Any = "log" if self.log else "linear"
        options: dict[str, Any] = {} if self.log else {"zero": False}  # which a logarithmic scale would warn about
        return alt.Scale(type=kind, domain=[drawn(self.low), drawn(self.high)], nice=False, **options)

    def ticks(self, title: str | list[str], *, grid: bool = True) -> alt.Axis:
        """Few ticks: on a logarithmic axis at decades, or between them if there are only one or two."""
        if not self.log:
            return ticks(title, grid=grid)
        first, last = np.log10([self.low, self.high])
        every = max(1, int(np.ceil((last - first) / TICKS)))
        decades = 10.0 ** np.arange(np.floor(first), np.ceil(last) + 1)
        values = np.outer(decades, (1, 2, 5)).ravel() if last - first < FEW_DECADES else decades[::-1][::every]
        shown = [drawn(value) for value in values[self.holds(values)].tolist()]
        return alt.Axis(title=title, labelExpr=LABEL, values=shown, grid=grid, labelOverlap="greedy", labelSeparation=6)

    def parts(self, values: np.ndarray) -> np.ndarray:
        """Where values lie on it, from 0 to 1."""
        ends, at = np.array([self.low, self.high]), np.asarray(values, dtype=float)
        if self.log:
            ends, at = np.log10(ends), np.log10(np.maximum(at, TINY))
        found: np.ndarray = (at - ends[0]) / (ends[1] - ends[0])
        return found

    def at(self, part: float) -> float:
        """The value at a part of it."""
        if self.log:
            return float(10.0 ** (np.log10(self.low) + part * (np.log10(self.high) - np.log10(self.low))))
        return self.low + part * (self.high - self.low)

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Which of the values are on it."""
        inside: np.ndarray = (values >= self.low) & (values <= self.high)
        return inside

    def edges(self, bins: int) -> np.ndarray:
        """The edges of bins that are equally wide on the axis."""
        ends = (self.low, self.high)
        return np.geomspace(*ends, bins + 1) if self.log else np.linspace(*ends, bins + 1)


def drawn(value: float) -> float:
    """A number with the digits that can be seen."""
    return float(f"{value:.6g}")


def drawing(rows: Sequence[dict[str, Any]]) -> alt.Chart:
    """A chart of these rows, to be given a mark."""
    return alt.Chart({"values": list(rows)})


def ticks(title: str | list[str], *, grid: bool = True) -> alt.Axis:
    """A linear axis with few ticks."""
    return alt.Axis(title=title, labelExpr=LINEAR, tickCount=TICKS, grid=grid, labelOverlap="greedy", labelSeparation=6)


def axes(shades: Mapping[str, str]) -> alt.AxisConfig:
    """The look of all axes, in these colours."""
    return alt.AxisConfig(
        labelFontSize=12,
        labelColor=shades["muted"],
        titleFontSize=12.5,
        titleFontWeight=500,
        titleColor=shades["ink"],
        titlePadding=8,
        gridColor=shades["line"],
        domainColor=shades["axis"],
        tickColor=shades["axis"],
    )


def specification(name: str, layers: Sequence[alt.Chart], *, height: int) -> dict[str, Any]:
    """The Vega-Lite specification of layers, as wide as the page lets it; the same layers give the same bytes."""
    chart = alt.layer(*layers).properties(name=name, width="container", height=height)
    spec: dict[str, Any] = chart.configure(
        background="transparent",
        font=FONT,
        aria=False,  # the page describes the chart in words; a label on each mark would be read out one by one
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        view=alt.ViewConfig(stroke=None),
        axis=axes(named()),
    ).to_dict()
    del spec["$schema"]  # an address that nobody has to fetch
    return spec
