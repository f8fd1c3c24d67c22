"""The script that draws: Vega, Vega-Lite and Vega-Embed as one text, made once for each version of its maker."""

import hashlib
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pacopt.support.machine import caches
from pacopt.support.whole import whole

#: What the page asks of the script: one name.
EMBED = "window.vegaEmbed = vegaEmbed;"


@cache
def vega() -> str:
    """The script, 0.9 MB. Making it takes 1.7 s, so it is kept in the user's cache, with a hash of its content."""
    place = kept_at()
    with suppress(OSError, ValueError):
        mark, _, script = place.read_text(encoding="utf-8").partition("\n")
        if mark == _hash(script):
            return script
    script = _made()
    with suppress(OSError):  # a cache that cannot be written is none
        place.parent.mkdir(parents=True, exist_ok=True)
        with whole(place) as file:
            file.write(f"{_hash(script)}\n{script}".encode())
    return script


def kept_at() -> Path:
    """Where the script is kept."""
    return caches() / f"vega-{version('vl-convert-python')}-{_hash(EMBED)[:8]}.js"


def _made() -> str:
    """While vl-convert works no other Python code runs, not even what handles Ctrl-C: so another process does it."""
    code = f"import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle({EMBED!r}).encode())"
    with suppress(OSError, ValueError, subprocess.SubprocessError):  # where no process can be started, go on here
        command = [sys.executable, "-P", "-c", code]
        answer = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=True)
        return answer.stdout.decode()
    import vl_convert

    bundle: str = vl_convert.javascript_bundle(EMBED)
    return bundle


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
