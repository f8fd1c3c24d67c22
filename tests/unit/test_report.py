"""The report says what the certificate says, in a page that needs nothing but itself, and an edit of it shows."""

import html
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import pacopt
import reports
from alone import run_alone, run_fresh
from pacopt import Certificate, Learned, LossTable, certify, frontier, report_html
from pacopt.app.presenting import learned_view
from pacopt.claims import Risk, Success, shared_out, standard_claims
from pacopt.claims.numbers import Deployed
from pacopt.errors import StorageError
from pacopt.learned import load_run
from pacopt.report import REPORT, page, report_problem, script, write_report
from pacopt.report.candidates import Candidates
from pacopt.report.figures import Axis
from pacopt.report.seal import sealed
from pacopt.report.sections.use import use_of
from pacopt.report.source import reported
from pacopt.report.strongest import led
from pacopt.report.words import estimate, noun, useless
from pacopt.statement import down, subject_of, up
from pacopt.tradeoff import candidate_bounds
from reports import first_screen, reportable, specs, uniform


@pytest.mark.parametrize("case", reports.CASES)
def test_every_section_is_there_in_every_case(case):
    text, certificate, source = reports.page(case), reports.certificate(case), reported(reports.learned(case))
    rivals = {row.name for row in source.comparison.rows} - {"learned", "prior median"} if source.comparison else ()
    expected = {
        "histogram": True,
        "assumptions": True,
        "origin": True,
        "posterior": len(certificate.design.prior) > 1,
        "choices": case not in ("one candidate", "all runs failed", "an objective without a finite bound"),
        "curves": source.curves is not None,
        "held": source.test is not None,
        "profile": source.test is not None,
        "rivals": bool(rivals),
        "failures": not source.table.succeeded(certificate.design.target_ratio).all(),
        "decisions": case == "a rule with arrays",
        "arrays": case == "a rule with arrays",
        "breakdown": "selection_cost" in certificate.deployed.values,
    }
    expected = [name for name, there in expected.items() if there]
    assert sorted(re.findall(r'<section id="(\w+)"', text)) == sorted(expected)
    assert set(re.findall(r'data-chart="(\w+)"', text)) == specs(text).keys() >= {"histogram"}
    assert html.escape(str(certificate)) in text


@pytest.mark.parametrize("case", reports.CASES)
def test_the_first_screen_says_each_number_as_the_statement_does(case):
    certificate = reports.certificate(case)
    words, subject = first_screen(reports.page(case)), subject_of(certificate)
    squeezed = words.replace(" .", ".").replace("  ", " ")
    for each in certificate.design.claims:
        first = led(each, certificate)
        claim, value = first.claim, first.value
        if useless(claim, value, certificate.design):
            bounded = noun(claim, certificate.design).replace("\u00a0", " ")
            assert f"There is no useful bound on the {bounded}." in words
            continue
        assert claim.sentence(value, subject).replace("\u00a0", " ") in squeezed
        if certificate.stored is None:
            assert each.sentence(certificate.deployed.values[each.name], subject) in str(certificate)
        tile = claim.highlight(value, subject, certificate.design)
        score = certificate.design.score
        bare = claim.in_scores(certificate.design) and value is not None and score.unit not in tile.label + tile.value
        said = f"{tile.label} {tile.value}{f' {score.unit}' if bare else ''} {tile.caption}"
        assert said.replace("\u00a0", " ") in words
        number = html.escape(claim.shown(value))
        nothing = value is None or (claim.name == "win" and value == 0)  # said in other words, without a number
        assert nothing or f"<strong>{number}</strong>" in reports.page(case)


def test_bounds_are_rounded_to_the_safe_side():
    learned = reportable(uniform())
    deployed = learned.certificate.deployed
    values = deployed.values | {"risk": 0.123449999, "success": 0.98765999, "quantile": 0.00012341}
    learned.certificate = replace(learned.certificate, deployed=replace(deployed, values=values))
    words = first_screen(report_html(learned))
    assert "≤ 0.1235" in words
    assert "≥ 98.76 %" in words
    assert "≤ 0.0001235" in words


