"""What must not matter: how a table is cut, the order of rows and columns, jit, and the number of devices."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pacopt
from alone import run_alone
from cases import ALGORITHMS, PROBLEMS, candidates_for
from pacopt.engines.traced import tiling
from pacopt.engines.traced.cell import Cell


def assert_same_but_for_rounding(one, other, start):
    """Within 1e-12 of the larger of loss and start, with the same runs failed.

    Not bit for bit: for each shape XLA decides anew which products and sums to contract into one rounding (fma) and in
    which order to add, so a tile of another size may round differently.
    """
    np.testing.assert_array_equal(np.isfinite(one), np.isfinite(other))
    finite = np.isfinite(other)
    difference = np.abs(one - other)[finite] / np.maximum(np.abs(other), start)[finite]
    assert np.max(difference, initial=0) <= 1e-12


@pytest.mark.parametrize(
    "case",
    # One with arrays of every kind for each commit; the others in `make slow`.
    [pytest.param(case, marks=() if case.name == "logistic" else pytest.mark.slow, id=case.name) for case in PROBLEMS],
)
@given(cache=st.integers(0, 14), work=st.integers(0, 20), rows=st.integers(1, 40), columns=st.integers(1, 60))
@settings(max_examples=4)
def test_the_table_does_not_depend_on_the_tiles(case, cache, work, rows, columns):
    algorithm = pacopt.HeavyBall()
    instances, candidates = case.sample(columns, 7), candidates_for(algorithm, case.step_size, rows)

    def table():
        return pacopt.tabulate(case.problem, algorithm, candidates, instances, steps=7)

    reference = table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiling, "CACHE_BYTES", 2**cache)
        patch.setattr(tiling, "TILE_WORK", 2**work)
        patch.setattr(tiling, "LEAST_WORK", 2)
        cut = table()
    assert_same_but_for_rounding(cut.losses, reference.losses, reference.start)
    assert_same_but_for_rounding(cut.start, reference.start, reference.start)
    np.testing.assert_array_equal(table().losses, reference.losses)  # the same tiles give the same bits


@pytest.mark.parametrize("case", PROBLEMS, ids=lambda case: case.name)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8)
def test_rows_and_columns_move_with_candidates_and_instances(case, seed):
    rng = np.random.default_rng(seed)
    algorithm = pacopt.Nesterov()
    instances, candidates = case.sample(20, 8), candidates_for(algorithm, case.step_size, 10)
    rows, columns = rng.permutation(10), rng.permutation(20)
    table = pacopt.tabulate(case.problem, algorithm, candidates, instances, steps=5)
    shuffled = {name: values[rows] for name, values in candidates.items()}
    moved = pacopt.tabulate(case.problem, algorithm, shuffled, instances[columns], steps=5)
    expected = table.losses[np.ix_(rows, columns)]
    assert_same_but_for_rounding(moved.losses, expected, moved.start)


@pytest.mark.parametrize(("algorithm", "run"), ALGORITHMS, ids=lambda value: type(value).__name__)
def test_a_compiled_batch_agrees_with_one_run_at_a_time(algorithm, run):
    case = PROBLEMS[2]
    instances, candidates = case.sample(2, 9), candidates_for(algorithm, case.step_size, 2)
    table = pacopt.tabulate(case.problem, algorithm, candidates, instances, steps=3)
    with jax.enable_x64(True), jax.disable_jit():
        cell = Cell(case.problem, algorithm, 3, (3,), None)
        for row in range(2):
            for column in range(2):
                hyper = {name: jax.numpy.asarray(values[row]) for name, values in candidates.items()}
                instance = {name: jax.numpy.asarray(value) for name, value in instances[column].items()}
                outcome = cell(hyper, instance, cell.start_loss(instance)[0], jax.numpy.zeros(0, dtype="uint32"))
                loss = float(outcome.losses[0])
                assert loss == pytest.approx(table.losses[row, column], rel=1e-12)


TABLE_OF_MANY_TILES = """
    import hashlib, jax, numpy as np, pacopt
    law = pacopt.VaryingCurvature.draw(seed=0, n=10)
    rng = np.random.default_rng(0)
    candidates = {"step_size": rng.uniform(1e-5, 3e-4, 50), "momentum": rng.uniform(0, 1, 50)}
    work = pacopt.Tabulation.prepare(law.problem, pacopt.HeavyBall(), candidates, law.sample(3001, seed=1), steps=30)
    table = pacopt.tabulate(law.problem, pacopt.HeavyBall(), candidates, law.sample(3001, seed=1), steps=30)
    print(len(jax.devices()), len(work.tiling) >= 8, hashlib.sha256(table.losses.tobytes()).hexdigest())
"""


def test_several_devices_share_the_tiles_and_give_the_same_table():
    one = run_alone(TABLE_OF_MANY_TILES).split()
    four = run_alone(TABLE_OF_MANY_TILES, XLA_FLAGS="--xla_force_host_platform_device_count=4").split()
    assert (one[0], four[0]) == ("1", "4")
    assert one[1:] == four[1:] == ["True", one[2]]


@pytest.mark.slow
def test_memory_stays_bounded_whatever_the_number_of_instances():
    # 200,000 instances of 2 x 50 numbers and 20 candidates: the data take 160 MB, the table 32 MB, and the data of all
    # cells at once would take 3.2 GB. Tiles may add a few times their 16 MB.
    code = """
        import resource, numpy as np, pacopt
        law = pacopt.VaryingCurvature.draw(seed=0)
        instances = law.sample(200_000, seed=1)
        instances.fingerprints
        candidates = {"step_size": np.full(20, 1e-4), "momentum": np.full(20, 0.5)}
        pacopt.tabulate(law.problem, pacopt.HeavyBall(), candidates, instances[:1000], steps=1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pacopt.tabulate(law.problem, pacopt.HeavyBall(), candidates, instances, steps=1)
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
    """
    assert float(run_alone(code)) < 400
