"""The same training instances used twice: refused where it voids a certificate, said where it weakens one."""

import numpy as np
import pytest

import pacopt
from pacopt import Design, LossTable
from pacopt.errors import DesignError


def lotteries(seed, rows=200, n=100, fingerprints=None):
    """Candidates of which none is better than another: whichever seems so was lucky."""
    losses = np.random.default_rng(seed).integers(0, 2, (rows, n)).astype(float)
    return LossTable(losses=losses, start=np.ones(n), fingerprints=fingerprints)


def test_a_table_does_not_weigh_its_own_candidates():
    table = lotteries(0)
    with pytest.raises(DesignError, match="100 of the 100 training instances were used to make the design"):
        pacopt.certify(table, Design.informed(table, train=100))
    shuffled = table.select(columns=np.random.default_rng(1).permutation(100))
    with pytest.raises(DesignError, match="used to make the design"):
        pacopt.certify(shuffled, Design.informed(table, train=100), allow_duplicates=True)


def test_one_column_in_common_is_enough():
    prior, train = lotteries(1), lotteries(2)
    mixed = LossTable(losses=np.hstack([train.losses, prior.losses[:, 7:8]]), start=np.ones(101))
    with pytest.raises(DesignError, match=r"1 of the 101 training instances.*first: column 100"):
        pacopt.certify(mixed, Design.informed(prior, train=101))
    assert pacopt.certify(train, Design.informed(prior, train=100)).deployed.risk > 0.5


def test_instances_are_compared_where_both_sides_know_them():
    names = np.array([f"{k:016d}" * 2 for k in range(200)])
    prior, train = lotteries(1, fingerprints=names[:100]), lotteries(2, fingerprints=names[100:])
    assert pacopt.certify(train, Design.informed(prior, train=100))
    again = lotteries(3, fingerprints=names[50:150])  # other losses, by another precision say, of the same instances
    with pytest.raises(DesignError, match="50 of the 100 training instances"):
        pacopt.certify(again, Design.informed(prior, train=100))


def test_equal_columns_can_be_declared_to_be_separate_draws_and_the_ledger_says_so():
    rng = np.random.default_rng(0)
    prior, train = (LossTable(losses=rng.integers(0, 2, (2, 50)) * 0.5, start=np.ones(50)) for _ in range(2))
    design = Design.informed(prior, train=50)
    with pytest.raises(DesignError, match="allow_duplicates=True"):
        pacopt.certify(train, design)
    certificate = pacopt.certify(train, design, allow_duplicates=True)
    assert ("instances that are equal are separate draws from the distribution", "declared") in certificate.ledger
    assert pacopt.audit(certificate, train).passed


def test_an_audit_finds_a_design_that_was_made_from_the_training_table():
    prior, train = lotteries(1), lotteries(2)
    honest = pacopt.certify(train, Design.informed(prior, train=100))
    entry = ("no training instance is one of those that the design was made from", "checked")
    assert entry in honest.ledger
    leaking = Design.informed(train, train=100)
    blind = leaking.weighed(leaking.prior, leaking.t_grid, honest.design.sources)
    forged = pacopt.certify(train, blind).to_dict()
    forged["design"]["sources"] = leaking.sources.to_dict()
    from pacopt.support.arrays import digest

    forged["design_hash"] = digest(forged["design"])
    forged["hash"] = digest({key: value for key, value in forged.items() if key != "hash"})
    assert pacopt.audit(forged, train).disagreement.name == "certificate.design.sources"


def learned(instances, seed, **options):
    parts = pacopt.split(instances, prior=40, train=80, test=20, seed=seed)
    prior = pacopt.priors.Search(candidates=16, rounds=1)
    law = pacopt.VaryingCurvature.draw(seed=0, n=5)
    return pacopt.learn(law.problem, pacopt.HeavyBall(), parts, steps=10, prior=prior, **options)


def test_a_second_certificate_on_the_same_rows_says_that_it_is_not_the_first(tmp_path):
    instances = pacopt.VaryingCurvature.draw(seed=0, n=5).sample(200, seed=1)
    first = learned(instances, seed=0).save(tmp_path / "job")
    assert "earlier certificate" not in (first / "statement.txt").read_text()
    second = learned(instances, seed=1).save(tmp_path / "job-2")
    text = (second / "statement.txt").read_text()
    assert "One earlier certificate was made with some of these training instances." in text
    assert "hold together with probability at least 0.98 only" in text
    assert "this one was not chosen for being better (declared)" in text
    assert pacopt.verify(second).passed
    third = learned(instances, seed=2).save(tmp_path / "job-3")
    assert "2 earlier certificates were made" in (third / "statement.txt").read_text()


def test_the_same_certificate_again_and_other_instances_are_no_earlier_use(tmp_path):
    law = pacopt.VaryingCurvature.draw(seed=0, n=5)
    instances = law.sample(200, seed=1)
    same = learned(instances, seed=0)
    same.save(tmp_path / "job")
    same.save(tmp_path / "job-2")
    other = learned(law.sample(200, seed=2), seed=0).save(tmp_path / "job-3")
    for name in ("job", "job-2", "job-3"):
        assert "earlier" not in (tmp_path / name / "statement.txt").read_text()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    assert learned(instances, seed=3).beside(other.with_name("job-4")).certificate.earlier == 1


def test_a_curvature_that_is_given_stands_in_the_ledger_as_declared():
    instances = pacopt.VaryingCurvature.draw(seed=0, n=5).sample(140, seed=1)
    given = learned(instances, seed=0, curvature=(0.05, 5000.0)).certificate.ledger
    estimated = learned(instances, seed=0).certificate.ledger
    text = "the curvature that was given (mu = 0.05, L = 5000.0) was not estimated on training instances"
    assert (text, "declared") in given
    assert not any("curvature" in entry.text for entry in estimated)
