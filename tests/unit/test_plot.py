"""Charts for notebooks draw what the report draws, and call certified what is."""

import json
import re
import subprocess
import sys
from base64 import b64decode

import altair as alt
import numpy as np
import pytest
import vl_convert

import pacopt
import reports
from pacopt import plot
from pacopt.errors import ExportError

#: What can be drawn of a run with a test split and two hyperparameters at most.
DRAWN = ("convergence", "losses", "profile", "scatter", "candidates", "failures", "bound", "frontier")


@pytest.fixture(scope="module")
def learned():
    return reports.learned("one hyperparameter and a frontier")


def rows_of(chart):
    """All rows that a chart draws, and all words on it."""
    spec = chart.to_dict()
    rows = [row for rows in spec.get("datasets", {}).values() for row in rows]
    return rows + [row for layer in spec["layer"] for row in layer.get("data", {}).get("values", [])]


@pytest.mark.parametrize("name", DRAWN)
def test_a_chart_is_drawn_with_its_words_legend_and_colours(name, learned):
    chart = getattr(plot, name)(learned)
    spec = json.dumps(chart.to_dict())
    assert "var(--" not in spec, "a notebook has no style sheet"
    assert '"href": {' not in spec, "and no page to follow links in"
    svg = chart_svg(chart)
    for part in chart.to_dict().get("vconcat", [chart.to_dict()]):
        legend = part["layer"][-1]["encoding"]["shape"]["scale"]["domain"]
        assert all("".join(text.split()) in svg for text in legend)
    assert "".join(chart.to_dict()["title"]["text"][0].split()) in svg


def chart_svg(chart):
    """A chart as it is drawn, without spaces."""
    return "".join(vl_convert.vegalite_to_svg(chart.to_dict()).split())


def test_colours_follow_the_theme_of_altair(learned):
    light = plot.losses(learned).to_dict()["config"]
    with alt.theme.enable("dark"):
        dark = plot.losses(learned).to_dict()["config"]
    assert (light["background"], light["title"]["color"]) == ("#ffffff", "#1a1d23")
    assert (dark["background"], dark["title"]["color"]) == ("#1a1d23", "#eceef2")


def test_only_the_mean_at_the_end_is_called_certified_among_the_curves(learned):
    marks = [row for row in rows_of(plot.convergence(learned)) if "bound" in row]
    claim, value = learned.certificate.design.objective, learned.certificate.deployed.risk
    assert marks == [{"step": 5, "bound": pytest.approx(value, rel=1e-5), "said": claim.shown(value)}]
    words = " ".join(plot.convergence(learned).to_dict()["title"]["subtitle"])
    assert "Measured, not certified" in words
    assert "Measured, not certified" in " ".join(plot.scatter(learned).to_dict()["title"]["subtitle"])


def test_every_point_of_a_frontier_is_one_of_its_choices(learned):
    frontier = pacopt.frontier(learned)
    points = [row for row in rows_of(plot.frontier(frontier)) if "x" in row]
    choices = {choice.index: choice for choice in frontier.choices}.values()
    assert len(points) == len(choices) > 1
    for point, choice in zip(points, choices, strict=True):
        assert (point["x"], point["y"]) == pytest.approx((choice.success, choice.risk), rel=1e-5)
        assert point["success"] == frontier.design["success"].shown(choice.success)
    assert rows_of(plot.frontier(learned)) == rows_of(plot.frontier(frontier))


def test_several_charts_stand_below_each_other_with_a_legend_each():
    chart = plot.candidates(reports.own_table())
    parts = chart.to_dict()["vconcat"]
    assert len(parts) == 3
    assert chart.to_dict()["resolve"]["scale"]["shape"] == "independent"
    assert all(text in chart_svg(chart) for text in ("presolve", "dualsimplex", "deployed,restarts=1"))


def test_what_cannot_be_drawn_is_refused_in_four_parts():
    certificate = reports.own_table()
    single = pacopt.certify(pacopt.LossTable(np.full((1, 50), 0.5), np.ones(50), {"step": [0.1]}))
    for draw, source in (
        (plot.convergence, certificate),
        (plot.profile, certificate),
        (plot.scatter, certificate),
        (plot.decisions, certificate),
        (plot.budget, certificate),
        (plot.candidates, single),
        (plot.failures, single),
    ):
        with pytest.raises(ExportError) as error:
            draw(source)
        assert all(error.value.args), draw.__name__
    table = reports.iterations()
    design = reports.ranged(table, claims=[pacopt.claims.Risk(share=1.0)])
    with pytest.raises(ExportError, match="trades nothing"):
        plot.frontier(pacopt.certify(table, design))


def test_a_saved_certificate_is_drawn_without_jax(tmp_path):
    reports.own_table().save(tmp_path / "run")
    check = (
        f"import sys, pacopt; found = pacopt.Certificate.load({str(tmp_path / 'run')!r});"
        "print('altair' in sys.modules); pacopt.plot.losses(found); pacopt.plot.frontier(found);"
        "print(sorted({'altair', 'pandas', 'jax'} & sys.modules.keys()))"
    )
    answer = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n['altair']\n"


def test_a_chart_is_there_without_a_network_and_stays_a_chart(learned):
    chart = plot.losses(learned)
    shown = chart._repr_mimebundle_()["text/html"]
    picture = re.search(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">', shown)
    assert picture[1].startswith("The training mean is")
    assert b64decode(picture[2]).decode().startswith("<svg")
    assert "vegaEmbed" in shown, "with a network, the chart of Altair takes its place"
    assert isinstance(chart, alt.LayerChart)
    assert isinstance(plot.scatter(reports.learned("a rule with arrays")), alt.VConcatChart)
    assert "image/svg+xml;base64" in chart.properties(width=300)._repr_mimebundle_()["text/html"]
    with alt.renderers.enable("svg"):
        assert "text/html" not in chart._repr_mimebundle_(), "who chose a renderer gets it"
    with alt.renderers.enable("mimetype"):
        assert "vegalite" in str(chart._repr_mimebundle_())


def test_a_budget_is_drawn_with_the_names_of_its_lines():
    rng = np.random.default_rng(1)
    steps = rng.integers(3, 30, (2, 400)).astype(float)
    table = pacopt.LossTable(np.full((2, 400), 0.05), np.ones(400), times={0.5: steps / 2 // 1, 0.1: steps})
    claims = pacopt.claims.shared_out([pacopt.claims.Risk(), pacopt.claims.Budget([0.5, 0.1])])
    chart = plot.budget(pacopt.certify(table, pacopt.Design.uniform(table, claims=claims)))
    assert {row["target"] for row in rows_of(chart) if "part" in row} == {"0.5", "0.1"}
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    assert ">half</text>" in svg
    assert "steps" in svg
