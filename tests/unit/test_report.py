"""The report says what the certificate says, in a page that needs nothing but itself, and an edit of it shows."""

import html
import json
import re
import shutil
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

import pacopt
import reports
from alone import run_alone
from pacopt import Curves, Learned, LossTable, certify, frontier, report_html
from pacopt.certificate import candidate_bounds
from pacopt.errors import StorageError
from pacopt.report import REPORT, page, report_problem, write_report
from pacopt.report.candidates import Candidates
from pacopt.report.figures import Axis
from pacopt.report.seal import sealed
from pacopt.report.words import added_up
from pacopt.statement import down, up

pytestmark = reports.GROUP


def reportable(losses, start=None, candidates=None, *, design=None, provenance=None, **request):
    """A report's material from nothing but a table, with a test split that is the training split."""
    losses = np.asarray(losses, dtype=float)
    table = LossTable(losses, np.ones(losses.shape[1]) if start is None else start, candidates or {})
    rows = ("learned", "standard")
    chosen = {name: values[[0, -1]] for name, values in table.candidates.items()}
    test = LossTable(table.losses[[0, -1]], table.start, chosen, provenance={"rows": rows})
    on_the_way = np.stack([np.broadcast_to(table.start, test.shape), test.losses], axis=2)
    return SimpleNamespace(
        certificate=certify(table, design, **request),
        table=table,
        test=test,
        comparison=pacopt.Comparison.of(test, rows, target_ratio=1.0, quantile_level=0.9),
        curves=Curves.of(rows, (0, 1), on_the_way, table.start),
        provenance=provenance or {},
        remarks=(),
    )


def uniform(candidates=4, instances=300, seed=0):
    return np.random.default_rng(seed).uniform(0, 0.3, (candidates, instances))


def first_screen(text):
    """The words of the first screen, as a reader sees them."""
    section = re.search(r'<section class="first".*?</section>', text, flags=re.DOTALL)[0]
    words = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", "", section, flags=re.DOTALL)))
    return re.sub(r"\s+", " ", words)


def specs(text):
    return json.loads(re.search(r'id="specs">(.*?)</script>', text)[1])


@pytest.mark.parametrize("case", reports.CASES)
def test_every_section_is_there_in_every_case(case):
    text = reports.page(case)
    for section in ("curves", "histogram", "posterior", "choices", "breakdown", "assumptions", "origin"):
        assert text.count(f'<section id="{section}"') == 1
    assert set(re.findall(r'data-chart="(\w+)"', text)) == specs(text).keys() >= {"histogram", "breakdown"}
    assert html.escape(str(reports.learned(case).certificate)) in text


@pytest.mark.parametrize("case", reports.CASES)
def test_the_first_screen_says_the_three_numbers_as_the_statement_does(case):
    certificate = reports.learned(case).certificate
    words, statement = first_screen(reports.page(case)), str(certificate)
    assert f"loss ratio of at most {up(certificate.deployed.risk)} ." in words
    assert f"at most {up(certificate.deployed.risk)}." in statement
    percentage = float(down(certificate.deployed.success)) * 100
    assert float(re.search(r"with probability at least (\S+) % ", words)[1]) == pytest.approx(percentage, abs=1e-9)
    assert f"ratio of at most {up(certificate.deployed.quantile)} ." in words


def test_bounds_are_rounded_to_the_safe_side():
    learned = reportable(uniform())
    deployed = replace(learned.certificate.deployed, risk=0.123449999, success=0.98765999, quantile=0.00012341)
    learned.certificate = replace(learned.certificate, deployed=deployed)
    words = first_screen(report_html(learned))
    assert "≤ 0.1235" in words
    assert "≥ 98.76 %" in words
    assert "≤ 0.0001235" in words


VERDICTS = {
    "two hyperparameters": ("Certified", "The success probability of 0.8 that was asked for is certified"),
    "three hyperparameters and no textbook": ("Certified", "There are no textbook hyperparameters to compare with"),
    "no test split": ("Certified", "The test split is empty"),
    "all runs failed": ("Nothing to deploy", "No candidate succeeded on any training instance"),
    "success not attained": ("Asked-for success not attained", "No candidate could be certified to succeed"),
    "success as the user sees it": ("Certified", "Without that safeguard it meets the user's success criterion"),
    "a target below the start, and an absolute bound": ("Certified", "it ends at or below 0.25 times its start"),
}


@pytest.mark.parametrize(("case", "expected"), VERDICTS.items(), ids=VERDICTS)
def test_the_verdict_fits_the_case(case, expected):
    words = first_screen(reports.page(case))
    for text in expected:
        assert text in words
    absolute = reports.learned(case).certificate.deployed.absolute
    assert ("its expected final loss is at most" in words) == (absolute is not None)
    assert absolute is None or f"final loss is at most {up(absolute)} ." in words


def test_remarks_and_a_bound_that_says_nothing_change_the_badge():
    learned = reportable(uniform())
    assert "Certified, with remarks" not in first_screen(report_html(learned))
    learned.remarks = ("the step size is at the edge",)
    assert "Certified, with remarks" in first_screen(report_html(learned))
    assert "the step size is at the edge" in first_screen(report_html(learned))
    assert "what the safeguard alone gives" in first_screen(report_html(reportable(np.ones((1, 20)))))