VERDICTS = {
    "two hyperparameters": ("Certified", "The success of at least 0.8 that was asked for is certified"),
    "three hyperparameters and no textbook": ("Certified", "There are no textbook hyperparameters to compare with"),
    "no test split": ("Certified", "the test split is empty"),
    "all runs failed": ("Nothing succeeded", "no candidate succeeded on any training instance"),
    "success not attained": (
        "Asked-for success not attained",
        "no candidate could be certified with success at least 0.9",
    ),
    "explosions": ("Certified, with remarks", "8 of 200 test runs ended above their start or failed, the worst at 4"),
    "success as the user sees it": ("Certified", "Without that safeguard it meets the user's success criterion"),
    "a target below the start, and an absolute bound": ("Certified", "it ends at or below 0.25 times its start"),
    "a claim of a user's own": ("Certified", "Half of the instances end at a ratio of at most"),
    "stored by the first version": ("Certified", "No finite bound on the 90 % quantile can be given"),
    "everything, stored by the first version": ("Certified", "The 80 % quantile says more of what most of them do"),
    "a table of one's own": (
        "Certified",
        "where a run that came to no number or went beyond 200 counts as 200.",
    ),
    "a table without start losses": ("Certified", "It does not fail with probability at least"),
    "nothing but a claim of a user's own": ("Certified", "There is no test split"),
    "an objective without a finite bound": ("Certified, with remarks", "No finite tail <b> could be certified"),
    "more asked for than a table holds": ("Asked-for risk not attained", "certified with mean ratio at most 1e-06"),
}


@pytest.mark.parametrize(("case", "expected"), VERDICTS.items(), ids=VERDICTS)
def test_the_verdict_fits_the_case(case, expected):
    words = first_screen(reports.page(case))
    for text in expected:
        assert text in words
    absolute = reports.certificate(case).deployed.values.get("absolute")
    assert ("With the safeguard its expected final loss" in words) == (absolute is not None)
    assert absolute is None or f"is at most {up(absolute)} ." in words


def test_remarks_and_a_bound_that_says_nothing_change_the_badge():
    learned = reportable(uniform())
    assert "Certified, with remarks" not in first_screen(report_html(learned))
    learned.remarks = ("the step size is at the edge",)
    assert "Certified, with remarks" in first_screen(report_html(learned))
    assert "The step size is at the edge." in first_screen(report_html(learned))
    nothing = first_screen(report_html(reportable(np.ones((1, 20)))))
    assert "A mean ratio of at most 1 is what the safeguard alone gives: it takes more, and new," in nothing
    table = LossTable(np.full((2, 30), 200.0))
    vacuous = first_screen(report_html(certify(table, reports.ranged(table))))
    assert "A mean number of iterations of at most 200 iterations is what every candidate has" in vacuous


def test_the_sentence_names_the_hyperparameters_that_are_certified_and_no_others():
    value = 0.99996123456789
    learned = reportable(np.full((2, 500), 0.01), candidates={"momentum": np.array([value, 0.5])})
    words = first_screen(report_html(learned))
    deployed = learned.certificate.deployed.hyper["momentum"]
    assert "for the candidate with momentum = 0.99996:" in words, "four digits, but never 1"
    assert f"It uses momentum = {deployed!r}." in words


def test_a_level_close_to_one_is_never_called_certain():
    words = first_screen(report_html(reportable(np.full((2, 500), 0.01), confidence=0.99999999999)))
    assert "99.999999999" in words
    assert "With confidence 100" not in words


def test_a_certified_mean_is_compared_with_what_the_textbook_measured():
    better = np.stack([np.full(2000, 0.01), np.full(2000, 0.5)])
    learned = reportable(better)
    standard = learned.comparison["standard"]
    assert standard.interval[0] < standard.mean
    factor = down(standard.interval[0] / learned.certificate.deployed.values["risk"], 3)
    words = first_screen(report_html(learned))
    assert f"is at least {factor} times lower than the textbook's mean" in words
    found = re.search(r"between (\S+) and (\S+) times lower mean ratio than the textbook's", words)
    assert float(found[1]) < 50 < float(found[2]) < 2.5 * float(found[1])
    close = first_screen(report_html(reportable(np.stack([np.full(50, 0.4), np.full(50, 0.41)]))))
    assert "does not lie below the textbook's mean" in close
    assert "No gain over the textbook is certified." in close
    assert "no difference from the textbook's mean ratio that 50 instances can show" in close


