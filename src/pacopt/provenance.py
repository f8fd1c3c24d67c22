"""Where a table comes from, as typed values: what ledger, statement, engine and comparison read of it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pacopt.space import AbstractSpace, space_from_json


@dataclass(frozen=True, slots=True)
class Code:
    """A problem or an algorithm: the name of its class, and hashes of its fields and of its source."""

    name: str
    fields: str
    source: str

    @staticmethod
    def of(stored: Mapping[str, str]) -> "Code":
        """As `engines.traced.provenance.described` wrote it."""
        return Code(stored["class"], stored["fields"], stored["source"])

    def changed(self, now: "Code") -> list[str]:
        """What is not as it was, by the names under which it is stored."""
        pairs = {
            "class": (self.name, now.name),
            "fields": (self.fields, now.fields),
            "source": (self.source, now.source),
        }
        return [name for name, (before, after) in pairs.items() if before != after]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a split: how many instances it has, their fingerprint, and the number of groups, if there are any."""

    instances: int
    fingerprint: str
    groups: int | None = None


@dataclass(frozen=True, slots=True)
class SplitOrigin:
    """The three parts of the data, and whether equal rows were declared to be separate draws."""

    prior: Part
    train: Part
    test: Part
    allow_duplicates: bool

    @staticmethod
    def of(stored: Mapping[str, Any]) -> "SplitOrigin":
        """As `learn` wrote it."""
        parts = {name: Part(**stored[name]) for name in ("prior", "train", "test")}
        return SplitOrigin(**parts, allow_duplicates=bool(stored["allow_duplicates"]))


@dataclass(frozen=True, slots=True)
class Curvature:
    """The smallest and the largest curvature; `given` by the user, or else estimated on the prior split."""

    mu: float
    L: float
    given: bool


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where random numbers come from: a hash of all seeds, and how many runs of each instance there are."""

    hash: str
    replicates: int


@dataclass(frozen=True, slots=True)
class StudyOrigin:
    """An Optuna study whose best trials are the candidates.

    It has a `name`, unless nobody named it, so many `trials`, of which so many `completed`, and so many have `recorded`
    the instances that they saw. `numbers` are those of the trials, one for each candidate.
    """

    trials: int
    completed: int
    recorded: int
    numbers: tuple[int, ...]
    hash: str
    name: str | None = None

    @staticmethod
    def of(stored: Mapping[str, Any]) -> "StudyOrigin":
        """As `priors.BestTrials` wrote it."""
        counts = {name: _count(stored[name]) for name in ("trials", "completed", "recorded")}
        name = None if stored["name"] is None else _text(stored["name"])
        return StudyOrigin(
            **counts, numbers=tuple(map(_count, stored["numbers"])), hash=_text(stored["hash"]), name=name
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """Everything that is known of where a table or a run comes from; None or empty where nothing is.

    A table of one's own may say as much or as little of this as it likes; what it says besides is kept and not read.
    """

    engine: Code | None = None
    problem: Code | None = None
    algorithm: Code | None = None
    steps: int | None = None
    goal: float | str | None = None  # the part of the start at which a run stops, or a word for the problem's tolerance
    precision: str | None = None
    platform: str | None = None
    criterion: str | None = None
    predicate: str | None = None
    known_minimum: bool = False
    start_reads: tuple[str, ...] = ()  # the fields that a start other than the problem's is computed from
    given_arrays: tuple[str, ...] = ()  # arrays that the algorithm was made with, and that are not learned
    fields: Mapping[str, str] = field(default_factory=dict)
    instances: str | None = None
    split: SplitOrigin | None = None
    curvature: Curvature | None = None
    seeds: Seeds | None = None
    seeds_matter: bool = True
    rows: tuple[str, ...] = ()
    domain: Mapping[str, AbstractSpace] = field(default_factory=dict)
    prior: str | None = None
    study: StudyOrigin | None = None
    training: tuple[str, ...] = ()  # what went wrong in it
    textbook: int | None = None  # the number of the candidate with the textbook's hyperparameters
    seed: int | None = None
    title: str | None = None
    usual: str = "textbook"  # what one would use otherwise
    failures: Mapping[str, int] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)  # of the first run that failed in each way
    failed_baselines: Mapping[str, int] = field(default_factory=dict)
    foreign_baselines: tuple[str, ...] = ()  # those that brought an engine of their own
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)  # of a solver, fixed for all runs
    hardware: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(stored: Mapping[str, Any]) -> "Origin":
        """The typed form of a JSON value; what has another form is somebody's own note and not read."""
        found: dict[str, Any] = {}
        for name, (key, read) in _READ.items():
            if stored.get(key) is not None:
                with suppress(TypeError, ValueError, KeyError, AttributeError):
                    found[name] = read(stored[key])
        return Origin(**found)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _texts(value: Any) -> dict[str, str]:
    return {_text(name): _text(each) for name, each in value.items()}


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_text, value))


def _failed(value: Any) -> dict[str, int]:
    counts = {
        _text(name): sum(_count(each) for each in about.get("failures", {}).values()) for name, about in value.items()
    }
    return {name: count for name, count in counts.items() if count}


#: For each field of an origin, the key under which it is stored and how its value is read.
_READ: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "engine": ("engine", Code.of),
    "problem": ("problem", Code.of),
    "algorithm": ("algorithm", Code.of),
    "steps": ("steps", _count),
    "goal": ("goal", lambda value: value if isinstance(value, str) else float(value)),
    "precision": ("precision", _text),
    "platform": ("platform", _text),
    "criterion": ("criterion", _text),
    "predicate": ("success", _text),
    "known_minimum": ("known_minimum", _truth),
    "start_reads": ("start_reads", _names),
    "given_arrays": ("given_arrays", _names),
    "fields": ("fields", _texts),
    "instances": ("instances", _text),
    "split": ("split", SplitOrigin.of),
    "curvature": ("curvature", lambda value: Curvature(**value)),
    "seeds": ("seeds", lambda value: Seeds(**value)),
    "seeds_matter": ("seeds_matter", _truth),
    "rows": ("rows", lambda value: tuple(map(_text, value))),
    "domain": ("domain", lambda value: {name: space_from_json(each) for name, each in value.items()}),
    "prior": ("prior", _text),
    "study": ("study", StudyOrigin.of),
    "training": ("training", lambda value: tuple(map(_text, value["remarks"]))),
    "textbook": ("textbook", _count),
    "seed": ("seed", _count),
    "title": ("title", _text),
    "usual": ("usual", _text),
    "failures": ("failures", lambda value: {_text(name): _count(each) for name, each in value.items()}),
    "messages": ("messages", _texts),
    "failed_baselines": ("baselines", _failed),
    "foreign_baselines": (
        "baselines",
        lambda value: tuple(_text(name) for name, it in value.items() if "engine" in it),
    ),
    "versions": ("versions", _texts),
    "settings": ("settings", _texts),
    "hardware": ("hardware", dict),
}
