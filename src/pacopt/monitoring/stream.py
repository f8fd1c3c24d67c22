"""Scores as they arrive: lines of a file or of a pipe, each told to a monitor."""

import csv
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TextIO

from pacopt.errors import MonitorError
from pacopt.monitoring.monitor import Monitor

#: Seconds between two looks at a file that grows.
PAUSE = 0.2
#: So many points of a history are kept at most; then every second one is dropped.
MOST = 2000
SCORE, NUMBER = "score", "number"


class Told(NamedTuple):
    """A score, the line that it stands in, and the number of its instance, if it has one."""

    line: int
    number: int | None
    score: float


@dataclass(slots=True)
class History:
    """How the evidence went: numbers of instances, and logarithms to base 10; thinned out as it grows.

    `line` is the last line that was counted.
    """

    points: list[tuple[int, float]] = field(default_factory=list)
    stride: int = 1
    line: int = 0

    def add(self, count: int, evidence: float, *, keep: bool) -> None:
        """The evidence after so many instances, if it is their turn."""
        if keep or count % self.stride == 0:
            self.points.append((count, math.log10(max(evidence, 1e-12))))
        if len(self.points) >= MOST:
            self.points, self.stride = self.points[::2], 2 * self.stride


def watch(monitor: Monitor, lines: Iterator[Told], pause: Callable[[], None] = lambda: None) -> History:
    """Tell a monitor all scores, until there is an alarm or no more of them; `pause` is called now and then."""
    history, said = History(), time.monotonic()
    for line, number, score in lines:
        try:
            alarm = monitor.update(score, number=number)
        except MonitorError as error:
            raise MonitorError(f"Line {line}: {error.found}", error.needed, error.why, error.remedy) from error
        history.line = line
        history.add(monitor.count, monitor.evidence, keep=alarm)
        if alarm:
            break
        if time.monotonic() - said > 1:
            said = time.monotonic()
            pause()
    return history


def scores(lines: Iterator[str]) -> Iterator[Told]:
    """The scores of lines: one number each, or columns under a heading with `score` and, if any, `number`.

    An empty line, or an empty field, is an instance that was not recorded, and is passed over.
    """
    columns: list[str] | None = None
    for count, line in enumerate(lines, start=1):
        try:
            fields = [each.strip() for each in next(csv.reader([line]), [])]
        except csv.Error:  # a field of more than 131,072 characters, for one
            raise _unreadable(count, line, columns or [SCORE]) from None
        if not any(fields) or fields[0].startswith("#"):
            continue
        if columns is None:
            headed = SCORE in fields
            columns = fields if headed else [SCORE]
            if headed:
                _check_heading(count, fields)
                continue
        row = dict(zip(columns, fields, strict=False))
        if len(fields) != len(columns) or (NUMBER in row and not row[NUMBER].isdecimal()):
            raise _unreadable(count, line, columns)
        if not row[SCORE]:
            continue
        try:
            # Python reads no number of more than 4300 digits.
            score, number = float(row[SCORE]), int(row[NUMBER]) if NUMBER in row else None
        except ValueError:
            raise _unreadable(count, line, columns) from None
        if not 0 <= score <= 1:
            raise MonitorError(
                f"Line {count} has the score {row[SCORE][:60]}.",
                "A score lies between 0 and 1.",
                "Evidence is counted by scores for which the certificate bounds the mean.",
                "Correct it: a run that failed scores 1, and one that was not recorded is left out.",
            )
        yield Told(count, number, score)


def growing(file: TextIO, heed: Callable[[], None]) -> Iterator[str]:
    """The lines of a file that somebody still writes; it never ends."""
    kept = ""
    while True:
        part = file.readline()
        kept += part
        if kept.endswith("\n"):
            yield kept
            kept = ""
        elif not part:
            heed()
            time.sleep(PAUSE)


def _check_heading(count: int, columns: list[str]) -> None:
    for name in (SCORE, NUMBER):
        if columns.count(name) > 1:
            raise MonitorError(
                f"Line {count} is a heading with {columns.count(name)} columns {name!r}.",
                "There is one.",
                "Which of them is meant cannot be known.",
                "Rename the others.",
            )


def _unreadable(count: int, line: str, columns: list[str]) -> MonitorError:
    return MonitorError(
        f"Line {count} is {line.strip()[:60]!r}.",
        "Each line is a score." if columns == [SCORE] else f"Each line has the columns {', '.join(columns)}.",
        "",
        "Write one score a line, or columns under a heading with `score` and, optionally, `number`.",
    )
