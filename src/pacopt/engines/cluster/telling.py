"""Messages about workers that differ from the client."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from pacopt.engines.cluster.worker import Differs, Kept
from pacopt.errors import EngineError, PacoptError
from pacopt.support.machine import processor

#: Losses that differ only by rounding agree to this many digits, nearly all of them.
DIGITS, NEARLY = 1e-6, 0.9
#: What to do when workers get different losses for unknown reasons.
RESTART = "Start the workers anew (client.restart()), and the client too if a file was edited."


def differs(worker: Differs, ours: Mapping[str, str]) -> EngineError:
    """The error for a worker with other versions."""
    differ = [name for name in ours if worker.found.get(name) != ours[name]]
    lines = [f"{name} is {worker.found.get(name)}, but here it is {ours[name]}" for name in differ]
    return EngineError(
        f"On the worker {worker.address} {'; '.join(lines)}.",
        "Workers must run the same code as the client.",
        "Losses of different code must not be mixed.",
        "Install the same versions there; put your own modules where every machine finds them, or send them: "
        "client.upload_file(...).",
    )


def comes_to_something_else(worker: Kept, ours: np.ndarray) -> EngineError | None:
    """The error for losses unlike the client's, or None; the rounding of another processor only gets a warning."""
    theirs = worker.sample
    if theirs is None:
        return None
    known = ~(np.isnan(ours) | np.isnan(theirs))
    if np.array_equal(ours[known], theirs[known]):
        return None
    close = np.isclose(ours[known], theirs[known], rtol=DIGITS, atol=0.0)
    if worker.processor != processor() and close.mean() >= NEARLY:
        warnings.warn(
            f"The worker {worker.address} has a different processor from the client and rounds differently: some "
            "losses may differ in their last digits from those of a single machine.",
            stacklevel=2,
        )
        return None
    place = int(np.argmax(known.ravel() & (ours != theirs).ravel()))
    return EngineError(
        f"The worker {worker.address} gets the loss {float(theirs.ravel()[place])!r} where the client gets "
        f"{float(ours.ravel()[place])!r}.",
        "The same run must give the same loss everywhere.",
        "The worker may have loaded an older version of a module or found another copy of it, a run may read a file "
        "that differs there, a value may have been set since, or runs may draw random numbers.",
        RESTART,
    )


def told(address: str, error: Any) -> PacoptError:
    """The error of a worker; pacopt's own errors keep their text."""
    where = f"On the worker {address}: " if address else ""
    if isinstance(error, PacoptError):
        return type(error)(where + error.found, error.needed, error.why, error.remedy)
    return EngineError(
        f"{where or 'On a worker: '}{type(error).__name__}: {error}.",
        "Workers need pacopt, all packages and modules that the job uses, and room for its instances.",
        "",
        'Install there what is installed here: pip install "pacopt[dask]", and your own modules.',
    )


def gone(tiles: int) -> EngineError:
    """The error for a scheduler that is gone."""
    return EngineError(
        "The scheduler of the cluster is gone.",
        f"{tiles} tiles of this table are not finished.",
        "",
        "Start again, on another cluster or on one machine; with a checkpoint, what is finished is kept.",
    )


def deadly(first: int, error: Any) -> EngineError:
    """The error for a tile that kills workers."""
    return EngineError(
        f"Workers die while computing the tile that starts at instance {first}: {error}.",
        "A worker must survive what it runs.",
        "A worker may be out of memory, or code called by JAX may end its process.",
        "Give workers more memory or fewer threads, or try that tile on one machine.",
    )


def too_large(lost: int, size: int) -> EngineError:
    """The error for a job that kills the workers it is sent to."""
    return EngineError(
        f"{lost} workers were lost while receiving the job ({size / 2**20:.0f} MiB), and none has it.",
        "A worker needs room for all instances of a table.",
        "Dask ends a worker that uses more memory than its limit.",
        "Give workers more memory (memory_limit=...), or run fewer on each machine.",
    )
