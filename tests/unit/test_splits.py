import dataclasses
import pickle
import re

import numpy as np
import pytest

from pacopt import Design, Instances, LossTable, Split, certify, split
from pacopt.errors import SplitError

#: With this seed rows 17 and 50 fall into different parts.
SEPARATING_SEED = 0


def numbers(*values):
    return Instances({"b": np.array(values, dtype=float)})


def test_parts_are_disjoint_random_and_determined_by_the_seed():
    instances = numbers(*range(100))
    one, again, other = (split(instances, prior=20, train=50, test=20, seed=seed) for seed in (1, 1, 2))
    rows = [set(part.fields["b"]) for part in (one.prior, one.train, one.test)]
    assert [len(part) for part in rows] == [20, 50, 20]
    assert len(set.union(*rows)) == 90
    assert again.train.fingerprint == one.train.fingerprint != other.train.fingerprint


def test_every_row_is_equally_likely_to_be_in_every_part():
    hits = np.zeros(10)
    for seed in range(2000):
        hits[split(numbers(*range(10)), prior=2, train=3, test=0, seed=seed).train.fields["b"].astype(int)] += 1
    # 3/10 of 2000 each; five standard deviations of a binomial are 102.
    assert np.all(np.abs(hits - 600) < 102)


def test_a_duplicate_across_parts_is_refused_with_both_row_numbers():
    instances = numbers(*range(50), 17)
    with pytest.raises(SplitError) as error:
        split(instances, prior=10, train=31, test=10, seed=SEPARATING_SEED)
    assert set(re.findall(r"[Ii]nstance (\d+)", str(error.value))) == {"17", "50"}
    assert "allow_duplicates=True" in str(error.value)
    split(instances, prior=10, train=31, test=10, seed=SEPARATING_SEED, allow_duplicates=True)


def test_a_split_made_by_hand_is_checked_as_well():
    with pytest.raises(SplitError, match=r"Instance 2 \(prior\) and instance 0 \(test\)"):
        Split(prior=numbers(1, 2, 3), train=numbers(4), test=numbers(3))
    Split(prior=numbers(1, 2, 3), train=numbers(4), test=numbers(3), allow_duplicates=True)
    assert len(Split(prior=numbers(1, 1), train=numbers(2), test=numbers(3, 3)).prior) == 2


def test_a_copy_is_not_counted_as_another_training_instance():
    with pytest.raises(SplitError, match=r"Instance 1 \(train\) and instance 2 \(train\) are the same"):
        Split(prior=numbers(1), train=numbers(4, 2, 2), test=numbers(3))
    assert len(Split(prior=numbers(1), train=numbers(4, 2, 2), test=numbers(3), allow_duplicates=True).train) == 3


@pytest.mark.parametrize(
    "parts", [(numbers(1), numbers(4, 2, 2), numbers(3)), (numbers(1), numbers(2), numbers(1))], ids=["train", "parts"]
)
def test_equal_rows_are_said_to_be_copies_or_separate_draws_and_what_follows_from_each(parts):
    with pytest.raises(SplitError) as error:
        Split(*parts)
    assert "either copies of one draw" in error.value.needed
    assert "or separate draws" in error.value.needed
    assert error.value.remedy.startswith(
        "If they are copies of one draw, remove the copies. If they are separate draws,"
    )
    assert "removing separate draws voids the certificate" in error.value.remedy


def test_removing_separate_draws_certifies_something_false_and_declaring_them_does_not():
    """Half of the stream is one and the same instance, on which every run diverges."""
    rng = np.random.default_rng(0)
    a = np.where(rng.random(800) < 0.5, 100.0, rng.uniform(0.5, 1.5, 800))
    with pytest.raises(SplitError):
        split(Instances({"a": a}), prior=0, train=800, test=0, seed=0)

    def certified(a):
        table = LossTable(losses=[np.where(a == 100.0, 10.0, 0.1)], start=np.ones(len(a)))
        return certify(table, Design.uniform(table), confidence=0.99).deployed

    removed, declared = (
        certified(split(Instances({"a": rows}), prior=0, train=len(rows), test=0, seed=0, **options).train.fields["a"])
        for rows, options in ((np.unique(a), {}), (a, {"allow_duplicates": True}))
    )
    truth = {"risk": 0.5 * 1 + 0.5 * 0.1, "success": 0.5}
    assert removed.success > 0.95 > truth["success"] > declared.success > 0.4
    assert removed.risk < 0.2 < truth["risk"] < declared.risk < 0.65


