"""Tiles are dealt to the workers of a cluster, a few at a time, and dealt again if they do not come back."""

import sys
import time
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import count
from queue import Empty, SimpleQueue
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

from pacopt.engines.cluster.versions import Names, names_of, versions
from pacopt.engines.cluster.worker import Differs, Kept, Keys, Lacking, Made, Unable, keep, make, this_process
from pacopt.engines.packing import Packed
from pacopt.engines.work import Tile
from pacopt.errors import EngineError, PacoptError
from pacopt.instances import Instances
from pacopt.support.interrupts import heed
from pacopt.support.machine import processor

if TYPE_CHECKING:
    from pacopt.engines.cluster.cluster import Cluster

#: Seconds between two looks for Ctrl-C, and between two looks at who works here.
SLICE, LOOK = 0.05, 1.0
#: So many tasks are under way for each thread of a worker.
AHEAD = 2
#: A task takes about so many seconds, and more where there are many threads: a client ends some hundred a second.
LEAST, FOR_EACH_THREAD = 0.5, 0.01
#: At most so many tiles in a task.
MOST = 256
#: So many seconds are all workers given to say what they have, before the first tile of a job is dealt.
GREETING = 60.0
#: After so many seconds without any worker that is said; Dask waits for ever.
ALONE = 10.0
#: Dask gives a task up after four workers have died of it; it is dealt again so many times.
DEATHS = 5


class Shipment(NamedTuple):
    """What a worker needs for a table."""

    keys: Keys
    parcel: Packed
    instances: Instances


class Task(NamedTuple):
    """What was asked of a worker: to make tiles, or to keep what they are made of."""

    future: Any
    firsts: Sequence[int]
    address: str = ""


