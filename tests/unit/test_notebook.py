"""What a notebook shows says what the printed text says, and a data frame holds the same numbers."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

import pacopt
import reports
from pacopt.comparison import Comparison
from pacopt.errors import ExportError
from pacopt.report.notebook import learned_frame

HOSTILE = "<img src=x onerror=alert(1)> & 'quoted'"


class Shown(HTMLParser):
    """The elements of a piece of HTML, its cells row by row, and its texts."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.rows, self.texts, self.open = [], [], [], []
        self.feed(html)
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def own_table(name="step", n=400):
    rng = np.random.default_rng(0)
    losses = rng.uniform(0.0, 0.6, (4, n)) * np.linspace(1, 2, 4)[:, None]
    losses[3, :20] = np.inf
    return pacopt.LossTable(losses, np.ones(n), {name: np.linspace(0.1, 0.4, 4), "kind": ["a", "b", "c", HOSTILE]})


@pytest.fixture(scope="module")
def certificate():
    return pacopt.certify(own_table(HOSTILE))


@pytest.fixture(scope="module")
def learned():
    return reports.stored("everything")


def compared(certificate):
    return Comparison.of(certificate.table, ("learned", "standard", HOSTILE, "prior median"), certificate.design)


def everything(certificate, learned):
    values = (certificate, certificate.table, compared(certificate), pacopt.frontier(certificate))
    return (*values, learned, learned.comparison, learned.table)


def test_names_that_look_like_html_are_text(certificate, learned):
    for value in everything(certificate, learned):
        shown = Shown(value._repr_html_())
        assert not {"img", "script", "a", "iframe"} & {*shown.tags}
        if value not in (learned, learned.comparison, learned.table):
            assert HOSTILE in "".join(shown.texts)


def test_a_certificate_is_shown_as_it_is_printed(certificate, learned):
    for value in (certificate, learned.certificate):
        lines = [line.removeprefix("- ") for line in str(value).splitlines() if line]
        fold = "Where the numbers come from, and what they rest on"
        assert [text for text in Shown(value._repr_html_()).texts if text != fold] == lines


def test_what_is_not_attained_is_said_first_and_stands_out():
    missed = pacopt.certify(own_table(), min_success=0.999)
    first, *others = Shown(missed._repr_html_()).texts
    assert first.startswith("What was asked for is not attained")
    assert f"<strong>{first}</strong>" in missed._repr_html_()
    assert first not in others


def test_the_cells_of_a_comparison_and_of_a_frontier_are_those_that_are_printed(certificate, learned):
    for value in (compared(certificate), learned.comparison, pacopt.frontier(certificate), pacopt.frontier(learned)):
        cells = [cell for row in Shown(value._repr_html_()).rows for cell in row]
        printed = re.sub(r"\s+", " ", str(value))
        assert len(cells) >= 10
        assert all(re.sub(r"\s+", " ", cell) in printed for cell in cells)
    assert "Measured, not certified." in learned.comparison._repr_html_()


def test_what_was_learned_shows_hyperparameters_certificate_comparison_and_warnings(learned):
    texts = Shown(learned._repr_html_()).texts
    assert {"step_size", repr(learned.hyper["step_size"]), *learned.certificate.sentences.values()} - {*texts} == set()
    assert learned.comparison.lead in texts


def test_a_long_table_shows_its_ends_and_says_what_failed():
    rng = np.random.default_rng(1)
    losses = rng.uniform(size=(30, 50))
    losses[0, :5] = np.nan
    missing = np.zeros(losses.shape, dtype=bool)
    missing[29, 10:] = True
    table = pacopt.LossTable(losses, candidates={"depth": np.arange(30)}, missing=missing)
    header, *rows = Shown(table._repr_html_()).rows
    assert header == ["candidate", "median loss", "success", "failed", "not run", "hyperparameters"]
    assert [row[0] for row in rows] == [*"01234", "…", *map(str, range(25, 30))]
    assert (rows[0][2:5], rows[-1][4]) == (["90.0%", "5", "0"], "40")