def test_a_factor_that_rests_on_one_lucky_draw_is_no_headline():
    """Of 200 ratios of 1e-4 the mean is 2,500 times below 0.25, and one in 300 new ones may end at 1."""
    words = first_screen(report_html(reportable(np.stack([np.full(200, 1e-4), np.full(200, 0.25)]))))
    assert "2500" not in words
    assert "a lower mean ratio than the textbook's; by how much, 200 instances do not tell (between 1" in words
    worse = first_screen(report_html(reportable(np.stack([np.full(200, 0.25), np.full(200, 0.75)]))))
    assert re.search(r"between 2\.\d+ and 3\.\d+ times (lower|higher) mean ratio than the textbook's", worse)


NOT_DEPLOYED = ("success not attained", "all runs failed")


@pytest.mark.parametrize("case", NOT_DEPLOYED)
def test_nothing_is_called_deployed_where_what_was_asked_for_is_not_attained(case):
    text = reports.page(case)
    page = text[: text.index('<pre id="statement">')]
    assert "deploy" not in first_screen(text).lower()
    assert "deployed" not in re.sub(r"<[^>]+>", " ", page[page.index("<body>") :]).lower()
    assert "deployed" not in json.dumps(specs(text))
    assert 'id="use"' not in text
    words = first_screen(text)
    assert words.index("no candidate") < words.index("With confidence"), "it comes first"
    assert summary(case).lower().startswith(("what was asked for is not attained", "nothing succeeded"))
    assert "deploy" not in summary(case).lower()


def summary(case):
    return learned_view(reports.learned(case), Path("runs/mine"))[0]


@pytest.mark.parametrize(
    "case",
    [case for case in reports.LEARNED if "first version" not in case and case not in NOT_DEPLOYED],
)
def test_what_is_copied_loads_the_run_and_solves_with_the_safeguard(case, tmp_path, monkeypatch):
    learned = reports.learned(case)
    place = learned.save(tmp_path / "run")
    code = html.unescape(re.search(r'<code id="use">(.*?)</code>', reports.page(case), flags=re.DOTALL)[1])
    scope = {"instance": learned.train[0]}
    monkeypatch.chdir(place)  # the page says to run it there
    exec(code, scope)
    assert scope["solution"].loss == learned.solve(learned.train[0]).loss
    assert f"{learned.engine.steps} steps from the start; falls back to it if" in code
    assert summary(case).startswith("With confidence")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("mine.streams:Slope", "import mine.streams"),
        ("__main__:Slope", "# here, define Slope as it was"),
        ("pacopt.problems.quadratic:DiagonalQuadratic", ""),
        ("os; evil():Slope", ""),
        ("os\nevil():Slope", ""),
    ],
)
def test_the_code_to_copy_imports_what_it_needs_and_nothing_that_is_no_name(path, line):
    provenance = {"problem": {"class": path, "source": "", "fields": ""}}
    code = use_of(reported(reportable(uniform(), provenance=provenance))).code
    assert code.splitlines()[1] == line
    assert "evil" not in code


def test_explosions_beside_a_calm_textbook_are_never_green():
    words = first_screen(reports.page("explosions"))
    learned, standard = reports.learned("explosions").comparison.rows[:2]
    assert (learned.failures, standard.failures) == (8, 0)
    assert learned.worst > 1e15
    assert f"8 {learned.worst:.3g}" in words
    assert "with the textbook's hyperparameters, none did" in words
    assert "No warnings" not in words
    assert "No warnings." in first_screen(reports.page("two hyperparameters"))
    assert not any("nothing to remark" in reports.page(case) for case in reports.CASES)


def test_measured_shares_and_means_have_their_intervals():
    learned = reports.learned("two hyperparameters")
    page, row = reports.page("two hyperparameters"), learned.comparison["learned"]
    assert row.success_interval == pytest.approx(binomtest(int(row.success * 50), 50).proportion_ci(method="exact"))
    low, high = (100 * end for end in row.success_interval)
    words = first_screen(page).replace("\u00a0", " ")
    assert f"{down(low, 3)} to {up(high, 3)} %" in words
    section = re.search(r'<section id="curves".*?</section>', page, flags=re.DOTALL)[0]
    *middle, last = re.findall(r"<tr>(.*?)</tr>", section, flags=re.DOTALL)[1:]
    assert f"{down(row.interval[0], 3)} to {up(row.interval[1], 3)}" in last
    assert all("median" in line for line in middle), "a mean without an interval"


def test_no_finite_quantile_is_said_in_words():
    words = first_screen(report_html(reportable(uniform(instances=20))))
    assert "No finite bound on the 90 % quantile can be given" in words
    assert "None" not in words


