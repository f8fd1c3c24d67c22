"""How the runs ended on the training instances, and where the bounds lie."""

from dataclasses import dataclass
from itertools import cycle
from typing import Any

import altair as alt
import numpy as np

from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim
from pacopt.report.colours import LEARNED
from pacopt.report.figures import TINY, Axis, Chart, Figure, Key, Numbers, drawing, drawn, specification, ticks
from pacopt.report.scored import Scores
from pacopt.report.source import Reported
from pacopt.report.words import FAR, estimate, explained, useless
from pacopt.statement import subject_of

#: So many bins; of whole numbers there may be more. Counts up to less than this many are no reason for others.
BINS, WHOLE, FEWEST = 40, 80, 2
#: What a number of iterations may be off, after its division by the largest one.
ROUNDING = 1e-6
#: From this ratio of largest to smallest value on, decades are drawn.
WIDE = 30.0
#: Values that are this many times smaller than the median are in the first bar: 1e-38 leaves no room for the others.
DEEP = 1e10
#: How the lines of the bounds look, one after the other: in the legend, in the chart, and the tone of both.
DASHED, DOTTED = ("dashed", [8, 4]), ("dotted", [2, 3])
LOOKS = tuple((*line, tone) for tone in ("ink", "standard", "muted") for line in (DASHED, DOTTED))


@dataclass(frozen=True, slots=True)
class Rule:
    """A vertical line with its meaning."""

    value: float
    text: str
    look: str
    dash: list[int]
    tone: str = "ink"


def histogram_figure(source: Reported) -> Figure:
    """The scores of the deployed candidate, on which its bound rests."""
    c = source.certificate
    scores = Scores.of(c, source.table)
    values, several = scores.values, scores.runs is not None
    mean, zeros = f"{estimate(float(values.mean()))}{scores.unit}", int(np.sum(values == 0))
    caption = f"{scores.caption} The certificate rests on these."
    if zeros:
        caption += f" {zeros} of them {'are' if several else 'ended at'} exactly zero."
    if deep := int(np.sum((values > 0) & (values < _least(values)))):
        ended, are = ("are", "") if several else ("ended", "are ")
        caption += f" {deep} {ended} below {estimate(_least(values), 2)} and {are}in the first bar."
    caption += scores.told
    rules = [Rule(float(values.mean()), f"training mean {mean}", "solid", [1, 0])]
    drawn_claims = [
        claim
        for claim in c.design.claims
        if claim.in_scores(c.design)
        and c.deployed.values[claim.name] is not None
        and not useless(claim, c.deployed.values[claim.name], c.design)
    ]
    for claim, look in zip(drawn_claims, cycle(LOOKS), strict=False):
        rules.append(Rule(float(c.deployed.values[claim.name]), _certified(c, claim, scores), *look))
    for claim in drawn_claims:
        if claim is not explained(c):
            caption += _meaning(c, claim)
    described = f"{zeros} exact zeros, {' '.join(reversed(scores.row))}. " + "; ".join(rule.text for rule in rules)
    alt_text = (
        f"Histogram of {len(values)} values: median {estimate(float(np.median(values)))}, largest "
        f"{estimate(float(values.max()))}, {described}."
    )
    spec, legend = _drawing(scores, rules, FAR * c.design.score.scale)
    chart = Chart("histogram", spec, alt_text, legend)
    numbers = _numbers(scores, zeros)
    return Figure("histogram", scores.title, _heading(c, mean, scores.unit), caption, (chart,), numbers)


def _heading(c: Certificate, mean: str, unit: str) -> str:
    claim = explained(c)
    if claim is None:
        return f"The training mean is {mean}"
    return f"The training mean is {mean}, the certified mean {claim.shown(c.deployed.values[claim.name])}{unit}"


def _certified(c: Certificate, claim: AbstractClaim, scores: Scores) -> str:
    """The legend of a bound; where values are means, it says which bounds are on single runs."""
    value = c.deployed.values[claim.name]
    single = " (of single runs)" if scores.runs is not None and claim.ending(value, c.design) is not None else ""
    return f"certified: {claim.heading(c.design)} {claim.shown(value)}{scores.unit}{single}"


def _meaning(c: Certificate, claim: AbstractClaim) -> str:
    """What the line of a bound means, if that is more than the legend says."""
    value, subject = c.deployed.values[claim.name], subject_of(c)
    label, number, meaning = claim.highlight(value, subject, c.design)
    return "" if meaning == claim.sentence(value, subject) else f" {label}, {number}: {meaning[0].lower()}{meaning[1:]}"


