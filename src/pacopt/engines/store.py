"""Finished tiles on disk, so that interrupted work resumes where it stopped."""

import hashlib
import json
import os
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pacopt.engines.ended import BY_CHANCE, kind_of
from pacopt.engines.work import Tile, Work
from pacopt.errors import StorageError
from pacopt.support.arrays import load_npz, save_npz
from pacopt.support.interrupts import heed
from pacopt.support.whole import whole


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A directory of finished tiles, one folder for each table.

    A folder is named by the hash of all that determines its tiles (code, candidates, instances, steps, precision,
    versions), so a tile of another experiment is never picked up. A tile that is missing or unreadable is run. What a
    hash cannot see, such as a helper function or a file the code reads, is caught by rerunning one stored tile of each
    table: the same call gives the same bits.
    """

    directory: Path

    @property
    def kept(self) -> "Checkpoint":
        """Here."""
        return self

    def begin(self, belongs: Mapping[str, str]) -> None:
        """Record what the tiles stored here belong to; refused if something else was begun here."""
        path = self._made(self.directory) / "belongs.json"
        try:
            begun = _begun(path)
            if begun is None:
                with whole(path) as file:
                    file.write(json.dumps(dict(belongs), indent=1).encode())
                return
        except OSError as error:
            raise unwritten(path, error) from error
        changed = [name for name, value in belongs.items() if begun.get(name) != value]
        if changed:
            raise StorageError(
                f"Since {self.directory} was begun, {' and '.join(changed)} changed.",
                "A checkpoint continues one job, unchanged.",
                "Changing a design after looking at training instances voids the certificate, and "
                "losses of different code must not be mixed.",
                "Change it back; or, if nobody has seen losses of training instances yet, use another directory.",
            )

    def tiles(self, work: Work) -> Generator[Tile, None, None]:
        """The tiles of a table: the stored ones, then the others, each stored as soon as it is finished."""
        folder = self.folder(work.table_key)
        stored: list[int] = []
        for first in work.layout:
            heed()
            tile = _read(folder / f"{first}.npz", work, first)
            if tile is not None:
                if not stored and work.repeatable:
                    self._compare(tile, work)
                stored.append(first)
                yield tile
        if len(stored) < len(work.layout):
            known = {*stored}
            with closing(work.tiles([first for first in work.layout if first not in known])) as tiles:
                for tile in tiles:
                    _write(folder / f"{tile.first}.npz", tile)
                    yield tile

    def _compare(self, tile: Tile, work: Work) -> None:
        """Refuse stored tiles if one of them comes out differently when run again."""
        (again,) = work.tiles([tile.first])
        by_chance = _ended_by_chance(tile) | _ended_by_chance(again)
        if not (np.array_equal(tile.start, again.start, equal_nan=True) and _same(tile, again, ~by_chance)):
            raise StorageError(
                f"Rerunning the tile that starts at instance {tile.first} gives different losses from those stored in "
                f"{self.directory}.",
                "Finished tiles must come from the same code, data and machine.",
                "The code, or a file that it reads, has changed; losses of different code must not be mixed.",
                f"Change it back, or delete {self.directory} and start over.",
            )

    def folder(self, table_key: str) -> Path:
        """Where the work with this hash is kept."""
        return self._made(self.directory / table_key)

    def _made(self, folder: Path) -> Path:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"Finished tiles cannot be kept in {self.directory}: {error}.",
                "A checkpoint is a directory in which files can be created.",
                "",
                "Choose another place, or leave it out.",
            ) from error
        return folder


def checked_checkpoint(directory: str | os.PathLike[str] | None) -> Checkpoint | None:
    """The checkpoint in this directory; None if none is wanted."""
    if directory is None:
        return None
    if not isinstance(directory, str | os.PathLike) or not os.fspath(directory):
        raise StorageError(
            f"checkpoint is {directory!r}.", "It is the path of a directory.", "", "Leave it out, or name a directory."
        )
    return Checkpoint(Path(directory))


def _begun(path: Path) -> dict[str, str] | None:
    """What the tiles of a checkpoint belong to, if that was recorded."""
    try:
        begun = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return begun if isinstance(begun, dict) else None


def _write(path: Path, tile: Tile) -> None:
    arrays = {"clamped": np.array(tile.clamped), "losses": tile.losses, "start": tile.start}
    arrays |= {"first": np.array(tile.first), "table_key": np.frombuffer(tile.table_key.encode(), dtype=np.uint8)}
    optional = {"success": tile.success, "times": tile.times, "failures": tile.failures}
    arrays |= {name: array for name, array in optional.items() if array is not None}
    try:
        save_npz(path, arrays | {"content": content_of(arrays)})
    except OSError as error:
        raise unwritten(path, error) from error


def _ended_by_chance(tile: Tile) -> np.ndarray:
    """Which runs hit a time limit or died, which does not depend on them alone."""
    if tile.failures is None:
        return np.zeros(tile.losses.shape[:2], dtype=bool)
    return np.array([[kind_of(str(text)) in BY_CHANCE for text in row] for row in tile.failures])


def _same(one: Tile, other: Tile, where: np.ndarray) -> bool:
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("losses", "success", "times")]
    return all(
        np.array_equal(old[where], new[where], equal_nan=old.dtype.kind == "f")
        for old, new in pairs
        if old is not None and new is not None
    )


def unwritten(path: Path, error: OSError) -> StorageError:
    """The error for a file that could not be written."""
    return StorageError(
        f"{path} could not be written: {error}.",
        "Storing finished work takes disk space and permission to write there.",
        "Nothing is lost: what was already written will be used.",
        "Make room and start again, or leave the checkpoint out.",
    )


def content_of(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """A hash of everything in a tile: an edited tile is rerun. Rewriting the hash as well goes unnoticed."""
    content = hashlib.blake2b(digest_size=16)
    for name, array in sorted(arrays.items()):
        content.update(f"{name}{array.dtype}{array.shape}".encode() + array.tobytes())
    return np.frombuffer(content.digest(), dtype=np.uint8)


def _read(path: Path, work: Work, first: int) -> Tile | None:
    """A stored tile; None if it is missing, damaged or misplaced."""
    try:
        arrays = load_npz(path)
        if not np.array_equal(arrays.pop("content"), content_of(arrays)):
            return None
        tile = Tile(
            arrays["table_key"].tobytes().decode(),
            int(arrays["first"]),
            arrays["losses"],
            arrays["start"],
            arrays.get("success"),
            int(arrays["clamped"]),
            arrays.get("times"),
            arrays.get("failures"),
        )
    except (FileNotFoundError, StorageError, KeyError, ValueError, TypeError):
        return None
    return tile if tile.table_key == work.table_key and work.layout.fits(tile, first) else None