def test_the_sentence_names_the_hyperparameters_that_are_certified_and_no_others():
    value = 0.99996123456789
    learned = reportable(np.full((2, 500), 0.01), candidates={"momentum": np.array([value, 0.5])})
    words = first_screen(report_html(learned))
    deployed = learned.certificate.deployed.hyper["momentum"]
    assert f"the algorithm with momentum = {deployed!r}, run" in words
    assert f"{{'momentum': {deployed!r}}}" in words.replace("&#39;", "'")


def test_a_level_close_to_one_is_never_called_certain():
    words = first_screen(report_html(reportable(np.full((2, 500), 0.01), confidence=0.99999999999)))
    assert "99.999999999" in words
    assert "With confidence 100" not in words


def test_a_certified_mean_is_compared_with_what_the_textbook_measured():
    better = np.stack([np.full(2000, 0.01), np.full(2000, 0.5)])
    learned = reportable(better)
    factor = down(0.5 / learned.certificate.deployed.risk, 3)
    words = first_screen(report_html(learned))
    assert f"is {factor} times lower than the 0.5 reached with the textbook" in words
    assert "50 times lower mean ratio" in words
    close = first_screen(report_html(reportable(np.stack([np.full(50, 0.4), np.full(50, 0.41)]))))
    assert "is not below the 0.41" in close
    assert "does not show that the learned ones are better" in close


def test_no_finite_quantile_is_said_in_words():
    words = first_screen(report_html(reportable(uniform(instances=20))))
    assert "no finite bound on the 90 % quantile can be given" in words
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
    found = Candidates.of(learned).frontier()
    assert len(found) > 3
    assert found == [choice.index for choice in frontier(learned, sorted(set(bounds.success[found]))).choices]
    assert certificate.deployed.index in found
    text = reports.page("one hyperparameter and a frontier")
    picks = json.loads(re.search(r'id="picks">(.*?)</script>', text)[1])
    for index, pick in zip(found, picks, strict=True):
        assert pick["risk"] == up(bounds.risk[index])
        hyper = eval(pick["code"].removeprefix("learned.solve(instance, ").removesuffix(")"))
        assert hyper == table.hyper(index), "all digits, so that `solve` knows the candidate"


def test_only_the_deployed_candidate_is_called_deployed():
    """Two candidates with the same losses above the target: one succeeds more often, the other one stands first."""
    losses = np.tile([0.1, 0.3], (3, 100))
    success = np.ones((3, 200), dtype=bool)
    success[0, :50], losses[2] = False, 0.9
    success[1, :20] = False
    learned = reportable(losses)
    learned.table = LossTable(losses, np.ones(200), success=success)
    learned.certificate = certify(learned.table)
    assert learned.certificate.deployed.index == 0
    text = report_html(learned)
    assert 'id="slider"' in text
    assert 'data-deployed=""' in text
    assert ", deployed" not in text[: text.index("<script>(() =>")]
    assert 'data-deployed="0"' in reports.page("one hyperparameter and a frontier")


def test_candidates_without_weight_are_no_choice():
    losses = [[0.1] * 100, [0.2] * 100]
    measure = pacopt.DiscreteMeasure.of({"rate": [1.0, 2.0]}, [0.0, 1.0])
    learned = reportable(losses, None, {"rate": [1.0, 2.0]}, design=pacopt.Design(measure))
    assert Candidates.of(learned).frontier() == [1]
    assert "fastest candidate is also the safest" in report_html(learned)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [(0.5, 0.5), (0.5, 0.5 + 1e-12), (1e-300, 1e-300), (1e300, 2e300), (1e-300, 1.0)])
def test_an_axis_has_an_extent_whatever_it_holds(values, log):
    axis = Axis.around(values, log=log)
    low, high = axis.scale().to_dict()["domain"]
    assert low < min(values) <= max(values) < high
    assert (np.diff(axis.edges(40)) > 0).all()
    assert axis.ticks("rate").to_dict()["title"] == "rate"


@pytest.mark.parametrize("total", [0.04427, 0.5, 1.0, 3.2e-9, 1e-300])
def test_the_parts_of_the_bound_add_up_as_printed(total):
    parts, text = added_up([0.61 * total, 0.29 * total, 0.1 * total], total)
    assert sum(map(Decimal, parts)) == Decimal(text)
    assert float(text) >= total


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

    monkeypatch.setattr(page, "_vega", fail)
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
    assert run_alone(code.format(str(run.parent / "copy"))) == "True set()\n"


def test_drawing_needs_no_jax():
    code = """
        import sys, numpy as np, pacopt
        from types import SimpleNamespace
        table = pacopt.LossTable(np.full((2, 50), 0.1), np.ones(50))
        parts = dict(test=None, comparison=None, curves=None, provenance={}, remarks=())
        pacopt.report_html(SimpleNamespace(certificate=pacopt.certify(table), table=table, **parts))
        print({"jax", "equinox"} & sys.modules.keys())
        """
    assert run_alone(code) == "set()\n"
