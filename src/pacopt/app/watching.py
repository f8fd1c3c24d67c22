"""`pacopt watch`: reads scores from a file or a pipe and reports them to a monitor whose state is kept."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from pacopt.app.console import Output
from pacopt.certificate import Certificate
from pacopt.errors import MonitorError
from pacopt.monitoring import Monitor
from pacopt.monitoring.stream import growing, scores, watch
from pacopt.report.evidence import draw_evidence
from pacopt.support.interrupts import heed
from pacopt.support.rounding import counted


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
    """The monitor of a run after all scores, or after the one that raised an alarm."""
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

    try:
        with _opened(source) as file:
            history = watch(monitor, scores(growing(file, heed) if follow else iter(file)), kept)
            if monitor.alarm and not follow and file is not sys.stdin and file.readline():
                output.log("Reading stopped at the alarm: the lines after it were not counted.")
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
    return monitor


@contextmanager
def _opened(source: Path) -> Iterator[TextIO]:
    if str(source) == "-":
        yield sys.stdin
        return
    try:
        file = source.open(encoding="utf-8", errors="replace", newline="")
    except OSError as error:
        raise MonitorError(
            f"{source} cannot be read: {error.strerror}.", "A file with scores is needed.", "", "Use - for a pipe."
        ) from error
    with file:
        yield file
