"""Calls side by side in processes that may hang, crash or be killed: what they return comes back in order."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures import TimeoutError as LateError
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from pacopt.errors import EngineError
from pacopt.support.interrupts import heed
from pacopt.support.worker import UNPACKED, called, unpack

#: So many calls are under way for each worker: enough to keep it busy, and few to be held in memory.
AHEAD = 16
#: How often a wait is interrupted to look for Ctrl-C, and how long a broken pool may take to end, in seconds.
PATIENCE, FAREWELL = 0.2, 10.0
#: A call whose process dies is made again alone, so many times.
AGAIN = 2
#: So many pools may break one after the other before nothing is to be hoped for.
BROKEN = 20
DIED, LATE = "the process died", "time limit"
#: Hyperparameters and an instance.
Call = tuple[Any, Any]


class Answer(NamedTuple):
    """What a call came to: the value that was returned, its seconds, and in which way it failed, if it did."""

    value: Any
    seconds: float
    failure: str


class BrokenPoolError(Exception):
    """Not a call failed, but those who make them."""


class Helpers(Protocol):
    """Who makes calls."""

    def submit(self, call: Call) -> "Future[Any]":
        """Take a call; `BrokenPoolError` if nobody can."""
        ...

    def renew(self) -> None:
        """Begin anew after it broke; calls that were under way are lost."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


def answers(
    function: Callable[..., Any],
    calls: Iterable[Call],
    *,
    workers: int,
    limit: float | None,
    executor: Executor | None = None,
) -> Iterator[Answer]:
    """An answer for each call, in order; calls are taken as they are needed, and not all at once."""
    blob = _packed(function)
    helpers: Helpers = Processes(blob, workers, limit) if executor is None else Given(blob, executor)
    waiting: deque[tuple[Future[Any], Call]] = deque()
    try:
        for call in calls:
            waiting.append((_submitted(helpers, call), call))
            if len(waiting) >= AHEAD * workers:
                yield _next(helpers, waiting, blob, limit)
        while waiting:
            yield _next(helpers, waiting, blob, limit)
    finally:
        helpers.close()


def _next(helpers: Helpers, waiting: "deque[tuple[Future[Any], Call]]", blob: bytes, limit: float | None) -> Answer:
    """The answer to the call that waits longest."""
    for _ in range(BROKEN):
        future, call = waiting[0]
        try:
            answer = _waited(future, limit)
        except BrokenPoolError:
            helpers.renew()
            again = [(future if _answered(future) else _submitted(helpers, call), call) for future, call in waiting]
            waiting.clear()
            waiting.extend(again)
            continue
        waiting.popleft()
        return _alone(call, blob, limit) if answer.failure == DIED else answer
    raise EngineError(
        f"{BROKEN} pools of workers broke, one after the other.",
        "Workers have to live longer than a call.",
        "Something ends them: the memory may be full.",
        "Use fewer workers, or none.",
    )


def _alone(call: Call, blob: bytes, limit: float | None) -> Answer:
    """A call whose process died, made again in a process of its own while it dies again."""
    answer = Answer(None, 0.0, DIED)
    for _ in range(AGAIN):
        helpers = Processes(blob, 1, limit)
        try:
            answer = _waited(_submitted(helpers, call), limit)
        except BrokenPoolError:
            continue
        finally:
            helpers.close()
        if answer.failure != DIED:
            break
    return answer


def _answered(future: "Future[Any]") -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _submitted(helpers: Helpers, call: Call) -> "Future[Any]":
    for _ in range(BROKEN):
        with suppress(BrokenPoolError):
            return helpers.submit(call)
        helpers.renew()
    raise EngineError("No worker takes calls.", "Workers have to start.", "", "Use fewer of them, or none.")


