"""The certified trade-off as a chart."""

import altair as alt

from pacopt.certificate import Certificate
from pacopt.errors import ExportError
from pacopt.plot.dressing import AltairChart, finished, with_legend
from pacopt.report.colours import LEARNED, SURFACE
from pacopt.report.figures import Axis, Key, drawing, drawn
from pacopt.report.words import hyper_text, level_percent, noun
from pacopt.tradeoff import Certified, Frontier
from pacopt.tradeoff import frontier as frontier_of

#: From this ratio of largest to smallest number of the objective on, decades are drawn.
WIDE = 4.0


def frontier(found: Frontier | Certified | Certificate) -> AltairChart:
    """The choices of a frontier: the requirement across, the best certified objective upwards, all certified at once.

    A result of `learn`, or a certificate, is drawn with the default levels of `pacopt.frontier`.
    """
    found = found if isinstance(found, Frontier) else frontier_of(found)
    design, objective = found.design, found.design.objective
    along, best = found.along, objective.name
    choices = {choice.index: choice for choice in found.choices}.values()
    known = [
        (x, y, choice)
        for choice in choices
        if along and along != best
        for x, y in [(choice.values[along], choice.values[best])]
        if x is not None and y is not None
    ]
    if not along or not known:
        raise ExportError(
            "The frontier trades nothing." if found.choices else "The frontier has no choice.",
            "A chart has one certified number across and another one upwards.",
            "",
            'Name another claim: pacopt.frontier(learned, along="quantile").',
        )
    traded, heights = design[along], [y for _, y, _ in known]
    points = [
        {
            "x": drawn(x),
            "y": drawn(y),
            "place": place,
            **{claim.name: claim.with_unit(choice.values[claim.name], design) for claim in found.claims},
            "hyper": hyper_text(choice.hyper),
        }
        for place, (x, y, choice) in enumerate(known)
    ]
    across = Axis.around([x for x, _, _ in known], log=False, margin=0.08)
    if traded.probability:
        across = Axis(max(across.low, 0.0), min(across.high, 1.0), log=False)
    upwards = Axis.around(heights, log=min(heights) > 0 and max(heights) > WIDE * min(heights), margin=0.08)
    titles = [
        f"certified {noun(claim, design)}, at {'least' if claim.at_least else 'most'}" for claim in (traded, objective)
    ]
    x = alt.X("x:Q", scale=across.scale(), axis=across.ticks(titles[0]))
    y = alt.Y("y:Q", scale=upwards.scale(), axis=upwards.ticks(titles[1]))
    tips = [alt.Tooltip(f"{claim.name}:N", title=claim.heading(design)) for claim in found.claims]
    base = drawing(points)
    layers = [
        base.mark_line(color=LEARNED, interpolate="step-before", strokeWidth=2).encode(x=x, y=y, order="place:Q"),
        base.mark_point(shape="circle", fill=LEARNED, stroke=SURFACE, strokeWidth=1.5, size=90, opacity=1).encode(
            x=x, y=y, tooltip=[*tips, alt.Tooltip("hyper:N", title="hyperparameters")]
        ),
    ]
    spec = alt.layer(*layers).properties(height=320).to_dict()
    words = f"All of them hold together with confidence {level_percent(found.confidence)}: pick one after looking."
    heading = f"{len(points)} certified choices"
    if len(points) == 1:
        heading = "One certified choice: there is nothing to trade"
        words = (
            f"It is the best in both numbers, which hold together with confidence {level_percent(found.confidence)}."
        )
    chart = with_legend(spec, [Key("circle", "learned", "certified choice")], f"{heading}. {words}")
    return finished([chart], heading, words)
