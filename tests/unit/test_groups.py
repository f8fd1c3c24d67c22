"""Rows that belong together are one draw: in splits, tables, races, certificates and words."""

import numpy as np
import pytest

import pacopt
from pacopt import Instances
from pacopt.columns import Columns
from pacopt.errors import InstancesError, SplitError, TableError
from pacopt.priors import Search
from pacopt.tradeoff import candidate_bounds

LAW = pacopt.VaryingCurvature.draw(seed=0, n=6)
RNG = np.random.default_rng(0)
LABELS = np.repeat([f"user {number}" for number in range(90)], 4)[RNG.permutation(360)]
GROUPED = Instances(dict(LAW.sample(360, seed=1).fields), groups=LABELS)
QUICK = Search(candidates=16, explore=1, rounds=1)


def parts(**options):
    return pacopt.split(GROUPED, **{"prior": 15, "train": 60, "test": 15, "seed": 0} | options)


def learned(split=None, **options):
    return pacopt.learn(
        LAW.problem, pacopt.GradientDescent(), split or parts(), **{"steps": 10, "prior": QUICK} | options
    )


def test_sizes_of_a_split_count_groups_and_no_group_is_torn_apart():
    split = parts()
    assert [part.count for part in (split.prior, split.train, split.test)] == [15, 60, 15]
    assert len(split.train) == 240
    everybody = [set(part.groups.tolist()) for part in (split.prior, split.train, split.test)]
    assert not everybody[0] & everybody[1]
    assert not everybody[1] & everybody[2]
    assert np.all(np.diff(split.train.codes) >= 0), "the rows of a group stand side by side"


def test_n_is_the_number_of_groups_and_the_statement_says_so(tmp_path):
    result = learned()
    c = result.certificate
    assert (c.instances, c.runs) == (60, 240)
    text = str(c)
    assert "over the draw of the 60 training groups of 240 instances in all" in text
    assert "on an instance drawn at random from a new group" in text
    assert "the training groups are independent draws" in text
    assert "the training instances are independent draws" not in text
    assert "no training group appears in another split (checked)" in text
    place = result.save(tmp_path / "run")
    assert pacopt.verify(place, rerun=5).passed
    again = pacopt.Learned.load(place)
    assert again.train.count == 60
    assert "60 training groups" in (place / "report.html").read_text()
    assert again.comparison.instances == 15


