"""The same training instances used twice: refused where it voids a certificate, said where it weakens one."""

import numpy as np
import pytest

import pacopt
from pacopt import Design, LossTable
from pacopt.auditing.reuse import unused
from pacopt.errors import DesignError
from pacopt.sources import Sources, reused_columns


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
    assert ("equal instances are separate draws from the distribution", "declared") in certificate.ledger
    assert pacopt.audit(certificate, train).passed


def test_an_audit_finds_a_design_that_was_made_from_the_training_table():
    prior, train = lotteries(1), lotteries(2)
    honest = pacopt.certify(train, Design.informed(prior, train=100))
    entry = ("no training instance was used to make the design", "checked")
    assert entry in honest.ledger
    leaking = Design.informed(train, train=100)
    blind = leaking.weighed(leaking.prior, leaking.t_grid, honest.design.sources)
    forged = pacopt.certify(train, blind).to_dict()
    forged["design"]["sources"] = leaking.sources.to_dict()
    from pacopt.support.arrays import digest

    forged["design_hash"] = digest(forged["design"])
    forged["hash"] = digest({key: value for key, value in forged.items() if key != "hash"})
    assert pacopt.audit(forged, train).disagreement.name == "certificate.design.sources"


def many_digits(seed, rows=12, n=60, **options):
    """Losses as runs have them: no two alike."""
    rng = np.random.default_rng(seed)
    return LossTable(losses=rng.lognormal(size=(rows, n)), start=rng.uniform(5, 9, n), **options)


def disguised(table, how):
    """The same table, as it might look when it comes from another script."""
    losses, start, options = table.losses.copy(), table.start, {}
    match how:
        case "twice the unit":
            losses, start = 2 * losses, 2 * start
        case "a negative zero":
            losses = np.where(losses == 0, -0.0, losses)
        case "a rounding":
            losses = np.nextafter(losses, np.where(losses > 0, np.inf, 0))
        case "a row missing":
            options["missing"] = np.arange(len(losses))[:, None] == np.full(losses.shape[1], 3)
        case "verdicts":
            options["success"] = losses <= 0.5 * start
        case "ratios":
            losses, start = losses / start, np.ones(len(start))
    return LossTable(losses=losses, start=start, candidates=table.candidates, **options)


DISGUISES = ["twice the unit", "a negative zero", "a rounding", "a row missing", "verdicts", "ratios"]


@pytest.mark.parametrize("how", DISGUISES)
@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("made", [lotteries, many_digits])
def test_a_table_is_known_again_in_a_disguise(made, how, separate):
    table = made(0)
    for known in (table, disguised(table, how)):
        other = disguised(table, how) if known is table else table
        design = Design.informed(known, train=100)
        with pytest.raises(DesignError, match="used to make the design"):
            pacopt.certify(other, design, allow_duplicates=separate)
        assert not unused(design.sources.to_dict(), other, separate=separate)


def test_a_table_is_known_again_without_its_start():
    table = many_digits(0)
    loose = LossTable(losses=table.losses, candidates=table.candidates)
    for one, other in ((table, loose), (loose, table)):
        assert reused_columns(Sources.of(one), other, separate_draws=False).all()
        assert not unused(Sources.of(one).to_dict(), other, separate=False)


def test_other_names_do_not_make_other_instances():
    names = np.array([f"{k:032x}" for k in range(200)])
    for made in (lotteries, many_digits):
        prior = made(1, n=100, fingerprints=names[:100])
        with pytest.raises(DesignError, match=r"100 of the 100 .* going by the content of their columns"):
            pacopt.certify(made(1, n=100, fingerprints=names[100:]), Design.informed(prior, train=100))
    one = many_digits(2, n=100).losses.copy()
    one[:, 7], start = prior.losses[:, 8], np.array(many_digits(2, n=100).start)
    start[7] = prior.start[8]
    with pytest.raises(DesignError, match=r"1 of the 100 .*first: column 7"):
        pacopt.certify(LossTable(one, start, fingerprints=names[100:]), Design.informed(prior, train=100))


def test_named_instances_may_take_the_same_few_iterations():
    rng, names = np.random.default_rng(0), np.array([f"{k:032x}" for k in range(200)])
    prior, train = (
        LossTable(losses=rng.integers(5, 15, (2, 100)), fingerprints=part) for part in (names[:100], names[100:])
    )
    design = Design.informed(prior, train=100, score=pacopt.Ranged(20, unit="iterations"))
    certificate = pacopt.certify(train, design)
    assert certificate.ledger
    assert pacopt.audit(certificate, train).passed