EXTREME = {
    "tiny": [[1e-300] * 50, [5e-324] * 50],
    "huge": [[1e300] * 50, [1e308] * 50],
    "zero": [[0.0] * 50, [0.0] * 50],
    "failed": [[np.nan] * 50, [np.inf] * 50],
    "mixed": [[0.0, 1e-300, 1e-12, 1.0, 2.0, np.inf, np.nan, 1e300, 0.5, 1e-5] * 5, [0.1] * 50],
    "one instance": [[0.5], [0.7]],
}


@pytest.mark.parametrize("losses", EXTREME.values(), ids=EXTREME)
@pytest.mark.parametrize("start", [1.0, 0.0, 1e-300])
def test_every_table_can_be_drawn(losses, start):
    losses = np.asarray(losses)
    learned = reportable(losses, np.full(losses.shape[1], start), {"rate": [1e-9, 1.0]})
    for spec in specs(report_html(learned)).values():
        json.dumps(spec, allow_nan=False)
        assert all(np.isfinite(domain).all() for domain in _domains(spec))


def _domains(value):
    """The numeric domains of the scales in a specification."""
    if isinstance(value, dict):
        scale = value.get("scale", {})
        if "domain" in scale and not isinstance(scale["domain"][0], str):
            low, high = scale["domain"]
            assert low < high
            assert low > 0 or scale.get("type") != "log"
            yield scale["domain"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _domains(part)


HOSTILE = "</script><script>alert(1)</script>"


def test_no_name_can_break_out_of_the_page():
    rng = np.random.default_rng(0)
    names = {HOSTILE: rng.uniform(1, 2, 8), "<!-- {{ 7 * 7 }} &amp; '\"": rng.uniform(1, 2, 8)}
    code = {"class": f"module:<b>{HOSTILE}", "source": HOSTILE, "fields": ""}
    provenance = {"algorithm": code, "problem": code, "prior": HOSTILE, "versions": {HOSTILE: HOSTILE}}
    text = report_html(reportable(uniform(8), None, names, provenance=provenance))
    assert HOSTILE not in text
    assert "<b>" not in text
    assert "&lt;!-- {{ 7 * 7 }} &amp;amp;" in text
    assert text.count("<script") == text.count("</script>") == 4
    assert HOSTILE in json.dumps(specs(text)), "the charts name their axes"


def test_a_page_fetches_nothing():
    text = reports.page("two hyperparameters")
    addresses = re.findall(r'(?:src|href)="([^"]*)"', text.split("<script>(() =>")[0])
    assert addresses
    assert all(address.startswith("#") or address == "data:," for address in addresses)
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert "url(" not in text.split("<script>(() =>")[0]


def test_equal_runs_are_drawn_as_equal_pages(tmp_path):
    learned = reports.learned("one hyperparameter and a frontier")
    text = reports.page("one hyperparameter and a frontier")
    learned.save(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / REPORT).read_text() == text == report_html(Learned.load(tmp_path / "elsewhere"))
    assert str(tmp_path) not in text


def test_a_large_table_makes_no_large_page():
    rng = np.random.default_rng(0)
    candidates = {name: rng.uniform(0.1, 1.0, 5000) for name in ("a", "b", "c")}
    losses = rng.uniform(0, 1.2, (5000, 1)) * rng.uniform(0.1, 1.0, (5000, 400))
    text = report_html(reportable(losses, None, candidates))
    assert len(text.encode()) < 3e6
    points = [
        layer for name, spec in specs(text).items() if name.startswith("map") for layer in spec["datasets"].values()
    ]
    assert sum(map(len, points)) <= 2000 + 6


def test_the_choices_are_the_frontier():
    learned = reports.learned("one hyperparameter and a frontier")
    certificate, table = learned.certificate, learned.table
    bounds = candidate_bounds(table, certificate.design, confidence=certificate.confidence)
    found = Candidates.of(reported(learned)).undominated()
    assert len(found) > 3
    assert found == [choice.index for choice in frontier(learned, sorted(set(bounds["success"][found]))).choices]
    assert certificate.deployed.index in found
    text = reports.page("one hyperparameter and a frontier")
    picks = json.loads(re.search(r'id="picks">(.*?)</script>', text)[1])
    compared = ["gain over the textbook at least", "better than the textbook at least"]
    assert picks["headings"] == ["success at least", "mean ratio at most", "90 % quantile at most", *compared]
    for index, pick in zip(found, picks["picks"], strict=True):
        assert pick["numbers"][:2] == [down(bounds["success"][index]), up(bounds["risk"][index])]
        hyper = eval(pick["code"].removeprefix("learned.solve(instance, ").removesuffix(")"))
        assert hyper == table.hyper(index), "all digits, so that `solve` knows the candidate"


def test_only_the_deployed_candidate_is_called_deployed():
    """Of two candidates with the same losses an earlier version deployed the first, though the other is safer."""
    losses = np.tile([0.1, 0.3], (3, 100))
    success = np.ones((3, 200), dtype=bool)
    success[0, :50], losses[2] = False, 0.9
    success[1, :20] = False
    learned = reportable(losses)
    learned.table = LossTable(losses, np.ones(200), success=success)
    today = certify(learned.table)
    assert today.deployed.index == 1
    values = dict(today.deployed.values) | {"success": 0.5}
    learned.certificate = replace(today, deployed=Deployed(0, {"candidate": 0.0}, today.deployed.weight, values))
    text = report_html(learned)
    assert 'id="slider"' in text
    assert 'data-deployed=""' in text
    assert ", deployed" not in text[: text.index("<script>(() =>")]
    assert 'data-deployed="0"' in reports.page("one hyperparameter and a frontier")


def test_candidates_without_weight_are_no_choice():
    losses = [[0.1] * 100, [0.2] * 100]
    measure = pacopt.DiscreteMeasure.of({"rate": [1.0, 2.0]}, [0.0, 1.0])
    learned = reportable(losses, None, {"rate": [1.0, 2.0]}, design=pacopt.Design(measure))
    assert Candidates.of(reported(learned)).undominated() == [1]
    assert "fastest candidate is also the safest" in report_html(learned)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [(0.5, 0.5), (0.5, 0.5 + 1e-12), (1e-300, 1e-300), (1e300, 2e300), (1e-300, 1.0)])
