"""Ctrl-C that cannot be lost: a mark is left first, and only then is the exception raised.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a callback of the garbage collector (JAX
registers one), in a `__del__` or in a callback from native code, the exception is printed and thrown away, or comes
back as another one, and a program that relies on it runs on. The mark stays until somebody looks at it.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Noticed:
    """What the signal handler leaves behind.

    Plain attributes, no lock or event: a handler runs between any two instructions of the main thread, which may
    hold that lock.
    """

    __slots__ = ("leaving", "signals")

    def __init__(self) -> None:
        self.signals = 0
        #: The handler is being taken away: a signal leaves its mark and raises nothing that would prevent that.
        self.leaving = False


_noticed = _Noticed()


def note(signum: int, frame: FrameType | None) -> None:
    """The handler of `heeded`: leaves the mark, then raises KeyboardInterrupt as Python's own does."""
    mark()
    if not _noticed.leaving:
        raise KeyboardInterrupt


def mark() -> None:
    """Leave the mark."""
    _noticed.signals += 1


def noted() -> int:
    """How many interrupts came since they were last forgotten."""
    return _noticed.signals


def forget() -> None:
    """Remove the mark."""
    _noticed.signals = 0


def heed() -> None:
    """Raise KeyboardInterrupt if one came and was lost. Signals are for the main thread; others go on."""
    if _noticed.signals and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


@contextmanager
def heeded() -> Iterator[None]:
    """Within this, or a function decorated with it, no Ctrl-C is lost: at the latest it is raised at the end.

    A handler of the user's own stays as it is, as does one of an enclosing use, and other threads than the main one
    have none. An error that came after the signal, a KeyboardInterrupt that went through native code say, is its cause.
    """
    own = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not own:
        yield
        heed()
        return
    lost = False
    try:
        forget()
        signal.signal(signal.SIGINT, note)
        yield
    except Exception as error:
        if noted():
            raise KeyboardInterrupt from error
        raise
    finally:
        # No call stands before this assignment, so no signal can come in between.
        _noticed.leaving = True
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        lost = bool(noted())
        forget()
        _noticed.leaving = False
    if lost:
        raise KeyboardInterrupt
