"""A Dask cluster as a place where tiles are made; they go into the store as they arrive, if there is one."""

import hashlib
import os
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from secrets import token_hex
from threading import Thread
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pacopt.engines.cluster.dealing import Dealer, Shipment
from pacopt.engines.cluster.worker import Keys, forget, hold
from pacopt.engines.packing import packed
from pacopt.engines.store import Checkpoint, checked_checkpoint
from pacopt.engines.work import Layout, Tile, Tiles, Work
from pacopt.errors import EngineError
from pacopt.instances import Instances
from pacopt.support.arrays import digest
from pacopt.support.contents import OBJECT

#: How many seconds workers have to forget a job.
FAREWELL = 5.0


class Cluster:
    """Makes tables on the workers of a Dask client.

    Each worker is sent the instances once, however many tables are made from them; later tables are small messages.
    """

    def __init__(self, client: Any, kept: Checkpoint | None = None) -> None:
        self.client, self.kept = client, kept
        #: What was sent to the cluster, for workers to fetch from each other; which worker has which instances; and
        #: which worker got the same losses with which code.
        self.sent: dict[str, Any] = {}
        self.holders: dict[str, set[str]] = {}
        self.proved: set[tuple[str, str]] = set()
        #: Workers that are left out; whether any tile was dealt; and all keys that workers may know.
        self.shunned: set[str] = set()
        self.begun, self.keys = False, set[str]()
        self.parts: WeakKeyDictionary[Instances, str] = WeakKeyDictionary()

    def begin(self, belongs: Mapping[str, str]) -> None:
        """As the store says."""
        if self.kept is not None:
            self.kept.begin(belongs)

    def tiles(self, work: Work) -> Generator[Tile, None, None]:
        """The tiles of a table, as they arrive."""
        if not work.repeatable:
            raise EngineError(
                "Seconds are to be measured by the workers of a cluster.",
                "Seconds are measured on one machine, with a core for each worker.",
                "There is no telling on which machine, or alongside what, the solver will be used.",
                "Count iterations, or leave the executor out.",
            )
        spread = Spread(work, self)
        return spread.tiles() if self.kept is None else self.kept.tiles(spread)

    def held(self, key: str, content: bytes, address: str) -> Any:
        """A future of what is sent to the cluster, to a worker that answered a moment ago.

        It is a task like any other, so Dask recreates it if it is lost.
        """
        if key not in self.sent or self.sent[key].status not in ("finished", "pending"):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                options = {"key": f"pacopt-hold-{token_hex(8)}", "pure": False, "allow_other_workers": True}
                self.sent[key] = self.client.submit(hold, content, workers=[address], **options)
        return self.sent[key]

    def part(self, instances: Instances) -> str:
        """A hash of every bit of the instances; fingerprints leave out what no statement depends on."""
        if instances not in self.parts:
            content = hashlib.blake2b(digest_size=16)
            for name, array in instances.fields.items():
                content.update(f"{name}{array.dtype}{array.shape}".encode())
                content.update(b"" if array.dtype.hasobject else np.ascontiguousarray(array).data)
            self.parts[instances] = digest([content.hexdigest(), instances.fingerprint, instances.kinds])
        return self.parts[instances]

    def close(self) -> None:
        """Leave nothing behind on the workers, without waiting for those that do not answer."""
        self.sent.clear()
        if self.client.status == "running" and self.keys:
            thread = Thread(target=self._forgotten, daemon=True)
            thread.start()
            thread.join(FAREWELL)

    def _forgotten(self) -> None:
        with suppress(Exception):  # a worker that is gone has forgotten too
            self.client.run(forget, sorted(self.keys), on_error="ignore")


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Work whose tiles a cluster makes."""

    work: Work
    cluster: Cluster

    @property
    def instances(self) -> Instances:
        """Those of the work."""
        return self.work.instances

    @property
    def table_key(self) -> str:
        """That of the work: wherever tiles are made, they are the same."""
        return self.work.table_key

    @property
    def layout(self) -> Layout:
        """That of the work."""
        return self.work.layout

    @property
    def repeatable(self) -> bool:
        """As the work is."""
        return self.work.repeatable

    def begin(self) -> None:
        """As the work does."""
        self.work.begin()

    def sent(self) -> Work:
        """The work without a cluster."""
        return self.work.sent()

    def tiles(self, firsts: Sequence[int] | None = None) -> Generator[Tile, None, None]:
        """The tiles that start at these runs, as they arrive."""
        self.begin()
        instances = self.work.instances
        objects = instances.fields.get(OBJECT) if instances.content is not None else None
        kinds = {type(each) for each in objects} if objects is not None else set()
        light: Any = replace(self.work.sent(), instances=instances[:0])  # type: ignore[type-var]
        parcel = packed((light, kinds), "The job")
        part = self.cluster.part(instances)
        content = hashlib.blake2b(parcel.content, digest_size=16).hexdigest()
        keys = Keys(digest([content, parcel.own, part]), part)
        self.cluster.keys |= {*keys}
        shipment = Shipment(keys, parcel, self.work)
        yield from Dealer(self.cluster, shipment, [*self.layout] if firsts is None else firsts).tiles()

    def sample(self) -> np.ndarray:
        """As the work does."""
        return self.work.sample()

    @property
    def alone(self) -> bool:
        """As the work is."""
        return self.work.alone


@contextmanager
def supply(checkpoint: str | os.PathLike[str] | None, executor: Any) -> Iterator[Tiles | None]:
    """Where the tiles of a job come from: a checkpoint, a cluster, both, or None."""
    store = checked_checkpoint(checkpoint)
    if executor is None:
        yield store
        return
    cluster = Cluster(checked_client(executor), store)
    try:
        yield cluster
    finally:
        cluster.close()


def checked_client(executor: Any) -> Any:
    """The executor, if it is a connected, synchronous Dask client."""
    try:
        from distributed import Client
    except ImportError as error:
        raise EngineError(
            f"executor is a {type(executor).__name__}, and the package distributed is not installed.",
            "An executor is a client of a Dask cluster.",
            "",
            'pip install "pacopt[dask]"; or leave it out, and use BlackBox(..., workers=2) for your own solver.',
        ) from error
    if not isinstance(executor, Client):
        raise EngineError(
            f"executor is {executor!r}.",
            "It is a client of a Dask cluster.",
            "",
            "Use dask.distributed.Client(...); a concurrent.futures.Executor is for BlackBox(..., executor=...).",
        )
    if executor.asynchronous or executor.status != "running":
        state = "is asynchronous" if executor.asynchronous else f"has the status {executor.status!r}"
        raise EngineError(
            f"The client {state}.",
            "It is connected to its scheduler, and can be waited for.",
            "",
            "Use Client(address), without asynchronous=True, and keep it open.",
        )
    return executor
