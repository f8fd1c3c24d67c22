"""A job file as a checked value: what to learn, in TOML. All mistakes are reported at once."""

import os
import re
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacopt.app.job_keys import MANDATORY, OF_A_SOLVER, OF_AN_ENGINE, TABLES, TOP, Key
from pacopt.app.job_spaces import spaces
from pacopt.errors import JobError, suggest, suggest_file
from pacopt.space import Domain

#: Keys that say in another way where candidates come from.
_RIVALS = {"prior": ("domain", "candidates", "training"), "training": ("domain", "candidates")}


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong in a job file: the key, and what to do about it."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Job:
    """The values of a job file, with defaults filled in; `tables` holds only those in the file."""

    path: Path
    text: str
    top: Mapping[str, Any]
    tables: Mapping[str, Mapping[str, Any]]
    domain: Domain
    given: frozenset[str]

    def said(self, name: str) -> bool:
        """Whether a key is at the top of the file."""
        return name in self.given

    def beside(self, name: str) -> Path:
        """A path in the job file, relative to the file."""
        return self.path.parent / Path(name).expanduser()


def read_job(path: str | os.PathLike[str]) -> tuple[Job, list[Mistake]]:
    """The job of a file, and all mistakes visible in the file alone; a wrong value is replaced by its default."""
    path = Path(path)
    text = _content(path)
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError
        raise JobError(
            f"{path} is not a TOML file: {error}.",
            "Strings go in quotes, numbers do not, and a table begins with its name in brackets.",
            "",
            "Correct the line; pacopt learn --init writes an example.",
        ) from error
    known = {*TOP, *TABLES, "domain"}
    mistakes = [
        Mistake(name, f"there is no such key; {_elsewhere(name) or suggest(name, known)}")
        for name in content
        if name not in known
    ]
    top = _top(content, mistakes)
    tables = {}
    for name, keys in TABLES.items():
        if name not in content:
            continue
        if not isinstance(content[name], dict):
            mistakes.append(Mistake(name, f"{content[name]!r} is not a table; write [{name}] with {', '.join(keys)}"))
            continue
        for key in content[name]:
            if key not in keys:
                hint = "it belongs at the top, before the first [table]" if key in TOP else suggest(key, keys)
                mistakes.append(Mistake(f"{name}.{key}", f"there is no such key in [{name}]; {hint}"))
        if name == "split" and not content[name].keys() & {"prior", "train", "test"}:
            keys = {key: keys[key] for key in ("allow_duplicates",)}  # sizes are recommended
        tables[name] = _values(content[name], keys, f"{name}.", mistakes)
    domain, wrong = spaces(content.get("domain", {}))
    mistakes.extend(Mistake(key, text) for key, text in wrong.items())
    for name, has in (("prior", "your own prior has its own candidates"), ("training", "training replaces the search")):
        others = [f"[{key}]" if key in ("domain", "training") else key for key in _RIVALS[name] if key in content]
        if name in content and others:
            mistakes.append(Mistake(name, f"{has}; leave out {' and '.join(others)}, or {name}"))
    return Job(path, text, top, tables, domain, frozenset(content)), mistakes


def refuse(job: Job, mistakes: list[Mistake]) -> None:
    """Raise an error that lists all mistakes with their lines, if there are any."""
    if not mistakes:
        return
    placed = sorted(((line_of(job.text, mistake.key), mistake) for mistake in mistakes), key=lambda pair: pair[0])
    listed = "".join(f"\n- {f'line {line}, ' if line else ''}{mistake.key}: {mistake.text}" for line, mistake in placed)
    count = "a mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    raise JobError(
        f"{job.path} has {count}:{listed}\n", "Nothing was run.", "", "pacopt learn --init writes a working example."
    )


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        if zipfile.is_zipfile(path):
            raise JobError(
                f"{path} is not a job file, but an npz file or another archive.",
                "A job is a text file in TOML, which names the instances.",
                "",
                f'Write a job with the line instances = "{path.name}"; pacopt learn --init writes an example.',
            ) from error
        raise JobError(
            f"{path} is not a text file in UTF-8: byte {error.start + 1} is {error.object[error.start]:#04x}.",
            "A job is a TOML file in UTF-8.",
            "",
            "Save it as such; pacopt learn --init writes an example.",
        ) from error
    except OSError as error:
        others = sorted(other.name for other in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        near = suggest_file(path.name, others)
        hint = f"For {path.name!r}: {near}" if near else "pacopt learn --init writes a working example."
        raise JobError(f"{path} cannot be read: {error.strerror}.", "A job file is needed.", "", hint) from error


def _values(
    content: Mapping[str, Any], keys: Mapping[str, Key], prefix: str, mistakes: list[Mistake]
) -> dict[str, Any]:
    """A value for each key: the given one, or the default if it is missing or wrong."""
    values = {}
    for name, key in keys.items():
        values[name] = None if key.default is MANDATORY else key.default
        if name not in content:
            if key.default is MANDATORY:
                mistakes.append(Mistake(f"{prefix}{name}", f"is missing; it must be {key.needed}"))
        elif not key.valid(content[name]):
            mistakes.append(Mistake(f"{prefix}{name}", f"is {content[name]!r}; it must be {key.needed}"))
        else:
            values[name] = content[name]
    return values


def _top(content: Mapping[str, Any], mistakes: list[Mistake]) -> dict[str, Any]:
    """The values at the top. An engine or a solver replaces every key about how a run works."""
    lonely = [name for name in OF_A_SOLVER if name in content and "solver" not in content]
    mistakes.extend(Mistake(name, "is for a solver; leave it out, or name one") for name in lonely)
    if "engine" in content and "solver" in content:
        mistakes.append(Mistake("solver", "is given beside an engine; leave out one of them"))
    kind = next((name for name in ("engine", "solver") if name in content), None)
    if kind is None:
        return _values(content, TOP, "", mistakes)
    surplus = [name for name in OF_AN_ENGINE if name in content]
    who = "an engine" if kind == "engine" else "a solver"
    mistakes.extend(Mistake(name, f"{who} decides this itself; leave it out, or leave out {kind}") for name in surplus)
    known = {name: key for name, key in TOP.items() if name not in OF_AN_ENGINE}
    return _values(content, known, "", mistakes) | dict.fromkeys(OF_AN_ENGINE)


def _elsewhere(name: str) -> str:
    """The hint for a key at the top that belongs in a table."""
    tables = [table for table, keys in TABLES.items() if name in keys]
    return f"it belongs in [{tables[0]}]" if tables else ""


def line_of(text: str, key: str) -> int:
    """The line of a key; 0 if it is not on a line."""
    table, _, name = key.rpartition(".")
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([\w.\"' -]+?)\s*\]", line)
        current = header[1] if header else current
        found = re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*[=.]", line) and current == table
        if found or (header and header[1] == key):
            return number
    return 0
