"""How a table is cut into tiles: it depends only on the shapes, so that a stored tile fits a later run."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

#: The states of all runs that step together fill at most this much. `benchmarks/tiles.py` measures it: the time for a
#: step is flat from 32 to 128 KiB on a core with 512 KiB of L2 cache, and grows beyond.
CACHE_BYTES = 128 * 1024
#: State elements times steps in one tile: some 10 ms, a hundred times the cost of starting it.
TILE_WORK = 2**26
#: Instance data copied for one tile, so that memory stays bounded whatever the number of instances.
TILE_BYTES = 16 * 2**20
#: At least this many tiles, so that all cores stay busy to the end, unless they would become smaller than LEAST_WORK.
LEAST_TILES = 32
LEAST_WORK = 2**22


@dataclass(frozen=True, slots=True)
class Tiling:
    """A table of `rows` candidates and `columns` instances, cut into tiles of all candidates and `span` instances.

    Within a tile, candidates run side by side in `blocks` of `block`: whatever an instance holds is then read once
    for all of them, a matrix-vector product becomes a matrix-matrix product, and element-wise losses are no slower
    than the other way round. Where there are too few candidates to fill the cache, `lanes` instances join them. A
    tile works through `groups` of these. The last block, and the last tile, may reach past the end.
    """

    rows: int
    columns: int
    blocks: int
    block: int
    groups: int
    lanes: int
    instance_bytes: int

    @property
    def span(self) -> int:
        """The number of instances in a tile."""
        return self.groups * self.lanes

    def __iter__(self) -> Iterator[int]:
        """The first instance of each tile."""
        return iter(range(0, self.columns, self.span))

    def __len__(self) -> int:
        return ceil(self.columns / self.span)


def plan_tiles(
    *, rows: int, columns: int, state_elements: int, state_bytes: int, instance_bytes: int, steps: int
) -> Tiling:
    """The tiling for runs with this much state and instances with this much data."""
    blocks = ceil(rows / max(1, CACHE_BYTES // max(1, state_bytes)))
    block = ceil(rows / blocks)
    work = columns * rows * state_elements * steps
    parts = max(
        ceil(work / TILE_WORK),
        ceil(columns * instance_bytes / TILE_BYTES),
        min(LEAST_TILES, ceil(work / LEAST_WORK)),
    )
    most = ceil(columns / min(columns, parts))
    # Of the sizes slightly below that, the one that overshoots the end least.
    span = min(range(most, most - most // 4 - 1, -1), key=lambda size: ceil(columns / size) * size)
    groups = ceil(span / max(1, CACHE_BYTES // max(1, block * state_bytes + instance_bytes)))
    lanes = ceil(span / groups)
    return Tiling(
        rows, columns, blocks=blocks, block=block, groups=ceil(span / lanes), lanes=lanes, instance_bytes=instance_bytes
    )
