"""Ctrl-C on the command line: it is not lost, and the process is soon gone, in half a second on a machine with time.

A signal leaves a mark and raises nothing: an exception out of nowhere is thrown away in a callback of the garbage
collector, and aborts the process while jaxlib is imported. The mark is looked at between tiles and stages, where
KeyboardInterrupt is raised. If nobody has looked after a while, the process is ended wherever it is: by a timer if the
main thread runs Python code, and by a watchdog if it sits in native code; the watchdog learns of the signal by itself,
from a socket into which Python writes the moment it arrives. A second signal ends the process at once. All files are
written whole or not at all, so nothing is lost by that. Nothing heavy is imported here: this has to be ready before
anything else is.
"""

import atexit
import json
import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from pacopt.support import interrupts

#: The exit code of whoever was interrupted: 128 and the number of the signal.
INTERRUPTED = 130
#: Seconds until the timer ends the main thread, until the watchdog ends the process, and that last words may take.
GRACE, WATCH, LAST = 0.1, 0.12, 0.3
#: Seconds after which a thread has to let another one run Python code, once there is no more time to lose.
TURN = 1e-4


class _Parting:
    """What is left to say and to do when the process ends early."""

    __slots__ = ("document", "stdout", "taken", "words", "written")

    def __init__(self) -> None:
        self.words: Callable[[], str] = str
        #: Where stdout leads; while a command is busy, descriptor 1 is something else.
        self.stdout = 1
        #: Held by the thread that says the last words, and by the one that writes the JSON document: one of each.
        self.taken, self.document = threading.Lock(), threading.Lock()
        #: Set when the document is out: whoever ends the process leaves its writer the time that last words may take.
        self.written = threading.Event()


_parting = _Parting()


def begin() -> None:
    """A command begins: no document was written yet, and there is nothing to be said at its end."""
    _parting.document, _parting.written, _parting.words = threading.Lock(), threading.Event(), str


def watch() -> None:
    """Install handler and watchdog, unless interrupts are ignored (nohup) or somebody else's business."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    threading.Thread(target=_watchdog, args=(reader, writer), name="watchdog", daemon=True).start()
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _handler)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_unwatch)


def _unwatch() -> None:
    """A process that is forked off by somebody's code has interrupts of its own."""
    with suppress(ValueError):  # it was not the main thread that forked
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _handler(signum: int, frame: object) -> None:
    interrupts.mark()
    if interrupts.noted() == 1 and hasattr(signal, "setitimer"):
        # On a machine with much to do, a thread that wants to interrupt Python code waits for its turn up to a second.
        signal.signal(signal.SIGALRM, _end)
        signal.setitimer(signal.ITIMER_REAL, GRACE)
    elif interrupts.noted() > 1:
        _end(signum, frame)


def _end(signum: int, frame: object) -> None:
    # Else it may be this thread that is saying its last words, or writing the document: the watchdog ends it then.
    if not _parting.taken.locked() and not (_parting.document.locked() and not _parting.written.is_set()):
        farewell()


def _watchdog(reader: socket.socket, writer: socket.socket) -> None:
    """Waits for the first signal, then for the second one or until the time is over. It keeps both ends open."""
    if _arrived(reader, math.inf):
        sys.setswitchinterval(TURN)
        _arrived(reader, time.monotonic() + WATCH)
        farewell()


def _arrived(reader: socket.socket, end: float) -> bool:
    """Whether an interrupt arrives until then."""
    with suppress(OSError):  # the time is over, or somebody's code has closed what it does not know
        while (left := end - time.monotonic()) > 0:
            reader.settimeout(None if left == math.inf else left)
            signals = reader.recv(64)
            if signal.SIGINT in signals:
                return True
            if not signals:
                break
    return False


@contextmanager
def last_words(words: Callable[[], str]) -> Iterator[None]:
    """While this lasts, an interrupt ends with these words on stderr; they have to be safe to ask for in any thread."""
    before, _parting.words = _parting.words, words
    yield
    # After an error nothing is put back: what was to be said is still to be said.
    _parting.words = before


@contextmanager
def stdout_at(descriptor: int) -> Iterator[None]:
    """While this lasts, stdout is to be found at another descriptor than 1."""
    before, _parting.stdout = _parting.stdout, descriptor
    try:
        yield
    finally:
        _parting.stdout = before


def first_document() -> bool:
    """Whether a document may be written: one is, by whoever asks first."""
    return _parting.document.acquire(blocking=False)


def document_written() -> None:
    """The document is out, as far as its writer can tell."""
    _parting.written.set()


def farewell() -> NoReturn:
    """Say what is kept, and end the process. Whoever comes second leaves it a moment to do so."""
    if not _parting.taken.acquire(blocking=False):
        time.sleep(LAST)
        os._exit(INTERRUPTED)
    # No stream of Python is used: the thread that was interrupted may hold its lock.
    with suppress(Exception):
        quiet = {"--quiet", "-q"} & {*sys.argv}
        words = "" if quiet else " ".join(["Interrupted.", *filter(None, [_parting.words()])]) + "\n"
        # A progress bar hides the cursor of a terminal.
        _write(2, "\x1b[?25h\n" + words if os.isatty(2) else words)
    with suppress(Exception):
        if "--json" in sys.argv and first_document():
            error = {"type": "Interrupted", "found": " ".join(sys.argv[1:])}
            _write(_parting.stdout, json.dumps({"error": error}, indent=1) + "\n")
        elif _parting.document.locked():
            _parting.written.wait(LAST)  # on a busy machine its writer may have had no turn yet
    os._exit(INTERRUPTED)


def leave(code: int) -> NoReturn:
    """End the process with this code, or as an interrupted one if a signal came in the last moment.

    What Python does at its end takes time, in which signals are lost: only the functions that somebody registered for
    it are called, and not even those after an interrupt. Threads of somebody's code are not waited for.
    """
    written = _flushed()
    if not interrupts.noted():
        with suppress(BaseException):
            atexit._run_exitfuncs()
        code = code if _flushed() and written else code or 3
    if interrupts.noted():
        farewell()
    os._exit(code)


def _flushed() -> bool:
    """Whether all that was printed is written, or nobody wants it any more."""
    written = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:  # whoever listened has gone
            pass
        except (OSError, ValueError) as error:
            written = False
            with suppress(OSError):
                os.write(2, f"The output could not be written: {error}\n".encode())
    return written


def _write(descriptor: int, text: str) -> None:
    """Write a few lines if that can be done without waiting for a reader."""
    with suppress(OSError, ValueError):  # Windows can only wait for sockets
        if not select.select([], [descriptor], [], LAST / 2)[1]:
            return
    os.write(descriptor, text.encode(errors="backslashreplace"))
