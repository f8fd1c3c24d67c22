"""What the console script calls. Nothing but the handling of interrupts is imported before that is in place."""

import os
import sys
from typing import NoReturn

from pacopt.app import stopping
from pacopt.support import interrupts


def main() -> NoReturn:
    """Run the command line in this process and end it. `commands.run` does the same and returns the exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    try:
        stopping.leave(_code())
    except KeyboardInterrupt:  # between two lines of this file
        stopping.farewell()


def _code() -> int:
    try:
        stopping.watch()
        from pacopt.app.commands import run

        return run()
    except Exception:
        if interrupts.noted():
            return stopping.INTERRUPTED
        raise
