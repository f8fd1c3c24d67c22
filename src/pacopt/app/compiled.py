"""Keeps what JAX compiles between runs of the command line."""

import hashlib
import os
import platform
import stat
import warnings
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pacopt.support.machine import caches, processor

#: What a user sets to decide on this; then nothing is decided here.
DECIDED = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE")
#: Bytes beyond which everything kept is thrown away, to begin anew.
MOST = 2**28


def keep_compiled() -> None:
    """Let JAX keep compiled code in the user's cache and find it there, where that is safe.

    It is if the processor can be asked what it is, since code for another one may end in a crash; if nobody else can
    write to the place, since what is kept is executed; and if JAX packs with zlib, whose checksum shows damage: then it
    compiles again. With the package zstandard it would read damaged code without notice.
    """
    place = kept_at()
    unchecked = find_spec("zstandard") is not None or find_spec("compression") is not None
    if place is None or unchecked or any(name in os.environ for name in DECIDED) or not _ours(place):
        return
    import jax

    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")
    config: Any = jax.config  # without annotations
    config.update("jax_compilation_cache_dir", str(place))
    config.update("jax_persistent_cache_min_compile_time_secs", 0)
    config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def make_room() -> None:
    """Let go of all compiled programs: each takes some memory maps, and JAX crashes where a process has too many.

    Linux allows 65,530, and a family leaves about ten thousand.
    """
    import jax

    clear: Any = jax.clear_caches  # without annotations
    clear()


def kept_at() -> Path | None:
    """Where code for this processor and this version of JAX is kept; None if the processor is unknown."""
    known = processor()
    text = "\n".join([known, platform.machine(), version("jax"), version("jaxlib")])
    return caches() / f"compiled-{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}" if known else None


def _ours(place: Path) -> bool:
    """Whether the place exists, is not too full, and nobody else can write to it."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        about = place.stat()
        if about.st_uid != os.getuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
        entries = [entry for entry in place.iterdir() if entry.is_file()]
        if sum(entry.stat().st_size for entry in entries) > MOST:
            for entry in entries:
                with suppress(OSError):
                    entry.unlink()
    except OSError:
        return False
    return os.access(place, os.W_OK)
