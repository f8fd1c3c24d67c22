"""Which share of the instances reaches which target within how many steps: a map with contour lines."""

from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from pacopt.report.budgets import Budgets
from pacopt.report.colours import INK, LEARNED, SURFACE
from pacopt.report.figures import Chart, Figure, Key, Numbers, drawing, specification, ticks
from pacopt.report.source import Reported

TITLE = "Budget"
#: The map has at most so many columns; a row is so high.
COLUMNS, HEIGHT = 120, 46
#: The parts at which contour lines are drawn, and their dashes.
CONTOURS = ((0.5, "half", [2, 3], "dotted"), (0.9, "90 %", [8, 4], "dashed"), (0.99, "99 %", [1, 0], "solid"))

#: On which side of the beginning of its line each of these names stands, and how far: they never meet.
SIDES: tuple[tuple[Any, int], ...] = (("right", 6), ("center", 0), ("left", -6))


def budget_figure(source: Reported) -> Figure | None:
    """What is certified for all steps and targets at once; None if no budget is claimed."""
    budgets = Budgets.of(source.certificate, source.test)
    if budgets is None:
        return None
    heading = budgets.heading or source.certificate.sentences[budgets.claim.name].removesuffix(".")
    stairs = budgets.stairs
    contours = [
        each for each in CONTOURS if any(stairs.steps(each[0], target) is not None for target in stairs.targets)
    ]
    caption = (
        f"Colour: the share of new instances that is certified to reach a target within so many {budgets.unit}; all of "
        "it holds at once."
    )
    if contours:
        names = [name.replace("half", "a half") for _, name, *_ in contours]
        caption += f" Lines: where that share is {_listed(names)}."
    caption += " The table has it in per cent" + (
        ", and in brackets that of the test instances." if source.test is not None else "."
    )
    numbers = Numbers(budgets.header, tuple(budgets.rows))
    if budgets.last <= 0:
        return Figure("budget", TITLE, heading, f"No run met a target after its start. {caption}", (), numbers)
    legend = (
        Key("box", "learned", "certified share: the stronger the colour, the larger"),
        *(Key(mark, "ink", f"{name} of the instances") for _, name, _, mark in contours),
    )
    alt_text = f"A map over {budgets.unit} and targets. {heading}."
    return Figure("budget", TITLE, heading, caption, (Chart("budget", _spec(budgets), alt_text, legend),), numbers)


def _listed(names: list[str]) -> str:
    """Names with an "and" before the last."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _spec(budgets: Budgets) -> dict[str, Any]:
    stairs, last = budgets.stairs, budgets.last
    names = [each if isinstance(each, str) else f"{each!r}" for each in stairs.targets]
    whole = last <= COLUMNS and last == int(last)
    edges = np.arange(0.0, last + 2) if whole else np.linspace(0, last, COLUMNS + 1)
    rows = [
        {
            "from": float(f"{low:.6g}"),
            "to": float(f"{high:.6g}"),
            "target": name,
            "part": round(stairs.probability(low if whole else high, target), 4),
            "within": float(f"{low if whole else high:.6g}"),
        }
        for target, name in zip(stairs.targets, names, strict=True)
        for low, high in pairwise(edges.tolist())
    ]
    x = alt.X("from:Q", axis=ticks(budgets.unit, grid=False), scale=alt.Scale(domain=[0, float(edges[-1])], nice=False))
    y = alt.Y(
        "target:N",
        sort=names,
        axis=alt.Axis(title=None if isinstance(stairs.targets[0], str) else "fraction of the start", grid=False),
        scale=alt.Scale(paddingInner=0.08, paddingOuter=0.04),
    )
    tips = [
        alt.Tooltip("target:N", title="reach"),
        alt.Tooltip("within:Q", title=f"within {budgets.unit}"),
        alt.Tooltip("part:Q", title="certified share", format=".2%"),
    ]
    cells = drawing(rows).mark_rect(color=LEARNED, clip=True)
    strength = alt.Opacity("part:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 1]), legend=None)
    layers = [cells.encode(x=x, x2="to:Q", y=y, opacity=strength, tooltip=tips)]
    for (level, name, dash, _), (side, right) in zip(CONTOURS, SIDES, strict=True):
        places = [(stairs.steps(level, target), name) for target, name in zip(stairs.targets, names, strict=True)]
        known = [
            {"from": float(step), "target": name, "place": place}
            for place, (step, name) in enumerate(places)
            if step is not None
        ]
        if known:
            lines, order = drawing(known), alt.Order("place:Q")
            layers.append(lines.mark_line(color=SURFACE, strokeWidth=5).encode(x=x, y=y, order=order))
            layers.append(lines.mark_line(color=INK, strokeWidth=2, strokeDash=dash).encode(x=x, y=y, order=order))
            layers.append(
                lines.mark_circle(color=INK, size=55, opacity=1, stroke=SURFACE, strokeWidth=1.5).encode(x=x, y=y)
            )
            ends = drawing(known[:1])
            for colour, width in ((SURFACE, 4), (INK, 0)):  # a halo, and the name of the line above its beginning
                look: dict[str, Any] = {"color": colour, "stroke": colour, "strokeWidth": width, "align": side}
                words = ends.mark_text(text=name, dx=right, dy=-13, fontSize=12, **look)
                layers.append(words.encode(x=x, y=y))
    return specification("budget", layers, height=HEIGHT * len(names) + 20)
