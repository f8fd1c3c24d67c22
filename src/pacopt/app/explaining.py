"""How the command line reports an error: a paragraph, a JSON document with --json, and an exit code."""

import errno
import sys
import traceback
from contextlib import suppress

from pacopt.app.console import Output, shortened
from pacopt.app.stopping import INTERRUPTED
from pacopt.errors import PacoptError


def explained(error: BaseException, output: Output) -> int:
    """Report an error and return its exit code."""
    if isinstance(error, PacoptError):
        Output().log(f"{type(error).__name__}: {error}")
        parts = dict(zip(("found", "needed", "why", "remedy"), error.args, strict=True))
        output.document({"error": {"type": type(error).__name__, **parts}})
        return 2
    if isinstance(error, OSError):
        found = shortened(str(error).splitlines()[0])
        Output().log(f"{type(error).__name__}: {found}")
        with suppress(OSError):  # it may be the disk behind stdout that is full
            output.document({"error": {"type": type(error).__name__, "found": found}})
        return 3 if getattr(error, "errno", None) == errno.ENOSPC else 2
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        if code not in (0, 1):  # Ctrl-C, or words on the command line that typer has explained already
            kind = "Interrupted" if code == INTERRUPTED else "UsageError"
            output.document({"error": {"type": kind, "found": " ".join(sys.argv[1:])}})
        return code
    traceback.print_exception(error)
    with suppress(OSError):  # it may be the disk behind stdout that is full
        output.document({"error": {"type": type(error).__name__, "found": str(error)}})
    return 3
