"""Where the constants of `engines/tiling.py` and `engines/cell.py` come from: time for a coordinate and step.

python -m benchmarks.tiles
"""

import jax
import numpy as np

import pacopt
from benchmarks.loss_table import candidates
from benchmarks.side_by_side import side_by_side
from pacopt.engines.traced import cell, tiling

CELLS = 2**22  # coordinates in a table, whatever their number in an instance


def nanoseconds(n, *, cache=None, unroll=None, steps=50):
    """The median over five tables of the time for one coordinate and step."""
    cache, unroll = cache or tiling.CACHE_BYTES, unroll or cell.UNROLL
    rng = np.random.default_rng(0)
    rows, columns = 256, max(1, CELLS // (256 * n))
    instances = pacopt.Instances(
        {"diagonal": rng.uniform(0.2, 70, (columns, n)), "b": rng.standard_normal((columns, n))}
    )
    before = tiling.CACHE_BYTES, cell.UNROLL
    tiling.CACHE_BYTES, cell.UNROLL = cache, unroll
    try:
        jax.clear_caches()
        hypers = candidates(rows, 4e-4)
        work = pacopt.Tabulation.prepare(pacopt.DiagonalQuadratic(), pacopt.HeavyBall(), hypers, instances, steps=steps)
        seconds = side_by_side({"table": lambda: list(work.tiles())}, rounds=5)["table"]
    finally:
        tiling.CACHE_BYTES, cell.UNROLL = before
    return 1e9 * np.median(seconds) / (rows * columns * n * steps)


def show(title, heading, values, rows, measure):
    print(f"\n{title}\n{heading:>10}" + "".join(f"{value:>9}" for value in values))
    for row in rows:
        print(f"{row:>10}" + "".join(f"{measure(row, value):>9.3f}" for value in values), flush=True)


if __name__ == "__main__":
    kibibytes = (16, 32, 64, 128, 256, 512, 1024)
    show(
        "ns for a coordinate and step, by KiB of state that steps together (rows: coordinates)",
        "n",
        kibibytes,
        (5, 50, 500, 5000),
        lambda n, size: nanoseconds(n, cache=size * 1024),
    )
    show(
        "ns for a coordinate and step, by unrolling (rows: steps)",
        "steps",
        (1, 2, 3, 5, 10, 25),
        (10, 50, 53, 200),
        lambda steps, unroll: nanoseconds(50, unroll=unroll, steps=steps),
    )
