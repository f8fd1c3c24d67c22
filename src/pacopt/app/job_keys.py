"""The keys of a job file: the values they take, and their defaults."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pacopt.app.job_spaces import is_finite
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


def _positive(value: Any) -> bool:
    return is_finite(value) and value > 0


def _counted(most: int) -> Callable[[Any], bool]:
    return lambda value: is_whole(value, 1) and value <= most


#: The keys at the top of a job file and those of its tables; [domain] has one for each hyperparameter.
TOP = {
    "problem": Key('a text: "module:Name", or the name of a built-in problem', _text, MANDATORY),
    "algorithm": Key('a text: "module:Name", or the name of a built-in algorithm', _text, MANDATORY),
    "instances": Key('the name of an npz file, or of files by a pattern: "problems/*.mps"', _text, MANDATORY),
    "steps": Key("a whole number, at least 1 and below 2^31", _counted(STEPS), MANDATORY),
    "engine": Key('a text: "module:Name" of an engine, instead of problem, algorithm and steps', _reference),
    "solver": Key('a text: "module:function" of a solver, with a [domain], instead of the same', _reference),
    "defaults": Key("the usual hyperparameters of the solver: { rho = 0.1 }", _hyper),
    "workers": Key("a whole number of processes, at least 1", lambda value: is_whole(value, 1), 1),
    "limit": Key("a number of seconds that a run of the solver may take", _positive),
    "memory": Key("a number of GiB that a worker may use", _positive),
    "groups": Key("the name of the array that says which rows belong together", _text),
    "shared": Key("the name of an npz file with the fields of the problem", _text),
    "confidence": Key("a number strictly between 0 and 1", _between, 0.99),
    "min_success": Key("a probability, below 1", lambda value: is_real(value) and 0 <= value < 1),
    "target_ratio": Key("a number above 0, at most 1", lambda value: is_real(value) and 0 < value <= 1, 1.0),
    "quantile_level": Key("a number strictly between 0 and 1", _between, 0.9),
    "score": Key(
        '"ratio", "rate" or "digits", { digits = 8 } to count at most 8, { effort = 0.1 } for the steps to a tenth, '
        '{ effort = "solved", cap = 200, unit = "iterations" }, or { largest = 100, noun = "error rate", unit = "%" }',
        _score,
        "ratio",
    ),
    "baseline": Key('"textbook", "none", or hyperparameters: { step_size = 0.1 }', _baseline, "textbook"),
    "budget": Key("fractions of the start loss, between 0 and 1: [0.1, 0.001]; or { solved = 0.99 }", _targets),
    "objective": Key('the name of a claim: "risk", "budget", "gain" for example', _text, "risk"),
    "success": Key('a text: "module:function", a function of the final point and the instance', _reference),
    "prior": Key('a text: "module:function", a function of Trials, instead of the search', _reference),
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
        "level": Key("a positive number", _positive, MANDATORY),
        "second_moment": Key("a positive number", _positive),
    },
    "training": {
        "updates": Key("a whole number, at least 1", _counted(STEPS)),
        "batch": Key("a number of instances, at least 1", _counted(STEPS)),
        "rate": Key("a positive number", _positive),
        "restarts": Key("a whole number, at least 1", _counted(CANDIDATES)),
        "held_out": Key("a number strictly between 0 and 1", _between),
        "candidates": Key("a whole number, at least 1 and at most a million", _counted(CANDIDATES)),
        "clip": Key("a positive number", _positive),
        "logs": Key("a number, not negative", lambda value: is_finite(value) and value >= 0),
        "precision": Key('"float64" or "float32"', lambda value: value in ("float64", "float32")),
    },
}
