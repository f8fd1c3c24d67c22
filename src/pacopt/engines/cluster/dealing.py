"""Deals tiles to the workers of a cluster, a few at a time, and again if they do not come back."""

import sys
import time
import warnings
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from itertools import count
from queue import Empty, SimpleQueue
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pacopt.engines.cluster.telling import comes_to_something_else, deadly, differs, gone, told, too_large
from pacopt.engines.cluster.versions import names_of, versions
from pacopt.engines.cluster.worker import (
    Differs,
    Here,
    Kept,
    Keys,
    Lacking,
    Made,
    Terms,
    Unable,
    greet,
    keep,
    make,
    this_process,
)
from pacopt.engines.packing import Packed, packed
from pacopt.engines.work import Tile, Work
from pacopt.errors import PacoptError, ResourceError
from pacopt.support.arrays import digest
from pacopt.support.interrupts import heed

if TYPE_CHECKING:
    from pacopt.engines.cluster.cluster import Cluster

#: Seconds between checks for Ctrl-C, and between checks of which workers are connected.
SLICE, LOOK = 0.05, 1.0
#: How many tasks are in flight for each thread of a worker.
AHEAD = 2
#: About how many seconds a task takes, and more with many threads: a client completes about a hundred a second.
LEAST, FOR_EACH_THREAD = 2.0, 0.01
#: The most tiles in a task.
MOST = 256
#: How many seconds workers have to report what they hold before the first tile of a job is dealt.
GREETING = 30.0
#: After how many seconds without any worker a warning is given; Dask waits forever.
ALONE = 10.0
#: How many workers may be lost while being sent a job.
LOST = 12
#: Dask gives up on a task after it has killed four workers; this is how often the task is dealt again.
DEATHS = 5


class Shipment(NamedTuple):
    """What a worker needs for a table."""

    keys: Keys
    parcel: Packed
    work: Work

    @property
    def code(self) -> str:
        """A hash of the code, regardless of what it runs on."""
        return digest([self.parcel.own, sorted(self.parcel.modules), type(self.work).__name__])


class Task(NamedTuple):
    """What a worker was asked to do: make tiles, or keep what they are made from."""

    future: Any
    firsts: Sequence[int]
    address: str
    #: The workers that may do it; empty if all may.
    only: frozenset[str]


