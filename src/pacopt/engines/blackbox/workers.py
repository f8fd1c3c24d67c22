"""Who makes the calls of a black box: its own processes, or the user's executor. Answers come in order."""

import atexit
import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from concurrent.futures import TimeoutError as LateError
from contextlib import contextmanager
from threading import Lock, Timer
from typing import Any

from pacopt.engines.blackbox.pool import AHEAD, PATIENCE, Answer, Pool, understood
from pacopt.engines.packing import Packed, packed
from pacopt.errors import EngineError, PacoptError
from pacopt.support.interrupts import heed
from pacopt.support.worker import called

#: A function as it is, or packed as it came from elsewhere.
Function = Callable[..., Any] | Packed
#: The packed function, the number of workers, and the limits of time and memory.
Settings = tuple[Packed, int, float | None, float | None]
#: The function itself, these settings, the directory, the module path and the environment.
Made = tuple[Function, Settings, str, tuple[str, ...], dict[str, str]]
#: How many seconds workers wait for the next table.
IDLE = 10.0


def answers(
    function: Function,
    calls: Iterable[tuple[Any, Any]],
    *,
    workers: int,
    limit: float | None = None,
    memory: float | None = None,
    executor: Executor | None = None,
) -> Generator[Answer, None, None]:
    """An answer for each call, in order; calls are consumed as needed, not all at once."""
    parcel = packed(function, "The function")
    if executor is not None:
        yield from _handed_on(parcel.content, calls, executor)
        return
    with borrowed(function, (parcel, workers, limit, memory)) as pool:
        yield from pool.answers(calls)


#: An idle pool, what it was made of and where, and the timer that will close it.
_idle: list[tuple[Made, Pool, Timer]] = []
_lock = Lock()


@contextmanager
def borrowed(function: Function, settings: Settings) -> Iterator[Pool]:
    """A pool for one table. It is kept for a while: a search makes many tables, and workers take time to start.

    A function of a reloaded module is a different one, though it is packed under the same name; so is one called in
    another directory or environment.
    """
    made = (function, settings, os.getcwd(), tuple(sys.path), dict(os.environ))
    pool = _taken(made) or Pool(*settings)
    try:
        yield pool
    except BaseException:
        pool.close()
        raise
    timer = Timer(IDLE, close_idle, [pool])
    timer.daemon = True
    with _lock:
        others = [entry for entry in _idle if not _same(entry[0], made)]
        _idle[:] = [entry for entry in _idle if entry not in others] + [(made, pool, timer)]
    timer.start()
    _closed(others)


def close_idle(only: Pool | None = None) -> None:
    """End the processes that wait for the next table, or one pool of them."""
    with _lock:
        ended = [entry for entry in _idle if only is None or entry[1] is only]
        _idle[:] = [entry for entry in _idle if entry not in ended]
    _closed(ended)


atexit.register(close_idle)


def _taken(made: Made) -> Pool | None:
    with _lock:
        for entry in _idle:
            if _same(entry[0], made):
                _idle.remove(entry)
                entry[2].cancel()
                return entry[1]
    return None


def _same(one: Made, other: Made) -> bool:
    """Whether a pool can be reused; a function that came packed is the same if its bytes are."""
    function = one[0] is other[0] or (isinstance(one[0], Packed) and one[0] == other[0])
    return function and one[1:] == other[1:]


def _closed(others: list[tuple[Made, Pool, Timer]]) -> None:
    for _, pool, timer in others:
        timer.cancel()
        pool.close()


def _handed_on(blob: bytes, calls: Iterable[tuple[Any, Any]], executor: Executor) -> Iterator[Answer]:
    """The answers of an executor, which stays open: it is the user's."""
    waiting: deque[Future[Any]] = deque()
    try:
        for hyper, instance in calls:
            try:
                waiting.append(executor.submit(called, blob, hyper, dict(instance)))
            except RuntimeError as error:
                raise EngineError(
                    f"The executor takes no calls: {error}.",
                    "An open executor is needed.",
                    "",
                    "Make the table before it is shut down.",
                ) from error
            if len(waiting) >= AHEAD:
                yield _waited(waiting.popleft())
        while waiting:
            yield _waited(waiting.popleft())
    finally:
        for future in waiting:
            future.cancel()


def _waited(future: "Future[Any]") -> Answer:
    """The answer of a future, checking for Ctrl-C now and then."""
    while True:
        heed()
        try:
            return understood(Answer(*future.result(timeout=PATIENCE)))
        except PacoptError:
            raise
        except LateError as error:
            if future.done():
                raise _unmade(error) from error
        except (BrokenExecutor, CancelledError) as error:
            raise EngineError(
                f"The executor broke: {type(error).__name__}: {error}.",
                "It makes calls, and survives those that crash.",
                "",
                "Use workers=2 in its place: they are started again.",
            ) from error
        except Exception as error:
            raise _unmade(error) from error


def _unmade(error: Exception) -> EngineError:
    return EngineError(
        f"A call could not be made by the executor: {type(error).__name__}: {error}.",
        "What is sent to a worker and what comes back can be pickled, and modules can be imported there.",
        "",
        "Return numbers in a pacopt.Result, and import what the function needs inside it.",
    )
