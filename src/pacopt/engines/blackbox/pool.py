"""Processes that may hang, crash or be killed at any time: each has a connection of its own, and nothing is shared.

A pool in which workers take calls from one queue cannot outlive a worker that dies with the lock of that queue in hand.
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

#: So many calls for each worker may be finished before the first of them: one that hangs must not stop the others.
AHEAD = 256
#: A worker is sent its next call while it is busy, if that is small enough for the connection to hold, in bytes.
DEPTH, SMALL = 2, 32_000
#: How often a wait is interrupted to look around; how long a worker may take to start, and to end; in seconds.
PATIENCE, START, FAREWELL = 0.2, 120.0, 10.0
#: Between two looks around there are never so many seconds, unless this process was paused.
ASLEEP = 5.0
#: A call whose process dies so often has failed; after the first time it is made while nothing else runs.
DEATHS = 3
#: So many workers in a row may be killed before they are ready, for each that there should be.
KILLED = 20


class Answer(NamedTuple):
    """What a call came to: the value that was returned, its seconds, and in which way it failed, if it did."""

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
    """A process, and the calls that it was sent: it works on the first of them since `since`."""

    def __init__(self, settings: tuple[Any, ...], scratch: str) -> None:
        self.tasks: deque[Task] = deque()
        self.ready, self.since = False, time.monotonic()
        self.known: Mapping[str, Any] | None = None  # the last instance that it was sent
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
        """Kill it with all that it started, and tell what it died of."""
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
        #: Calls that nobody was sent yet; and those whose process died, to be made while nothing else runs.
        self.waiting: deque[Task] = deque()
        self.alone: deque[Task] = deque()
        self.packed: tuple[Any, bytes] = (None, b"")
        self.stillborn, self.looked, self.awake = 0, 0.0, time.monotonic()
        self.workers: list[Worker] = []
        #: What a worker that is killed leaves there is removed with it.
        self.scratch = TemporaryDirectory(prefix="pacopt-", ignore_cleanup_errors=True)
        try:
            self.workers += [Worker(self.settings, self.scratch.name) for _ in range(workers)]
        except BaseException:
            self.close()
            raise

    def answers(self, calls: Iterable[tuple[Any, Mapping[str, Any]]]) -> Iterator[Answer]:
        """An answer for each call, in order; calls are taken as they are needed, and not all at once."""
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
        """End all processes, whatever they do."""
        for worker in self.workers:
            worker.end()
        self.scratch.cleanup()

    def _feed(self) -> None:
        """Send calls to those who are ready: one to each, then a second one to have at hand."""
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
        """Send a call, with its instance if that is another one than the last; a large one waits for an idle worker."""
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
        """Wait for answers, and look for those who died or take too long."""
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
        # Whose process ended has closed its connection, unless a child of its holds it open: who asks for that now and
        # then asks often enough.
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
        """The time. Who slept counts that against no worker, which may have slept as well: machines are paused."""
        now = time.monotonic()
        if now - self.awake > ASLEEP:
            for worker in self.workers:
                worker.since += now - self.awake
        self.awake = now
        return now

    def _hear(self, worker: Worker) -> None:
        """Take what a worker sent; if its end is closed, so is ours."""
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
        """A worker died: the call that it was at is made again while nothing else runs, or has failed."""
        if not worker.link.closed:
            self._hear(worker)  # what it said before
        cause = worker.end()
        if not worker.ready:
            self.stillborn += 1
            # Who is killed did not fail by itself: somebody may go on killing, and stop.
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
        """Another one in its place; the calls that it had not begun wait again."""
        self.waiting.extendleft(reversed(worker.tasks))
        self.workers[self.workers.index(worker)] = Worker(self.settings, self.scratch.name)

    def _unborn(self, what: str) -> ResourceError:
        return ResourceError(
            f"No worker starts. {what}",
            "A worker loads the function and waits for calls.",
            "The memory may be full, or something that the function imports ends the process.",
            "Use fewer workers or more memory; leave both out to see what happens.",
        )


def _understood(message: bytes) -> Answer:
    """What a worker said; errors that are not those of a run are raised."""
    try:
        answer = Answer(*pickle.loads(message))
    except Exception as error:
        answer = Answer(None, 0.0, f"{UNSENT}: {type(error).__name__}: {error}")
    return understood(answer)


def understood(answer: Answer) -> Answer:
    """An answer that tells of a run; what tells of the worker, or of a mistake, is raised."""
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
