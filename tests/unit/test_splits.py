import re

import numpy as np
import pytest

from pacopt import Instances, Split, split
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
