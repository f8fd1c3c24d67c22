"""Where the certified mean comes from: what was measured, and what confidence and choice cost."""

from typing import Any

import altair as alt

from pacopt.certificate import Certificate
from pacopt.claims.checking import is_ours
from pacopt.claims.measuring import one_by_one
from pacopt.report.figures import Chart, Figure, Key, Numbers, drawing, drawn, specification, ticks
from pacopt.report.source import Reported
from pacopt.report.words import certified, chosen, estimate, explained, noun


def breakdown_figure(source: Reported) -> Figure | None:
    """The bound as a sum of three parts, and the numbers of the posterior; None where no claim has such parts."""
    c, claim = source.certificate, explained(source.certificate)
    deployed = c.deployed.values
    values = None if claim is None else claim.parts(deployed)
    if claim is None or values is None:
        return None
    names = ("measured on the training instances", "for the confidence", f"for the choice among {len(c.design.prior)}")
    texts = [estimate(value) for value in values]  # as the statement says them
    total = claim.shown(deployed[claim.name])
    first, second = (round(100 * value / sum(values)) for value in values[:2])
    heading = (
        f"{first} % of the bound was measured, {second} % pays for the confidence, {100 - first - second} % "
        "for the choice"
    )
    equation = f"{texts[0]} {names[0]} + {texts[1]} {names[1]} + {texts[2]} {names[2]} is {total}, rounded up"
    with_safeguard = " with the safeguard" if c.design.score.relative else ""
    caption = f"{equation}: the certified {noun(claim, c.design)}{with_safeguard}."
    look = ("learned", "second", "third")
    rows = [
        {"part": name, "order": k, "value": drawn(max(value, 0.0)), "text": text}
        for k, (name, value, text) in enumerate(zip(names, values, texts, strict=True))
    ]
    legend = tuple(Key("box", tone, f"{text} {name}") for tone, name, text in zip(look, names, texts, strict=True))
    spec = _spec(rows, look, noun(claim, c.design))
    chart = Chart("breakdown", spec, f"One bar in three parts: {equation}.", legend)
    return Figure("breakdown", "The bound", heading, caption, (chart,), _numbers(c))


def _numbers(c: Certificate) -> Numbers:
    """Every claim for the deployed candidate and for the posterior, and what led to them."""
    deployed, drawn_from = c.deployed.values, c.posterior.values
    rows = [
        (
            each.heading(c.design),
            certified(each, value, c.design),
            "" if drawn_from.get(claim.name) is None or place else certified(claim, drawn_from[claim.name], c.design),
        )
        for claim in c.design.claims
        for place, (each, value) in enumerate(one_by_one([claim], deployed))  # of a posterior, the first is known
    ]
    rows += [
        *(fact for claim in c.design.claims if is_ours(claim) for fact in claim.facts(deployed, drawn_from)),
        ("prior weight", f"{c.deployed.weight:.3g}", ""),
        ("KL from the prior", "", f"{c.posterior.kl:.4g} nats"),
    ]
    return Numbers(("", f"{chosen(c)} candidate", "posterior, a fresh draw for each instance"), tuple(rows))


def _spec(rows: list[dict[str, Any]], look: tuple[str, ...], title: str) -> dict[str, Any]:
    colours = alt.Scale(domain=[row["part"] for row in rows], range=[f"var(--{name})" for name in look])
    bar = drawing(rows).mark_bar(height=34, stroke="var(--surface)", strokeWidth=1)
    bars = bar.encode(
        x=alt.X("value:Q", stack="zero", axis=ticks(title), scale=alt.Scale(nice=False)),
        color=alt.Color("part:N", scale=colours, legend=None),
        order="order:Q",
        tooltip=[alt.Tooltip("part:N"), alt.Tooltip("text:N", title="value")],
    )
    return specification("breakdown", [bars], height=56)
