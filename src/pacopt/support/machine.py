"""What this process may use of the machine."""

import os
from pathlib import Path

#: Where Linux says what its processors are.
PROCESSOR = Path("/proc/cpuinfo")


def cores() -> int:
    """The number of cores this process may run on."""
    # Not everywhere does the system say which cores a process may use.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def caches() -> Path:
    """Where pacopt keeps what it can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pacopt"


def processor() -> str:
    """What kind of processor this is, as far as the system tells: compilers make other code for another one."""
    try:
        lines = PROCESSOR.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    kinds = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part")
    return "\n".join(sorted({line for line in lines if line.split(":")[0].strip() in kinds}))


def available_memory() -> int | None:
    """How many bytes can be had without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(found) * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        return None
