"""The evidence of a monitor over time, as a picture."""

import os
from collections.abc import Sequence
from pathlib import Path

from pacopt.errors import StorageError

#: Formats, by the ending of a file.
KINDS = (".svg", ".png", ".html")
BLUE, RED = "#1f5fa8", "#b3261e"


def draw_evidence(path: str | os.PathLike[str], points: Sequence[tuple[int, float]], threshold: float) -> Path:
    """Draw log10 of the evidence against the number of instances, with the threshold of an alarm."""
    import altair as alt

    target = Path(path)
    if target.suffix not in KINDS:
        raise StorageError(
            f"The picture is to be {target.name}.", f"Its name ends in {', '.join(KINDS)}.", "", "Use watch.svg."
        )
    values = [{"instances": count, "evidence": 10 ** min(level, 300.0)} for count, level in points]
    line = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(color=BLUE, strokeWidth=1.5)
        .encode(
            x=alt.X("instances:Q", title="instances in use"),
            y=alt.Y("evidence:Q", title="evidence against the certificate", scale=alt.Scale(type="log")),
        )
    )
    limit = alt.InlineData(values=[{"threshold": threshold, "text": f"alarm at {threshold:,.0f}"}])
    rule = alt.Chart(limit).mark_rule(color=RED, strokeDash=[6, 3]).encode(y="threshold:Q")
    words = alt.Chart(limit).mark_text(color=RED, align="left", baseline="bottom", dx=4, dy=-3, fontSize=12)
    text = words.encode(y="threshold:Q", x=alt.value(0), text="text:N")
    chart = alt.layer(line, rule, text).properties(width=640, height=300)
    try:
        chart.configure_axis(labelFontSize=12, titleFontSize=12, grid=False).save(
            target, **({"inline": True} if target.suffix == ".html" else {"scale_factor": 2.0})
        )
    except OSError as error:
        raise StorageError(
            f"{target} could not be written: {error}.", "A place is needed.", "", "Name another."
        ) from error
    return target
