"""What goes wrong because of the input, said in four parts: found, needed, why, what to do."""

import difflib
import re
from collections.abc import Iterable


class PacoptError(ValueError):
    """Invalid input. Its text is the four parts joined; each part is also an attribute."""

    def __init__(self, found: str, needed: str, why: str, remedy: str) -> None:
        found = re.sub(r"(?<!\.)\.\.$", ".", found)  # it may end with a quoted sentence that has a period of its own
        # All four go to `args`, so that the error survives pickling on its way out of a worker process.
        super().__init__(found, needed, why, remedy)
        self.found, self.needed, self.why, self.remedy = found, needed, why, remedy

    def __str__(self) -> str:
        return " ".join(part for part in self.args if part).replace("\n ", "\n")


class InstancesError(PacoptError):
    """The arrays do not describe a sequence of instances."""


class SplitError(PacoptError):
    """The instances cannot be divided into prior, training and test parts as asked."""


class ProblemError(PacoptError):
    """The start or the loss of a problem is not what a loss table needs."""


class AlgorithmError(PacoptError):
    """An algorithm's `init`, `step` and `read` do not fit together."""


class EngineError(PacoptError):
    """An engine does not return what a table needs."""


class ResourceError(EngineError):
    """A machine has no room, or starts no processes: no run is at fault, and another machine may do better."""


class CandidatesError(PacoptError):
    """The candidates are not hyperparameters of this algorithm."""


class PrecisionError(PacoptError):
    """Something would silently be computed in a precision other than the requested one."""


class TableError(PacoptError):
    """The numbers do not form a loss table."""


class MeasureError(PacoptError):
    """The numbers are not a probability on the candidates."""


class PriorError(PacoptError):
    """Candidates cannot be found or weighed as asked with the prior split."""


class DesignError(PacoptError):
    """The design, fixed before the training instances are seen, is inconsistent."""


class AssumptionError(PacoptError):
    """The assumptions of a requested theorem are not met or not declared."""


class MonitorError(PacoptError):
    """A certificate cannot be watched this way, or a monitor was given something other than the next score."""


class JobError(PacoptError):
    """A job file is invalid or incomplete."""


class FamilyError(PacoptError):
    """The family does not exist, is not a `Family`, or lacks a package or data."""


class StorageError(PacoptError):
    """A stored file is not what its reader needs."""


class ExportError(PacoptError):
    """The learned algorithm cannot be exported this way."""


def suggest(name: str, known: Iterable[str]) -> str:
    """The known name nearest to a misspelt one, as the end of a sentence, or the list of all.

    >>> suggest("alpa", ["alpha", "beta"]), suggest("walrus", ["alpha", "beta"])
    ("did you mean 'alpha'?", "choose from 'alpha', 'beta'.")
    """
    known = sorted(known)
    near = nearest(name, known)
    if near is None:
        return f"choose from {', '.join(map(repr, known))}." if known else "there are none."
    return f"did you mean {near!r}?"


def correction(name: str, known: Iterable[str]) -> str:
    """What to do about a misspelt name where a sentence before has listed the known ones: take the nearest, or any.

    >>> correction("alpa", ["alpha", "beta"]), correction("walrus", ["alpha", "beta"])
    ("For 'alpa': did you mean 'alpha'?", 'Use one of these.')
    """
    near = nearest(name, known)
    return "Use one of these." if near is None else f"For {name!r}: did you mean {near!r}?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one is near to, in small or capital letters; None if there is none.

    >>> nearest("fg1", ["fig1", "fig2"]), nearest("fig9", ["fig1", "fig2"])
    ('fig1', None)
    """
    return next(iter(_near(name, known, 1)), None)


def suggest_file(name: str, others: Iterable[str]) -> str:
    """The files whose names are nearest to a misspelt one, endings apart, as a question; empty if none is near."""
    stems = {_stem(other): other for other in sorted(others)}
    *others, last = [repr(stems[stem]) for stem in _near(_stem(name), stems, 3)] or [""]
    listed = " or ".join([*([", ".join(others)] if others else []), last])
    return f"did you mean {listed}?" if last else ""


def _near(name: str, known: Iterable[str], most: int) -> list[str]:
    """The nearest names, but none that differs in a number only: figure 9 is not a misspelt figure 4."""
    folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(name.casefold(), folded, n=most + len(folded))
    words = _without_numbers(name.casefold())
    return [folded[each] for each in found if _without_numbers(each) != words or each == name.casefold()][:most]


def _without_numbers(name: str) -> list[str]:
    return re.split(r"\d+", name)


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name
