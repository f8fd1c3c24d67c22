"""Hyperparameters that are arrays: what they are, and the numbers of those that have one for each step."""

from typing import Any

import altair as alt
import numpy as np

from pacopt.report.candidates import HEAVY
from pacopt.report.colours import INK, LEARNED, STANDARD
from pacopt.report.figures import Axis, Chart, Figure, Key, Numbers, drawing, drawn, specification, ticks
from pacopt.report.source import Reported
from pacopt.report.words import chosen, estimate

TITLE = "Arrays"
#: Arrays with more numbers for each step are not drawn; these are the looks of the others.
LINES = (
    (LEARNED, [1, 0], "solid", "learned"),
    (STANDARD, [8, 4], "dashed", "standard"),
    (INK, [2, 3], "dotted", "ink"),
)


def arrays_figure(source: Reported) -> Figure | None:
    """A row for each array of the certified candidate, a chart for each with a number for every step; None if none."""
    arrays = {name: values for name, values in source.table.candidates.items() if values.ndim > 1}
    if not arrays:
        return None
    c, here = source.certificate, source.certificate.deployed.index
    sizes = [int(values[here].size) for values in arrays.values()]
    one = "1 array" if len(arrays) == 1 else f"{len(arrays)} arrays"
    heading = f"{sum(sizes)} numbers in {one}"
    heavy = np.flatnonzero(np.asarray(c.posterior.weights) > HEAVY)
    charts = tuple(
        _chart(f"array{k}", name, values, here, heavy, chosen(c))
        for k, (name, values) in enumerate(arrays.items())
        if _by_step(values, source.origin.steps)
    )
    caption = f"The arrays of the {chosen(c)} candidate; its other hyperparameters stand in the sections on candidates."
    if charts:
        caption += " Lines: its numbers for each step. Bands: those of all candidates with posterior weight."
    rows = tuple(_row(name, values[here]) for name, values in arrays.items())
    numbers = Numbers(("array", "shape", "numbers", "norm", "smallest", "median", "largest"), rows)
    return Figure("arrays", TITLE, heading, caption, charts, numbers)


def _by_step(values: np.ndarray, steps: int | None) -> bool:
    """Whether there is a number, or a few, for each step."""
    shape = values.shape[1:]
    few = len(shape) == 1 or (len(shape) == 2 and shape[1] <= len(LINES))
    return steps is not None and steps > 1 and few and shape[0] == steps


def _row(name: str, array: np.ndarray) -> tuple[str, ...]:
    numbers = array.astype(float).ravel()
    ends = (numbers.min(), np.median(numbers), numbers.max()) if len(numbers) else ()
    shape = " by ".join(map(str, array.shape))
    return name, shape, str(array.size), estimate(float(np.linalg.norm(numbers))), *(estimate(float(e)) for e in ends)


def _chart(name: str, title: str, values: np.ndarray, here: int, heavy: np.ndarray, which: str) -> Chart:
    """The numbers of the certified candidate over the steps, and the range of those with weight."""
    stacked = values.astype(float).reshape(len(values), values.shape[1], -1)
    own, range_of = stacked[here], stacked[np.union1d(heavy, [here])]
    low, high = range_of.min(axis=0), range_of.max(axis=0)
    axis = Axis.around([low.min(), high.max()], log=False)
    x = alt.X("step:Q", axis=ticks("step", grid=False), scale=alt.Scale(nice=False))
    layers: list[alt.Chart] = []
    legend = []
    for k, (colour, dash, mark, tone) in enumerate(LINES[: own.shape[1]]):
        rows: list[dict[str, Any]] = [
            {"step": i + 1, "value": drawn(own[i, k]), "low": drawn(low[i, k]), "high": drawn(high[i, k])}
            for i in range(len(own))
        ]
        base, scale, ticked = drawing(rows), axis.scale(), axis.ticks(title)
        tips = [alt.Tooltip("step:Q"), alt.Tooltip("value:Q", format=".4~g")]
        layers.append(
            base.mark_area(color=colour, opacity=0.15).encode(
                x=x, y=alt.Y("low:Q", scale=scale, axis=ticked), y2="high:Q"
            )
        )
        line = base.mark_line(color=colour, strokeWidth=2.2, strokeDash=dash, point={"size": 18, "color": colour})
        layers.append(line.encode(x=x, y=alt.Y("value:Q", scale=scale, axis=ticked), tooltip=tips))
        legend.append(Key(mark, tone, f"{which}: {title}" + (f"[:, {k}]" if own.shape[1] > 1 else "")))
    words = (
        f"Lines over {len(own)} steps: {title} between {estimate(float(own.min()))} and {estimate(float(own.max()))}."
    )
    return Chart(name, specification(name, layers, height=240), words, tuple(legend))
