"""How the final losses are distributed on the training instances, and where the bounds lie."""

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from pacopt.report.figures import (
    INK,
    LEARNED,
    TINY,
    Axis,
    Chart,
    Figure,
    Key,
    Numbers,
    drawing,
    drawn,
    specification,
    ticks,
)
from pacopt.report.source import Reportable
from pacopt.report.words import estimate, level_percent
from pacopt.statement import up

BINS = 40
#: From this ratio of largest to smallest value on, decades are drawn.
WIDE = 30.0
#: A bound beyond this ratio is named in the legend and not drawn.
FAR = 10.0


@dataclass(frozen=True, slots=True)
class Rule:
    """A vertical line with its meaning."""

    value: float
    text: str
    look: str
    dash: list[int]


def histogram_figure(learned: Reportable) -> Figure:
    """The safeguarded ratios of the deployed candidate, on which its bound rests."""
    c, table = learned.certificate, learned.table
    deployed = c.deployed
    z = table.safeguarded(slice(deployed.index, deployed.index + 1))[0]
    returned = ~(table.losses[deployed.index] <= table.start)  # a loss that is no number has not ended below
    heading = f"The training mean is {estimate(deployed.empirical_risk)}, the certified mean {up(deployed.risk)}"
    caption = (
        f"Final loss relative to the start of the deployed hyperparameters on the {c.instances} training instances, "
        "with the safeguard. The certificate rests on these."
    )
    zeros = int(np.sum(z == 0))
    if zeros:
        caption += f" {zeros} of them ended at exactly zero."
    if returned.any():
        caption += (
            f" {returned.sum()} ended above their start or failed: there the start is returned, and the ratio is 1."
        )
    rules = [Rule(deployed.empirical_risk, f"training mean {estimate(deployed.empirical_risk)}", "solid", [1, 0])]
    rules.append(Rule(deployed.risk, f"certified mean: at most {up(deployed.risk)}", "dashed", [8, 4]))
    level = level_percent(c.design.quantile_level)
    if deployed.quantile is not None:
        text = f"certified {level} quantile, without the safeguard: at most {up(deployed.quantile)}"
        rules.append(Rule(deployed.quantile, text, "dotted", [2, 3]))
    alt_text = (
        f"Histogram of {len(z)} ratios: median {estimate(float(np.median(z)))}, largest {estimate(float(z.max()))}, "
        f"{zeros} exact zeros, {returned.sum()} returned to the start. " + "; ".join(rule.text for rule in rules) + "."
    )
    spec, legend = _drawing(z, returned, rules)
    numbers = [("mean", z.mean()), ("smallest", z.min())]
    numbers += [(f"{100 * q:g} % quantile", np.quantile(z, q, method="inverted_cdf")) for q in (0.1, 0.5, 0.9, 0.99)]
    rows = [(name, estimate(float(value))) for name, value in [*numbers, ("largest", z.max())]]
    rows += [("exact zeros", str(zeros)), ("returned to the start", str(returned.sum()))]
    return Figure(
        "histogram",
        "Final losses",
        heading,
        caption,
        (Chart("histogram", spec, alt_text, legend),),
        Numbers(("training instances, with the safeguard", "ratio"), tuple(rows)),
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """So many instances between two ratios; `what` names those that have a bar of their own."""

    low: float
    high: float
    count: int
    what: str = ""


def _bars(z: np.ndarray, returned: np.ndarray, axis: Axis) -> list[Bar]:
    """The bars over the axis, with those beside it that stand for runs without a place on it."""
    edges = axis.edges(BINS)
    ended = z[~returned & (z > 0)] if axis.log else z[~returned]
    counts, _ = np.histogram(np.clip(ended, edges[0], edges[-1]), bins=edges)
    bars = [Bar(edges[k], edges[k + 1], int(counts[k])) for k in np.flatnonzero(counts)]
    zeros = int(np.sum(z == 0))
    if axis.log and zeros:
        step = edges[1] / edges[0]
        bars.append(Bar(edges[0] / step**2, edges[0] / step, zeros, "exactly zero"))
    if returned.any():  # beside those that ended at 1 by themselves
        end = edges[-1] ** 2 / edges[-2] if axis.log else 2 * edges[-1] - edges[-2]
        bars.append(Bar(edges[-1], end, int(returned.sum()), "start returned"))
    return bars


def _drawing(z: np.ndarray, returned: np.ndarray, rules: list[Rule]) -> tuple[dict[str, Any], tuple[Key, ...]]:
    placed = [rule for rule in rules if 0 < rule.value <= FAR]
    values = np.concatenate([z[z > 0], [rule.value for rule in placed]])
    low, high = max(float(values.min()), TINY), max(float(values.max()), TINY)
    log = high / low > WIDE
    bars = _bars(z, returned, Axis(low if log else 0.0, high, log))
    whole = Axis(min([low if log else 0.0, *(bar.low for bar in bars)]), max([high, *(bar.high for bar in bars)]), log)
    x = alt.X("from:Q", scale=whole.scale(), axis=whole.ticks("final loss relative to the start", grid=False))
    y = alt.Y("count:Q", axis=ticks("instances"))
    tips = [alt.Tooltip("range:N", title="ratio"), alt.Tooltip("count:Q", title="instances")]
    layers = []
    for special in (False, True):
        rows = [
            {
                "from": drawn(bar.low),
                "to": drawn(bar.high),
                "count": bar.count,
                "range": bar.what or f"{bar.low:.3g} … {bar.high:.3g}",
            }
            for bar in bars
            if bool(bar.what) == special
        ]
        look: dict[str, Any] = (
            {"fill": "transparent", "stroke": LEARNED} if special else {"fill": LEARNED, "opacity": 0.55}
        )
        if rows:
            bar = drawing(rows).mark_rect(**look, strokeWidth=1.5)
            layers.append(bar.encode(x=x, x2="to:Q", y=y, y2=alt.datum(0), tooltip=tips))
    for rule in placed:
        line = drawing([{"from": drawn(rule.value), "text": rule.text}]).mark_rule(
            color=INK, strokeWidth=2, strokeDash=rule.dash
        )
        layers.append(line.encode(x=x, tooltip=[alt.Tooltip("text:N", title="this is")]))
    legend = [Key(rule.look, "ink", _named(rule, placed)) for rule in rules]
    legend.append(Key("box", "learned", "training instances"))
    own = [bar.what for bar in bars if bar.what]
    if own:
        legend.append(Key("hollow", "learned", ", ".join(own)))
    return specification("histogram", layers, height=280), tuple(legend)


def _named(rule: Rule, placed: list[Rule]) -> str:
    return rule.text if rule in placed else f"{rule.text} (not on this axis)"
