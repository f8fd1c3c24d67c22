"""Calls side by side in processes that may hang, crash or be killed: what they return comes back in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures import TimeoutError as LateError
from contextlib import contextmanager
from typing import Any, NamedTuple

from pacopt.errors import EngineError
from pacopt.support.interrupts import heed
from pacopt.support.worker import UNPACKED, called, unpack

#: So many calls are under way for each worker: enough to keep it busy, and few to be held in memory.
AHEAD = 16
#: How often a wait is interrupted to look for Ctrl-C, in seconds.
PATIENCE = 0.2
#: A call whose process dies is made again alone, so many times.
AGAIN = 2
DIED, LATE = "the process died", "time limit"


class Answer(NamedTuple):
    """What a call came to: the value that was returned, its seconds, and in which way it failed, if it did."""

    value: Any
    seconds: float
    failure: str


#: Hands a call to somebody, who answers later.
Submit = Callable[..., "Future[tuple[Any, float, str]]"]


def answers(
    function: Callable[..., Any],
    calls: Iterable[tuple[Any, Any]],
    *,
    workers: int,
    limit: float | None,
    executor: Executor | None = None,
) -> Iterator[Answer]:
    """An answer for each call, in order; calls are taken as they are needed, and not all at once."""
    blob = _packed(function)
    with _submitting(blob, workers, limit, executor) as submit:
        waiting: deque[tuple[Future[Any], tuple[Any, Any]]] = deque()
        todo = iter(calls)
        for call in todo:
            waiting.append((_submitted(submit, blob, call), call))
            if len(waiting) >= AHEAD * workers:
                yield _answer(*waiting.popleft(), blob, limit)
        while waiting:
            yield _answer(*waiting.popleft(), blob, limit)


def _answer(future: "Future[Any]", call: tuple[Any, Any], blob: bytes, limit: float | None) -> Answer:
    """The answer of a future; a call whose process died is made again, in a process of its own."""
    answer = _waited(future)
    for _ in range(AGAIN):
        if answer.failure != DIED:
            break
        with _submitting(blob, 1, limit, None) as submit:
            answer = _waited(_submitted(submit, blob, call))
    return answer


def _waited(future: "Future[Any]") -> Answer:
    from pebble import ProcessExpired

    while True:
        heed()
        try:
            answer = Answer(*future.result(timeout=PATIENCE))
        except LateError:
            if future.done():  # not the wait was too long, but the call
                return Answer(None, 0.0, LATE)
        except (ProcessExpired, BrokenPipeError):
            return Answer(None, 0.0, DIED)
        except CancelledError as error:
            raise EngineError("A call was cancelled.", "The executor has to go on.", "", "Leave it open.") from error
        except Exception as error:
            if "Broken" in type(error).__name__ or "Terminated" in type(error).__name__:
                return Answer(None, 0.0, DIED)
            raise EngineError(
                f"A call could not be made in a worker: {type(error).__name__}: {error}.",
                "What is sent to a worker and what comes back can be pickled, and modules can be imported there.",
                "",
                "Return numbers in a pacopt.Result, and import what the function needs inside of it.",
            ) from error
        else:
            if answer.failure.startswith(UNPACKED):
                raise EngineError(
                    f"In a worker the function {answer.failure}.",
                    "It is loaded there with all that it refers to.",
                    "",
                    "Put what it needs into modules that can be imported from anywhere, or import it inside.",
                )
            return answer


def _submitted(submit: Submit, blob: bytes, call: tuple[Any, Any]) -> "Future[Any]":
    try:
        return submit(called, blob, *call)
    except RuntimeError as error:
        raise EngineError(
            f"The executor takes no calls: {error}.", "It is open.", "", "Make the table before it is shut down."
        ) from error


@contextmanager
def _submitting(blob: bytes, workers: int, limit: float | None, executor: Executor | None) -> Iterator[Submit]:
    """Somebody who takes calls; processes that were started here end here."""
    if executor is not None:
        yield executor.submit
        return
    try:
        from loky.backend import get_context  # type: ignore[import-untyped]
        from pebble import ProcessPool
    except ImportError as error:
        raise EngineError(
            f"Workers need the package {error.name}, which is not here.",
            "It is in the extra [workers].",
            "",
            'pip install "pacopt[workers]"',
        ) from error
    # A process of loky's starts afresh: it neither forks what JAX has begun nor runs the user's script again.
    pool: Any = ProcessPool(max_workers=workers, initializer=unpack, initargs=(blob,), context=get_context("loky"))
    try:
        yield lambda function, *arguments: pool.schedule(function, args=arguments, timeout=limit)
        pool.close()
    finally:
        pool.stop()
        pool.join()


def _packed(function: Callable[..., Any]) -> bytes:
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError as error:
        raise EngineError(
            "Workers need the package cloudpickle, which is not here.",
            "It is in the extra [workers].",
            "",
            'pip install "pacopt[workers]"',
        ) from error
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
