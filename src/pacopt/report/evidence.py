"""The evidence of a monitor over time, as a picture."""

import os
from collections.abc import Sequence
from pathlib import Path

from pacopt.errors import StorageError
from pacopt.report.colours import sheets

#: Formats, by the ending of a file.
KINDS = (".svg", ".png", ".html")


def draw_evidence(path: str | os.PathLike[str], points: Sequence[tuple[int, float]], threshold: float) -> Path:
    """Draw log10 of the evidence against the number of instances, with the threshold of an alarm."""
    import altair as alt

    from pacopt.report.figures import PICTURED, Axis, axes

    target = Path(path)
    if target.suffix not in KINDS:
        raise StorageError(
            f"The picture is to be {target.name}.", f"Its name ends in {', '.join(KINDS)}.", "", "Use watch.svg."
        )
    values = [{"instances": count, "evidence": 10 ** min(level, 300.0)} for count, level in points]
    shades = sheets()[0]
    last = max([count for count, _ in points], default=1)
    height = Axis.around([1.0, threshold, *(row["evidence"] for row in values)], log=True)
    x = alt.X(
        "instances:Q",
        scale=alt.Scale(domain=[0, max(last, 1)], nice=False),
        axis=alt.Axis(title="instances in use", grid=False, format=",d", tickMinStep=1, tickCount=8),
    )
    y = alt.Y("evidence:Q", scale=height.scale(), axis=height.ticks("evidence against the certificate"))
    line = alt.Chart(alt.InlineData(values=values)).mark_line(color=shades["learned"], strokeWidth=2.4).encode(x=x, y=y)
    limit = alt.Chart(alt.InlineData(values=[{"evidence": threshold, "text": f"alarm at {threshold:,.0f}"}]))
    rule = limit.mark_rule(color=shades["bad"], strokeWidth=2, strokeDash=[8, 4]).encode(y=y)
    words = limit.mark_text(color=shades["bad"], align="left", baseline="bottom", dx=4, dy=-3, fontSize=12)
    chart = alt.layer(line, rule, words.encode(y=y, x=alt.value(0), text="text:N")).properties(width=640, height=300)
    dressed = chart.configure(
        background=shades["surface"],
        font=PICTURED,
        padding=12,
        view=alt.ViewConfig(stroke=None),
        axis=axes(shades),
    )
    try:
        dressed.save(target, **({"inline": True} if target.suffix == ".html" else {"scale_factor": 2.0}))
    except OSError as error:
        raise StorageError(
            f"{target} could not be written: {error}.", "A place is needed.", "", "Name another."
        ) from error
    return target
