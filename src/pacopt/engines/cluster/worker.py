"""What runs on a worker of a cluster: what tables are made of is kept as it comes, and tiles are made of it."""

import os
import platform
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from pacopt.engines.cluster.versions import Names, versions
from pacopt.engines.packing import Packed
from pacopt.engines.work import Tile, Work
from pacopt.errors import ResourceError
from pacopt.instances import Instances
from pacopt.support.machine import processor
from pacopt.support.own_code import edited
from pacopt.support.worker import refuse_full

#: A worker keeps so many tables, and instances of so many.
TABLES, PARTS = 4, 6
#: Who lacks something waits so many seconds before he says so: what he lacks may be on its way, and others have work.
PAUSE = 0.1


class Keys(NamedTuple):
    """The hashes of a table, without its instances, and of these."""

    table: str
    part: str


class Kept(NamedTuple):
    """A worker has what tiles are made of; and what processor it has."""

    address: str
    processor: str


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
        if self.compiled:
            return [*self.work.tiles(firsts)]
        with self.compiling:
            tiles = [*self.work.tiles(firsts[:1])]
            self.compiled = True
        return tiles + ([*self.work.tiles(firsts[1:])] if firsts[1:] else [])


_lock = Lock()
_parts: "OrderedDict[str, Instances]" = OrderedDict()
_tables: "OrderedDict[str, Table]" = OrderedDict()
#: The hashes of the files of the user's own modules, as they were when these were loaded for a table.
_loaded: dict[str, str] = {}


def compare(names: Names, path: Sequence[str]) -> Mapping[str, str]:
    """The versions that this worker has; modules are also looked for where the client has them, if that is here."""
    sys.path += [place for place in path if place not in sys.path and Path(place).is_dir()]
    return versions(names)


def keep(
    keys: Keys,
    names: Names,
    path: Sequence[str],
    wanted: Mapping[str, str],
    home: str,
    parcel: Packed,
    part: Instances | None,
) -> Kept | Lacking | Differs:
    """Keep a table and its instances, which may be here already; files have to be what they are for the client."""
    import cloudpickle  # type: ignore[import-untyped]

    address, found = _address(), compare(names, path)
    if found != wanted:
        return Differs(address, found)
    with _lock:
        if part is None and keys.part not in _parts:
            return Lacking(address)
        if keys.part not in _parts and part is not None:
            part.refuse_changed()
            _remember(_parts, keys.part, part, PARTS)
        if keys.table not in _tables:
            if home != this_process():  # a worker may be a thread of the client
                _freshen(parcel)
            work = replace(cloudpickle.loads(parcel.content), instances=_parts[keys.part])
            _remember(_tables, keys.table, Table(work), TABLES)
    return Kept(address, processor())


def _freshen(parcel: Packed) -> None:
    """Forget modules of the user's own that are here since before their files were edited."""
    here = {name: content for name, content in parcel.own if name in sys.modules}
    if any(edited(name) or _loaded.get(name, content) != content for name, content in here.items()):
        for name in here:
            del sys.modules[name]
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


def forget() -> None:
    """Keep nothing: nobody will ask for it."""
    with _lock:
        _parts.clear()
        _tables.clear()


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _remember(held: "OrderedDict[str, Any]", key: str, value: Any, most: int) -> None:
    held[key] = value
    while len(held) > most:
        held.popitem(last=False)
