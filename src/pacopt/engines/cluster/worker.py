"""What runs on a worker of a cluster: what tables are made of is kept as it comes, and tiles are made of it."""

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

#: A worker keeps so many tables, and instances of so many.
TABLES, PARTS = 16, 16
#: Who lacks something waits so many seconds before he says so: what he lacks may be on its way, and others have work.
PAUSE = 0.1


class Keys(NamedTuple):
    """The hashes of a table, without its instances, and of these."""

    table: str
    part: str


class Kept(NamedTuple):
    """A worker has what tiles are made of; what processor it has, and what some runs come to if that was asked."""

    address: str
    processor: str
    sample: np.ndarray | None


class Lacking(NamedTuple):
    """A worker has not what tiles are made of; it may have started a moment ago."""

    address: str


class Differs(NamedTuple):
    """A worker has other versions than the client: what it has, by name."""

    address: str
    found: Mapping[str, str]


class Unable(NamedTuple):
    """A worker cannot make tiles, and why."""

    address: str
    error: ResourceError


class Made(NamedTuple):
    """Finished tiles, and the seconds that they took."""

    tiles: list[Tile]
    seconds: float


class Table:
    """Work that was unpacked once; the first to make a tile of it compiles for all."""

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


#: Held by a thread that makes calls of an engine that is not to be called by two.
_alone = Lock()
_lock = Lock()
_parts: "OrderedDict[str, Instances]" = OrderedDict()
_tables: "OrderedDict[str, Table]" = OrderedDict()
#: The hashes of the files of the user's own modules, as they were when these were loaded for a table.
_loaded: dict[str, str] = {}


def compare(names: Names, path: Sequence[str]) -> Mapping[str, str]:
    """The versions that this worker has; modules are also looked for where the client has them, if that is here."""
    sys.path += [place for place in path if place not in sys.path and Path(place).is_dir()]
    return versions(names)


class Here(NamedTuple):
    """A worker answers."""

    address: str


def greet() -> Here:
    """Say that one is there: whoever is paused, or cut off, holds nothing for others."""
    return Here(_address())


def hold(content: bytes) -> bytes:
    """What was sent to one worker, for others to fetch from it."""
    return content


def keep(
    keys: Keys, terms: "Terms", parcel: Packed, content: bytes, part: bytes | None, sampled: bool
) -> Kept | Lacking | Differs:
    """Keep a table and its instances, which may be here already; files have to be what they are for the client."""
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
    """What a worker has to have: versions, and where else modules are looked for; and the process of the client."""

    names: Names
    wanted: Mapping[str, str]
    path: Sequence[str]
    home: str


def _freshen(parcel: Packed) -> None:
    """Forget modules of the user's own that were not loaded from these very files, and all that was made of them."""
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
    """By what a process is known among machines."""
    return f"{platform.node()} {os.getpid()}"


def forget(keys: Sequence[str]) -> None:
    """Keep nothing of these: nobody will ask for it."""
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