class Dealer:
    """Deals the tiles of one table."""

    def __init__(self, cluster: "Cluster", shipment: Shipment, firsts: Sequence[int]) -> None:
        self.cluster, self.client, self.shipment = cluster, cluster.client, shipment
        self.waiting, self.under = deque(firsts), dict[str, Task]()
        self.ended: SimpleQueue[str] = SimpleQueue()
        self.names: Names = names_of(shipment.parcel)
        self.wanted = versions(self.names)
        self.threads: dict[str, int] = {}
        #: Workers that have all that they need, and that are on their way to it.
        self.ready, self.asked = set[str](), set[str]()
        self.deaths: Counter[int] = Counter()
        self.seconds, self.looked, self.seen, self.start = 0.0, 0.0, time.monotonic(), time.monotonic()
        self.numbers, self.name = count(), token_hex(4)

    def tiles(self) -> Iterator[Tile]:
        """The tiles, as they come. Ctrl-C keeps those that have ended, and takes back those that wait."""
        try:
            while self.waiting or any(task.firsts for task in self.under.values()):
                heed()
                self._look()
                self._deal()
                yield from self._taken(self._ended(SLICE))
        except KeyboardInterrupt:
            if self.client.status == "running":
                yield from self._taken(self._ended(0.0))
            raise
        finally:
            self._withdraw()

    def _look(self) -> None:
        """Who works here? Those who came are sent what they need."""
        if self.client.status in ("closing", "closed"):
            raise EngineError(
                "The scheduler of the cluster is gone.",
                f"{len(self.waiting) + sum(len(task.firsts) for task in self.under.values())} tiles of this table are "
                "not finished.",
                "",
                "Start again, on another cluster or on one machine; with a checkpoint, what is finished is kept.",
            )
        now = time.monotonic()
        if self.client.status != "running" or now < self.looked + LOOK:
            return
        self.looked = now
        try:
            self.threads = self.client.nthreads()
        except (OSError, CancelledError):  # the connection is lost; Dask tries to find it again
            return
        if self.threads:
            self.seen = now
        elif now > self.seen + ALONE:
            self.seen = float("inf")
            warnings.warn(f"No worker is connected to {self.client.scheduler.address}: waiting for one.", stacklevel=2)
        self.ready &= self.threads.keys()
        for address in self.threads.keys() - self.ready - self.asked - self.cluster.shunned:
            self._send(address)

    def _send(self, address: str, *, whole: bool = False) -> None:
        """Send a worker what it needs, the instances only if it does not have them."""
        keys, parcel, instances = self.shipment
        part = None
        try:
            if whole or keys.part not in self.cluster.holders.get(address, ()):
                part = self.cluster.held(keys.part, instances)
            parcels = self.cluster.held(keys.table, parcel)
        except (OSError, CancelledError):
            return  # nobody is there to take it; there will be another look
        self.asked.add(address)
        self._submit([], address, keep, keys, self.names, sys.path, self.wanted, this_process(), parcels, part)

    def _deal(self) -> None:
        """Deal tiles, so that each thread has one at hand while it makes another."""
        hasty = not self.cluster.begun and self.asked and time.monotonic() < self.start + GREETING
        if hasty or not self.ready or self.client.status != "running":
            return
        self.cluster.begun = True
        threads = sum(self.threads.get(address, 1) for address in self.ready)
        tasks = sum(bool(task.firsts) for task in self.under.values())
        goal = max(LEAST, FOR_EACH_THREAD * threads)
        size = min(MOST, int(goal / self.seconds), len(self.waiting) // (AHEAD * threads)) if self.seconds else 1
        for _ in range(AHEAD * threads - tasks):
            firsts = [self.waiting.popleft() for _ in range(min(max(1, size), len(self.waiting)))]
            if not firsts:
                return
            self._submit(firsts, "", make, self.shipment.keys, firsts)

    def _submit(self, firsts: Sequence[int], address: str, function: Any, *values: Any) -> None:
        key = f"pacopt-{function.__name__}-{self.name}-{next(self.numbers)}"
        only = [address] if address else sorted(self.ready) if self.cluster.shunned else None
        future = self.client.submit(function, *values, key=key, pure=False, workers=only, allow_other_workers=False)
        self.under[key] = Task(future, firsts, address)
        future.add_done_callback(lambda done: self.ended.put(done.key))

    def _ended(self, patience: float) -> list[Task]:
        """Tasks that have ended: those that wait to be taken, or else the next one."""
        keys: list[str] = []
        try:
            keys.append(self.ended.get(timeout=patience) if patience else self.ended.get_nowait())
            while True:
                keys.append(self.ended.get_nowait())
        except Empty:
            return [self.under.pop(key) for key in keys if key in self.under]

    def _taken(self, tasks: list[Task]) -> Iterator[Tile]:
        """What they came to, fetched at once."""
        good = {task.future.key: task.future for task in tasks if task.future.status == "finished"}
        try:
            found = self.client.gather(good, errors="skip") if good else {}
        except (OSError, CancelledError, KeyError):
            found = {}
        for task in tasks:
            result = found.get(task.future.key)
            if isinstance(result, Made):
                self.seconds = result.seconds / len(result.tiles)
                yield from result.tiles
            else:
                self._mend(task, result)
            task.future.release()

    def _mend(self, task: Task, result: Any) -> None:
        """Whatever was not made is dealt again; whoever cannot make it is left out."""
        self.waiting.extendleft(reversed(task.firsts))
        self.asked.discard(task.address)
        if not self.asked:
            self.cluster.sent.clear()  # all have it
        if isinstance(result, Kept):
            self.ready.add(result.address)
            self.cluster.holders.setdefault(result.address, set()).add(self.shipment.keys.part)
            if result.processor != processor() and "jax" in self.names.packages:
                self._other(result.address)
        elif isinstance(result, Lacking):
            self.ready.discard(result.address)
            self.cluster.holders.pop(result.address, None)
            if result.address in self.threads and result.address not in self.asked:
                self._send(result.address, whole=True)
        elif isinstance(result, Differs):
            self._shun(result.address, self._differs(result), refused=not self.cluster.begun)
        elif isinstance(result, Unable):
            self._shun(result.address, result.error, refused=False)
        elif task.future.status == "error":
            self._failed(task, task.future.exception())

    def _failed(self, task: Task, error: Any) -> None:
        if type(error).__name__ == "KilledWorker":
            self.deaths.update(task.firsts)
            for first in task.firsts:
                if self.deaths[first] >= DEATHS:
                    raise EngineError(
                        f"Workers die when they make the tile that starts at instance {first}: {error}.",
                        "A worker survives what it runs.",
                        "The memory of a worker may be full, or code that JAX calls ends its process.",
                        "Give workers more memory, or fewer threads; try that tile on one machine.",
                    ) from error
        elif task.address:
            self._shun(task.address, _told(task.address, error), refused=not self.cluster.begun)
        else:
            raise _told("", error) from error

    def _shun(self, address: str, error: PacoptError, *, refused: bool) -> None:
        """Leave a worker out, unless nobody would be left."""
        self.cluster.shunned.add(address)
        self.ready.discard(address)
        if refused or not self.threads.keys() - self.cluster.shunned:
            raise error
        warnings.warn(f"The worker {address} is left out: {error}", stacklevel=2)

    def _other(self, address: str) -> None:
        if not self.cluster.mixed:
            self.cluster.mixed = True
            warnings.warn(
                f"The worker {address} has another processor than the client: JAX may round differently there, and "
                "some losses may differ in their last digits from those of one machine.",
                stacklevel=2,
            )

    def _differs(self, worker: Differs) -> PacoptError:
        ours = self.wanted
        lines = [f"{name} is {worker.found.get(name)}, and here {ours[name]}" for name in ours]
        differ = [line for line, name in zip(lines, ours, strict=True) if worker.found.get(name) != ours[name]]
        return EngineError(
            f"On the worker {worker.address} {'; '.join(differ)}.",
            "Workers run the same code as the client.",
            "Losses of different code must not be mixed.",
            "Install the same versions there; put a module of your own where it is found on every machine, or send it: "
            "client.upload_file(...).",
        )

    def _withdraw(self) -> None:
        """Take back what waits. What runs on a worker ends by itself, and nobody asks for it."""
        if self.under and self.client.status == "running":
            self.client.cancel([task.future for task in self.under.values()], reason="the job was stopped")


def _told(address: str, error: Any) -> PacoptError:
    """An error of a worker; what pacopt says is said as it is."""
    where = f"On the worker {address}: " if address else ""
    if isinstance(error, PacoptError):
        return type(error)(where + error.found, error.needed, error.why, error.remedy)
    return EngineError(
        f"{where or 'On a worker: '}{type(error).__name__}: {error}.",
        "Workers have pacopt, all packages and modules that the job uses, and room for its instances.",
        "",
        'Install there what is here: pip install "pacopt[dask]", and your own modules.',
    )
