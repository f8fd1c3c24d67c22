"""Finished legs of a training on disk, so that an interrupted training resumes where it stopped."""

from dataclasses import dataclass

import numpy as np

from pacopt.engines.store import Checkpoint, content_of, unwritten
from pacopt.engines.training import Leg
from pacopt.errors import StorageError
from pacopt.support.arrays import load_npz, save_npz

#: Names of what a leg holds besides its state.
LOSS, HELD_OUT, NORMS, LEFT_OUT, CONTENT = "loss", "held_out", "norms", "left_out", "content"


@dataclass(frozen=True, slots=True)
class KeptLegs:
    """The legs of trainings in a checkpoint: one folder per training, named by the hash of all that determines it."""

    checkpoint: Checkpoint

    def found(self, key: str, name: str) -> Leg | None:
        """A finished leg; None if it is missing or damaged."""
        try:
            arrays = load_npz(self.checkpoint.folder(key) / f"{name}.npz")
            if not np.array_equal(arrays.pop(CONTENT), content_of(arrays)):
                return None
            loss, held_out, norms, left_out = (arrays.pop(each) for each in (LOSS, HELD_OUT, NORMS, LEFT_OUT))
        except (FileNotFoundError, StorageError, KeyError):
            return None
        return Leg(arrays, float(loss), float(held_out), norms, int(left_out))

    def keep(self, key: str, name: str, leg: Leg) -> None:
        """Write a leg atomically."""
        path = self.checkpoint.folder(key) / f"{name}.npz"
        own = {LOSS: np.array(leg.loss), HELD_OUT: np.array(leg.held_out), NORMS: leg.norms}
        own[LEFT_OUT] = np.array(leg.left_out)
        arrays = {**leg.state, **own}
        try:
            save_npz(path, arrays | {CONTENT: content_of(arrays)})
        except OSError as error:
            raise unwritten(path, error) from error
