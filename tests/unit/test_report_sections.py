"""What a report shows beside the certificate is measured, has intervals, and never looks more certain than it is."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

import pacopt
import reports
from pacopt import LossTable, report_html
from pacopt.claims import Budget, Gain, Quantile, Risk, Success, Win, shared_out
from pacopt.comparison import between
from pacopt.report.source import reported
from pacopt.report.words import estimate
from reports import first_screen, reportable, specs, uniform


def section(text, name):
    """A section of a page without its marks."""
    found = re.search(rf'<section id="{name}".*?</section>', text, flags=re.DOTALL)
    return found and found[0]


def rows_of(text, name):
    """The cells of the tables of a section, row by row."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", section(text, name), flags=re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)).replace("\u00a0", " ") for cell in row] for row in cells]


def drawn(text, chart):
    """The rows of data of a chart."""
    return [row for rows in specs(text)[chart]["datasets"].values() for row in rows]


def shapes(text, chart):
    """The shapes of the marks of a chart that are filled, by their colours."""
    marks = [layer["mark"] for layer in specs(text)[chart]["layer"]]
    return {
        m["fill"]: m["shape"] for m in marks if m["type"] == "point" and m.get("fill", "transparent") != "transparent"
    }


def compared(ours, theirs, start=None, **options):
    """Two candidates, of which the second is the textbook's, and what it gains over it, certified and tested."""
    losses = np.stack([ours, theirs])
    table = LossTable(losses, np.ones(len(ours)) if start is None else start, baselines={"the textbook": theirs})
    return reportable(losses, start, design=pacopt.Design.uniform(table, **options), baselines=table.baselines)


def test_every_claim_stands_beside_the_test_split_with_its_interval():
    rng = np.random.default_rng(0)
    source = compared(rng.uniform(0, 0.1, 400), rng.uniform(0.2, 0.9, 400))
    certificate, tested = source.certificate, reported(source).tested
    header, *rows = rows_of(report_html(source), "held")
    assert header == ["claim", "certified", "on the test split", "95 % interval", "holds"]
    assert [row[0] for row in rows[:2]] == ["gain over the textbook", "better than the textbook"], (
        "what people ask first"
    )
    assert len(rows) == len(certificate.design.claims)
    factor = source.comparison.factor("learned", "standard")
    assert rows[0][2:4] == [estimate(factor.measured), between((factor.low, factor.high))]
    mean = next(row for row in rows if row[0] == "mean ratio")
    risk = certificate.design["risk"]
    assert mean[1] == f"≤ {risk.shown(certificate.deployed.values['risk'])}"
    assert (
        mean[3] == between(risk.interval(tested, certificate.design)) == between(source.comparison["learned"].interval)
    )
    assert {row[4] for row in rows} == {"yes"}
    assert "All 5 claims hold on the 400 test instances" in section(report_html(source), "held")


def test_a_claim_that_fails_on_the_test_split_is_said_to_fail():
    source = reportable(np.full((2, 500), 0.01))
    worse = LossTable(np.full((2, 500), 0.5), np.ones(500), source.test.candidates, provenance=source.test.provenance)
    source.test, source.comparison = (
        worse,
        pacopt.Comparison.of(worse, ("learned", "standard"), source.certificate.design),
    )
    text = report_html(source)
    assert [row[4] for row in rows_of(text, "held")[1:]] == ["no", "yes", "no"]
    assert "1 of 3 claims hold on the 500 test instances" in section(text, "held")


def test_what_was_not_shown_is_listed_as_that():
    rng = np.random.default_rng(0)
    source = compared(rng.uniform(0.2, 0.9, 100), rng.uniform(0, 0.1, 100))
    rows = {row[0]: row for row in rows_of(report_html(source), "held")}
    assert rows["gain over the textbook"][1] == "none shown"
    assert rows["gain over the textbook"][4] == ""
    tiles = re.findall(r'<span class="label">(.*?)</span>', report_html(source))
    assert tiles[-2:] == ["gain over the textbook", "better than the textbook"], "what is certified comes first"


