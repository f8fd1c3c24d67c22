"""A run on disk: a directory that is there whole or not at all, with a manifest of what belongs to it."""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pacopt.errors import StorageError, suggest_file
from pacopt.support.rounding import counted

#: The version of the stored form.
SCHEMA = "pacopt.run/1"
MANIFEST = "manifest.json"
#: Without these there is no run.
ALWAYS = {"certificate.json", "statement.txt", "table.npz"}

#: Writes one file.
Writer = Callable[[Path], None]


def write_run(directory: str | os.PathLike[str], writers: Mapping[str, Writer]) -> Path:
    """Write the files beside the place where they belong, the manifest last, and move them there in one step.

    Whatever interrupts this leaves no directory of that name; an existing one is never touched.
    """
    target = checked_path(directory)
    try:
        _refuse_existing(target)
        return _write(target, writers)
    except OSError as error:
        raise StorageError(
            f"{target} could not be written: {error}.",
            "A run is written to a new directory in a place where files can be made.",
            "",
            "Choose another place, or make room.",
        ) from error


def _write(target: Path, writers: Mapping[str, Writer]) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.parent / f".{target.name}.{secrets.token_hex(4)}.part"
    part.mkdir()
    try:
        for name, write in writers.items():
            write(part / name)
        files = {name: _fingerprint(part / name) for name in sorted(writers)}
        write_json(part / MANIFEST, {"schema": SCHEMA, "files": files})
        for path in (*part.iterdir(), part):
            _flush(path)
        _refuse_existing(target)
        os.rename(part, target)  # fails if somebody else was faster
        _flush(target.parent)
        for leftover in _parts(target):  # of saves that were killed
            shutil.rmtree(leftover, ignore_errors=True)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return target


def _parts(target: Path) -> list[Path]:
    """What saves of this run that did not come to their end have left beside it."""
    name = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{8}\.part")
    return sorted(path for path in target.parent.iterdir() if name.fullmatch(path.name))


def checked_files(directory: str | os.PathLike[str]) -> dict[str, Path]:
    """The files of a run by their names, each with the content that the manifest says.

    The hashes are not signed: they show accidents (a truncated copy, a stray edit), not a forgery by somebody who
    writes the manifest anew.
    """
    target = checked_path(directory)
    problems = damage(target)
    if problems:
        others = len(problems) - 1
        more = f" {counted(others, 'more file is', 'more files are')} not as saved." if others else ""
        raise StorageError(
            f"{target}: {problems[0]}.{more}",
            "All files of a run are as they were saved.",
            "Numbers that do not belong together would be taken for a certificate.",
            "Restore the directory from a copy, or learn again.",
        )
    return {name: target / name for name in _manifest(target)}


def damage(directory: Path) -> list[str]:
    """What is not as the manifest says, file by file; raises if there is no run at all."""
    problems = []
    for name, expected in _manifest(directory).items():
        path = directory / name
        try:
            if path.exists() and not path.is_file():  # whoever reads a pipe waits for ever
                problems.append(f"{name} is not a regular file")
                continue
            found = _fingerprint(path)
        except FileNotFoundError:
            problems.append(f"{name} is missing")
            continue
        except (OSError, ValueError) as error:
            problems.append(f"{name!r} cannot be read ({error})")
            continue
        if found["bytes"] != expected["bytes"]:
            problems.append(f"{name} has {found['bytes']} bytes and had {expected['bytes']} when it was saved")
        elif found != expected:
            problems.append(f"{name} is not the file that was saved (its hash is {found['blake2b'][:8]}...)")
    return problems


def checked_path(directory: Any) -> Path:
    """The path of a run."""
    if not isinstance(directory, str | os.PathLike) or not os.fspath(directory) or "\0" in str(directory):
        raise StorageError(f"{directory!r} was given.", "The path of a directory is needed.", "", 'Use "runs/mine".')
    return Path(directory)


def write_json(path: Path, value: Any) -> None:
    """Canonical JSON: sorted keys, one entry on a line, no NaN; equal values give equal bytes."""
    path.write_text(_canonical(value), encoding="utf-8")


def read_json(path: Path) -> Any:
    """The value of a file written by `write_json`; one in another form is refused, as it may say two things at once."""
    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text)
        if text != _canonical(value):
            raise ValueError("it is not in the form in which pacopt writes it")
        return value
    except (OSError, ValueError, RecursionError) as error:
        raise StorageError(
            f"{path} could not be read as JSON: {error}.",
            "The file that was saved is needed.",
            "",
            "Restore it from a copy, or learn again.",
        ) from error


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, indent=1, allow_nan=False) + "\n"


def _manifest(directory: Path) -> dict[str, dict[str, Any]]:
    if not (directory / MANIFEST).is_file():
        begun = directory.with_name(f"{directory.name}.unfinished") if directory.name else directory / "none"
        unfinished = _parts(directory) if directory.name and directory.parent.is_dir() else []
        what = "there is no such directory" if not directory.exists() else f"there is no {MANIFEST} in it"
        raise StorageError(
            f"{directory} holds no run: {what}."
            + (f" A save was interrupted and left {unfinished[0].name} beside it." if unfinished else "")
            + (f" {begun.name} is beside it, to go on with: pacopt learn JOB --resume." if begun.exists() else ""),
            "The directory of a saved run is needed, as pacopt learn and Learned.save write them.",
            "",
            _where(directory) + (" What the interrupted save left behind can be deleted." if unfinished else ""),
        )
    value = read_json(directory / MANIFEST)
    try:
        schema, files = value["schema"], value["files"]
        listed = all(Path(name).name == name and files[name].keys() == {"bytes", "blake2b"} for name in files)
        whole = listed and files.keys() >= ALWAYS
    except (KeyError, TypeError, AttributeError):
        schema, whole = "none", False
    if schema != SCHEMA or not whole:
        raise StorageError(
            f"{directory / MANIFEST} has the schema {schema}" + ("." if whole else ", and does not list a run."),
            f"This version of pacopt reads {SCHEMA}, with {', '.join(sorted(ALWAYS))}.",
            "Numbers of another layout could be taken for something that they are not.",
            "Read it with the version of pacopt that wrote it.",
        )
    result: dict[str, dict[str, Any]] = files
    return result


def _where(directory: Path) -> str:
    """Where the run may be that was meant: beside the directory under a name like its own, or in it."""
    inside = sorted(path.parent for path in directory.glob(f"*/{MANIFEST}"))
    if inside:
        return f"Name a run in it: {', '.join(map(str, inside[:3]))}{', ...' if len(inside) > 3 else ''}."
    near = suggest_file(directory.name, [path.parent.name for path in directory.parent.glob(f"*/{MANIFEST}")])
    return f"Check the path; {near}" if near else "Check the path."


def _refuse_existing(target: Path) -> None:
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise StorageError(
            f"{target} exists.",
            "A run is written to a new directory.",
            "What is there would be lost.",
            "Choose another name, or delete it.",
        )


def _fingerprint(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
    return {"bytes": path.stat().st_size, "blake2b": digest.hexdigest()}


def _flush(path: Path) -> None:
    """Make sure that it is on the disk before anything that rests on it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
