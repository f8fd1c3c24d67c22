"""Processes that may hang, crash or be killed at any time: each has its own connection, and nothing is shared.

A pool in which workers take calls from one queue cannot survive a worker that dies holding the lock of that queue.
"""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Pipe, wait
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pacopt.engines.ended import DIED, LATE
from pacopt.engines.packing import Packed
from pacopt.errors import EngineError, PacoptError, ResourceError
from pacopt.support.interrupts import heed
from pacopt.support.worker import EDITED, ONE_THREAD, UNPACKED, UNSENT

#: How many calls per worker may finish ahead of the oldest one: a call that hangs must not stop the others.
AHEAD = 256
#: A worker is sent its next call while busy, if the call is small enough, in bytes, for the connection to hold.
DEPTH, SMALL = 2, 32_000
#: How often a wait is interrupted to check on workers, and how long one may take to start and to end, in seconds.
PATIENCE, START, FAREWELL = 0.2, 120.0, 10.0
#: Two checks are never this many seconds apart, unless this process was paused.
ASLEEP = 5.0
#: A call has failed once its process has died this often; after the first time it is retried while nothing else runs.
DEATHS = 3
#: How many workers in a row may be killed before they are ready, for each worker wanted.
KILLED = 20


class Answer(NamedTuple):
    """The result of a call: the value returned, the seconds it took, and how it failed, if it did."""

    value: Any
    seconds: float
    failure: str


@dataclass(slots=True, eq=False)
class Task:
    """A call, and what became of it."""

    hyper: Any
    instance: Mapping[str, Any]
    deaths: int = 0
    answer: Answer | None = None


