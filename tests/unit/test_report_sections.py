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
from pacopt.report.tested import measured_runs
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
    certificate, tested = source.certificate, measured_runs(reported(source))
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
    assert "2 of 3 claims do not hold on the 500 test instances" in section(text, "held")


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
    assert next(row["kind"] for row in marks if row.get("i") == 7 and "kind" in row) == 2, "it ended above its start"
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
    assert "250 of 1,200 training runs failed, none of 100 with the certified candidate" in failed
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


def test_no_page_and_no_command_holds_a_path(tmp_path):
    page = (reports.learned("one candidate").save(tmp_path / "run") / "report.html").read_text()
    assert '<code id="verify">pacopt verify .</code>' in page
    assert "pacopt.Learned.load(&#34;.&#34;)" in page
    assert str(tmp_path) not in page
    assert "location." not in page.rpartition("<script>")[2], "nor does it find out where it is"


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


def against_several(gains, instances=400, ends=(0.02, 0.06)):
    """A certificate over three baselines that are so many times worse, with a test split that is the training split."""
    rng = np.random.default_rng(8)
    ours = rng.uniform(*ends, instances)
    baselines = {name: np.minimum(gain * ours * rng.uniform(0.9, 1.1, instances), 1.0) for name, gain in gains.items()}
    losses = np.stack([ours, 12 * ours])
    table = LossTable(losses, np.ones(instances), baselines=baselines)
    claims = shared_out([Risk(), Success(), Quantile(), Gain(over=tuple(gains)), Win(over=tuple(gains))])
    source = reportable(losses, design=pacopt.Design.uniform(table, claims=claims), baselines=baselines)
    about = {"rows": ("learned", "standard"), "baselines": {name: {"text": name} for name in gains}}
    test = LossTable(losses, np.ones(instances), baselines=baselines, provenance=about)
    source.test, source.comparison = test, pacopt.Comparison.of(test, about["rows"], source.certificate.design)
    return source


def test_what_is_certified_over_the_strongest_baseline_leads_and_the_others_stay_visible():
    source = against_several({"weak": 9.0, "strong": 2.0, "middling": 4.0})
    text, values = report_html(source), source.certificate.deployed.values
    tiles = re.findall(r'<span class="label">(.*?)</span>', text)
    assert tiles[0] == "gain over strong"
    words = first_screen(text)
    least = min(values[key] for key in ("gain", "gain_strong", "gain_middling"))
    assert least == values["gain_strong"]
    shown = Gain().shown
    assert f"Its mean final-to-initial loss ratio is at least {shown(least)} times smaller than that of strong" in words
    assert (
        f"Gain: ≥ {shown(values['gain_middling'])} times over middling; ≥ {shown(values['gain'])} times over weak."
        in words
    )
    assert "none shown" not in words
    assert [row[0] for row in rows_of(text, "held")[1:4]] == [
        f"gain over {name}" for name in ("strong", "middling", "weak")
    ]
    assert [row[0] for row in rows_of(text, "rivals")[7:]] == ["strong", "middling", "weak", "textbook"]
    assert "times lower mean ratio than that of strong" in words


def test_a_baseline_over_which_no_gain_is_shown_is_not_hidden():
    words = first_screen(
        report_html(source := against_several({"weak": 9.0, "better": 0.5, "best": 0.1, "strong": 2.0}))
    )
    assert "gain over strong ≥ " in words, "the least that is certified"
    assert "No gain over better or best could be shown with these instances." in words
    assert "Gain: none shown over better or best." in words
    assert re.search(r"higher mean ratio than that of best", words)
    assert "does not lie below the mean of best" in words
    held = {row[0]: row for row in rows_of(report_html(source), "held")}
    assert held["gain over better"][1] == held["better than best"][1] == "none shown"
    nothing = first_screen(report_html(against_several({"better": 0.5, "best": 0.1})))
    assert "gain over better or best none shown" in nothing


def test_a_verdict_never_denies_a_gain_that_is_certified():
    """A mean bound may lie above a rival's measured mean while a gain over it is certified."""
    source = against_several({"close": 1.2}, ends=(0.05, 0.75))
    values, rival = source.certificate.deployed.values, source.comparison["close"]
    assert values["gain"] is not None
    assert values["risk"] > rival.interval[0]
    words = first_screen(report_html(source))
    assert "the certificate alone does not show" not in words
    assert (
        f"Still, this is certified: its mean final-to-initial loss ratio is at least {Gain().shown(values['gain'])}"
        in words
    )


def test_every_method_looks_the_same_in_every_chart():
    text = reports.page("a rule with arrays")
    legends = re.findall(r'<span class="key \w+ tone-(\w+)" aria-hidden="true"></span>(.*?)</li>', text)
    for name in ("conjugate gradients", "textbook&#39;s heavy-ball"):
        found = [tone for tone, called in legends if called == name]
        assert len(found) >= 2
        assert len(set(found)) == 1