def test_most_columns_of_one_table_are_no_separate_draws():
    table, more = lotteries(0), lotteries(9)
    parts = [table.select(columns=slice(99)), table.select(columns=slice(30))]
    parts.append(LossTable(np.hstack([table.losses, more.losses]), np.ones(200)))
    for part in parts:
        for prior, train in ((table, part), (part, table)):
            design = Design.informed(prior, train=100)
            with pytest.raises(DesignError, match="used to make the design"):
                pacopt.certify(train, design, allow_duplicates=True)
            assert not unused(design.sources.to_dict(), train, separate=True)


def test_separate_draws_of_few_atoms_share_all_of_them():
    rng = np.random.default_rng(0)
    prior, train = (LossTable(losses=rng.integers(0, 2, (2, n)) * 0.5, start=np.ones(n)) for n in (50, 400))
    certificate = pacopt.certify(train, Design.informed(prior, train=400), allow_duplicates=True)
    assert pacopt.audit(certificate, train).passed


def test_instances_on_which_all_fail_are_told_apart_by_their_start():
    rng = np.random.default_rng(0)
    tables = []
    for _ in range(2):
        losses = rng.lognormal(size=(4, 50))
        losses[:, :10], losses[:, 10:20] = np.inf, 0.0
        tables.append(LossTable(losses, rng.uniform(5, 9, 50)))
    assert pacopt.audit(pacopt.certify(tables[1], Design.informed(tables[0], train=50)), tables[1]).passed


def test_long_names_are_other_names_if_they_differ_at_the_end():
    for prefix in ("2024-05-17/client", "2024-05-17/client/of/the/second/kind/"):
        names = np.array([f"{prefix}{k}" for k in range(200)])
        prior, train = lotteries(1, fingerprints=names[:100]), lotteries(2, fingerprints=names[100:])
        certificate = pacopt.certify(train, Design.informed(prior, train=100))
        assert pacopt.audit(certificate, train).passed
        assert len(set(train.fingerprints)) == 100
        with pytest.raises(DesignError, match="1 of the 1 "):
            pacopt.certify(lotteries(3, n=1, fingerprints=names[5:6]), Design.informed(prior, train=100))


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


@pytest.mark.parametrize("how", ["another column", "single precision"])
def test_the_same_rows_are_known_again_in_another_file(how, tmp_path):
    instances = pacopt.VaryingCurvature.draw(seed=0, n=5).sample(200, seed=1)
    learned(instances, seed=0).save(tmp_path / "job")
    fields = dict(instances.fields)
    if how == "another column":
        fields["id"] = np.arange(200)
    else:
        fields = {name: array.astype(np.float32) for name, array in fields.items()}
    second = learned(pacopt.Instances(fields), seed=1)
    run = second.save(tmp_path / "job-2")
    assert "One earlier certificate was made with some of these training" in (run / "statement.txt").read_text()
    assert second.certificate.earlier == 0
    assert pacopt.Learned.load(run).certificate.earlier == second.beside(run).certificate.earlier == 1


def test_tables_of_ones_own_are_known_again_without_names_and_starts(tmp_path):
    iterations = np.random.default_rng(0).integers(1, 200, (6, 80)).astype(float)
    score = pacopt.Ranged(200, unit="iterations")
    for name, columns in (("one", slice(60)), ("two", slice(20, 80))):
        table = LossTable(losses=iterations[:, columns])
        pacopt.certify(table, Design.uniform(table, score=score)).save(tmp_path / name)
    other = LossTable(losses=np.random.default_rng(1).integers(1, 200, (6, 80)).astype(float))
    pacopt.certify(other, Design.uniform(other, score=score)).save(tmp_path / "three")
    assert [pacopt.Certificate.load(tmp_path / name).earlier for name in ("one", "two", "three")] == [0, 1, 0]


def test_instances_that_are_separate_draws_are_said_to_be_equal_not_to_be_the_same(tmp_path):
    rng = np.random.default_rng(0)
    for name, weights in (("one", [0.5, 0.5]), ("two", [0.9, 0.1])):
        table = LossTable(losses=rng.integers(0, 2, (2, 90)) * 0.5, start=np.ones(90), fingerprints=["a"] * 90)
        design = Design(pacopt.DiscreteMeasure.of(table.candidates, weights))
        run = pacopt.certify(table, design, allow_duplicates=True).save(tmp_path / name)
    text = (run / "statement.txt").read_text()
    assert "One earlier certificate was made with instances equal to some of these training instances." in text
    assert "made with instances equal to some of these training instances, and this one was not chosen" in text
    assert pacopt.verify(run).passed


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
