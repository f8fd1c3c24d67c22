"""What runs on a worker of a cluster: it keeps what tables are made from, and makes tiles from it."""

import os
import platform
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pacopt.engines.cluster.versions import Names, versions
from pacopt.engines.packing import Packed
from pacopt.engines.work import Tile, Work
from pacopt.errors import ResourceError
from pacopt.instances import Instances
from pacopt.support.machine import processor
from pacopt.support.worker import refuse_full

#: How many tables a worker keeps, and the instances of how many.
TABLES, PARTS = 16, 16
#: How many seconds a worker that lacks something waits before saying so: it may be on its way, and others have work.
PAUSE = 0.1


class Keys(NamedTuple):
    """The hashes of a table, without its instances, and of these."""

    table: str
    part: str


class Kept(NamedTuple):
    """A worker has what tiles are made from; its processor, and the losses of some runs if they were asked for."""

    address: str
    processor: str
    sample: np.ndarray | None


class Lacking(NamedTuple):
    """A worker lacks what tiles are made from; it may have started a moment ago."""

    address: str


class Differs(NamedTuple):
    """A worker has other versions than the client: its versions, by name."""

    address: str
    found: Mapping[str, str]


class Unable(NamedTuple):
    """A worker cannot make tiles, and why."""

    address: str
    error: ResourceError


class Made(NamedTuple):
    """Finished tiles, and the seconds they took."""

    tiles: list[Tile]
    seconds: float


class Table:
    """Work that is unpacked once; the first thread to make a tile of it compiles for all."""

    def __init__(self, work: Work) -> None:
        self.work, self.compiling, self.compiled = work, Lock(), False

    def made(self, firsts: Sequence[int]) -> list[Tile]:
        """The tiles that start there."""
        with _alone if self.work.alone else nullcontext():
            if self.compiled:
                return [*self.work.tiles(firsts)]
            with self.compiling:
                tiles = [*self.work.tiles(firsts[:1])]
                self.compiled = True
            return tiles + ([*self.work.tiles(firsts[1:])] if firsts[1:] else [])

    def sample(self) -> np.ndarray:
        """Some losses."""
        with _alone if self.work.alone else nullcontext(), self.compiling:
            return self.work.sample()


#: Held by a thread that calls an engine which only one thread may call at a time.
_alone = Lock()
_lock = Lock()
_parts: "OrderedDict[str, Instances]" = OrderedDict()
_tables: "OrderedDict[str, Table]" = OrderedDict()
#: The file hashes of the user's own modules when they were loaded for a table.
_loaded: dict[str, str] = {}


def compare(names: Names, path: Sequence[str]) -> Mapping[str, str]:
    """The versions on this worker; modules are also looked for where the client has them, if that path exists here."""
    sys.path += [place for place in path if place not in sys.path and Path(place).is_dir()]
    return versions(names)


class Here(NamedTuple):
    """A worker answers."""

    address: str


def greet() -> Here:
    """Proof that this worker is up: one that is paused or cut off cannot hold anything for others."""
    return Here(_address())


def hold(content: bytes) -> bytes:
    """What was sent to one worker, for others to fetch from it."""
    return content


def keep(
    keys: Keys, terms: "Terms", parcel: Packed, content: bytes, part: bytes | None, sampled: bool
) -> Kept | Lacking | Differs:
    """Keep a table and its instances, which may be here already; files must match the client's."""
    import cloudpickle  # type: ignore[import-untyped]

    address, found = _address(), compare(terms.names, terms.path)
    if found != terms.wanted:
        return Differs(address, found)
    with _lock:
        if terms.home != this_process():  # a worker may be a thread of the client
            _freshen(parcel)
        if part is None and keys.part not in _parts:
            return Lacking(address)
        if keys.part not in _parts and part is not None:
            instances: Instances = cloudpickle.loads(part)
            instances.refuse_changed()
            _remember(_parts, keys.part, instances, PARTS)
        if keys.table not in _tables:
            work, _ = cloudpickle.loads(content)
            _remember(_tables, keys.table, Table(replace(work, instances=_parts[keys.part])), TABLES)
        table = _tables[keys.table]
    return Kept(address, processor(), table.sample() if sampled else None)


class Terms(NamedTuple):
    """What a worker must have: versions; where else modules are looked for; and the client's process."""

    names: Names
    wanted: Mapping[str, str]
    path: Sequence[str]
    home: str


def _freshen(parcel: Packed) -> None:
    """Forget the user's own modules that were not loaded from these exact files, and everything made from them."""
    stale = [name for name, content in parcel.own if name in sys.modules and _loaded.get(name) != content]
    if stale:
        for name, _ in parcel.own:
            sys.modules.pop(name, None)
        _parts.clear()
        _tables.clear()
    _loaded.update(parcel.own)


def make(keys: Keys, firsts: Sequence[int]) -> Made | Lacking | Unable:
    """The tiles of a table that start there."""
    begun, table = time.monotonic(), _tables.get(keys.table)
    if table is None:
        time.sleep(PAUSE)
        return Lacking(_address())
    try:
        try:
            return Made(table.made(firsts), time.monotonic() - begun)
        except OSError as error:
            refuse_full(error)
            raise
    except ResourceError as error:
        return Unable(_address(), error)


def this_process() -> str:
    """A name for this process that is unique across machines."""
    return f"{platform.node()} {os.getpid()}"


def forget(keys: Sequence[str]) -> None:
    """Drop these: they will not be asked for again."""
    with _lock:
        for key in keys:
            _parts.pop(key, None)
            _tables.pop(key, None)


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _remember(held: "OrderedDict[str, Any]", key: str, value: Any, most: int) -> None:
    held[key] = value
    held.move_to_end(key)
    while len(held) > most:
        held.popitem(last=False)
