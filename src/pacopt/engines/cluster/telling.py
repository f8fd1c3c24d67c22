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
    lines = [f"{name} is {worker.found.get(name)}, and here {ours[name]}" for name in differ]
    return EngineError(
        f"On the worker {worker.address} {'; '.join(lines)}.",
        "Workers run the same code as the client.",
        "Losses of different code must not be mixed.",
        "Install the same versions there; put a module of your own where it is found on every machine, or send it: "
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
            f"The worker {worker.address} has another processor than the client, and rounds differently: some losses "
            "may differ in their last digits from those of one machine.",
            stacklevel=2,
        )
        return None
    place = int(np.argmax(known.ravel() & (ours != theirs).ravel()))
    return EngineError(
        f"The worker {worker.address} comes to the loss {float(theirs.ravel()[place])!r} where the client comes to "
        f"{float(ours.ravel()[place])!r}.",
        "The same run comes to the same loss everywhere.",
        "It runs other code: a module that it loaded before, or finds elsewhere; a file that a run reads; a value that "
        "was set since; or runs draw random numbers.",
        RESTART,
    )


def told(address: str, error: Any) -> PacoptError:
    """The error of a worker; pacopt's own errors keep their text."""
    where = f"On the worker {address}: " if address else ""
    if isinstance(error, PacoptError):
        return type(error)(where + error.found, error.needed, error.why, error.remedy)
    return EngineError(
        f"{where or 'On a worker: '}{type(error).__name__}: {error}.",
        "Workers have pacopt, all packages and modules that the job uses, and room for its instances.",
        "",
        'Install there what is here: pip install "pacopt[dask]", and your own modules.',
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
        f"Workers die when they make the tile that starts at instance {first}: {error}.",
        "A worker survives what it runs.",
        "The memory of a worker may be full, or code that JAX calls ends its process.",
        "Give workers more memory, or fewer threads; try that tile on one machine.",
    )


def too_large(lost: int, size: int) -> EngineError:
    """The error for a job that kills the workers it is sent to."""
    return EngineError(
        f"{lost} workers were lost while they were sent the job, of {size / 2**20:.0f} MiB, and none has it.",
        "A worker has room for all instances of a table.",
        "Dask ends a worker that uses more memory than its limit.",
        "Give workers more memory (memory_limit=...), or fewer of them to a machine.",
    )