def test_a_certificate_of_groups_is_that_of_their_means_and_of_one_row_of_each():
    result = learned(baseline=None)
    table, c = result.table, result.certificate
    z = np.minimum(table.losses / table.start, 1.0).reshape(table.shape[0], 60, 4)
    np.testing.assert_allclose(table.safeguarded(), z.mean(axis=2), rtol=1e-12)
    leads = table.columns.lead
    assert np.all(leads // 4 == np.arange(60))
    assert len(np.unique(leads % 4)) == 4, "they are drawn, and not always the first row"
    means = pacopt.LossTable(z.mean(axis=2), np.ones(60), table.candidates)
    assert pacopt.certify(means, c.design).deployed.risk == pytest.approx(c.deployed.risk, rel=1e-9)
    rows = pacopt.LossTable(table.losses[:, leads], table.start[leads], table.candidates)
    ours, theirs = (candidate_bounds(each, c.design, confidence=0.99) for each in (table, rows))
    for name in ("success", "quantile"):
        np.testing.assert_array_equal(ours[name], theirs[name])


def test_a_comparison_of_groups_counts_groups_and_looks_at_all_of_their_rows():
    result = learned()
    assert "15 test groups" in str(result.comparison)
    runs = result.test.losses[0] / result.test.start
    assert result.comparison["learned"].worst == runs.max()


def test_failed_runs_are_counted_among_all_runs_of_the_groups():
    x = Instances({"x": np.random.default_rng(3).random(360)}, groups=LABELS)
    solver = pacopt.BlackBox(lambda hyper, instance: instance["x"] if instance["x"] < 0.5 else np.nan, {})
    split = pacopt.split(x, prior=15, train=60, test=15, seed=0)
    result = pacopt.learn(solver, split, score=pacopt.Ranged(1.0))
    failed = int((~np.isfinite(result.test.losses[0])).sum())
    assert failed > 15, "more than there are groups"
    assert f"{failed} of 60 test runs failed" in result.remarks
    assert "failed (of 60)" in str(result.comparison)


def test_a_race_cuts_between_groups():
    split = pacopt.split(
        Instances(dict(LAW.sample(1200, seed=3).fields), groups=np.arange(1200) // 3),
        prior=20,
        train=360,
        test=0,
        seed=0,
    )
    wide = pacopt.DiscreteMeasure.uniform({"step_size": np.geomspace(1e-7, 1e-3, 32)})
    whole, raced = learned(split, prior=wide), learned(split, prior=wide, racing=True)
    assert raced.table.missing is not None
    assert [look["instances"] for look in raced.table.provenance["race"]] == [90, 360]
    assert np.array_equal(raced.table.columns.lead, whole.table.columns.lead)
    assert raced.certificate.deployed.risk == pytest.approx(whole.certificate.deployed.risk, rel=1e-9)


def test_equal_rows_are_allowed_in_a_group_and_nowhere_else():
    fields = {name: array[np.r_[0:40, 0]] for name, array in GROUPED.fields.items()}
    inside = Instances(fields, groups=np.r_[np.arange(40), 0])
    split = pacopt.split(inside, prior=10, train=25, test=5, seed=0)
    assert learned(split, prior=pacopt.DiscreteMeasure.uniform({"step_size": [1e-4]})).certificate.instances == 25
    across = Instances(fields, groups=np.arange(41))
    with pytest.raises(SplitError, match="are the same"):
        pacopt.split(across, prior=0, train=41, test=0, seed=0)


def test_a_group_in_two_parts_is_refused():
    split = parts()
    torn = pacopt.Instances.concatenate([split.prior, split.train[:2]])
    with pytest.raises(SplitError, match=r"is in both prior and train"):
        pacopt.Split(torn, split.train[2:], split.test)


def test_groups_come_back_from_a_file(tmp_path):
    GROUPED.save(tmp_path / "grouped.npz")
    again = Instances.load(tmp_path / "grouped.npz")
    assert again.groups.tolist() == GROUPED.groups.tolist()
    assert again.fingerprint == GROUPED.fingerprint
    np.savez(tmp_path / "plain.npz", user=np.repeat(np.arange(5), 2), x=np.arange(10.0))
    named = Instances.load(tmp_path / "plain.npz", groups="user")
    assert named.count == 5
    assert list(named.fields) == ["x"]
    with pytest.raises(InstancesError, match="did you mean 'user'"):
        Instances.load(tmp_path / "plain.npz", groups="usr")


def test_a_table_of_ones_own_has_groups_by_its_columns():
    losses = RNG.uniform(0, 0.5, (5, 300))
    table = pacopt.LossTable(losses, np.ones(300)).grouped(np.repeat(np.arange(100), 3), seed=1)
    certificate = pacopt.certify(table)
    assert certificate.instances == 100
    assert "100 training groups" in str(certificate)
    assert pacopt.audit(certificate, table).passed


MISTAKES = {
    "a label too few": (
        lambda: Instances({"x": np.arange(4.0)}, groups=[1, 1, 2]),
        InstancesError,
        "each of the 4 rows",
    ),
    "labels that are numbers with a point": (
        lambda: Instances({"x": np.arange(2.0)}, groups=[0.5, 1.5]),
        InstancesError,
        "a whole number or a text",
    ),
    "one group only": (
        lambda: pacopt.split(Instances({"x": np.arange(4.0)}, groups=[1] * 4), prior=0, train=1, test=0, seed=0),
        SplitError,
        "A group is one draw, and",
    ),
    "more groups than there are": (lambda: parts(train=80), SplitError, "there are 90 groups"),
    "groups of unequal fields": (
        lambda: Instances.concatenate(
            [Instances({"x": np.arange(2.0)}, groups=[0, 0]), Instances({"y": np.arange(2.0)}, groups=[1, 1])]
        ),
        InstancesError,
        "same names and the same shapes",
    ),
    "groups in one part": (
        lambda: pacopt.Split(GROUPED[:10], Instances(dict(LAW.sample(9, seed=5).fields)), GROUPED[10:12]),
        SplitError,
        "Either all parts have groups, or none",
    ),
    "columns of no runs": (lambda: Columns(np.array([2, 0]), np.array([0, 2])), TableError, "at least one run"),
    "a lead of another column": (lambda: Columns(np.array([2, 2]), np.array([0, 1])), TableError, "one of its runs"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_groups_that_make_no_sense_are_refused(mistake):
    make, error, words = MISTAKES[mistake]
    with pytest.raises(error, match=words):
        make()