def test_an_axis_has_an_extent_whatever_it_holds(values, log):
    axis = Axis.around(values, log=log)
    low, high = axis.scale().to_dict()["domain"]
    assert low < min(values) <= max(values) < high
    assert (np.diff(axis.edges(40)) > 0).all()
    assert axis.ticks("rate").to_dict()["title"] == "rate"


@pytest.mark.parametrize("case", ["two hyperparameters", "a table of one's own"])
def test_the_parts_of_the_bound_are_those_of_the_statement(case):
    certificate, text = reports.certificate(case), reports.page(case)
    parts = certificate.design["risk"].parts(certificate.deployed.values)
    section = re.search(r'<section id="breakdown".*?</section>', text, flags=re.DOTALL)[0]
    for part in map(estimate, parts):
        assert f"{part} " in section
        assert f"{part} " in str(certificate)


@pytest.fixture
def run(tmp_path):
    return reports.learned("one hyperparameter and a frontier").save(tmp_path / "run")


@pytest.mark.parametrize(
    ("old", "new"), [("Certified", "Approved"), ("</body>", "</body> "), ("\n<!-- pacopt seal", "\n\n<!-- pacopt seal")]
)
def test_an_edited_report_is_not_verified(run, old, new):
    path = run / REPORT
    assert pacopt.verify(run).passed
    path.write_text(path.read_text().replace(old, new, 1))
    result = pacopt.verify(run)
    assert not result.passed
    assert "report.html was altered" in str(result)
    write_report(run, Learned.load(run))
    assert pacopt.verify(run).passed


