import copy
import pickle

import numpy as np
import pytest

from pacopt import Instances, LossTable
from pacopt.errors import InstancesError, StorageError


def make(count=5, seed=0):
    rng = np.random.default_rng(seed)
    return Instances({"A": rng.standard_normal((count, 2, 3)), "k": rng.integers(0, 9, count)})


def test_a_row_number_gives_one_instance_and_everything_else_gives_instances():
    instances = make()
    assert instances[1]["A"].shape == (2, 3)
    assert instances[-1]["k"] == instances.fields["k"][4]
    for rows in (slice(1, 3), [1, 2], np.array([1, 2]), np.array([False, True, True, False, False])):
        np.testing.assert_array_equal(instances[rows].fields["k"], instances.fields["k"][1:3])
    assert len(instances[[]]) == 0
    assert [row["k"] for row in instances] == list(instances.fields["k"])


def test_nobody_can_change_instances_from_outside():
    array = np.zeros((3, 2))
    instances = Instances({"b": array})
    before = instances.fingerprint
    array[0] = 1
    assert instances.fields["b"][0, 0] == 0
    assert Instances({"b": instances.fields["b"]}).fingerprint == before
    with pytest.raises(ValueError, match="read-only"):
        instances.fields["b"][0] = 1
    with pytest.raises(TypeError):
        instances.fields["c"] = array


def test_concatenation_keeps_rows_and_order():
    a, b = make(3, 0), make(4, 1)
    joined = Instances.concatenate([a, b])
    assert list(joined.fingerprints) == [*a.fingerprints, *b.fingerprints]
    with pytest.raises(InstancesError, match="cannot follow"):
        Instances.concatenate([a, Instances({"A": np.zeros((2, 2, 4)), "k": np.zeros(2)})])


def test_fingerprints_depend_on_numbers_names_and_shapes_only(tmp_path):
    instances = make()
    reference = list(instances.fingerprints)
    order = np.array([3, 0, 4, 1, 2])
    assert list(instances[order].fingerprints) == [reference[i] for i in order]

    A, k = instances.fields["A"], instances.fields["k"]
    same = [
        {"k": k, "A": A},
        {"A": np.asfortranarray(A), "k": k.astype(np.int8)},
        {"A": A.astype(">f8"), "k": k.astype(np.float32)},
        {"A": A[::-1][::-1], "k": k.astype(">u4")},
    ]
    assert all(list(Instances(fields).fingerprints) == reference for fields in same)
    instances.save(tmp_path / "ours.npz")
    np.savez_compressed(tmp_path / "theirs.npz", A=A, k=k)
    for name in ("ours.npz", "theirs.npz"):
        assert list(Instances.load(tmp_path / name).fingerprints) == reference

    moved = A.copy()
    moved[0, 0, 0] = np.nextafter(moved[0, 0, 0], 9)
    different = [{"B": A, "k": k}, {"A": A.reshape(5, 3, 2), "k": k}, {"A": moved, "k": k}]
    assert all(Instances(fields).fingerprints[0] != reference[0] for fields in different)


def test_equal_numbers_have_equal_fingerprints_at_the_edges_of_the_number_types():
    def mark(value, dtype=None):
        return Instances({"v": np.array([value], dtype=dtype)}).fingerprints[0]

    assert mark(-0.0) == mark(0.0) == mark(0) == mark(False)
    assert mark(2**53) == mark(float(2**53)) == mark(2**53, np.uint64)
    assert mark(2**53 + 1) != mark(2**53)
    assert mark(2**63 + 1, np.uint64) != mark(2**63, np.uint64)
    assert mark(-(2**53) - 1) != mark(-(2**53))
    assert mark(2**53 + 2) == mark(float(2**53 + 2))
    assert mark(-(2**60)) == mark(-(2.0**60))
    assert mark(2**60 + 1) == mark(2**60 + 1, np.uint64)
    assert mark(1 + 2j) != mark(1.0)


def test_a_stored_file_is_byte_for_byte_the_same_and_takes_any_name(tmp_path):
    instances = Instances({"file": np.arange(3.0), "allow_pickle": np.arange(3)})
    for name in ("one.npz", "two.data"):
        instances.save(tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.data").read_bytes()
    assert Instances.load(tmp_path / "two.data").fingerprint == instances.fingerprint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npz", "two.data"]


def test_loading_never_executes_and_says_what_is_wrong(tmp_path):
    np.savez(tmp_path / "pickled.npz", A=np.array([object()], dtype=object))
    np.save(tmp_path / "single.npy", np.zeros(3))
    (tmp_path / "garbage.npz").write_bytes(b"garbage")
    make().save(tmp_path / "whole.npz")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:200])
    for name in ("pickled.npz", "single.npy", "garbage.npz", "cut.npz"):
        with pytest.raises(StorageError, match="npz archive"):
            Instances.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Instances.load(tmp_path / "absent.npz")


def test_instances_and_tables_travel_to_worker_processes_and_back():
    instances = make()
    assert pickle.loads(pickle.dumps(instances)).fingerprint == instances.fingerprint
    assert copy.deepcopy(instances).fingerprint == instances.fingerprint
    table = LossTable(losses=[[0.5, np.nan]], start=[1.0, 1.0], success=np.array([[True, True]]), provenance={"a": 1})
    again = pickle.loads(pickle.dumps(table))
    np.testing.assert_array_equal(again.losses, table.losses)
    np.testing.assert_array_equal(again.success, [[True, False]])  # a run that failed has not succeeded
    assert again.provenance == {"a": 1}


def test_a_read_only_view_of_a_writable_array_is_copied():
    array = np.zeros((3, 2))
    view = array.view()
    view.flags.writeable = False
    instances = Instances({"b": view})
    array[0] = 99
    assert instances.fields["b"][0, 0] == 0


def test_a_save_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    make().save(tmp_path / "data.npz")
    before = (tmp_path / "data.npz").read_bytes()
    monkeypatch.setattr(np.lib.format, "write_array", lambda *arguments, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make(9).save(tmp_path / "data.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["data.npz"]
    assert (tmp_path / "data.npz").read_bytes() == before


def test_every_nan_is_the_same_number():
    odd = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)
    assert Instances({"v": odd}).fingerprints[0] == Instances({"v": np.array([np.nan])}).fingerprints[0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "No arrays"),
        ({"A": np.zeros((3, 2)), "b": np.zeros(4)}, "A has 3, b has 4"),
        ({"A": np.float64(3.0)}, "single number"),
        ({"A": np.array(["x", "y"])}, "holds text"),
        ({"A": [[1.0, 2.0], [3.0]]}, "not an array"),
        ({"a/b": np.zeros(3)}, "slash"),
        ({"": np.zeros(3)}, "non-empty"),
        ({"x.npy": np.zeros(3)}, "npy"),
        (np.zeros(3), "of type ndarray was given"),
        (None, "of type NoneType was given"),
        ({"m": np.ma.masked_less(np.arange(3.0), 1)}, "masked"),
    ],
)
def test_what_is_no_sequence_of_instances_is_refused(fields, message):
    with pytest.raises(InstancesError, match=message):
        Instances(fields)


def test_what_selects_no_rows_is_answered_with_the_right_way():
    for index in ("A", True, None):
        with pytest.raises(InstancesError, match="fields"):
            make()[index]
    with pytest.raises(InstancesError, match="nothing to concatenate"):
        Instances.concatenate([])
