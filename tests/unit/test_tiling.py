from hypothesis import given
from hypothesis import strategies as st

from pacopt.engines.traced.tiling import CACHE_BYTES, TILE_BYTES, plan_tiles

sizes = st.integers(1, 10**6)


@given(rows=sizes, columns=sizes, n=st.integers(1, 10**5), itemsize=st.sampled_from([4, 8]), data=sizes, steps=sizes)
def test_every_cell_is_in_one_tile_and_nothing_outgrows_its_room(rows, columns, n, itemsize, data, steps):
    instance_bytes = data * itemsize
    tiling = plan_tiles(
        rows=rows,
        columns=columns,
        state_elements=n,
        state_bytes=n * itemsize,
        instance_bytes=instance_bytes,
        steps=steps,
    )
    assert tiling.blocks * tiling.block >= rows > (tiling.blocks - 1) * tiling.block - tiling.blocks
    firsts = list(tiling)
    assert len(firsts) == len(tiling)
    assert firsts == list(range(0, columns, tiling.span))
    assert tiling.block == 1 or tiling.block * n * itemsize <= CACHE_BYTES
    assert tiling.lanes == 1 or tiling.lanes * (tiling.block * n * itemsize + instance_bytes) <= CACHE_BYTES
    assert tiling.span == 1 or tiling.span * instance_bytes <= TILE_BYTES + tiling.groups * instance_bytes


def test_the_settings_of_the_benchmarks_waste_little():
    diagonal = {"state_elements": 100, "state_bytes": 800, "instance_bytes": 800, "steps": 50}
    dense = diagonal | {"instance_bytes": 20400}
    for shape, sizes in (((500, 1000), diagonal), ((200, 200), dense), ((1, 20000), diagonal), ((3, 200), diagonal)):
        rows, columns = shape
        tiling = plan_tiles(rows=rows, columns=columns, **sizes)
        computed = tiling.blocks * tiling.block * len(tiling) * tiling.span
        assert computed <= 1.07 * rows * columns
