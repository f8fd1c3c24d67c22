"""Where the certified mean comes from: what was measured, and what confidence and choice cost."""

from typing import Any

import altair as alt

from pacopt.report.figures import Chart, Figure, Key, Numbers, drawing, drawn, specification, ticks
from pacopt.report.source import Reportable
from pacopt.report.words import added_up, estimate, percent
from pacopt.statement import down, up


def breakdown_figure(learned: Reportable) -> Figure:
    """The bound as a sum of three parts, and the numbers of the posterior."""
    c, deployed = learned.certificate, learned.certificate.deployed
    names = ("measured on the training instances", "for the confidence", f"for the choice among {len(c.design.prior)}")
    values = [deployed.empirical_risk, deployed.confidence_cost, deployed.selection_cost]
    texts, total = added_up(values, deployed.risk)
    share = [100 * value / deployed.risk for value in values]
    heading = (
        f"{share[0]:.0f} % of the bound was measured, {share[1]:.0f} % pays for the confidence, {share[2]:.0f} % "
        "for the choice"
    )
    equation = f"{texts[0]} {names[0]} + {texts[1]} {names[1]} + {texts[2]} {names[2]} = {total}"
    caption = f"{equation}, the certified mean ratio with the safeguard."
    look = ("learned", "second", "third")
    rows = [
        {"part": name, "order": k, "value": drawn(max(value, 0.0)), "text": text}
        for k, (name, value, text) in enumerate(zip(names, values, texts, strict=True))
    ]
    legend = tuple(Key("box", tone, f"{text} {name}") for tone, name, text in zip(look, names, texts, strict=True))
    posterior = c.posterior
    numbers = Numbers(
        ("", "deployed candidate", "posterior, a fresh draw for each instance"),
        (
            ("mean ratio at most", up(deployed.risk), up(posterior.risk)),
            ("success at least", percent(down(deployed.success)), percent(down(posterior.success))),
            ("training mean", estimate(deployed.empirical_risk), estimate(posterior.empirical_risk)),
            ("prior weight", f"{deployed.weight:.3g}", ""),
            ("KL from the prior", "", f"{posterior.kl:.4g} nats"),
            (
                "betting fraction t",
                "",
                f"{posterior.t:.4g}" + (", at the edge of its grid" if posterior.t_at_edge else ""),
            ),
        ),
    )
    chart = Chart("breakdown", _spec(rows, look), f"One bar in three parts: {equation}.", legend)
    return Figure("breakdown", "The bound", heading, caption, (chart,), numbers)


def _spec(rows: list[dict[str, Any]], look: tuple[str, ...]) -> dict[str, Any]:
    colours = alt.Scale(domain=[row["part"] for row in rows], range=[f"var(--{name})" for name in look])
    bar = drawing(rows).mark_bar(height=34, stroke="var(--surface)", strokeWidth=1)
    bars = bar.encode(
        x=alt.X("value:Q", stack="zero", axis=ticks("mean ratio"), scale=alt.Scale(nice=False)),
        color=alt.Color("part:N", scale=colours, legend=None),
        order="order:Q",
        tooltip=[alt.Tooltip("part:N"), alt.Tooltip("text:N", title="ratio")],
    )
    return specification("breakdown", [bars], height=56)
