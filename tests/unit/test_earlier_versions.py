"""Runs that the first version stored load, verify and speak as they did; names that were shown still work."""

import json
import shutil
from pathlib import Path

import pytest

import pacopt
from pacopt.support.arrays import digest

STORED = Path(__file__).parents[1] / "stored" / "v1"


@pytest.fixture(params=["plain", "everything"])
def run(request, tmp_path):
    return Path(shutil.copytree(STORED / request.param, tmp_path / request.param))


def test_a_stored_run_is_verified_by_its_own_formulas(run):
    result = pacopt.verify(run)
    assert result.passed, result
    assert result.compared > 30


def test_a_stored_run_loads_with_its_numbers_and_its_words(run):
    learned, stored = pacopt.Learned.load(run), json.loads((run / "certificate.json").read_text())
    certificate = learned.certificate
    assert certificate.to_dict() == stored
    assert f"{certificate}\n" == (run / "statement.txt").read_text()
    for name in ("risk", "success", "quantile"):
        assert getattr(certificate.deployed, name) == stored["deployed"][name]
    assert certificate.posterior.success == stored["posterior"]["success"]
    assert certificate.required == {"success": stored["min_success"]}
    assert learned.comparison is not None


def test_the_frontier_of_a_stored_run_shows_what_it_certified(run):
    learned = pacopt.Learned.load(run)
    wanted = learned.certificate.required["success"]
    (choice,) = pacopt.frontier(learned, [wanted]).choices
    deployed = learned.certificate.deployed
    assert choice.index == deployed.index
    assert choice.risk == pytest.approx(deployed.risk, rel=1e-12)
    assert choice.success == pytest.approx(deployed.success, rel=1e-12)


def test_a_number_of_a_stored_run_that_was_altered_is_noticed(run):
    stored, table = json.loads((run / "certificate.json").read_text()), pacopt.LossTable.load(run / "table.npz")
    for part, name in (("deployed", "risk"), ("posterior", "success"), ("posterior", "risk")):
        forged = json.loads(json.dumps(stored))
        forged[part][name] *= 1 - 1e-6
        forged["hash"] = digest({key: value for key, value in forged.items() if key != "hash"})
        assert pacopt.audit(forged, table).disagreement.name == f"certificate.{part}.{name}"


def test_a_report_of_a_stored_run_is_drawn_and_fits_it(run):
    from pacopt.report.page import write_report

    write_report(run, pacopt.Learned.load(run))
    result = pacopt.verify(run)
    assert result.passed, result
    assert not [note for note in result.unchecked if "report" in note]


def test_a_version_that_nobody_knows_is_refused(run):
    stored = json.loads((run / "certificate.json").read_text()) | {"schema": "pacopt.certificate/9"}
    with pytest.raises(pacopt.errors.StorageError, match="schema 'pacopt"):
        pacopt.Certificate.from_dict(stored)
    assert not pacopt.audit(stored, pacopt.LossTable.load(run / "table.npz")).passed


def test_names_that_documents_showed_go_on_working():
    from pacopt.statement import down, up

    assert (up(0.12341), down(0.12349)) == ("0.1235", "0.1234")
    assert pacopt.priors.IterativeBox is pacopt.papers.IterativeBox
    assert pacopt.bounds.Quantile is pacopt.bounds.OrderStatistics
    for kind, names in pacopt.aliases.RENAMED.items():
        for earlier, today in names.items():
            bound = getattr(pacopt.bounds, kind)
            assert getattr(bound, earlier) is getattr(bound, today)
    table = pacopt.LossTable(losses=[[0.1] * 40], start=[1.0] * 40)
    certificate = pacopt.certify(table, min_success=0.5)
    assert certificate.min_success == 0.5
    assert certificate.deployed.absolute is None
    assert certificate.posterior.absolute is None
    design = certificate.design
    assert (design.shares, design.quantile_level, design.truncation) == (pacopt.Shares(), 0.9, None)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        pacopt.priors.Nonsense
