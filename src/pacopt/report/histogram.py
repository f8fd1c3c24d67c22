"""How the final losses are distributed on the training instances, and where the bounds lie."""

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from pacopt.report.figures import (
    INK,
    LEARNED,
    MUTED,
    TINY,
    Axis,
    Chart,
    Figure,
    Key,
    Numbers,
    data,
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


def _drawing(z: np.ndarray, returned: np.ndarray, rules: list[Rule]) -> tuple[dict[str, Any], tuple[Key, ...]]:
    ordinary = z[~returned & (z > 0)]
    placed = [rule for rule in rules if 0 < rule.value <= FAR]
    values = np.concatenate([z[z > 0], [rule.value for rule in placed]])
    low, high = max(float(values.min(initial=1.0)), TINY), float(values.max(initial=TINY))
    log = high / low > WIDE
    ends = np.log10([low, high]) if log else np.array([0.0, high])
    edges = np.linspace(*ends, BINS + 1)
    inside = np.maximum(ordinary, TINY) if log else z[~returned]
    counts, _ = np.histogram(np.clip(np.log10(inside) if log else inside, *ends), bins=edges)
    width = float(edges[1] - edges[0])
    bars = [(edges[k], edges[k + 1], int(counts[k]), "ended here") for k in np.flatnonzero(counts)]
    if returned.any():  # a bar of its own, behind those that ended at 1 by themselves
        bars.append((ends[1], ends[1] + width, int(returned.sum()), "start returned"))
    zeros = int(np.sum(z == 0))
    if log and zeros:
        bars.append((ends[0] - 2 * width, ends[0] - width, zeros, "exactly zero"))
    place = (lambda v: drawn(10.0**v)) if log else drawn
    rows = [
        {
            "from": place(a),
            "to": place(b),
            "count": count,
            "kind": kind,
            "range": kind if kind != "ended here" else f"{place(a):.3g} … {place(b):.3g}",
        }
        for a, b, count, kind in bars
    ]
    first = min(a for a, *_ in bars) if log else 0.0
    last = max(ends[1], *(b for _, b, *_ in bars))
    axis = Axis(place(first), place(last), log)
    base = alt.Chart(data(rows))
    x = alt.X("from:Q", scale=axis.scale(), axis=ticks("final loss relative to the start", grid=False))
    tips = [alt.Tooltip("range:N", title="ratio"), alt.Tooltip("count:Q", title="instances")]
    layers = []
    for special in (False, True):
        look: dict[str, Any] = {"fill": "transparent", "stroke": LEARNED} if special else {"fill": LEARNED}
        bar = base.transform_filter(f"(datum.kind != 'ended here') == {str(special).lower()}").mark_bar(
            **look, strokeWidth=1.5, binSpacing=0
        )
        y = alt.Y("count:Q", axis=ticks("instances"), scale=alt.Scale(domainMin=0))
        layers.append(bar.encode(x=x, x2="to:Q", y=y, tooltip=tips))
    for rule in placed:
        line = alt.Chart(data([{"from": drawn(rule.value), "text": rule.text}]))
        colour = MUTED if rule.look == "dotted" else INK
        layers.append(
            line.mark_rule(color=colour, strokeWidth=2, strokeDash=rule.dash).encode(x=x, tooltip=alt.Tooltip("text:N"))
        )
    legend = [Key(rule.look, "muted" if rule.look == "dotted" else "ink", _named(rule, placed)) for rule in rules]
    legend.append(Key("box", "learned", "training instances"))
    if any(kind != "ended here" for *_, kind in bars):
        legend.append(Key("hollow", "learned", "start returned, or exactly zero"))
    return specification("histogram", layers, height=280), tuple(legend)


def _named(rule: Rule, placed: list[Rule]) -> str:
    return rule.text if rule in placed else f"{rule.text} (not on this axis)"
