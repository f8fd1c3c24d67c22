"""Claims: those of the package, and one of a user's own that goes wherever ours go."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

import alone
import pacopt
from own_claims import Recomputed, Solved
from pacopt import claims
from pacopt.claims.foreign import ForeignClaim
from pacopt.errors import DesignError, StorageError
from pacopt.support.arrays import digest
from unit.test_certificate import make

TESTS = Path(__file__).parents[1]


def certified(*own, seed=0, **options):
    table = make(seed)
    every = claims.shared_out([*claims.standard_claims(), *own])
    return table, pacopt.certify(table, pacopt.Design.uniform(table, claims=every), **options)


def test_a_claim_of_ones_own_enters_certificate_text_json_ledger_and_frontier():
    table, certificate = certified(Solved())
    design = certificate.design
    value = Solved(share=design["solved"].share).for_candidates(table, design, 1 - certificate.confidence)
    assert certificate.deployed.solved == value[certificate.deployed.index]
    assert certificate.posterior.solved == pytest.approx(certificate.posterior.weights @ value)
    assert sum(claim.share for claim in design.claims) <= 1 + 1e-12
    assert design["risk"].share == pytest.approx(0.6 / 1.2)
    text = str(certificate)
    assert "- It ends at or below a twentieth of its start with probability at least" in text
    assert "solved 0.16" in text
    assert "Clopper & Pearson 1934, for a threshold (solved)" in text
    declared = [entry for entry in certificate.ledger if "'solved'" in entry.text]
    assert [entry.status for entry in declared] == ["declared"]
    assert json.loads(json.dumps(certificate.to_dict()))["deployed"]["solved"] == certificate.deployed.solved
    choices = pacopt.frontier(certificate)
    assert choices.choices[0].solved == value[choices.choices[0].index]
    assert "solved at least" in str(choices)


def test_more_claims_share_the_same_failure_probability_so_each_says_a_little_less():
    _, plain = certified()
    _, more = certified(Solved())
    assert more.deployed.risk > plain.deployed.risk
    assert more.deployed.success < plain.deployed.success


def test_any_claim_can_be_required_or_be_the_objective():
    table, free = certified(Solved())
    _, wanted = certified(Solved(), require={"solved": 0.3})
    assert wanted.attained
    assert wanted.deployed.solved >= 0.3
    _, risky = certified(Solved(), require={"risk": free.deployed.risk * 1.01})
    assert risky.deployed.index == free.deployed.index
    _, beyond = certified(Solved(), require={"solved": 0.999, "success": 0.1})
    assert not beyond.attained
    assert "certified with solved at least 0.999. The one below comes nearest" in str(beyond)
    first = pacopt.Design.uniform(table, claims=claims.shared_out([Solved(), *claims.standard_claims()]))
    best = pacopt.certify(table, first)
    values = first.objective.for_candidates(table, first, 1 - 0.99)
    assert best.deployed.solved == values.max()
    assert max(best.posterior.weights) == 1.0
    assert pacopt.audit(best, table).passed
    with pytest.raises(DesignError, match="no claim 'speed'"):
        certified(require={"speed": 1.0})


def test_a_claim_without_a_formula_is_named_and_one_with_it_is_recomputed():
    table, certificate = certified(Solved(), Recomputed())
    report = pacopt.audit(certificate, table)
    assert report.passed
    assert report.not_recomputed == ("solved",)
    stored = copy.deepcopy(certificate.to_dict())
    stored["deployed"]["recomputed"] += 1e-4
    forged = stored | {"hash": digest({key: value for key, value in stored.items() if key != "hash"})}
    assert pacopt.audit(forged, table).disagreement.name == "certificate.deployed.recomputed"


def test_a_requirement_that_cannot_be_recomputed_is_no_disagreement():
    table, certificate = certified(Solved(), require={"solved": 0.3})
    assert pacopt.audit(certificate, table).passed
    assert 1 < sum(weight > 0 for weight in certificate.posterior.weights) < len(certificate.posterior.weights)


def test_the_ledger_cannot_forget_that_a_claim_is_not_ours():
    table, certificate = certified(Solved())
    stored = certificate.to_dict()
    ledger = [entry for entry in stored["ledger"] if "solved" not in entry["text"]]
    without = stored | {"ledger": ledger}
    forged = without | {"hash": digest({key: value for key, value in without.items() if key != "hash"})}
    assert not pacopt.audit(forged, table).passed


def test_a_run_with_a_claim_of_ones_own_is_saved_verified_and_read_without_its_code(tmp_path):
    _, certificate = certified(Solved())
    run = certificate.save(tmp_path / "run")
    assert pacopt.verify(run).passed
    again = pacopt.Certificate.load(run)
    assert str(again) == str(certificate)
    assert isinstance(again.design["solved"], Solved)
    code = """
        import sys, pacopt
        from pacopt.claims.foreign import ForeignClaim
        loaded = pacopt.Certificate.load(sys.argv[1])
        print(isinstance(loaded.design["solved"], ForeignClaim), loaded.deployed.solved)
        print("solved" in str(pacopt.frontier(loaded)), "twentieth" in str(loaded))
        print("not recomputed" in str(pacopt.verify(sys.argv[1])))
    """
    script = "\n".join(line.strip() for line in code.strip().splitlines())
    answer = alone.run_code(script, str(run))
    assert answer.stdout.split() == ["True", repr(certificate.deployed.solved), "False", "True", "True"]
    for options, code in (([], 0), (["--strict"], 1)):
        answer = alone.pacopt("verify", run, *options)
        assert answer.returncode == code
        assert "the claim 'solved', whose formula is not at hand, was not recomputed" in answer.stdout


def test_the_words_of_a_stored_certificate_are_those_of_its_numbers(tmp_path):
    _, certificate = certified()
    run = certificate.save(tmp_path / "run")
    stored = json.loads((run / "certificate.json").read_text())
    stored["sentences"]["risk"] = stored["sentences"]["risk"].replace("at most 0", "at most 0.0")
    stored["hash"] = digest({key: value for key, value in stored.items() if key != "hash"})
    (run / "certificate.json").write_text(json.dumps(stored, sort_keys=True, indent=1) + "\n")
    manifest = json.loads((run / "manifest.json").read_text())
    from pacopt.runs.files import _fingerprint

    (run / "statement.txt").write_text(f"{pacopt.Certificate.from_dict(stored)}\n")
    for name in ("certificate.json", "statement.txt"):
        manifest["files"][name] = _fingerprint(run / name)
    (run / "manifest.json").write_text(json.dumps(manifest, sort_keys=True, indent=1) + "\n")
    found = pacopt.verify(run)
    assert any("do not say what its numbers say" in problem for problem in found.problems)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([], "The claims are none"),
        ([claims.Risk(0.5), claims.Risk(0.4)], "The claims are risk, risk"),
        ([claims.Risk(0.9), claims.Success(0.2)], "shares of epsilon"),
        ([claims.Risk(0.0)], "shares of epsilon"),
        ([claims.Risk(float("nan"))], "shares of epsilon"),
        (["risk"], "claims is"),
        (5, "claims is"),
    ],
)
def test_claims_that_do_not_go_together_are_refused(wrong, words):
    with pytest.raises(DesignError, match=words):
        pacopt.Design.uniform(make(), claims=wrong)


def test_short_arguments_build_claims_and_leave_others_alone():
    from dataclasses import replace

    table = make()
    design = pacopt.Design.uniform(table, claims=claims.shared_out([*claims.standard_claims(), Solved()]))
    shares = pacopt.Shares(0.3, 0.2, 0.1, 0.1)
    changed = replace(
        design, shares=shares, truncation=pacopt.Truncation.from_second_moment(3.0, 9.0), quantile_level=0.5
    )
    assert [claim.name for claim in changed.claims] == ["risk", "success", "quantile", "absolute", "solved"]
    assert changed["quantile"] == claims.Quantile(0.1, 0.5)
    assert changed["solved"] == design["solved"]
    assert changed.prior is design.prior


def test_a_claim_without_its_code_says_so_when_something_new_is_asked_of_it():
    foreign = ForeignClaim({"name": "speed", "class": "gone:Speed", "share": 0.1, "at_least": False, "settings": {}})
    assert (foreign.name, foreign.share, foreign.at_least) == ("speed", 0.1, False)
    table = make()
    with pytest.raises(StorageError, match="gone:Speed, which is not imported"):
        foreign.for_candidates(table, pacopt.Design.uniform(table), 0.01)


def test_learning_makes_the_claim_too():
    law = pacopt.VaryingCurvature.draw(seed=0, n=6)
    parts = pacopt.split(law.sample(160, seed=1), prior=40, train=100, test=20, seed=2)
    prior = pacopt.priors.Search(candidates=16, rounds=1)
    learned = pacopt.learn(law.problem, pacopt.HeavyBall(), parts, steps=10, prior=prior, claims=[Solved()])
    assert 0 <= learned.certificate.deployed.solved <= 1
    assert np.isclose(sum(claim.share for claim in learned.certificate.design.claims), 1.0)
