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