def test_a_method_that_ends_far_below_the_others_leaves_them_their_room():
    text = reports.page("a rule with arrays")
    curves = reports.learned("a rule with arrays").curves
    assert curves.mean.min() < 1e-20
    places = [layer["encoding"]["y"] for layer in specs(text)["curves"]["layer"] if "y" in layer["encoding"]]
    low = min(place["scale"]["domain"][0] for place in places)
    assert low > 1e-6 * curves.mean[0].min()
    assert "Lines that leave the chart go on falling: conjugate gradients to" in section(text, "curves")


def test_labels_of_the_worst_instances_never_overlap():
    rng = np.random.default_rng(9)
    ours, theirs = rng.uniform(0.01, 0.1, 300), rng.uniform(0.3, 0.5, 300)
    ours[:5], theirs[:5] = np.linspace(0.2, 0.2001, 5), 0.4  # five marks upon each other
    text = report_html(reportable(np.stack([ours, theirs])))
    labels = [row for row in drawn(text, "rival0") if "mark_x" in row]
    assert sorted(row["i"] for row in labels) == [0, 1, 2, 3, 4]
    axis = specs(text)["rival0"]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    heights = np.sort([320 * np.log(row["y"] / axis[0]) / np.log(axis[1] / axis[0]) for row in labels])
    assert np.diff(heights).min() >= 14, "a line of text"
    assert {(row["mark_x"], row["mark_y"]) for row in labels} == {
        (row["x"], row["y"]) for row in drawn(text, "rival0") if row.get("i") in range(5) and "kind" in row
    }, "each has a line to its mark"


def test_one_random_run_of_each_instance_is_explained():
    certificate = pacopt.certify(LossTable(uniform(), np.ones(300)))
    random = replace(certificate, provenance={"seeds": {"hash": "0", "replicates": 1}, "seed": 7})
    told = section(report_html(random), "seeds")
    assert "Runs are random: each instance was run once" in told
    assert "follows from the root seed (7) and the content of its instance" in told
    assert "holds for one run on a new instance with a fresh seed" in told
    assert "With replicates=5 each instance is run five times" in told
    alike = replace(random, provenance=random.provenance | {"seeds_matter": False})
    assert "here chance changed nothing" in section(report_html(alike), "seeds")


def test_failures_add_up_and_are_shown_for_names_too():
    rng = np.random.default_rng(10)
    losses = rng.uniform(0, 0.5, (6, 100))
    losses[4:, ::4], losses[5, 1::4] = np.nan, 3.0
    candidates = {"solver": np.array(["a", "a", "b", "b", "c", "c"]), "same": np.ones(6)}
    text = report_html(reportable(losses, None, candidates, provenance={"failures": {"ValueError": 50}}))
    assert "75 of 600 training runs failed" in section(text, "failures")
    assert [row[1] for row in rows_of(text, "failures")[1:]] == ["50", "25"], "with and without an error: all of them"
    bars = {row["name"]: row["runs"] for row in drawn(text, "failed0")}
    assert bars == {"a": "0 of 200", "b": "0 of 200", "c": "75 of 200"}
    assert "failed1" not in specs(text), "what is the same for all has no chart"


def test_no_line_ends_within_a_number():
    text = reports.page("a rule with arrays")
    mean = estimate(reports.learned("a rule with arrays").comparison["conjugate gradients"].mean)
    assert "e-" in mean
    assert f'<td><span class="unbroken">{mean}</span></td>' in text
    assert "&lt;span" not in text


def test_parts_of_a_bound_add_up_to_a_hundred():
    for case in ("two hyperparameters", "a rule with arrays", "explosions"):
        words = r"(\d+) % of the bound was measured, (\d+) % pays for the confidence, (\d+) %"
        parts = re.search(words, reports.page(case))
        assert sum(map(int, parts.groups())) == 100


def test_a_budget_that_falls_short_says_what_is_certified():
    rng = np.random.default_rng(11)
    steps = np.where(rng.uniform(size=(2, 300)) < 0.6, rng.integers(3, 9, (2, 300)), np.inf)
    losses = np.where(np.isfinite(steps), 0.05, 0.7)
    claims = shared_out([Risk(), Success(), Quantile(), Budget([0.1])])
    table = LossTable(losses, np.ones(300), times={0.1: steps})
    text = report_html(pacopt.certify(table, pacopt.Design.uniform(table, claims=claims)))
    assert "It could not be shown that 90 % of instances reach 0.1 times" in first_screen(text)
    words = r"At least (\d+\.?\d*)\s%\s+of instances reach 0.1 times their start within 8 steps"
    found = re.search(words, section(text, "budget"))
    assert 40 < float(found[1]) < 60