class Dealer:
    """Deals the tiles of one table."""

    def __init__(self, cluster: "Cluster", shipment: Shipment, firsts: Sequence[int]) -> None:
        self.cluster, self.client, self.shipment = cluster, cluster.client, shipment
        self.waiting, self.under = deque(firsts), dict[str, Task]()
        self.ended: SimpleQueue[str] = SimpleQueue()
        names = names_of(shipment.parcel)
        self.terms = Terms(names, versions(names), sys.path, this_process())
        self.truth: np.ndarray | None = None
        self.content: bytes | None = None
        self.threads: dict[str, int] = {}
        #: Workers that have everything they need, and workers that have been sent it.
        self.ready, self.asked = set[str](), set[str]()
        self.deaths: Counter[int] = Counter()
        self.lost = 0
        self.seconds, self.looked, self.seen, self.start = 0.0, 0.0, time.monotonic(), time.monotonic()
        self.numbers, self.name = count(), token_hex(4)

    def tiles(self) -> Generator[Tile, None, None]:
        """The tiles, as they arrive. Ctrl-C keeps finished tiles and withdraws waiting ones."""
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
        """Check which workers are connected, and send new ones what they need."""
        if self.client.status in ("closing", "closed"):
            raise gone(len(self.waiting) + sum(len(task.firsts) for task in self.under.values()))
        now = time.monotonic()
        if self.client.status != "running" or now < self.looked + LOOK:
            return
        self.looked = now
        try:
            self.threads = self.client.nthreads()
        except (OSError, CancelledError):  # the connection is lost; Dask tries to restore it
            return
        if self.threads:
            self.seen = now
        elif now > self.seen + ALONE:
            self.seen = float("inf")
            warnings.warn(f"No worker is connected to {self.client.scheduler.address}: waiting for one.", stacklevel=2)
        self.ready &= self.threads.keys()
        for key, task in [*self.under.items()]:
            if task.only and not task.only & self.threads.keys():  # no worker is left that may do it
                self._left(self.under.pop(key))
        for address in self.threads.keys() - self.ready - self.asked - self.cluster.shunned:
            self.asked.add(address)
            self._submit([], address, greet)

    def _left(self, task: Task) -> None:
        """Take back a task that no worker will do."""
        self.waiting.extendleft(reversed(task.firsts))
        self.client.cancel([task.future])
        if task.address:
            self.asked.discard(task.address)
            self.lost += 1
            if self.lost >= LOST and not self.ready:
                raise too_large(self.lost, len(self.shipment.parcel.content) + len(self.content or b""))

    def _send(self, address: str, *, whole: bool = False) -> None:
        """Send a worker what it needs, with the instances only if it lacks them."""
        keys, parcel, work = self.shipment
        part = None
        if whole or keys.part not in self.cluster.holders.get(address, ()):
            self.content = self.content or packed(work.instances, "An instance").content
            part = self.cluster.held(keys.part, self.content, address)
        table = self.cluster.held(keys.table, parcel.content, address)
        bare, sampled = replace(parcel, content=b""), (address, self.shipment.code) not in self.cluster.proved
        self.asked.add(address)
        self._submit([], address, keep, keys, self.terms, bare, table, part, sampled)

    def _deal(self) -> None:
        """Deal tiles, so that each thread has one in reserve while it makes another."""
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
        all_ready = self.ready >= self.threads.keys()  # then any worker may do it
        only = {address} if address else set() if all_ready else self.ready
        options = {"workers": sorted(only), "allow_other_workers": False} if only else {}
        future = self.client.submit(function, *values, key=key, pure=False, **options)
        self.under[key] = Task(future, firsts, address, frozenset(only))
        future.add_done_callback(lambda done: self.ended.put(done.key))

    def _ended(self, patience: float) -> list[Task]:
        """Tasks that have ended: those waiting to be collected, or else the next one."""
        keys: list[str] = []
        try:
            keys.append(self.ended.get(timeout=patience) if patience else self.ended.get_nowait())
            while True:
                keys.append(self.ended.get_nowait())
        except Empty:
            return [self.under.pop(key) for key in keys if key in self.under]

    def _taken(self, tasks: list[Task]) -> Iterator[Tile]:
        """The tiles that these tasks made, fetched together."""
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
        """Deal again whatever was not made; leave out a worker that cannot make it."""
        self.waiting.extendleft(reversed(task.firsts))
        self.asked.discard(task.address)
        if not self.asked and not isinstance(result, Here):
            self.cluster.sent.clear()  # every worker has it
            self.content = None
        if isinstance(result, Here):
            self._send(result.address)
        elif isinstance(result, Kept):
            self._kept(result)
        elif isinstance(result, Lacking):
            self.ready.discard(result.address)
            self.cluster.holders.pop(result.address, None)
            if result.address in self.threads and result.address not in self.asked:
                self._send(result.address, whole=True)
        elif isinstance(result, Differs):
            self._shun(result.address, differs(result, self.terms.wanted), refused=not self.cluster.begun)
        elif isinstance(result, Unable):
            self._shun(result.address, result.error, refused=False)
        elif task.future.status == "error":
            self._failed(task, task.future.exception())

    def _kept(self, worker: Kept) -> None:
        """Accept a worker if its losses match the client's."""
        self.cluster.holders.setdefault(worker.address, set()).add(self.shipment.keys.part)
        if worker.sample is not None:
            self.truth = self.shipment.work.sample() if self.truth is None else self.truth
            error = comes_to_something_else(worker, self.truth)
            if error is not None:
                self._shun(worker.address, error, refused=not self.cluster.begun)
                return
            self.cluster.proved.add((worker.address, self.shipment.code))
        self.ready.add(worker.address)

    def _failed(self, task: Task, error: Any) -> None:
        if type(error).__name__ == "KilledWorker":
            self.deaths.update(task.firsts)
            for first in task.firsts:
                if self.deaths[first] >= DEATHS:
                    raise deadly(first, error) from error
        elif task.address and isinstance(error, ResourceError):
            self._shun(task.address, error, refused=False)
        elif task.address:
            self._shun(task.address, told(task.address, error), refused=not self.cluster.begun)
        else:
            raise told("", error) from error

    def _shun(self, address: str, error: PacoptError, *, refused: bool) -> None:
        """Leave a worker out, unless none would remain."""
        self.cluster.shunned.add(address)
        self.ready.discard(address)
        if refused or not self.threads.keys() - self.cluster.shunned:
            raise error
        warnings.warn(f"The worker {address} is left out: {error}", stacklevel=2)

    def _withdraw(self) -> None:
        """Withdraw waiting tasks. What already runs on a worker finishes by itself, and its result is ignored."""
        if self.under and self.client.status == "running":
            self.client.cancel([task.future for task in self.under.values()], reason="the job was stopped")
