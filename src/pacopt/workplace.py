"""Where a run goes when it is finished, and where its finished parts are kept until then."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from pacopt.errors import StorageError
from pacopt.runs import read_json, write_json

#: What is appended to the name of a run while it is under way.
SUFFIX = ".unfinished"


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


def new_place(out: Path, belongs: Mapping[str, Any]) -> Workplace:
    """The first place of this name, or of its numbered siblings, where there is neither a run nor a part of one."""
    for run in numbered(out):
        place = Workplace(run)
        if run.exists() or place.unfinished.exists():
            continue
        try:
            place.unfinished.mkdir(parents=True)
            write_json(place.unfinished / "job.json", dict(belongs))
        except FileExistsError:  # somebody else was faster
            continue
        except OSError as error:
            raise StorageError(
                f"{run} cannot be written: {error}.", "A run needs a place.", "", "Choose another with --out."
            ) from error
        return place
    raise AssertionError("numbers do not end")


def resumed_place(out: Path, belongs: Mapping[str, Any]) -> Workplace:
    """The place of an interrupted run; refused if what is to be run is no longer what was begun."""
    place = next(iter(unfinished(out)), None)
    if place is None:
        raise StorageError(
            f"There is no interrupted run at {out}{SUFFIX}.",
            "A run that was interrupted can be resumed.",
            "",
            "Start it without --resume, or name its place with --out.",
        )
    begun = read_json(place.unfinished / "job.json")
    changed = sorted(key for key in begun.keys() | belongs.keys() if begun.get(key) != belongs.get(key))
    if changed:
        raise StorageError(
            f"Since {place.unfinished} was begun, {', '.join(changed)} changed.",
            "An interrupted run is continued as it was begun.",
            "A design that is changed after training instances were looked at voids the certificate, and losses of "
            "different code must not be mixed.",
            f"Change it back, or delete {place.unfinished} and start anew without --resume.",
        )
    return place


def unfinished(out: Path) -> list[Workplace]:
    """The interrupted runs at this place and its numbered siblings."""
    siblings = out.parent.glob(f"{out.name}*{SUFFIX}") if out.parent.is_dir() else []
    numbers = {
        path.name.removesuffix(SUFFIX).removeprefix(out.name).removeprefix("-") or "1": path for path in siblings
    }
    kept = sorted((int(number), path) for number, path in numbers.items() if number.isdigit())
    return [Workplace(path.with_name(path.name.removesuffix(SUFFIX))) for _, path in kept]


def numbered(out: Path) -> Iterator[Path]:
    """This path, and the same with -2, -3, ... behind its name."""
    return chain([out], (out.with_name(f"{out.name}-{number}") for number in count(2)))
