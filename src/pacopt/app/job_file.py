"""A job file as a checked value: what is to be learned, said in TOML. Everything that is wrong is said at once."""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacopt.app.job_spaces import is_finite, spaces
from pacopt.errors import JobError, suggest
from pacopt.space import Domain
from pacopt.support.numbers import is_real, is_whole

#: At most so many steps and candidates: a counter of 32 bits, and what fits into a memory.
STEPS, CANDIDATES = 2**31 - 1, 10**6
#: For keys that have no default.
MANDATORY = object()


@dataclass(frozen=True, slots=True)
class Key:
    """What a key of a job file holds."""

    needed: str
    valid: Callable[[Any], bool]
    default: Any = None


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong in a job file: the key where it stands, and what to do about it."""

    key: str
    text: str


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _reference(value: Any) -> bool:
    return _text(value) and re.fullmatch(r"[\w.]+:[\w.]+", value) is not None


def _between(value: Any) -> bool:
    return is_real(value) and 0 < value < 1


def _pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_finite, value)) and 0 <= value[0] <= value[1] > 0


def _score(value: Any) -> bool:
    if not isinstance(value, dict):
        return value in ("ratio", "rate", "digits")
    if "effort" in value:
        cap, penalty, word = value.get("cap", 1), value.get("penalty", 1), _text(value["effort"])
        known = value.keys() <= {"effort", "cap", "penalty"} | ({"unit"} if word else set())
        counted = is_finite(cap) and cap > 0 if word else is_whole(cap, 1) and _between(value["effort"])
        return known and counted and _text(value.get("unit", "steps")) and is_finite(penalty) and penalty >= 1
    if "largest" in value:
        said = {name: text for name, text in value.items() if name != "largest"}
        known = said.keys() <= {"noun", "unit"} and all(map(_text, said.values()))
        return known and is_finite(value["largest"]) and value["largest"] > 0
    return value.keys() == {"digits"} and is_finite(value["digits"]) and value["digits"] > 0


def _targets(value: Any) -> bool:
    if isinstance(value, dict):
        return len(value) == 1 and all(_text(word) and _between(part) for word, part in value.items())
    return isinstance(value, list) and bool(value) and all(map(_between, value)) and len(set(value)) == len(value)


def _hyper(value: Any) -> bool:
    plain = isinstance(value, dict) and bool(value)
    return plain and all(isinstance(each, str | bool) or is_finite(each) for each in value.values())


def _baseline(value: Any) -> bool:
    return _hyper(value) or (not isinstance(value, dict) and value in ("textbook", "none"))


def _counted(most: int) -> Callable[[Any], bool]:
    return lambda value: is_whole(value, 1) and value <= most


#: The keys at the top of a job file and those of its tables; [domain] has one for each hyperparameter.
TOP = {
    "problem": Key('a text: "module:Name", or the name of a built-in problem', _text, MANDATORY),
    "algorithm": Key('a text: "module:Name", or the name of a built-in algorithm', _text, MANDATORY),
    "instances": Key('the name of an npz file, or of files by a pattern: "problems/*.mps"', _text, MANDATORY),
    "steps": Key("a whole number, at least 1 and below 2^31", _counted(STEPS), MANDATORY),
    "engine": Key('a text: "module:Name" of an engine, in place of problem, algorithm and steps', _reference),
    "solver": Key('a text: "module:function" of a solver, with a [domain], in place of these too', _reference),
    "defaults": Key("the usual hyperparameters of the solver: { rho = 0.1 }", _hyper),
    "workers": Key("a whole number of processes, at least 1", lambda value: is_whole(value, 1), 1),
    "limit": Key("a number of seconds that a run of the solver may take", lambda value: is_finite(value) and value > 0),
    "memory": Key("a number of GiB that a worker may take", lambda value: is_finite(value) and value > 0),
    "groups": Key("the name of the array that tells which rows belong together", _text),
    "shared": Key("the name of an npz file with the fields of the problem", _text),
    "confidence": Key("a number between 0 and 1, neither of them", _between, 0.99),
    "min_success": Key("a probability, below 1", lambda value: is_real(value) and 0 <= value < 1),
    "target_ratio": Key("a number above 0, at most 1", lambda value: is_real(value) and 0 < value <= 1, 1.0),
    "quantile_level": Key("a number between 0 and 1, neither of them", _between, 0.9),
    "score": Key(
        '"ratio", "rate" or "digits", { digits = 8 } for so many, { effort = 0.1 } for steps to that, '
        '{ effort = "solved", cap = 200, unit = "iterations" }, or { largest = 100, noun = "error rate", unit = "%" }',
        _score,
        "ratio",
    ),
    "baseline": Key('"textbook", "none", or hyperparameters: { step_size = 0.1 }', _baseline, "textbook"),
    "budget": Key("parts of the start loss, between 0 and 1: [0.1, 0.001]; or { solved = 0.99 }", _targets),
    "objective": Key('the name of a claim: "risk", "budget", "gain" for example', _text, "risk"),
    "success": Key('a text: "module:function", a function of the final point and the instance', _reference),
    "prior": Key('a text: "module:function", a function of Trials, in place of the search', _reference),
    "candidates": Key("a whole number, at least 1 and at most a million", _counted(CANDIDATES), 256),
    "curvature": Key("a pair [mu, L] with 0 <= mu <= L", _pair),
    "replicates": Key("a whole number, at least 1", lambda value: is_whole(value, 1), 1),
    "racing": Key("true or false", lambda value: isinstance(value, bool), False),
    "precision": Key('"float64" or "float32"', lambda value: value in ("float64", "float32"), "float64"),
    "seed": Key("a whole number from 0 to 2^31 - 1", lambda value: is_whole(value) and value < 2**31, 0),
}
#: What belongs to a solver, and what an engine knows by itself.
OF_A_SOLVER = ("defaults", "workers", "limit", "memory")
OF_AN_ENGINE = ("problem", "algorithm", "steps", "shared", "success", "curvature", "precision")
TABLES = {
    "split": {
        "prior": Key("a number of instances", is_whole, MANDATORY),
        "train": Key("a number of instances, at least 1", lambda value: is_whole(value, 1), MANDATORY),
        "test": Key("a number of instances", is_whole, MANDATORY),
        "allow_duplicates": Key("true or false", lambda value: isinstance(value, bool), False),
    },
    "absolute": {
        "level": Key("a positive number", lambda value: is_finite(value) and value > 0, MANDATORY),
        "second_moment": Key("a positive number", lambda value: is_finite(value) and value > 0),
    },
}


@dataclass(frozen=True, slots=True)
class Job:
    """The values of a job file, defaults filled in; `tables` are there if they stand in the file."""

    path: Path
    text: str
    top: Mapping[str, Any]
    tables: Mapping[str, Mapping[str, Any]]
    domain: Domain
    given: frozenset[str]

    def said(self, name: str) -> bool:
        """Whether a key stands at the top of the file."""
        return name in self.given

    def beside(self, name: str) -> Path:
        """A path as the job file means it: relative to where it stands."""
        return self.path.parent / Path(name).expanduser()


def read_job(path: str | os.PathLike[str]) -> tuple[Job, list[Mistake]]:
    """The job of a file, and all mistakes that can be seen in the file alone; what is wrong has its default."""
    path = Path(path)
    text = _content(path)
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError
        raise JobError(
            f"{path} is no TOML file: {error}.",
            "Texts stand in quotes, numbers do not, and a table begins with its name in brackets.",
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
            mistakes.append(Mistake(name, f"{content[name]!r} is no table; write [{name}] with {', '.join(keys)}"))
            continue
        for key in content[name]:
            if key not in keys:
                hint = "it stands at the top, before the first [table]" if key in TOP else suggest(key, keys)
                mistakes.append(Mistake(f"{name}.{key}", f"there is no such key in [{name}]; {hint}"))
        if name == "split" and not content[name].keys() & {"prior", "train", "test"}:
            keys = {key: keys[key] for key in ("allow_duplicates",)}  # sizes are recommended
        tables[name] = _values(content[name], keys, f"{name}.", mistakes)
    domain, wrong = spaces(content.get("domain", {}))
    mistakes.extend(Mistake(key, text) for key, text in wrong.items())
    if top["prior"] is not None and (domain or "candidates" in content):
        mistakes.append(
            Mistake("prior", "a prior of your own has its own candidates; leave out [domain] and candidates, or prior")
        )
    return Job(path, text, top, tables, domain, frozenset(content)), mistakes


def refuse(job: Job, mistakes: list[Mistake]) -> None:
    """Raise an error that lists all mistakes with their lines, if there are any."""
    if not mistakes:
        return
    placed = sorted(((_line(job.text, mistake.key), mistake) for mistake in mistakes), key=lambda pair: pair[0])
    listed = "".join(f"\n- {f'line {line}, ' if line else ''}{mistake.key}: {mistake.text}" for line, mistake in placed)
    count = "a mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    raise JobError(
        f"{job.path} has {count}:{listed}\n", "Nothing was run.", "", "pacopt learn --init writes an example that runs."
    )


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        raise JobError(
            f"{path} is no text: {error}.", "A job is a TOML file in UTF-8.", "", "Save it as such."
        ) from error
    except OSError as error:
        others = sorted(other.name for other in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        hint = (
            f"For {path.name!r}: {suggest(path.name, others)}"
            if others
            else "pacopt learn --init writes an example that runs."
        )
        raise JobError(f"{path} cannot be read: {error.strerror}.", "A job file is needed.", "", hint) from error


def _values(
    content: Mapping[str, Any], keys: Mapping[str, Key], prefix: str, mistakes: list[Mistake]
) -> dict[str, Any]:
    """A value for each key: the one given, or the default where none or a wrong one is."""
    values = {}
    for name, key in keys.items():
        values[name] = None if key.default is MANDATORY else key.default
        if name not in content:
            if key.default is MANDATORY:
                mistakes.append(Mistake(f"{prefix}{name}", f"is missing; it is {key.needed}"))
        elif not key.valid(content[name]):
            mistakes.append(Mistake(f"{prefix}{name}", f"is {content[name]!r}; it is {key.needed}"))
        else:
            values[name] = content[name]
    return values


def _top(content: Mapping[str, Any], mistakes: list[Mistake]) -> dict[str, Any]:
    """The values at the top. An engine or a solver stands for everything that says how a run goes."""
    lonely = [name for name in OF_A_SOLVER if name in content and "solver" not in content]
    mistakes.extend(Mistake(name, "is for a solver; leave it out, or name one") for name in lonely)
    if "engine" in content and "solver" in content:
        mistakes.append(Mistake("solver", "is there beside an engine; leave one of them out"))
    kind = next((name for name in ("engine", "solver") if name in content), None)
    if kind is None:
        return _values(content, TOP, "", mistakes)
    surplus = [name for name in OF_AN_ENGINE if name in content]
    who = "an engine" if kind == "engine" else "a solver"
    mistakes.extend(Mistake(name, f"{who} knows how it runs; leave it out, or leave out {kind}") for name in surplus)
    known = {name: key for name, key in TOP.items() if name not in OF_AN_ENGINE}
    return _values(content, known, "", mistakes) | dict.fromkeys(OF_AN_ENGINE)


def _elsewhere(name: str) -> str:
    """For a key of a table that stands at the top."""
    tables = [table for table, keys in TABLES.items() if name in keys]
    return f"it stands in [{tables[0]}]" if tables else ""


def _line(text: str, key: str) -> int:
    """The line on which a key stands; 0 if it has none of its own."""
    table, _, name = key.rpartition(".")
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([\w.\"' -]+?)\s*\]", line)
        current = header[1] if header else current
        found = re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*[=.]", line) and current == table
        if found or (header and header[1] == key):
            return number
    return 0