def test_a_split_records_the_rows_that_its_instances_come_from():
    instances = numbers(*range(100, 130))
    parts = split(instances, prior=5, train=20, test=3, seed=1)
    for name in ("prior", "train", "test"):
        part = getattr(parts, name)
        assert np.array_equal(instances[parts.rows[name]].fields["b"], part.fields["b"])
        assert not parts.rows[name].flags.writeable
    assert "rows" not in repr(parts)
    assert Split(parts.prior, parts.train, parts.test) == parts, "the rows say where parts come from, not what they are"
    assert len({parts, dataclasses.replace(parts, rows=None)}) == 1
    again = pickle.loads(pickle.dumps(parts))
    assert again.train.fingerprint == parts.train.fingerprint
    assert np.array_equal(again.rows["test"], parts.rows["test"])


def source(prior, train, test):
    return {name: np.array(rows) for name, rows in (("prior", prior), ("train", train), ("test", test))}


def test_separate_draws_of_atoms_may_fill_whole_parts_if_their_rows_are_known():
    parts = split(numbers(*[7.0] * 30), prior=10, train=10, test=10, seed=0, allow_duplicates=True)
    assert np.array_equal(parts.prior.fingerprints, parts.train.fingerprints)
    one = (numbers(7, 8), numbers(8, 7), numbers(7, 8))
    Split(*one, allow_duplicates=True, rows=source([0, 1], [2, 3], [4, 5]))
    with pytest.raises(SplitError, match="either copies"):
        Split(*one, rows=source([0, 1], [2, 3], [4, 5]))
    assert len(Split(numbers(7, 7), numbers(7, 7, 8), numbers(7), allow_duplicates=True).train) == 3


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        (("train", "train", "test"), "The prior split and the train split hold the same 3 rows"),
        (("prior", "train", "train"), "The train split and the test split hold the same 3 rows"),
        (("copied", "train", "test"), "The prior split and the train split hold the same 3 rows"),
        (("permuted", "train", "test"), "The prior split and the train split hold the same 3 rows"),
        (("prior", "train", "prior"), "The prior split and the test split hold the same 2 rows"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_one_part_used_twice_is_refused_whatever_was_declared(parts, match):
    made = {"prior": numbers(1, 2), "train": numbers(3, 3, 4), "test": numbers(5)}
    made |= {"copied": numbers(3, 3, 4), "permuted": numbers(4, 3, 3)}
    with pytest.raises(SplitError, match=match) as error:
        Split(*(made[name] for name in parts), allow_duplicates=True)
    assert "rows=" in error.value.remedy


def test_rows_do_not_excuse_the_very_same_part():
    parts = split(numbers(*range(6)), prior=2, train=2, test=2, seed=0, allow_duplicates=True)
    with pytest.raises(SplitError, match="hold the same 2 rows"):
        dataclasses.replace(parts, prior=parts.train, rows=dict(parts.rows))


@pytest.mark.parametrize("rows", [slice(None), slice(None, None, -1)])
def test_rows_do_not_excuse_a_part_that_took_the_content_of_another_one(rows):
    parts = split(numbers(*range(6)), prior=2, train=2, test=2, seed=0, allow_duplicates=True)
    with pytest.raises(SplitError, match="The prior split holds the same rows as the train split did"):
        dataclasses.replace(parts, prior=parts.train[rows])
    with pytest.raises(SplitError, match="The train split holds the same rows as the test split did"):
        dataclasses.replace(parts, train=parts.test[rows])
    with pytest.raises(SplitError, match="holds the same rows"):
        dataclasses.replace(pickle.loads(pickle.dumps(parts)), prior=parts.train[rows])
    assert len(dataclasses.replace(parts, prior=numbers(10, 11)).prior) == 2


def test_parts_that_share_more_than_separate_draws_would_are_refused():
    train, more = numbers(*range(100)), numbers(*range(100, 150))
    for parts in ((train[:99], train, more), (more, train, train[40:60]), (train[:12], train[:13], more)):
        with pytest.raises(SplitError, match="hold"):
            Split(*parts, allow_duplicates=True)
    made_up = source(range(200, 300), range(100), range(300, 350))
    with pytest.raises(SplitError, match="The prior split and the train split hold the same 100 rows"):
        Split(train[::-1], train, more, allow_duplicates=True, rows=made_up)


@pytest.mark.parametrize("atoms", [1, 4, 100, 1000])
def test_separate_draws_of_atoms_are_taken_for_what_they_are(atoms):
    rng = np.random.default_rng(atoms)
    for seed in range(20):
        values = numbers(*rng.integers(0, atoms, 1700))
        split(values, prior=50, train=1500, test=150, seed=seed, allow_duplicates=True)
        Split(values[:50], values[50:1000], values[1000:], allow_duplicates=True)
    file_written_twice = numbers(*np.tile(rng.random(500), 2))
    split(file_written_twice, prior=200, train=600, test=200, seed=0, allow_duplicates=True)


@pytest.mark.parametrize("allow_duplicates", [False, True])
@pytest.mark.parametrize(
    ("rows", "where"),
    [
        (source([0, 1], [2, 1], [4, 5]), r"Source row 1 is in prior and in train\. "),
        (source([0, 1], [2, 3], [3, 2]), "Source row 2 is in train and in test, and so is 1 more"),
        (source([0, 5], [2, 3], [4, 5]), "Source row 5 is in prior and in test"),
        (source([0, 1], [2, 2], [4, 5]), "Source row 2 is twice in train"),
    ],
)
def test_a_source_row_is_one_draw_whatever_was_declared(rows, where, allow_duplicates):
    with pytest.raises(SplitError, match=where):
        Split(numbers(0, 1), numbers(2, 3), numbers(4, 5), allow_duplicates=allow_duplicates, rows=rows)


@pytest.mark.parametrize(
    "rows",
    [
        source([0, 1], [2], [4, 5]),
        source([0, 1], [2.0, 3.5], [4, 5]),
        source([0, 1], [[2, 3]], [4, 5]),
        source([0, -1], [2, 3], [4, 5]),
        source([True, False], [2, 3], [4, 5]),
        {"train": np.array([2, 3])},
    ],
)
def test_rows_that_do_not_belong_to_the_parts_are_refused(rows):
    with pytest.raises(SplitError, match=r"one source row for each instance"):
        Split(numbers(0, 1), numbers(2, 3), numbers(4, 5), rows=rows)


def test_what_is_no_instances_or_no_seed_is_refused():
    with pytest.raises(SplitError, match="train is a NoneType"):
        Split(prior=numbers(1), train=None, test=numbers(2))
    with pytest.raises(SplitError, match="is a dict"):
        split({"b": np.zeros(3)}, prior=0, train=1, test=0, seed=0)
    for seed in (-1, 1.5, None, "a"):
        with pytest.raises(SplitError, match="seed="):
            split(numbers(1, 2), prior=0, train=1, test=0, seed=seed)


@pytest.mark.parametrize("sizes", [(0, 0, 1), (-1, 5, 1), (5, 4, 2), (0.5, 5, 1), (1, True, 1)])
def test_sizes_that_cannot_be_are_refused(sizes):
    prior, train, test = sizes
    with pytest.raises(SplitError, match=r"asked for|but there are"):
        split(numbers(*range(10)), prior=prior, train=train, test=test, seed=0)


def test_sizes_that_are_not_given_are_those_that_are_recommended():
    rows = Instances({"b": np.arange(1400.0)})
    parts, others = split(rows), split(rows, prior=100, test=0)
    assert [len(parts.prior), len(parts.train), len(parts.test)] == [200, 1000, 200]
    assert [len(others.prior), len(others.train), len(others.test)] == [100, 1300, 0]
    assert parts.train.fingerprint == split(rows, prior=200, train=1000, test=200, seed=0).train.fingerprint
