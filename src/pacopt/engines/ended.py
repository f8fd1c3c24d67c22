"""How single runs ended, and what the runs of one table must have in common."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from pacopt.errors import EngineError
from pacopt.support.cells import refuse_bad_losses
from pacopt.support.numbers import is_real

#: If this many runs fail before any other has ended, something is wrong with the function.
FEW = 16
#: A run that ends in one of these ways might end differently next time.
DIED, LATE = BY_CHANCE = ("the process died", "time limit")
#: How many letters tell ways to fail apart, and how many are kept of each message.
LONGEST, WORDS = 60, 200


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """How a run ended: its loss, the loss at its start, and the points of both, which `solve` returns.

    A loss that is not finite means that the run failed; `failure` says how, in words. Leave out `start_loss` if
    losses are not compared with a start. `success` is your own verdict, for all runs or for none. `times` says when
    the engine's targets were first met.
    """

    loss: float
    start_loss: float | None = None
    x: Any = None
    start: Any = None
    success: bool | None = None
    times: Mapping[float, float] = field(default_factory=dict)
    failure: str = ""


def checked_run(run: Any, place: str) -> Run:
    """The run, if its numbers really are numbers."""
    numbers = [] if not isinstance(run, Run) else [run.loss, 0.0 if run.start_loss is None else run.start_loss]
    if not numbers or not all(map(is_real, numbers)):
        raise EngineError(
            f"{place} returned {run!r}.",
            "A run returns pacopt.engines.Run(loss=..., start_loss=...), with numbers.",
            "",
            "Convert them with float(...).",
        )
    loss, start = numbers
    if loss < 0 or not 0 <= start < inf:  # checked here: one-number arrays would take longer than many runs
        refuse_bad_losses(np.array([[loss]], dtype=float), np.array([start], dtype=float))
    return run  # type: ignore[no-any-return]


def start_of(runs: list[Run], column: int) -> float:
    """The start loss shared by all runs of an instance; NaN if none of them reports it."""
    known = {float(run.start_loss): i for i, run in reversed([*enumerate(runs)]) if run.start_loss is not None}
    if len(known) > 1:
        (one, i), (other, j) = sorted(known.items(), key=lambda pair: pair[1])[:2]
        raise EngineError(
            f"On instance {column}, candidate {i} starts at the loss {one!r} and candidate {j} at {other!r}.",
            "All candidates start at the same loss.",
            "Otherwise ratios to the start could not be compared.",
            "Compute start_loss from the instance alone.",
        )
    return next(iter(known), np.nan)


def refuse_mixed(lacking: list[bool], what: str, first: int) -> None:
    """Refuse runs if some have something and others lack it."""
    if len(set(lacking)) > 1:
        raise EngineError(
            f"Some runs have {what} and others have none (starting at instance {first}).",
            "Either all runs have one, or none.",
            "",
            "Return it for all of them; a run that failed has the loss infinity.",
        )


def refuse_changed(first: Run, second: Run, place: str, *, repeatable: bool) -> None:
    """Refuse a run that came out differently when others ran before it."""
    kinds = {kind_of(first.failure), kind_of(second.failure)}
    if kinds & {*BY_CHANCE}:
        return
    lost = [(run.loss if repeatable else None, run.start_loss, run.success) for run in (first, second)]
    if lost[0] == lost[1] and len(kinds) == 1 and (dict(first.times) == dict(second.times) or not repeatable):
        return
    shown = [run.failure or f"the loss {run.loss!r}" for run in (first, second)]
    if shown[0] == shown[1]:
        shown = ["one result", "another one"]
    raise EngineError(
        f"{place} came to {shown[0]}, and to {shown[1]} when runs were made in another order.",
        "A run depends on its hyperparameters, its instance and its seed alone.",
        "It draws random numbers, or runs leave something behind: a warm start, a cache, a file. A certificate would "
        "be about a solver that nobody can run again.",
        "Start a fresh solver in each call, and fix its seed.",
    )


def refuse_all_failed(rows: list[list[Run]], first: int) -> None:
    """Refuse to go on if nothing runs at all: then the instances are not to blame."""
    failures = [run.failure for runs in rows for run in runs]
    if first == 0 and len(failures) >= FEW and all(failures):
        raise EngineError(
            f"All of the first {len(failures)} runs failed; the first said {failures[0]!r}.",
            "A run that fails is counted, and does not end the job; but some have to succeed.",
            "",
            "Correct the function, or the space: the solver may refuse such values.",
        )


class Failures:
    """How many runs failed in each way and for each candidate, with the message of the first."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.candidates: Counter[int] = Counter()
        self.first: dict[str, tuple[int, str]] = {}

    def add(self, messages: np.ndarray, first: int) -> None:
        """Count the failures of a tile [candidate, run] that starts at run `first`; an empty text is no failure."""
        for row, column in zip(*np.nonzero(messages), strict=True):
            text = str(messages[row, column])
            kind = kind_of(text)
            self.counts[kind] += 1
            self.candidates[int(row)] += 1
            place = first + int(column)
            if kind not in self.first or place < self.first[kind][0]:
                self.first[kind] = (place, text)

    def described(self) -> dict[str, Any]:
        """What the provenance of a table says about them; empty if no run failed."""
        told = {kind: text for kind, (_, text) in sorted(self.first.items()) if text != kind}
        found = {"failures": dict(sorted(self.counts.items())), "messages": told}
        return {name: value for name, value in found.items() if value} | _by_candidate(self.candidates)


def failures_of(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The failures recorded in the provenances of several tables, combined."""
    counts, told = Counter[str](), dict[str, str]()
    for part in parts:
        counts.update(part.get("failures", {}))
        told = {**part.get("messages", {}), **told}
    return {name: value for name, value in (("failures", dict(sorted(counts.items()))), ("messages", told)) if value}


def failed_candidates_of(parts: Iterable[tuple[Mapping[str, Any], np.ndarray]]) -> dict[str, Any]:
    """The failures of each candidate in several tables, combined; each table comes with the numbers of its rows."""
    counts = Counter[int]()
    for part, rows in parts:
        counts.update({int(rows[int(row)]): count for row, count in part.get("failed_candidates", {}).items()})
    return _by_candidate(counts)


def _by_candidate(counts: Counter[int]) -> dict[str, Any]:
    return {"failed_candidates": {f"{row}": count for row, count in sorted(counts.items())}} if counts else {}


def words_of(failure: str) -> str:
    """The part of a message that is kept: one line of printable letters."""
    return "".join(letter if letter.isprintable() else " " for letter in failure)[:WORDS].rstrip()


def kind_of(failure: str) -> str:
    """The way a run failed, without details that differ from run to run."""
    return failure.partition(":")[0][:LONGEST]
