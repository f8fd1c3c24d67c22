"""The cluster that a command is told to use."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pacopt.errors import JobError

#: Seconds after which nobody answers.
PATIENCE = 20


@contextmanager
def connected(where: str | None) -> Iterator[Any]:
    """A client of the Dask scheduler at an address, or in a scheduler file; None if no cluster is wanted."""
    if where is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise JobError(
            f"--dask {where}: the package distributed is not installed.",
            "It is in the extra [dask].",
            "",
            'pip install "pacopt[dask]"',
        ) from error
    address = where if "://" in where else _address(Path(where))
    try:
        connect: Any = Client  # without annotations
        client = connect(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        raise JobError(
            f"--dask {where}: no scheduler answers at {address} ({type(error).__name__}: {error}).",
            "The scheduler must be running before the job starts.",
            "",
            "Start one: dask scheduler",
        ) from error
    with client:
        yield client


def _address(file: Path) -> str:
    try:
        return str(json.loads(file.read_bytes())["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise JobError(
            f"--dask {file} is neither an address nor a scheduler file ({type(error).__name__}: {error}).",
            "An address looks like tcp://host:8786; a scheduler writes its file if you tell it where.",
            "",
            "dask scheduler --scheduler-file scheduler.json",
        ) from error