def _waited(future: "Future[Any]", limit: float | None) -> Answer:
    """The answer of a future, looking for Ctrl-C now and then; workers that let a limit pass are broken."""
    from pebble import ProcessExpired

    begun = time.monotonic()
    while True:
        heed()
        if limit is not None and time.monotonic() - begun > limit + FAREWELL and not future.done():
            raise BrokenPoolError
        try:
            answer = Answer(*future.result(timeout=PATIENCE))
        except LateError:
            if future.done():  # not the wait was too long, but the call
                return Answer(None, 0.0, LATE)
            continue
        except (BrokenProcessPool, CancelledError) as error:
            raise BrokenPoolError from error
        except (ProcessExpired, BrokenPipeError):
            return Answer(None, 0.0, DIED)
        except RuntimeError as error:
            raise BrokenPoolError from error
        except Exception as error:
            raise EngineError(
                f"A call could not be made in a worker: {type(error).__name__}: {error}.",
                "What is sent to a worker and what comes back can be pickled, and modules can be imported there.",
                "",
                "Return numbers in a pacopt.Result, and import what the function needs inside of it.",
            ) from error
        if answer.failure.startswith(UNPACKED):
            raise EngineError(
                f"In a worker the function {answer.failure}.",
                "It is loaded there with all that it refers to.",
                "",
                "Put what it needs into modules that can be imported from anywhere, or import it inside.",
            )
        return answer


class Processes:
    """Processes on this machine, each of which makes one call at a time."""

    def __init__(self, blob: bytes, workers: int, limit: float | None) -> None:
        self.blob, self.workers, self.limit = blob, workers, limit
        self.pool: Any = self._started()

    def _started(self) -> Any:
        try:
            from loky.backend import get_context  # type: ignore[import-untyped]
            from pebble import ProcessPool
        except ImportError as error:
            raise _lacking(f"{error.name}") from error
        # A process of loky's starts afresh: it neither forks what JAX has begun nor runs the user's script again.
        settings = {"initializer": unpack, "initargs": (self.blob,), "context": get_context("loky")}
        return ProcessPool(max_workers=self.workers, **settings)

    def submit(self, call: Call) -> "Future[Any]":
        """Take a call."""
        try:
            future: Future[Any] = self.pool.schedule(called, args=(self.blob, *call), timeout=self.limit)
        except RuntimeError as error:
            raise BrokenPoolError from error
        return future

    def renew(self) -> None:
        """New processes."""
        self.close()
        self.pool = self._started()

    def close(self) -> None:
        """End them, whatever they do."""
        with suppress(Exception):  # one that broke may not even end in order
            self.pool.stop()
            self.pool.join(timeout=FAREWELL)


class Given:
    """An executor of the user's."""

    def __init__(self, blob: bytes, executor: Executor) -> None:
        self.blob, self.executor = blob, executor

    def submit(self, call: Call) -> "Future[Any]":
        """Hand a call on."""
        try:
            return self.executor.submit(called, self.blob, *call)
        except RuntimeError as error:
            raise EngineError(
                f"The executor takes no calls: {error}.", "It is open.", "", "Make the table before it is shut down."
            ) from error

    def renew(self) -> None:
        """Nobody here can."""
        raise EngineError(
            "The executor broke.",
            "It makes calls, and survives those that crash.",
            "",
            "Use workers=2 in its place: they are started again.",
        )

    def close(self) -> None:
        """It stays open: it is the user's."""


def _packed(function: Callable[..., Any]) -> bytes:
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError as error:
        raise _lacking("cloudpickle") from error
    try:
        packed: bytes = cloudpickle.dumps(function)
    except Exception as error:
        raise EngineError(
            f"The function cannot be sent to a worker: {type(error).__name__}: {error}.",
            "It is pickled, with everything that it refers to.",
            "Open files, locks and compiled models cannot be.",
            "Make them inside of the function, or put it into a module that workers can import.",
        ) from error
    return packed


def _lacking(package: str) -> EngineError:
    return EngineError(
        f"Workers need the package {package}, which is not here.",
        "It is in the extra [workers].",
        "",
        'pip install "pacopt[workers]"',
    )