class Worker:
    """A process and the calls it was sent: it has been working on the first of them since `since`."""

    def __init__(self, settings: tuple[Any, ...], scratch: str) -> None:
        self.tasks: deque[Task] = deque()
        self.ready, self.since = False, time.monotonic()
        self.known: Mapping[str, Any] | None = None  # the last instance it was sent
        self.link, theirs = Pipe()
        with theirs:
            code = f"import sys; sys.path[:] = {sys.path!r}; from pacopt.support.worker import serve"
            self.process = subprocess.Popen(
                [sys.executable, "-c", f"{code}; serve({theirs.fileno()})"],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "TMPDIR": scratch},
                start_new_session=True,
            )
        with suppress(OSError):  # it is dead, and will be found so
            self.link.send(settings)

    def end(self) -> str:
        """The cause of its death; kills it with everything it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(FAREWELL)
        self.link.close()
        code = self.process.returncode
        if code is None or code >= 0:
            return "" if code is None else f"exit code {code}"
        known = -code in {*signal.Signals}
        return signal.Signals(-code).name if known else f"signal {-code}"


class Pool:
    """Workers that are replaced when they die, or when a call takes longer than `limit` seconds."""

    def __init__(self, function: Packed, workers: int, limit: float | None, memory: float | None) -> None:
        if not hasattr(os, "killpg"):
            raise EngineError(
                f"Workers are asked for on {sys.platform}.",
                "They need processes of the kind that Linux and macOS have.",
                "",
                "Leave workers and limit out, or give an executor.",
            )
        self.settings, self.limit = (function.content, function.own, limit, memory), limit
        #: Calls not yet sent to anyone, and those whose process died, to be retried while nothing else runs.
        self.waiting: deque[Task] = deque()
        self.alone: deque[Task] = deque()
        self.packed: tuple[Any, bytes] = (None, b"")
        self.stillborn, self.looked, self.awake = 0, 0.0, time.monotonic()
        self.workers: list[Worker] = []
        #: What a killed worker leaves there is removed with it.
        self.scratch = TemporaryDirectory(prefix="pacopt-", ignore_cleanup_errors=True)
        try:
            self.workers += [Worker(self.settings, self.scratch.name) for _ in range(workers)]
        except BaseException:
            self.close()
            raise

    def answers(self, calls: Iterable[tuple[Any, Mapping[str, Any]]]) -> Iterator[Answer]:
        """An answer for each call, in order; calls are consumed as needed, not all at once."""
        source = (Task(*call) for call in calls)
        order: deque[Task] = deque()
        while True:
            while len(order) < AHEAD * len(self.workers) and (task := next(source, None)) is not None:
                order.append(task)
                self.waiting.append(task)
            if not order:
                return
            self._feed()
            self._listen()
            while order and (answer := order[0].answer) is not None:
                order.popleft()
                yield answer

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        for worker in self.workers:
            worker.end()
        self.scratch.cleanup()

    def _feed(self) -> None:
        """Send calls to workers that are ready: one to each, then a second one in reserve."""
        busy = [task for worker in self.workers for task in worker.tasks]
        if any(task.deaths for task in busy):
            return
        ready = [worker for worker in self.workers if worker.ready]
        if self.alone:
            if ready and not busy:
                self._send(ready[0], self.alone.popleft())
            return
        for depth in range(1, DEPTH + 1):
            for worker in ready:
                if self.waiting and len(worker.tasks) < depth:
                    self._send(worker, self.waiting.popleft())

    def _send(self, worker: Worker, task: Task) -> None:
        """Send a call, with its instance unless the worker was just sent it; a large one waits for an idle worker."""
        fresh = None if worker.known is task.instance else self._pack(task.instance)
        message = pickle.dumps((task.hyper, fresh))
        if worker.tasks and len(message) > SMALL:
            self.waiting.appendleft(task)
            return
        if not worker.tasks:
            worker.since = time.monotonic()
        worker.tasks.append(task)
        worker.known = task.instance
        with suppress(OSError):  # it is dead, and will be found so
            worker.link.send_bytes(message)

    def _pack(self, instance: Mapping[str, Any]) -> bytes:
        import cloudpickle  # type: ignore[import-untyped]

        if self.packed[0] is not instance:
            try:
                self.packed = (instance, cloudpickle.dumps(dict(instance)))
            except Exception as error:
                raise EngineError(
                    f"An instance cannot be sent to a worker: {type(error).__name__}: {error}.",
                    "What is sent is pickled.",
                    "",
                    "Keep files by their names and arrays as arrays, or leave workers out.",
                ) from error
        return self.packed[1]

    def _listen(self) -> None:
        """Wait for answers, and look for workers that died or take too long."""
        heed()
        soon = PATIENCE
        if self.limit is not None:
            left = [each.since + self.limit - time.monotonic() for each in self.workers if each.ready and each.tasks]
            soon = max(0.0, min([soon, *left]))
        links = {worker.link: worker for worker in self.workers}
        heard = [links[link] for link in wait(list(links), soon) if link in links]
        for worker in heard:
            self._hear(worker)
        now = self._awake()
        # A process that ended has closed its connection, unless one of its children holds it open: checking for that
        # now and then is enough.
        look = now > self.looked + PATIENCE
        self.looked = now if look else self.looked
        for worker in list(self.workers):
            late = self.limit is not None and worker.tasks and now - worker.since > self.limit
            if worker.link.closed or (look and worker.process.poll() is not None):
                self._bury(worker)
            elif worker.ready and late and not worker.link.poll():
                worker.end()
                worker.tasks.popleft().answer = Answer(None, 0.0, LATE)
                self._renew(worker)
            elif not worker.ready and now - worker.since > START:
                raise self._unborn(f"One did not start within {START:g} seconds.")

    def _awake(self) -> float:
        """The time. A pause of this process does not count against workers, which may have been paused as well."""
        now = time.monotonic()
        if now - self.awake > ASLEEP:
            for worker in self.workers:
                worker.since += now - self.awake
        self.awake = now
        return now

    def _hear(self, worker: Worker) -> None:
        """Read what a worker sent; if its end is closed, close ours."""
        try:
            while worker.link.poll():
                message = worker.link.recv_bytes()
                worker.since = time.monotonic()
                if not worker.ready:
                    worker.ready, self.stillborn = True, 0
                    continue
                worker.tasks.popleft().answer = _understood(message)
        except (EOFError, OSError):
            worker.link.close()

    def _bury(self, worker: Worker) -> None:
        """Handle a dead worker: its current call is retried while nothing else runs, or has failed."""
        if not worker.link.closed:
            self._hear(worker)  # what it said before it died
        cause = worker.end()
        if not worker.ready:
            self.stillborn += 1
            # A killed worker did not fail by itself: whatever kills workers may stop.
            patience = KILLED if cause == "SIGKILL" else DEATHS
            if self.stillborn >= patience * len(self.workers):
                raise self._unborn(f"The last of {self.stillborn} died at once, of {cause}.")
        if worker.tasks:
            task = worker.tasks.popleft()
            task.deaths += 1
            if task.deaths == DEATHS:
                task.answer = Answer(None, 0.0, f"{DIED}: {cause}")
            else:
                self.alone.append(task)
        self._renew(worker)

    def _renew(self, worker: Worker) -> None:
        """Replace a worker; the calls it had not begun go back to waiting."""
        self.waiting.extendleft(reversed(worker.tasks))
        self.workers[self.workers.index(worker)] = Worker(self.settings, self.scratch.name)

    def _unborn(self, what: str) -> ResourceError:
        return ResourceError(
            f"No worker could be started. {what}",
            "A worker must load the function and wait for calls.",
            "Memory may be full, or something that the function imports may end the process.",
            "Use fewer workers or more memory; leave out both settings to see what happens.",
        )


def _understood(message: bytes) -> Answer:
    """A worker's answer; errors that are not those of a run are raised."""
    try:
        answer = Answer(*pickle.loads(message))
    except Exception as error:
        answer = Answer(None, 0.0, f"{UNSENT}: {type(error).__name__}: {error}")
    return understood(answer)


def understood(answer: Answer) -> Answer:
    """The answer, if it is about a run; one about the worker, or a mistake, is raised as an error."""
    if isinstance(answer.value, PacoptError):
        raise answer.value
    if answer.failure.startswith(EDITED):
        raise EngineError(
            f"The file of module {answer.failure.removeprefix(EDITED)} is not what it was when the table was begun.",
            "A table is made by one version of the code.",
            "A worker started since then would run another version.",
            "Restore the file and start again, or delete what is stored and start over.",
        )
    if answer.failure.startswith((UNPACKED, UNSENT)):
        raise EngineError(
            f"In a worker the call {answer.failure}.",
            "The function and the instances are loaded there with all that they refer to, and results are sent back.",
            "",
            "Put what they need into modules that can be imported anywhere, and return numbers in a pacopt.Result.",
        )
    return answer