def _numbers(scores: Scores, zeros: int) -> Numbers:
    values = scores.values
    levels = (10, 50, 90, 99)
    found = np.percentile(values, levels, method="inverted_cdf")
    numbers = [("mean", values.mean()), ("smallest", values.min())]
    numbers += [(f"{level} % quantile", value) for level, value in zip(levels, found, strict=True)]
    rows = [(name, estimate(float(value))) for name, value in [*numbers, ("largest", values.max())]]
    rows += [("exact zeros", str(zeros)), scores.row]
    return Numbers((scores.noun, scores.axis), tuple(rows))


def _least(values: np.ndarray) -> float:
    """Where the axis begins at the earliest."""
    positive = values[values > 0]
    return max(float(np.median(positive)) / DEEP, TINY) if len(positive) else TINY


@dataclass(frozen=True, slots=True)
class Bar:
    """So many instances between two values; `what` names those that have a bar of their own."""

    low: float
    high: float
    count: int
    what: str = ""

    @property
    def told(self) -> str:
        """Between which values; a bin of whole numbers is told by its first and last."""
        if self.low % 1 == self.high % 1 == 0.5:
            first, last = round(self.low + 0.5), round(self.high - 0.5)
            return f"{first}" if first == last else f"{first} to {last}"
        return f"{self.low:.3g} … {self.high:.3g}"


def _edges(scores: Scores, axis: Axis) -> np.ndarray:
    """The edges of equal bins; of whole numbers, of so many of them each, beginning with one."""
    ended, equal = scores.values[~scores.beyond], axis.edges(BINS)
    if not len(ended) or np.abs(ended - ended.round()).max() > ROUNDING or ended.max() < FEWEST:
        return equal
    if axis.log:
        last = np.unique(np.maximum(np.floor(equal), 1.0))  # the last number of each bin
        return np.concatenate([last[:1] - 0.5, last + 0.5])
    width = max(1, int(np.ceil(axis.high / WHOLE)))
    first = -0.5 if (ended < 0.5).any() else 0.5
    edges: np.ndarray = np.arange(first, axis.high + width + 0.5, width)
    return edges


def _bars(scores: Scores, axis: Axis) -> list[Bar]:
    """The bars over the axis, with those beside it that stand for runs without a place on it."""
    edges, values = _edges(scores, axis), scores.values
    ended = values[~scores.beyond & (values > 0)] if axis.log else values[~scores.beyond]
    counts, _ = np.histogram(np.clip(ended, edges[0], edges[-1]), bins=edges)
    bars = [Bar(edges[k], edges[k + 1], int(counts[k])) for k in np.flatnonzero(counts)]
    zeros = int(np.sum(values == 0))
    if axis.log and zeros:
        step = edges[1] / edges[0]
        bars.append(Bar(edges[0] / step**2, edges[0] / step, zeros, "exactly zero"))
    if scores.beyond.any():  # beside those that ended at the largest value by themselves
        end = edges[-1] ** 2 / edges[-2] if axis.log else 2 * edges[-1] - edges[-2]
        bars.append(Bar(edges[-1], end, int(scores.beyond.sum()), scores.what))
    return bars


def _drawing(scores: Scores, rules: list[Rule], far: float) -> tuple[dict[str, Any], tuple[Key, ...]]:
    placed = [rule for rule in rules if 0 < rule.value <= far]
    values = np.array([*scores.values[scores.values > 0], *(rule.value for rule in placed)] or [far / FAR])
    low, high = max(float(values.min()), _least(scores.values)), max(float(values.max()), TINY)
    log = high / low > WIDE
    bars = _bars(scores, Axis(low if log else 0.0, high, log))
    whole = Axis(min([low if log else 0.0, *(bar.low for bar in bars)]), max([high, *(bar.high for bar in bars)]), log)
    x = alt.X("from:Q", scale=whole.scale(), axis=whole.ticks(scores.axis, grid=False))
    y = alt.Y("count:Q", axis=ticks(scores.noun.removeprefix("training ")))
    tips = [
        alt.Tooltip("range:N", title="between"),
        alt.Tooltip("count:Q", title=scores.noun.removeprefix("training ")),
    ]
    layers = []
    for special in (False, True):
        rows = [
            {
                "from": drawn(bar.low),
                "to": drawn(bar.high),
                "count": bar.count,
                "range": bar.what or bar.told,
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
            color=f"var(--{rule.tone})", strokeWidth=2, strokeDash=rule.dash
        )
        layers.append(line.encode(x=x, tooltip=[alt.Tooltip("text:N", title="this is")]))
    legend = [Key(rule.look, rule.tone, _named(rule, placed)) for rule in rules]
    legend.append(Key("box", "learned", scores.noun))
    own = [bar.what for bar in bars if bar.what]
    if own:
        legend.append(Key("hollow", "learned", ", ".join(own)))
    return specification("histogram", layers, height=280), tuple(legend)


def _named(rule: Rule, placed: list[Rule]) -> str:
    return rule.text if rule in placed else f"{rule.text} (not on this axis)"
