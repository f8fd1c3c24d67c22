"""Threads that work through a list, with results in its order and only a few calls in flight."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from pacopt.support.interrupts import heed

Key = TypeVar("Key")
Result = TypeVar("Result")

#: Seconds between checks for an interrupt while waiting for a result.
SLICE = 0.05


def ordered_results(
    solve: Callable[[Key, int], Result], keys: Sequence[Key], *, workers: int
) -> Generator[Result, None, None]:
    """The results of solve(key, position) for all keys, in order.

    At most twice as many calls as there are workers are submitted ahead of the one being waited for: memory stays
    bounded, and a caller that stops early (an error, Ctrl-C, a closed generator) continues at once; calls in flight
    finish by themselves.
    """
    rest = iter(enumerate(keys))
    pool = ThreadPoolExecutor(workers, thread_name_prefix="pacopt")
    pending: deque[Future[Result]] = deque()
    try:
        while True:
            for position, key in islice(rest, 2 * workers - len(pending)):
                pending.append(pool.submit(solve, key, position))
            if not pending:
                return
            yield _awaited(pending.popleft())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _awaited(future: Future[Result]) -> Result:
    """The result, however long it takes; an interrupt that got lost is noticed."""
    while True:
        heed()
        try:
            return future.result(timeout=SLICE)
        except TimeoutError:
            if future.done():  # between the two, or it is an error of its own
                return future.result()