def test_gain_and_budget_come_first():
    rng = np.random.default_rng(0)
    ours, theirs = rng.uniform(0, 0.05, 300), rng.uniform(0.3, 0.9, 300)
    times = {0.1: np.stack([rng.integers(3, 9, 300).astype(float), np.full(300, np.inf)])}
    claims = shared_out([Risk(), Success(), Quantile(), Budget([0.1]), Gain(), Win()])
    table = LossTable(np.stack([ours, theirs]), np.ones(300), times=times, baselines={"the textbook": theirs})
    text = report_html(pacopt.certify(table, pacopt.Design.uniform(table, claims=claims)))
    tiles = re.findall(r'<span class="label">(.*?)</span>', text)
    assert tiles[:3] == ["gain over the textbook", "better than the textbook", "budget for 0.1 times the start"]
    words = first_screen(text)
    assert (
        words.index("times smaller")
        < words.index("reach 0.1 times their start")
        < words.index("Falling back to the start")
    )


def test_nothing_is_drawn_as_certified_that_is_not():
    """Every drawn step of the band is at or below what a claim says there, and none lies left of its place."""
    rng = np.random.default_rng(1)
    steps = rng.geometric(0.2, (2, 250)).astype(float)
    steps[:, :10] = np.inf
    losses = np.where(np.isfinite(steps), 0.05, 0.7)
    claims = shared_out([Risk(), Success(), Quantile(), Budget([0.1])])
    table = LossTable(losses, np.ones(250), times={0.1: steps})
    source = reportable(losses, design=pacopt.Design.uniform(table, claims=claims), times={0.1: steps})
    certificate = source.certificate
    text = report_html(source)
    stairs = certificate.budget
    band = [row for row in drawn(text, "reach0") if "top" in row]
    assert len(band) > 10
    for row in band:
        assert row["y"] <= stairs.probability(row["x"], 0.1)
    ends = [row for row in drawn(text, "profile") if "top" in row]
    level, value = certificate.design["quantile"].level, certificate.deployed.values["quantile"]
    for row in ends:
        allowed = [part for x, part in ((value, level), (1.0, certificate.deployed.values["success"])) if row["x"] >= x]
        assert row["y"] <= max(allowed)


def test_a_verdict_of_the_users_own_is_no_point_of_the_profile():
    losses = uniform(2, 300)
    source = reportable(losses, success=losses < 0.25)
    assert source.certificate.user_success
    points = {row["x"] for row in drawn(report_html(source), "profile") if row.get("said")}
    assert len(points) == 1, "the quantile alone"
    assert points.pop() >= source.certificate.deployed.values["quantile"]


def test_the_worst_instances_are_listed_and_linked_to_their_marks():
    rng = np.random.default_rng(2)
    ours, theirs = rng.uniform(0.01, 0.1, 120), rng.uniform(0.05, 0.9, 120)
    ours[[7, 30]] = 3.0, 0.8
    text = report_html(reportable(np.stack([ours, theirs])))
    listed = re.findall(
        r'<tr id="instance-(\d+)"><th scope="row"><a href="#rivals-heading" data-instance="(\d+)">', text
    )
    worst = [str(i) for i in np.argsort(-ours)[:5]]
    assert [index for index, _ in listed] == [index for _, index in listed] == worst
    marks = drawn(text, "rival0")
    assert {row["href"] for row in marks if "href" in row} == {f"#instance-{index}" for index in worst}
    assert next(row["kind"] for row in marks if row.get("i") == 7) == 2, "it ended above its start"
    kinds = shapes(text, "rival0")
    assert len(kinds) == len(set(kinds.values())) == 3, "marks differ in shape and not in colour alone"


