"""What goes wrong because of the input, said in four parts: found, needed, why, what to do."""

import difflib
from collections.abc import Iterable


class PacoptError(ValueError):
    """Invalid input. Its text is the four parts joined; each part is also an attribute."""

    def __init__(self, found: str, needed: str, why: str, remedy: str) -> None:
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
    """The known name nearest to a misspelt one, as the end of a sentence, or the list of all."""
    known = sorted(known)
    near = nearest(name, known)
    return f"known are {', '.join(map(repr, known)) or 'none'}." if near is None else f"did you mean {near!r}?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one is near to, in small or capital letters; None if there is none."""
    folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    return folded[near[0]] if near else None


def suggest_file(name: str, others: Iterable[str]) -> str:
    """The file that is near to a misspelt one, endings apart, as the end of a sentence, or those that there are."""
    stems = {other.rpartition(".")[0] or other: other for other in sorted(others)}
    near = nearest(name.rpartition(".")[0] or name, stems)
    return f"there are {', '.join(map(repr, stems.values()))}." if near is None else f"did you mean {stems[near]!r}?"
