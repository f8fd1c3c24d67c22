"""Finished tiles on disk, so that work that was interrupted goes on where it stopped."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pacopt.arrays import load_npz, save_npz
from pacopt.engines.tabulation import Tabulation, Tile
from pacopt.errors import StorageError


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A directory of finished tiles, one folder for each table.

    A folder goes by the hash of everything that determines its tiles (code, candidates, instances, steps, precision,
    versions), so a tile of another experiment is never found. What is not there, or cannot be read, is run.
    """

    directory: Path

    def tiles(self, work: Tabulation) -> Iterator[Tile]:
        """The tiles of a table: those that are stored, then the others, each stored as soon as it is finished."""
        folder = self._folder(work.job)
        stored = []
        for first in work.tiling:
            tile = _read(folder / f"{first}.npz", work.job, first)
            if tile is not None:
                stored.append(first)
                yield tile
        if len(stored) < len(work.tiling):
            for tile in work.tiles(skip=stored):
                _write(folder / f"{tile.first}.npz", tile)
                yield tile

    def _folder(self, job: str) -> Path:
        folder = self.directory / job
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"Finished tiles cannot be kept in {self.directory}: {error}.",
                "A checkpoint is a directory in a place where files can be made.",
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


def _write(path: Path, tile: Tile) -> None:
    arrays = {"clamped": np.array(tile.clamped), "losses": tile.losses, "start": tile.start}
    try:
        save_npz(path, arrays if tile.success is None else arrays | {"success": tile.success})
    except OSError as error:
        raise StorageError(
            f"{path} could not be written: {error}.",
            "Finished tiles need room on the disk.",
            "Nothing is lost: those that were written are taken up again.",
            "Make room and start again, or leave the checkpoint out.",
        ) from error


def _read(path: Path, job: str, first: int) -> Tile | None:
    """A stored tile; None if there is none, or one that an accident has damaged."""
    try:
        arrays = load_npz(path)
        losses, start = arrays["losses"], arrays["start"]
        return Tile(job, first, losses, start, arrays.get("success"), int(arrays["clamped"]))
    except (FileNotFoundError, StorageError, KeyError):
        return None