def test_failures_are_shown_by_place_shape_and_message():
    rng = np.random.default_rng(3)
    losses = rng.uniform(0, 0.5, (12, 100))
    losses[8:10, ::4], losses[10:] = np.nan, np.nan
    provenance = {
        "failures": {"ValueError": 50, "TimeoutError": 200},
        "messages": {"ValueError": "ValueError: <b>no</b>"},
    }
    candidates = {"a": np.linspace(0.1, 1, 12), "b": np.geomspace(0.01, 1, 12)}
    text = report_html(reportable(losses, None, candidates, provenance=provenance))
    failed = section(text, "failures")
    assert "250 of 1200 training runs failed, none of 100 with the certified candidate" in failed
    assert rows_of(text, "failures")[1:] == [["TimeoutError", "200", ""], ["ValueError", "50", "<b>no</b>"]]
    kinds = shapes(text, "failed0")
    assert len(kinds) == len(set(kinds.values())) == 3
    assert "runs that failed" not in section(text, "origin"), "said once"
    assert section(report_html(reportable(np.full((3, 50), 0.1))), "failures") is None


def test_a_bound_that_is_far_above_all_scores_is_no_useful_one():
    losses = np.full((2, 200), 0.1)
    losses[:, :40] = 2e27
    source = reportable(losses)
    assert source.certificate.deployed.values["quantile"] > 1e27
    text = report_html(source)
    assert "There is no useful bound on the 90" in first_screen(text)
    page = text[text.index("<body>") : text.index('<pre id="statement">')]
    assert "≤ 2e" not in page.replace("\u00a0", " ")
    assert "at most 2e" not in page


def test_there_is_no_card_that_says_that_it_is_empty():
    for case in ("no test split", "one candidate", "all runs failed"):
        text = reports.page(case)
        assert "There is nothing to choose" not in text
        assert "The test split is empty.</figcaption>" not in text
    assert "step_size" in first_screen(reports.page("no test split")), (
        "the deployed hyperparameters stand there instead"
    )


def test_no_page_and_no_command_holds_a_path():
    text = reports.page("one candidate")
    assert '<code id="verify">pacopt verify .</code>' in text


def test_a_factor_between_means_never_stands_without_its_interval():
    text = reports.page("a rule with arrays")
    comparison = reports.learned("a rule with arrays").comparison
    rows = {row[0]: row for row in rows_of(text, "rivals")}
    for name in ("conjugate gradients", "textbook's heavy-ball", "half as many"):
        full = next(row.name for row in comparison.rows if row.name.removeprefix("the ") == name)
        factor = comparison.factor("learned", full)
        assert rows[name][1] == estimate(factor.measured)
        assert rows[name][2] == between((factor.low, factor.high))


def test_arrays_have_their_shapes_and_a_line_for_each_step():
    text = reports.page("a rule with arrays")
    learned = reports.learned("a rule with arrays")
    array = learned.hyper["schedule"]
    rows = {row[0]: row for row in rows_of(text, "arrays")}
    assert rows["schedule"][1:3] == [" by ".join(map(str, array.shape)), str(array.size)]
    chart = next(name for name, spec in specs(text).items() if "schedule" in str(spec["layer"][0]["encoding"]["y"]))
    values = sorted(row["value"] for row in drawn(text, chart))
    assert values == pytest.approx(sorted(array.ravel().tolist()), rel=1e-5)


def test_runs_of_one_instance_show_what_the_seed_does():
    rng = np.random.default_rng(4)
    level = rng.uniform(0.1, 0.3, 100)
    runs = np.repeat(level, 4) + rng.normal(0, 0.02, 400)
    columns = pacopt.columns.Columns(np.full(100, 4), 4 * np.arange(100))
    table = LossTable(np.stack([runs, runs + 0.1]), np.ones(400), columns=columns)
    certificate = replace(pacopt.certify(table), provenance={"seeds": {"hash": "0", "replicates": 4}})
    text = report_html(certificate)
    noise = 0.02**2 / (0.02**2 + 0.2**2 / 12)
    found = re.search(r"(\d+) % of the variance of a single run comes from its seed", section(text, "seeds"))
    assert abs(int(found[1]) / 100 - noise) < 0.04
    assert section(report_html(pacopt.certify(LossTable(uniform(), np.ones(300)))), "seeds") is None
