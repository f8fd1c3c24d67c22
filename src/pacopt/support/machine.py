"""What this process may use of the machine."""

import os
from pathlib import Path


def cores() -> int:
    """The number of cores this process may run on."""
    # Not everywhere does the system say which cores a process may use.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def caches() -> Path:
    """Where pacopt keeps what it can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pacopt"


def available_memory() -> int | None:
    """How many bytes can be had without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(found) * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        return None
