"""What runs inside of a worker process: one call after the other, whatever they do. Nothing heavy is imported here."""

import errno
import os
import pickle
import select
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from pacopt.errors import PacoptError, ResourceError
from pacopt.support.own_code import differing

#: A failure that begins so is one of the worker, and not of a run.
UNPACKED, UNSENT = "could not be loaded", "returned something that cannot be sent back"
EDITED = "needs another file of the module "
#: One thread for linear algebra: there is a worker for each core, and measured seconds are those of one core.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
#: So many seconds after the time limit a worker ends by itself, if nobody is left to end it.
GRACE = 10.0
GIBIBYTE = 2**30
#: What the system says where a disk, or one's share of it, is full.
FULL = {errno.ENOSPC, errno.EDQUOT}
#: The functions that this process has unpacked, by the bytes that they came in; or why they could not be.
_KNOWN: dict[bytes, Callable[..., Any] | str] = {}
#: A value, the seconds that it took, and in which way the call failed, if it did.
Ended = tuple[Any, float, str]


def attempt(function: Callable[..., Any], hyper: Any, instance: Any) -> Ended:
    """One call, from the working directory that it finds and leaves behind; what it raises is a failure of this run."""
    place, begun = _here(), time.perf_counter()
    try:
        value = function(hyper, instance)
    except PacoptError:
        raise  # not a run failed: something was asked for that cannot be
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # of Rust, of asyncio, of sys.exit
        refuse_full(error)
        return None, time.perf_counter() - begun, _message(error)
    finally:
        seconds = time.perf_counter() - begun
        if place is not None and _here() != place:
            os.chdir(place)
    return value, seconds, ""


def refuse_full(error: BaseException | None) -> None:
    """Raise what says that the disk is full, if an error, or what it came from, is that: no run is at fault then."""
    cause = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in FULL:
            raise ResourceError(
                f"The disk is full on {os.uname().nodename}: {cause}.",
                "Runs that write files need room for them.",
                "A run that fails because the disk is full says nothing about its solver.",
                "Make room and start again; with a checkpoint, what is finished is kept.",
            ) from error
        cause = cause.__cause__ or cause.__context__


def _message(error: BaseException) -> str:
    """The kind of an error, and what it says, if it can."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _here() -> str | None:
    """The working directory, if it still exists."""
    try:
        return os.getcwd()
    except OSError:
        return None


def called(blob: bytes, hyper: Any, instance: Any) -> Ended:
    """What a function returned, without its point."""
    function = unpacked(blob)
    if isinstance(function, str):
        return None, 0.0, function
    for each in instance.values():
        if hasattr(each, "setflags"):
            each.setflags(write=False)  # as they are where calls are made one after the other
    try:
        value, seconds, failure = attempt(function, hyper, instance)
    except PacoptError as error:
        return error, 0.0, ""
    if isinstance(value, dict):
        value = {name: each for name, each in value.items() if name not in ("x", "start")}
    elif hasattr(value, "__dataclass_fields__") and hasattr(value, "x"):
        value = replace(value, x=None, start=None) if hasattr(value, "start") else replace(value, x=None)
    return value, seconds, failure


def unpacked(blob: bytes) -> Callable[..., Any] | str:
    """The function, or why it cannot be loaded."""
    if blob not in _KNOWN:
        import cloudpickle  # type: ignore[import-untyped]

        _KNOWN.clear()
        try:
            _KNOWN[blob] = cloudpickle.loads(blob)
        except Exception as error:
            _KNOWN[blob] = f"{UNPACKED}: {type(error).__name__}: {error}"
    return _KNOWN[blob]


def serve(handle: int) -> None:
    """Answer calls that come through a connection until its other end is closed."""
    link = Connection(handle)
    blob, own, limit, memory = link.recv()
    if memory is not None:
        import resource

        most = int(memory * GIBIBYTE)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    threading.Thread(target=_follow, args=(handle,), daemon=True).start()
    edited = differing(own)
    if edited:
        _KNOWN[blob] = f"{EDITED}{edited[0]!r}"
    unpacked(blob)  # which is not counted as time of a call
    link.send_bytes(b"")
    mine, instance = os.getpid(), b""
    while True:
        try:
            hyper, fresh = pickle.loads(link.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)
        instance = instance if fresh is None else fresh
        if limit is not None:
            signal.setitimer(signal.ITIMER_REAL, limit + GRACE)
        answer = _answer(blob, hyper, instance)
        if os.getpid() != mine:
            os._exit(0)  # the function forked, and this is the child
        signal.setitimer(signal.ITIMER_REAL, 0)
        link.send_bytes(answer)


def _answer(blob: bytes, hyper: Any, packed: bytes) -> bytes:
    try:
        instance = pickle.loads(packed)
    except Exception as error:
        return pickle.dumps((None, 0.0, f"{UNPACKED}: {type(error).__name__}: {error}"))
    ended = called(blob, hyper, instance)
    try:
        return pickle.dumps(ended)
    except Exception as error:
        return pickle.dumps((None, 0.0, f"{UNSENT}: {type(error).__name__}: {error}"))


def _follow(handle: int) -> None:
    """End with all that was started here when the other end of the connection is gone."""
    watch = select.poll()
    watch.register(handle, 0)
    watch.poll()
    os.killpg(os.getpgrp(), signal.SIGKILL)
