"""`pacopt watch`: reads scores from a file or a pipe and reports them to a monitor whose state is kept."""

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pacopt.app.console import Output
from pacopt.certificate import Certificate
from pacopt.errors import MonitorError
from pacopt.monitoring import Monitor
from pacopt.monitoring.stream import History, Told, growing, scores, watch
from pacopt.report.evidence import draw_evidence
from pacopt.support.interrupts import heed
from pacopt.support.rounding import counted

#: Excel puts a byte order mark before its first line.
ENCODING = "utf-8-sig"


def watch_scores(
    run: Path,
    source: Path,
    *,
    claim: str | None,
    every: float | None,
    ever: float | None,
    state: Path | None,
    follow: bool,
    out: Path | None,
    output: Output,
) -> Monitor:
    """The monitor of a run after all scores, or after the one that raised an alarm.

    A file that can be read again counts as a whole or not at all, since people put a line right and pass all of it
    once more. A pipe, and a file that is followed, do not come again: what was read of them before an error is kept.
    """
    certificate = Certificate.load(run)
    if state is not None and state.exists():
        if not (claim is None and every is None and ever is None):
            raise MonitorError(
                f"--claim, --every or --ever was given together with the state {state}.",
                "A monitor continues with its original settings.",
                "The alarm threshold must be fixed before scores are seen.",
                "Leave them out, or start a new state file.",
            )
        monitor = Monitor.load(state, certificate)
        output.log(f"Continuing after {counted(monitor.count, 'instance')}.")
        if monitor.alarm:
            return monitor
    else:
        monitor = Monitor.of(certificate, claim, every=every, ever=ever)

    def kept() -> None:
        if state is not None:
            monitor.save(state)

    with _opened(source) as file:
        lines = _warned(scores(growing(file, heed) if follow else iter(file)), monitor.count, output)
        whole = not follow and _regular(file)
        if whole:
            history = watch(monitor, lines)
            if monitor.alarm and file.readline():
                said = f"Reading stopped at the alarm, in line {history.line}: the lines after it were not counted."
                output.log(said)
        else:
            try:
                history = _streamed(monitor, lines, state, kept)
            finally:
                kept()
    if not monitor.count:
        raise MonitorError(
            f"{'The pipe' if str(source) == '-' else source} holds no scores, so nothing was watched.",
            "At least one score is needed to watch a certificate.",
            "Silence would look like good news.",
            "Check what writes the scores: one on each line, or a CSV file with a column `score`.",
        )
    if not history.points:
        output.log("There are no new scores.")
    if out is not None:
        draw_evidence(out, history.points, monitor.threshold)
    if whole:
        heed()
        kept()
    return monitor


def _streamed(monitor: Monitor, lines: Iterator[Told], state: Path | None, kept: Callable[[], None]) -> History:
    """The history of lines that do not come again; an error says how many of them are in the state."""
    before = monitor.count
    try:
        return watch(monitor, lines, kept)
    except MonitorError as error:
        if state is None or monitor.count == before:
            raise
        more = f"Counted before it, and kept in {state}: {counted(monitor.count - before, 'score')}."
        remedy = f"{error.remedy} {more} Go on with this line, without them."
        raise MonitorError(error.found, error.needed, error.why, remedy) from error


def _warned(lines: Iterator[Told], before: int, output: Output) -> Iterator[Told]:
    """The same lines; if they come after others and have no numbers, so that repeats go unnoticed, this is said."""
    for told in lines:
        if before and told.number is None:
            output.log("Its lines have no numbers: each counts as a new instance. Pass none that was counted before.")
            before = 0
        yield told


def _regular(file: TextIO) -> bool:
    """Whether it is a file that can be read again, and no pipe or terminal."""
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):  # an object that has no descriptor
        return False


@contextmanager
def _opened(source: Path) -> Iterator[TextIO]:
    if str(source) == "-":
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding=ENCODING, errors="replace")
        yield sys.stdin
        return
    try:
        file = source.open(encoding=ENCODING, errors="replace", newline="")
    except OSError as error:
        raise MonitorError(
            f"{source} cannot be read: {error.strerror}.", "A file with scores is needed.", "", "Use - for a pipe."
        ) from error
    with file:
        yield file
