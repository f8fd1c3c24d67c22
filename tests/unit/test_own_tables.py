"""A table of one's own: whatever computed it, it is certified, saved, verified and traded like ours."""

import json

import numpy as np
import pytest

import pacopt
from pacopt import Design, DiscreteMeasure, LossTable, Ranged
from pacopt.errors import DesignError, MeasureError, StorageError, TableError

SOLVERS = {"solver": ["osqp", "scs", "clarabel"], "polish": [True, False, True], "check": [25, 1, 10]}


def iterations(n=400, seed=0):
    """Iterations of three solvers on n problems; the second one fails now and then."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson([[60], [40], [12]], (3, n)).astype(float)
    solved = rng.random((3, n)) < [[0.99], [0.9], [1.0]]
    counts[~solved] = np.nan
    return LossTable(losses=counts, candidates=SOLVERS, success=solved)


def design(table, **options):
    return Design.uniform(table, score=Ranged(200, noun="number of iterations", unit="iterations"), **options)


def test_candidates_are_named_by_texts_booleans_and_whole_numbers():
    table = iterations()
    assert table.hyper(2) == {"check": 10, "polish": True, "solver": "clarabel"}
    assert [type(value) for value in table.hyper(0).values()] == [int, bool, str]
    text = str(pacopt.certify(table, design(table)))
    assert "for the candidate with check = 10, polish = True, solver = 'clarabel':" in text


def test_a_loss_with_a_range_is_certified_in_its_own_unit():
    table = iterations()
    certificate = pacopt.certify(table, design(table))
    deployed = certificate.deployed
    assert deployed.index == 2
    assert np.nanmean(table.losses[2]) < deployed.risk < 18
    parts = deployed.empirical_risk + deployed.confidence_cost + deployed.selection_cost
    assert parts == pytest.approx(deployed.risk)
    assert deployed.quantile in table.losses[2]
    text = str(certificate)
    said = f"Its mean number of iterations is at most {certificate.design['risk'].shown(deployed.risk)}, "
    assert f"{said}where a run that came to no number or went beyond 200 counts as 200." in text
    assert "It meets the user's success criterion with probability at least" in text
    assert "On at least 90 % of instances its number of iterations is at most" in text
    for word in ("safeguard", "start", "loss", "steps"):
        assert word not in text.partition("\n\n")[0]


def test_a_range_beside_start_losses_would_mix_losses_and_ratios():
    table = LossTable(losses=np.ones((1, 9)), start=np.ones(9))
    with pytest.raises(DesignError, match="the table has start losses"):
        pacopt.certify(table, design(table))


def test_notes_of_ones_own_in_the_provenance_are_kept_and_not_read():
    table = LossTable(
        losses=np.full((1, 50), 0.1), start=np.ones(50), provenance={"split": "by hand", "problem": "MIPLIB"}
    )
    certificate = pacopt.certify(table)
    assert certificate.provenance["problem"] == "MIPLIB"
    assert pacopt.audit(certificate, table).passed


def test_the_bound_covers_what_is_beyond_the_range_as_its_top():
    losses = np.full((1, 300), 10.0)
    losses[0, :30] = [np.nan, np.inf, 1e9] * 10
    table = LossTable(losses=losses)
    certificate = pacopt.certify(table, design(table))
    assert certificate.deployed.empirical_risk == pytest.approx(0.9 * 10 + 0.1 * 200)
    assert certificate.deployed.risk > certificate.deployed.empirical_risk
    assert certificate.deployed.empirical_success == pytest.approx(280 / 300), "a large loss is no failure"


@pytest.mark.parametrize("start", [None, np.ones(400)])
def test_it_is_saved_loaded_verified_and_has_a_frontier_and_a_report(tmp_path, start):
    table = iterations()
    if start is not None:
        table = LossTable(losses=table.losses / 100, start=start, candidates=SOLVERS, success=table.success)
    certificate = pacopt.certify(table, design(table) if start is None else None, min_success=0.95)
    run = certificate.save(tmp_path / "run")
    assert pacopt.verify(run).passed
    assert not pacopt.verify(run).unchecked
    again = pacopt.Certificate.load(run)
    assert again.to_dict() == certificate.to_dict()
    assert str(again) == str(certificate) == (run / "statement.txt").read_text().rstrip("\n")
    assert "solver = clarabel" in str(pacopt.frontier(again))
    page = (run / "report.html").read_text()
    assert "clarabel" in page
    assert ("number of iterations" in page) == (start is None)
    with pytest.raises(StorageError, match=r"Use pacopt\.Certificate\.load"):
        pacopt.Learned.load(run)


def test_an_altered_run_of_a_table_is_not_verified(tmp_path):
    table = iterations()
    run = pacopt.certify(table, design(table)).save(tmp_path / "run")
    content = (run / "certificate.json").read_text()
    (run / "certificate.json").write_text(content.replace("clarabel", "osqp"))
    assert not pacopt.verify(run).passed


def test_a_certificate_without_its_table_says_what_it_lacks(tmp_path):
    table = iterations()
    bare = pacopt.Certificate.from_dict(json.loads(json.dumps(pacopt.certify(table, design(table)).to_dict())))
    with pytest.raises(StorageError, match="without its table"):
        bare.save(tmp_path / "run")
    with pytest.raises(DesignError, match="a certificate with its table"):
        pacopt.frontier(bare)


def test_without_start_losses_ratios_and_absolute_statements_are_refused():
    table = iterations()
    with pytest.raises(TableError, match=r"no start losses.*pacopt\.Ranged"):
        pacopt.certify(table)
    declared = pacopt.Truncation.from_bound(200.0)
    with pytest.raises(TableError, match="no start losses"):
        pacopt.certify(table, design(table, truncation=declared))


def test_what_needs_a_start_is_refused_with_words_of_its_own():
    table = iterations()
    with pytest.raises(
        TableError, match=r"no start losses, and the absolute loss is claimed\..*Leave the truncation out"
    ):
        pacopt.certify(table, design(table, truncation=pacopt.Truncation.from_bound(200.0)))
    with pytest.raises(DesignError, match=r"target_ratio is 0\.5, and the table has no start losses"):
        pacopt.certify(table, design(table, target_ratio=0.5))


def test_a_loss_with_a_unit_has_it_wherever_its_number_stands():
    rng = np.random.default_rng(1)
    table = LossTable(losses=rng.uniform(0, [[3.0], [2.9]], (2, 400)), candidates={"solver": ["a", "b"]})
    score = Ranged(10, noun="runtime", unit="seconds")
    certificate = pacopt.certify(table, Design.uniform(table, score=score))
    text = str(certificate)
    shown = certificate.design["risk"].shown
    assert f"mean runtime at most {shown(certificate.posterior.risk)} seconds, success at least" in text
    assert f"Where {shown(certificate.deployed.risk)} seconds comes from: " in text
    assert f"Posterior: training mean {certificate.posterior.empirical_risk:.4g} seconds, KL" in text
    lines = str(pacopt.frontier(certificate)).splitlines()
    assert f"{shown(certificate.deployed.risk)} seconds" in lines[2]
    assert f"{certificate.design['quantile'].shown(certificate.deployed.quantile)} seconds" in lines[2]
    assert f" {certificate.design['success'].shown(certificate.deployed.success)}  " in lines[2]
    counted = pacopt.certify(iterations(), design(iterations()))
    assert "iterations comes from" not in str(counted), "a number of iterations has no unit"


def test_advice_and_exclusions_speak_only_of_what_there_is():
    failed = LossTable(losses=np.full((2, 30), np.nan))
    text = str(pacopt.certify(failed, design(failed)))
    assert "With new training instances, look for candidates elsewhere or ask for less: on the same ones" in text
    assert "Not claimed: anything about one given instance or another distribution. Selecting" in text
    for word in ("step", "domain", " ratio", "minimiser"):
        assert word not in text
    ratios = LossTable(losses=np.full((2, 30), 0.9), start=np.ones(30))
    text = str(pacopt.certify(ratios, Design.uniform(ratios, target_ratio=0.5)))
    assert "look for candidates elsewhere or ask for less (a larger target ratio): on the same ones" in text
    assert "Not claimed: anything about one given instance, another distribution, or the minimiser." in text


def test_the_safeguard_is_spoken_of_only_where_it_was_named():
    from pacopt import claims

    table = LossTable(losses=np.full((2, 90), 0.1), start=np.ones(90))
    for every, known in (
        ([claims.Success()], False),
        ([claims.Success(), claims.Risk()], False),
        ([claims.Risk(), claims.Success()], True),
    ):
        certificate = pacopt.certify(table, Design.uniform(table, claims=claims.shared_out(every)))
        lead = "Without that safeguard it" if known else "It"
        assert certificate.sentences["success"].startswith(f"{lead} ends at or below its start")


def test_a_score_that_nobody_could_recompute_is_refused():
    class Own(pacopt.Ratio):
        pass

    with pytest.raises(DesignError, match="The score is a Own"):
        Design.uniform(LossTable(losses=[[1.0]], start=[1.0]), score=Own())


@pytest.mark.parametrize("top", [0, -1, np.inf, np.nan, "200", None, True])
def test_a_range_that_is_none_is_refused(top):
    with pytest.raises(DesignError, match="largest value of the loss"):
        Ranged(top)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"solver": ["a", "b"]}, "has shape"),
        ({"solver": [["a"], ["b"], ["c"]]}, "holds <U1 values"),
        ({"solver": [object(), 1, 2]}, "holds object values"),
        ({"solver": [None, None, None]}, "holds object values"),
        ({"solver": [b"a", b"b", b"c"]}, r"holds \|S1 values"),
        ({"solver": [1, "x", True]}, "holds booleans and numbers and texts"),
        ({"solver": [1, True, 2]}, "holds booleans and numbers"),
        ({"solver": [2**53 + 1, 1, 2]}, r"holds a whole number beyond 2\^53"),
        ({"solver": [-(2**63), 2**63, 2]}, r"holds a whole number beyond 2\^53"),
        ({"solver": [2**70, 1, 2]}, "holds object values"),
        ({"solver": [1.0, np.inf, 2.0]}, "holds the value inf"),
        ({"solver": np.array([1.0, np.nan, 2.0])}, "holds the value nan"),
        (5, "candidates is a int"),
    ],
)
def test_candidates_that_are_no_names_are_refused(wrong, words):
    with pytest.raises(TableError, match=words):
        LossTable(losses=np.ones((3, 4)), start=np.ones(4), candidates=wrong)
    with pytest.raises(MeasureError, match=r"no values by name|has shape"):
        DiscreteMeasure(wrong, np.full(3, -np.log(3)))


def test_certificates_of_tables_with_a_range_hold_as_often_as_they_say():
    rng, false = np.random.default_rng(5), 0
    top, levels = 10.0, np.array([0.0, 4.0, 25.0])
    chances = np.array([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]])
    truth = chances @ np.minimum(levels, top)
    for _ in range(100):
        drawn = np.stack([rng.choice(levels, 25, p=row) for row in chances])
        table = LossTable(losses=drawn)
        certificate = pacopt.certify(table, Design.uniform(table, score=Ranged(top)), confidence=0.8)
        false += certificate.deployed.risk < truth[certificate.deployed.index]
    assert false / 100 < 0.2