def test_a_data_frame_of_a_table_has_every_run(certificate):
    table = certificate.table
    frame = table.to_dataframe()
    assert len(frame) == table.losses.size
    again = frame.pivot(index="candidate", columns="instance", values="loss").to_numpy()
    np.testing.assert_array_equal(again, table.losses)
    last = frame[frame["candidate"] == 3]
    assert (last[f"params_{HOSTILE}"] == 0.4).all()
    assert list(frame.columns[:4]) == ["candidate", "instance", f"params_{HOSTILE}", "params_kind"]
    assert last["success"].sum() == table.succeeded()[3].sum()


def test_runs_of_a_group_share_their_instance():
    table = own_table(n=6).grouped([0, 0, 1, 1, 1, 2])
    frame = table.to_dataframe()
    first = frame[frame["candidate"] == 0]
    assert (first["instance"].tolist(), first["run"].tolist()) == ([0, 0, 1, 1, 1, 2], [*range(6)])
    np.testing.assert_array_equal(frame["ratio"], table.run_ratios().ravel())


def test_a_data_frame_of_what_was_learned_has_what_is_certified_of_every_candidate(learned):
    frame = learned.to_dataframe()
    deployed = frame[frame["deployed"]].iloc[0]
    assert deployed["candidate"] == learned.certificate.deployed.index
    for claim in learned.certificate.design.claims:
        assert deployed[f"certified_{claim.name}"] == pytest.approx(learned.certificate.deployed.values[claim.name])
    np.testing.assert_array_equal(frame["params_step_size"], learned.table.candidates["step_size"])
    assert frame["posterior"].sum() == pytest.approx(1.0)


def test_nothing_is_certified_of_a_candidate_without_weight():
    table = own_table()
    prior = pacopt.DiscreteMeasure.of(table.candidates, [0.5, 0.5, 0.0, 0.0])
    held = pacopt.certify(table, pacopt.Design(prior))
    certified = learned_frame(SimpleNamespace(certificate=held, table=table)).filter(like="certified_")
    assert np.isfinite(certified[:2]).all(axis=None)
    assert np.isnan(certified[2:]).all(axis=None)


def test_data_frames_of_certificate_comparison_and_frontier_have_their_numbers(certificate, learned):
    claims = certificate.to_dataframe().set_index("claim")
    assert claims.loc["risk", "certified"] == certificate.deployed.risk
    assert claims.loc["success", "side"] == "at least"
    assert claims["share"].sum() == pytest.approx(1.0)
    rows = learned.comparison.to_dataframe().set_index("name")
    assert list(rows.index) == ["learned", "textbook", "prior median"]
    row = learned.comparison["learned"]
    assert tuple(rows.loc["learned", ["mean", "mean_low", "mean_high"]]) == (row.mean, *row.interval)
    assert rows.loc["learned", "measured_success"] == row.values["success"]
    frontier = pacopt.frontier(certificate)
    lines = frontier.to_dataframe()
    assert lines["level"].tolist() == [choice.level for choice in frontier.choices]
    assert lines["certified_risk"].tolist() == [choice.risk for choice in frontier.choices]
    assert lines["candidate"].dtype.kind == "i"


def test_an_array_is_one_cell():
    table = pacopt.LossTable(np.ones((2, 3)), np.ones(3), {"weights": np.arange(8.0).reshape(2, 2, 2)})
    frame = table.to_dataframe()
    np.testing.assert_array_equal(frame["params_weights"][5], [[4.0, 5.0], [6.0, 7.0]])
    assert isinstance(frame, pandas.DataFrame)


def test_without_pandas_an_error_says_how_to_get_it(certificate, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for value in (certificate, certificate.table, pacopt.frontier(certificate)):
        with pytest.raises(ExportError) as error:
            value.to_dataframe()
        assert all(error.value.args)
        assert 'pip install "pacopt[pandas]"' in error.value.remedy
        assert value._repr_html_(), "which needs no pandas"


def test_a_table_is_shown_without_anything_heavy():
    check = (
        "import sys, pacopt; pacopt.plot; table = pacopt.LossTable([[1.0]], [1.0]); table._repr_html_();"
        "pacopt.certify(table)._repr_html_(); print(sorted({'altair', 'pandas', 'jax'} & sys.modules.keys()))"
    )
    answer = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
