import numpy as np
import pytest

from pacopt import DiscreteMeasure, LossTable, bounds
from pacopt.design import default_t_grid
from pacopt.errors import StorageError, TableError
from pacopt.papers import plug_in_bound


def test_a_table_is_made_of_plain_arrays():
    losses, start = np.array([[1, 2, 3], [4, 5, 6]]), np.array([2, 2, 2], dtype=np.float32)
    table = LossTable(losses=losses, start=start)
    assert table.shape == (2, 3)
    assert table.losses.dtype == table.start.dtype == np.float64
    assert table.hyper(1) == {"candidate": 1.0}
    losses[0, 0] = 99
    assert table.losses[0, 0] == 1


def test_success_is_finite_and_at_or_below_the_ratio_times_the_start():
    third = 1.0 / 3.0
    table = LossTable(losses=[[2.0, np.nan, np.inf, 0.0, 3 * third * 0.1]], start=[2.0, 1.0, 1.0, 0.0, 3 * third])
    np.testing.assert_array_equal(table.succeeded(), [[True, False, False, True, True]])
    np.testing.assert_array_equal(table.succeeded(0.1), [[False, False, False, True, True]])
    # On this tie l <= r l0 and l / l0 <= r differ; the theory's set is the first.
    l0 = next(l0 for l0 in np.linspace(0.5, 1.0, 999) if 0.1 * l0 / l0 > 0.1)
    tie = LossTable(losses=[[0.1 * l0]], start=[l0])
    assert tie.succeeded(0.1)[0, 0]
    for ratio in (0.0, 1.1, np.nan, -1.0):
        with pytest.raises(TableError, match="target_ratio"):
            table.succeeded(ratio)


def test_missing_cells_count_as_failed():
    missing = np.array([[False, True], [False, False]])
    table = LossTable(
        losses=[[1.0, -5.0], [1.0, 1.0]], start=[1.0, 1.0], success=np.ones((2, 2), bool), missing=missing
    )
    assert np.isnan(table.losses[0, 1])
    assert not table.succeeded()[0, 1]
    assert not table.success[0, 1]


def test_saving_and_loading_give_the_same_table(tmp_path):
    table = LossTable(
        losses=[[1.0, np.inf], [np.nan, 0.0]],
        start=[1.0, 2.0],
        candidates={"step_size": [0.1, 0.2], "momentum": [0.0, 0.9]},
        success=np.array([[True, False], [False, True]]),
        missing=np.array([[False, False], [True, False]]),
        provenance={"steps": 50, "versions": {"jax": "x"}},
    )
    table.save(tmp_path / "table.npz")
    loaded = LossTable.load(tmp_path / "table.npz")
    for name in ("losses", "start", "success", "missing"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(table, name))
    assert loaded.provenance == table.provenance
    assert loaded.hyper(1) == table.hyper(1) == {"step_size": 0.2, "momentum": 0.9}
    np.savez(tmp_path / "other.npz", losses=table.losses, start=table.start)
    with pytest.raises(StorageError, match="schema"):
        LossTable.load(tmp_path / "other.npz")


def test_a_file_that_is_no_table_is_refused(tmp_path):
    good = {"losses": np.ones((1, 2)), "start": np.ones(2)}
    for number, header in enumerate(("{", "[]", "{}", '{"schema": 1}')):
        np.savez(tmp_path / f"{number}.npz", header=np.array(header), **good)
        with pytest.raises(StorageError, match="schema"):
            LossTable.load(tmp_path / f"{number}.npz")


ONES = np.ones((2, 3))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"losses": np.ones((0, 3)), "start": np.ones(3)}, r"shape \(0, 3\)"),
        ({"losses": np.ones(3), "start": np.ones(3)}, r"shape \(3,\)"),
        ({"losses": ONES, "start": np.ones(2)}, "one loss for each instance"),
        ({"losses": [[1.0, 1.0], [1.0, -2.0]], "start": np.ones(2)}, "candidate 1 on instance 1 is -2;"),
        ({"losses": [[1.0, -np.inf]], "start": np.ones(2)}, "candidate 0 on instance 1 is -inf"),
        ({"losses": ONES, "start": [1.0, np.nan, 1.0]}, "instance 1 is nan"),
        ({"losses": ONES, "start": [1.0, 1.0, -1.0]}, "instance 2 is -1;"),
        ({"losses": ONES, "start": [np.inf, 1.0, 1.0]}, "instance 0 is inf"),
        ({"losses": [[1.0, 2.0], [1.0]], "start": [1.0, 1.0]}, "not an array"),
        ({"losses": ONES, "start": np.ones(3), "provenance": {"a": object()}}, "JSON"),
        ({"losses": ONES + 1j, "start": np.ones(3)}, "complex128"),
        ({"losses": ONES, "start": np.ones(3), "candidates": {"a": np.ones(3)}}, "has 2 rows"),
        ({"losses": ONES, "start": np.ones(3), "success": ONES}, "boolean"),
        ({"losses": ONES, "start": np.ones(3), "missing": np.ones((3, 2), bool)}, "boolean"),
    ],
)
def test_numbers_that_are_no_table_are_refused(fields, message):
    with pytest.raises(TableError, match=message):
        LossTable(**fields)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ([2, 0], slice(1, 3)),
        ([True, False, True], [3, 1]),
        (slice(None), np.array([False, True, True, False])),
    ],
)
def test_a_part_of_a_table_keeps_cells_candidates_and_starts_together(rows, columns):
    rng = np.random.default_rng(0)
    missing = np.zeros((3, 4), dtype=bool)
    missing[2, 1] = True
    whole = LossTable(
        rng.random((3, 4)), rng.random(4) + 1, {"step": [10.0, 20.0, 30.0]}, rng.random((3, 4)) < 0.5, missing
    )
    part = whole.select(rows=rows, columns=columns)
    kept_rows, kept_columns = np.arange(3)[rows], np.arange(4)[columns]
    for i, row in enumerate(kept_rows):
        assert part.hyper(i) == whole.hyper(row)
        for j, column in enumerate(kept_columns):
            assert part.start[j] == whole.start[column]
            assert np.array_equal(part.losses[i, j], whole.losses[row, column], equal_nan=True)
            assert part.success[i, j] == whole.success[row, column]
            assert part.missing[i, j] == whole.missing[row, column]


def test_verdicts_of_ones_own_do_not_enter_bounds_that_condition_on_where_losses_ended():
    """They need l <= r l0 on the set they condition on, and a predicate may call a success what ended above that."""
    rng = np.random.default_rng(0)
    plain = LossTable(losses=rng.uniform(0, 3, (4, 60)), start=np.ones(60))
    judged = LossTable(losses=plain.losses, start=plain.start, success=~plain.reached())
    prior = DiscreteMeasure.uniform(plain.candidates)
    betting = bounds.ConditionalBetting(default_t_grid(), 0.5)
    ours, theirs = (betting.for_candidates(table, prior, 0.1) for table in (judged, plain))
    np.testing.assert_array_equal(ours, theirs)
    ours, theirs = (bounds.SelfNormalised(0.5).statistics(table) for table in (judged, plain))
    np.testing.assert_array_equal(ours, theirs)
    assert plug_in_bound(judged).value == plug_in_bound(plain).value
    assert not np.array_equal(judged.succeeded(), plain.succeeded()), "they are what counts as success"
