"""A Dask cluster as a place where tiles are made; they go into a store as they come, if there is one."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from pacopt.engines.cluster.dealing import Dealer, Shipment
from pacopt.engines.cluster.worker import Keys, forget
from pacopt.engines.packing import packed
from pacopt.engines.store import Checkpoint, checked_checkpoint
from pacopt.engines.work import Layout, Tile, Tiles, Work
from pacopt.errors import EngineError
from pacopt.instances import Instances
from pacopt.support.arrays import digest


class Cluster:
    """Makes tables on the workers of a Dask client.

    Each worker is sent the instances once, however many tables are made of them; a table that follows is small.
    """

    def __init__(self, client: Any, kept: Checkpoint | None = None) -> None:
        self.client, self.kept = client, kept
        #: What was sent to the cluster, for workers to fetch from each other; and who has which instances.
        self.sent: dict[str, Any] = {}
        self.holders: dict[str, set[str]] = {}
        #: Workers that are not asked; whether any tile was dealt, and whether somebody has another processor.
        self.shunned: set[str] = set()
        self.begun = self.mixed = False

    def begin(self, belongs: Mapping[str, str]) -> None:
        """As the store says."""
        if self.kept is not None:
            self.kept.begin(belongs)

    def tiles(self, work: Work) -> Iterator[Tile]:
        """The tiles of a table, as they come."""
        if not work.repeatable:
            raise EngineError(
                "Seconds are to be measured by the workers of a cluster.",
                "They are measured on one machine, with a core for each worker.",
                "Nobody here knows on which machine, and beside what, the solver will be used.",
                "Count iterations, or leave the executor out.",
            )
        spread = Spread(work, self)
        return spread.tiles() if self.kept is None else self.kept.tiles(spread)

    def held(self, key: str, value: Any) -> Any:
        """A future of what is sent to the cluster."""
        if key not in self.sent or self.sent[key].status not in ("finished", "pending"):
            self.sent[key] = self.client.scatter(value, hash=False)
        return self.sent[key]

    def close(self) -> None:
        """Leave nothing behind on the workers."""
        self.sent.clear()
        if self.client.status == "running":
            with suppress(Exception):  # who is gone has forgotten as well
                self.client.run(forget, on_error="ignore")


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Work whose tiles are made by a cluster."""

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

    def tiles(self, firsts: Sequence[int] | None = None) -> Iterator[Tile]:
        """The tiles that start there, as they come."""
        self.begin()
        instances = self.work.instances
        light: Any = replace(self.work.sent(), instances=instances[:0])  # type: ignore[type-var]
        parcel = packed(light, "The job")
        part = digest([instances.fingerprint, instances.kinds])
        content = hashlib.blake2b(parcel.content, digest_size=16).hexdigest()
        keys = Keys(digest([content, parcel.own, part]), part)
        shipment = Shipment(keys, parcel, instances)
        yield from Dealer(self.cluster, shipment, [*self.layout] if firsts is None else firsts).tiles()


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
    """A Dask client that is connected, and can be waited for."""
    try:
        from distributed import Client
    except ImportError as error:
        raise EngineError(
            f"executor is a {type(executor).__name__}, and the package distributed is not here.",
            "An executor is a client of a Dask cluster.",
            "",
            'pip install "pacopt[dask]"; or leave it out, and use BlackBox(..., workers=2) for a solver of your own.',
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