def test_a_report_that_is_cut_off_or_empty_is_not_verified(run):
    path = run / REPORT
    content = path.read_bytes()
    for damaged in (content[:-1], content[: len(content) // 2], b"", b"\n"):
        path.write_bytes(damaged)
        assert "report.html was altered" in str(pacopt.verify(run))


def test_the_report_of_another_run_is_not_verified(run):
    write_report(run, reports.learned("one candidate"))
    assert "report.html shows another certificate" in str(pacopt.verify(run))


def test_a_page_that_says_something_else_than_its_certificate_is_not_verified(run):
    learned = Learned.load(run)
    body = (
        report_html(learned).rpartition("<!-- pacopt seal")[0].replace("with probability at least", "surely, at least")
    )
    (run / REPORT).write_text(sealed(body))
    assert "does not say what certificate.json says" in report_problem(run / REPORT, learned.certificate)
    assert not pacopt.verify(run).passed


def test_a_report_is_a_view_that_may_be_deleted_and_drawn_again(run):
    text = (run / REPORT).read_text()
    assert REPORT not in (run / "manifest.json").read_text()
    (run / REPORT).unlink()
    assert pacopt.verify(run).passed
    assert write_report(run, Learned.load(run)) == run / REPORT
    assert (run / REPORT).read_text() == text
    assert not list(run.glob(".*")), "nothing is left beside it"


def test_a_run_is_kept_if_its_report_cannot_be_drawn(tmp_path, monkeypatch):
    def fail():
        raise RuntimeError("no bundle")

    monkeypatch.setattr(page, "vega", fail)
    with pytest.warns(UserWarning, match=r"The run is saved.*RuntimeError: no bundle.*pacopt report"):
        directory = reports.learned("one candidate").save(tmp_path / "run")
    assert not (directory / REPORT).exists()
    assert pacopt.verify(directory).passed


def test_a_report_goes_nowhere_but_into_a_directory(tmp_path):
    learned = reports.learned("one candidate")
    with pytest.raises(StorageError, match="could not be written"):
        write_report(tmp_path / "nowhere", learned)
    with pytest.raises(StorageError, match="path of a directory"):
        write_report("", learned)


def test_verification_imports_nothing_that_draws(run):
    shutil.copytree(run, run.parent / "copy")
    code = """
        import sys, pacopt, pacopt.report
        print(pacopt.verify({!r}).passed, {{"altair", "jinja2", "vl_convert", "jax", "equinox"}} & sys.modules.keys())
        """
    assert run_fresh(code.format(str(run.parent / "copy"))) == "True set()\n"


def test_drawing_needs_no_jax():
    code = """
        import sys, numpy as np, pacopt
        from types import SimpleNamespace
        table = pacopt.LossTable(np.full((2, 50), 0.1), np.ones(50))
        parts = dict(test=None, comparison=None, curves=None, provenance={}, remarks=())
        pacopt.report_html(SimpleNamespace(certificate=pacopt.certify(table), table=table, **parts))
        print({"jax", "equinox"} & sys.modules.keys())
        """
    assert run_fresh(code) == "set()\n"


@pytest.mark.slow  # it is made twice here, and once in every run of the tests
def test_the_script_that_draws_is_made_in_another_process_and_where_there_is_none_in_this_one():
    """Making it lets nothing else run in its process for more than a second, not even what handles Ctrl-C."""
    said = run_fresh("""
        import sys
        from pacopt.report.script import _made

        elsewhere = _made()
        print("vl_convert" in sys.modules)
        sys.executable = "/nowhere"
        print(_made() == elsewhere, "vl_convert" in sys.modules, len(elsewhere) > 500_000)
    """)
    assert said.split() == ["False", "True", "True", "True"]


def test_the_script_is_kept_and_one_that_was_altered_is_made_again(monkeypatch, tmp_path):
    made = []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(script, "_made", lambda: made.append(1) or "draw();\n")
    for _ in range(2):
        assert script.vega.__wrapped__() == "draw();\n"
    assert len(made) == 1
    script.kept_at().write_text(script.kept_at().read_text().replace("draw", "drew"))
    assert script.vega.__wrapped__() == "draw();\n"
    assert len(made) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert script.vega.__wrapped__() == "draw();\n"


def test_a_table_of_ones_own_has_no_code_to_run_and_shows_its_hyperparameters():
    text = reports.page("a table of one's own")
    words = first_screen(text)
    assert "6 candidates on 400 instances" in words
    assert "Deployed hyperparameters presolve True restarts 1 solver interior point" in words
    assert 'id="use"' not in text
    assert "learned.solve" not in text
    assert "safeguard" not in re.sub(r"<[^>]+>", " ", text[text.index("<body>") : text.index("<script")])
    picks = json.loads(re.search(r'id="picks">(.*?)</script>', text)[1])["picks"]
    assert {repr(reports.certificate("a table of one's own").deployed.hyper)} <= {pick["code"] for pick in picks}
    assert "MIPLIB subset, &lt;b&gt;drawn&lt;/b&gt; by hand" in text
    assert "8 failed or ended above 200 iterations, and count as 200." in text


def test_names_have_a_bar_each_and_numbers_beside_them_too():
    drawn = specs(reports.page("a table of one's own"))
    named = {name for spec in drawn.values() for rows in spec["datasets"].values() for name in _names(rows)}
    assert {"interior point", "dual simplex", "primal simplex", "True", "False", "1", "2", "3"} <= named


def _names(rows):
    return {row["name"] for row in rows if "name" in row}


def test_a_report_needs_the_table():
    certificate = replace(certify(LossTable(uniform(), np.ones(300))), table=None)
    with pytest.raises(StorageError, match="read without its table"):
        report_html(certificate)


def test_a_certificate_is_saved_with_its_report_and_drawn_again(tmp_path):
    place = reports.certificate("a table of one's own").save(tmp_path / "run")
    assert pacopt.verify(place).passed
    loaded = load_run(place)
    assert isinstance(loaded, Certificate)
    assert report_html(loaded) == (place / REPORT).read_text()
    assert write_report(place, loaded) == place / REPORT


def test_what_was_learned_is_loaded_as_such(run):
    assert isinstance(load_run(run), Learned)
    with pytest.raises(StorageError, match="holds no run"):
        load_run(run / "nowhere")


@pytest.mark.slow  # three processes
def test_a_claim_whose_code_is_not_imported_is_still_shown(tmp_path):
    """Its words and its number are those that were stored; of other candidates nothing is known."""
    code = """
        import sys; sys.path.insert(0, {!r})
        import reports
        reports.certificate("nothing but a claim of a user's own").save({!r})
        reports.own_claims(*reports.standard_claims(), reports.Median()).save({!r})
        """
    tests = Path(reports.__file__).parent
    alone, beside = tmp_path / "alone", tmp_path / "other" / "beside"
    run_alone(code.format(str(tests), str(alone), str(beside)))
    code = """
        import pacopt
        print(pacopt.report_html(pacopt.Certificate.load({!r})))
        """
    text = run_alone(code.format(str(alone)))
    assert "Half of the instances end at a ratio of at most" in first_screen(text)
    assert "The other candidates cannot be compared here" in text
    assert "but for median, whose formula is the user&#39;s own" in text
    text = run_alone(code.format(str(beside)))
    assert "median ≤" in first_screen(text)
    assert json.loads(re.search(r'id="picks">(.*?)</script>', text)[1])["headings"][-1] == "90 % quantile at most"


def test_an_objective_without_a_rival_is_listed_and_not_drawn():
    text = reports.page("nothing but a claim of a user's own")
    assert "The best certified median: batch = 16, rate = 0.01" in text
    assert "choices" not in specs(text)
    assert 'id="slider"' not in text
    success_first = reports.own_claims(Success(), Risk())
    assert "The best certified success:" in report_html(success_first)


def test_the_parts_of_a_mean_that_is_no_objective_are_its_own():
    certificate = reports.own_claims(reports.Median(), *standard_claims())
    text = report_html(certificate)
    assert f"is {up(certificate.deployed.risk)}, rounded up: the certified mean ratio" in text
    assert up(certificate.deployed.median) != up(certificate.deployed.risk)


def test_a_claim_without_a_finite_bound_is_saved_and_reported(tmp_path):
    place = reports.certificate("six claims").save(tmp_path / "run")
    assert "tail &lt;b&gt; at most" in (place / REPORT).read_text()
    assert "nfinity" not in (place / REPORT).read_text().split("<script>(() =>")[0]
    assert pacopt.verify(place).passed


def test_earlier_certificates_of_the_same_instances_are_remarked():
    certificate = certify(LossTable(uniform(), np.ones(300)))
    words = first_screen(report_html(certificate.after(2)))
    assert "Certified, with remarks" in words
    assert "2 earlier certificates were made with some of these training instances" in words
    assert "Certified, with remarks" not in first_screen(report_html(certificate))


def test_no_file_of_the_report_names_a_claim_of_pacopts_own():
    folder = Path(page.__file__).parent
    for path in [*folder.rglob("*.py"), *folder.glob("page.*")]:
        found = re.findall(
            r"\.(?:risk|success|quantile|absolute)\b|\"(?:risk|quantile|absolute)\"|Quantile", path.read_text()
        )
        assert not found, path


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_there_is_a_tile_for_each_claim(count):
    names = [f"claim_{k}" for k in range(count)]
    claims = [type("Own", (reports.Median,), {"name": name})() for name in names]
    text = report_html(reports.own_claims(*shared_out(claims)))
    for name in names:
        assert f'<span class="label">{name}</span>' in text
