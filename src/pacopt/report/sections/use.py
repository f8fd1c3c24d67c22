"""How to use what was learned: the lines of Python that load the run and solve an instance, safeguard included."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pacopt.report.source import Reported
from pacopt.report.words import all_digits, is_ratio, usable
from pacopt.support.values import is_mark, named

#: The directory of the run, as the command that verifies it names it: no page says where somebody keeps their files.
PLACE = "."


@dataclass(frozen=True, slots=True)
class Use:
    """Code to copy, the hyperparameters that it runs with, to the last digit, and whether the safeguard is needed."""

    code: str
    hyper: str
    safeguard: bool


def use_of(source: Reported) -> Use | None:
    """The code that solves an instance as the certificate says; None where there is nothing to run or to deploy."""
    certificate = source.certificate
    if not source.learned or not usable(certificate):
        return None
    steps, score = certificate.origin.steps, certificate.design.score
    run = f"{steps} steps from the start" if steps else "runs from the start"
    if not score.relative:
        told = score.running(steps) if steps else run
    else:
        told = f"{run}; falls back to it if the loss did not decrease"
    lines = [
        "import pacopt",
        *_imports(source),
        *(["# solver: the BlackBox that this was learned with"] if _engine(source) else []),
        "",
        f'learned = pacopt.Learned.load("{PLACE}"{_engine(source)})',
        f"solution = learned.solve(instance)  # {told}",
    ]
    return Use("\n".join(lines), _values(certificate.deployed.hyper), is_ratio(certificate))


def _engine(source: Reported) -> str:
    """A function cannot be found again by its name: the black box is given once more."""
    code = source.origin.engine
    return ", engine=solver" if code is not None and code.name.endswith(":BlackBox") else ""


def _imports(source: Reported) -> list[str]:
    """A run is loaded without importing anything: the modules of a user's own classes have to be there already."""
    lines = []
    for part in ("engine", "problem", "algorithm"):
        module, _, name = (code.name if (code := getattr(source.origin, part)) else "").partition(":")
        if not all(word.isidentifier() for word in [*module.split("."), *name.split(".")]):
            continue  # what is no name is no code to be copied
        if module == "__main__":
            lines.append(f"# here, define {name} as it was")
        elif module.partition(".")[0] != "pacopt":
            lines.append(f"import {module}")
    return list(dict.fromkeys(lines))


def _values(hyper: Mapping[str, Any]) -> str:
    """What goes into code, to the last digit; arrays do not: how many numbers they have, and their names."""
    arrays = [name for name, value in hyper.items() if is_mark(value)]
    told = f" ({', '.join(arrays)})" if len(arrays) > 1 else ""
    return f"{named(hyper, all_digits)}{told}"
