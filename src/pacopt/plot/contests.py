"""A contest of a family as a chart."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pacopt.families.outcome import Contest
    from pacopt.plot.dressing import AltairChart


def contest(found: "Contest") -> "AltairChart":
    """How far each solver gets with the number of gradients on fresh instances, and the certified value at the end."""
    from pacopt.families.pictures import chart
    from pacopt.plot.showing import pictured

    return pictured(chart(found))
