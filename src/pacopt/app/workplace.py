"""Where a finished run goes, and where its finished parts are kept until then."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count, takewhile
from pathlib import Path
from typing import Any

from pacopt.errors import StorageError
from pacopt.runs.files import read_json, write_json
from pacopt.support.arrays import digest
from pacopt.support.rounding import counted

#: What is appended to the name of a run while it is under way.
SUFFIX = ".unfinished"
#: Bytes in the name of a run.
LONGEST = 220


@dataclass(frozen=True, slots=True)
class Workplace:
    """The directory of a run that is still to be, and beside it the directory of what is finished of it."""

    run: Path

    @property
    def unfinished(self) -> Path:
        """What is finished of the run: tiles, and what they belong to."""
        return self.run.with_name(self.run.name + SUFFIX)

    @property
    def tiles(self) -> Path:
        """The finished tiles."""
        return self.unfinished / "tiles"

    @property
    def kept(self) -> int:
        """The number of finished tiles."""
        return sum(1 for _ in self.tiles.glob("*/*.npz"))

    def clear(self) -> None:
        """Remove what was kept."""
        shutil.rmtree(self.unfinished, ignore_errors=True)

    def left_behind(self, job: Path) -> str:
        """What is kept of a run that ends early, and how to continue it; useless remains are removed."""
        if self.run.exists() or not self.kept:  # saved, and only its report is lacking; or nothing to keep
            self.clear()
            return f"The run is saved. To draw its report: pacopt report {self.run}" if self.run.exists() else ""
        return (
            f"{counted(self.kept, 'finished tile is', 'finished tiles are')} kept in {self.unfinished}. "
            f"To continue: pacopt learn {job} --out {self.run} --resume"
        )


def new_place(out: Path, belongs: Mapping[str, Any]) -> Workplace:
    """The first place of this name, or of its numbered siblings, where there is neither a run nor a part of one."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        while True:
            place = Workplace(free(out))
            with suppress(FileExistsError):  # somebody else was faster
                place.unfinished.mkdir()
                write_json(place.unfinished / "job.json", dict(belongs))
                return place
    except OSError as error:
        raise _unwritable(out, error) from error


def check_writable(out: Path) -> None:
    """Reject a place where no run can be written, before anything runs."""
    probe = Workplace(free(out)).unfinished
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise _unwritable(out, error) from error


def _unwritable(out: Path, error: OSError) -> StorageError:
    file = next((path for path in out.parents if path.is_file()), None)
    why = f"{file} is a file" if file is not None else error.strerror or error
    return StorageError(
        f"{out} cannot be written: {why}.",
        "A run needs a place where directories can be created.",
        "",
        "Choose another with --out.",
    )


def resumed_place(out: Path, belongs: Mapping[str, Any]) -> Workplace:
    """The place of an interrupted run, or a new one; refused if what is to be run is no longer what was begun."""
    place = next(iter(interrupted(out)), None)
    if place is None:
        return new_place(out, belongs)
    begun = _begun(place)
    if begun is None:  # it was killed before it had begun anything
        place.clear()
        return new_place(place.run, belongs)
    changed = sorted(key for key in begun.keys() | belongs.keys() if begun.get(key) != belongs.get(key))
    if changed:
        raise StorageError(
            f"Since {place.unfinished} was begun, {', '.join(changed)} changed.",
            "An interrupted run must be continued unchanged.",
            "Changing a design after training instances were seen voids the certificate, and losses from "
            "different code must not be mixed.",
            f"Change it back; or, if nobody has seen training losses yet, delete {place.unfinished} and "
            "start over without --resume.",
        )
    return place


def _begun(place: Workplace) -> dict[str, Any] | None:
    """What an interrupted run belongs to; None if that was not written, or not to its end."""
    try:
        begun = read_json(place.unfinished / "job.json")
    except StorageError:
        return None
    return begun if isinstance(begun, dict) else None


def saved_run(out: Path, belongs: Mapping[str, Any]) -> Path | None:
    """The run at this place, or at a numbered sibling, that was made of the very same; None if there is none."""
    for run in takewhile(os.path.lexists, _numbered(out)):
        with suppress(StorageError, AttributeError):
            if read_json(run / "provenance.json").get("job", {}).get("belongs") == digest(dict(belongs)):
                return run
    return None


def interrupted(out: Path) -> list[Workplace]:
    """The interrupted runs at this place and its numbered siblings; what is left of a finished one is cleared away."""
    names = re.compile(re.escape(out.name) + r"(?:-(\d+))?" + re.escape(SUFFIX))
    siblings = [path for path in out.parent.iterdir() if path.is_dir()] if out.parent.is_dir() else []
    found = sorted((int(match[1] or 1), path) for path in siblings if (match := names.fullmatch(path.name)))
    places = [Workplace(path.with_name(path.name.removesuffix(SUFFIX))) for _, path in found]
    for place in places:
        if place.run.exists():
            place.clear()
    return [place for place in places if not place.run.exists()]


def free(out: Path) -> Path:
    """This path, or the first of those with -2, -3, ... behind its name, where nothing is yet."""
    if not out.name or out.name == "..":
        raise StorageError(f"{str(out)!r} was given.", "A run needs a name.", "", "Use --out runs/mine, for example.")
    if len(os.fsencode(out.name)) > LONGEST:
        raise StorageError(
            f"The name {out.name[:40]}... has {len(os.fsencode(out.name))} bytes.",
            f"The name of a run has at most {LONGEST}.",
            "While the run is made, a suffix is appended, and file systems allow 255.",
            "Choose a shorter one with --out.",
        )
    return next(
        run for run in _numbered(out) if not (os.path.lexists(run) or os.path.lexists(Workplace(run).unfinished))
    )


def _numbered(out: Path) -> Iterator[Path]:
    return chain([out], (out.with_name(f"{out.name}-{number}") for number in count(2)))
