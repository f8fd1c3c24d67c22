"""What is shown of work that takes time: a bar on a terminal or in a notebook, plain lines in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

#: Called with the name of a stage and its numbers of finished and of all runs; a stage without runs is one. Behind a
#: comma, the name may say how far it has come.
StageProgress = Callable[[str, int, int], None]
#: The name under which the runs of all stages together are told, as soon as their number is known.
WHOLE = "whole"
#: What happens in each stage.
STAGES = {
    "begin": "preparing",
    "prior": "search on the prior split",
    "train": "training split",
    "certify": "certificate",
    "test": "test split",
    "save": "saving, with a report",
    "report": "drawing the report",
    "verify": "recomputing every number",
    "rerun": "running cells again",
}
#: What a stage counts, if not runs: of Optuna's study, of a training.
COUNTED = {"Optuna": "trials", "training": "rounds"}
#: Seconds between two lines about the same stage, and between two lines in a notebook.
PAUSE, BLINK = 10.0, 0.2
#: No guess of the time left is made before so many seconds.
EARLY = 1.0
#: Cells of a bar in a notebook.
WIDTH = 30


def silent(stage: str, done: int, total: int) -> None:
    """Nothing is shown."""


@contextmanager
def shown(progress: StageProgress | bool | None) -> Iterator[StageProgress]:
    """A function that is told of stages: the one that is given, or a bar if that is wanted and somebody can see it."""
    if progress is None or isinstance(progress, bool):
        if progress and _in_notebook():
            yield Notebook()
        elif progress and sys.stderr is not None and sys.stderr.isatty():
            with bar() as told:
                yield told
        else:
            yield silent
    else:
        yield progress


@contextmanager
def bar() -> Iterator[StageProgress]:
    """One bar for all stages on a terminal, gone when they are over."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    ) as shown_bar:
        yield _Bar(shown_bar)


class _Bar:
    """A bar for the runs of the whole, named after the stage that is going on."""

    def __init__(self, progress: "Bar") -> None:
        self._progress, self._task = progress, progress.add_task(STAGES["begin"], total=None)

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == WHOLE:
            self._progress.update(self._task, completed=done, total=total)
        else:
            self._progress.update(self._task, description=STAGES.get(stage, stage))


class Pace:
    """How far the whole has come, and how long the rest will take if it goes on like this."""

    def __init__(self) -> None:
        self._begun: tuple[float, int] | None = None
        self.done, self.total, self.left = 0, 0, 0.0

    def told(self, done: int, total: int) -> None:
        """So many of the runs are finished."""
        now = time.monotonic()
        # What was finished before, and is only read from a store, says nothing of the pace.
        begun, first = self._begun = self._begun or (now, done)
        known = done > first and now - begun > EARLY
        self.done, self.total = done, total
        self.left = (now - begun) * (total - done) / (done - first) if known else 0.0

    def __str__(self) -> str:
        part = f"{self.done / self.total:.0%} of the whole" if self.total else ""
        return part + (f", {duration(self.left)} left" if self.left >= 1 else "")


class Lines:
    """A line when a stage begins, and now and then while it lasts."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log, self._pace, self._stage, self._said = log, Pace(), "", 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Log what is new."""
        now = time.monotonic()
        name, _, detail = stage.partition(", ")
        words, counted = STAGES.get(name, name), COUNTED.get(name, "runs")
        if stage == WHOLE:
            self._pace.told(done, total)
        elif name != self._stage:
            self._stage, self._said = name, now
            self._log(words + (f": {total:,} {counted}" if total > 1 else ""))
        elif now - self._said >= PAUSE:
            self._said = now
            self._log(", ".join(filter(None, [f"{words}: {done:,} of {total:,} {counted}", detail, str(self._pace)])))


class Notebook:
    """One line below the cell, rewritten as the work goes on; it needs no widgets."""

    def __init__(self) -> None:
        self._pace, self._stage, self._said = Pace(), "", 0.0
        self._handle: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Rewrite the line, if it is time to."""
        if stage == WHOLE:
            self._pace.told(done, total)
        new, self._stage = stage not in (WHOLE, self._stage), self._stage if stage == WHOLE else stage
        over = stage == WHOLE and done == total
        if new or over or time.monotonic() - self._said >= BLINK:
            self._said = time.monotonic()
            full = round(WIDTH * self._pace.done / self._pace.total) if self._pace.total else 0
            line = f"{'█' * full}{'░' * (WIDTH - full)} {STAGES.get(self._stage, self._stage)} {self._pace}".rstrip()
            self._show({"text/plain": line})

    def _show(self, line: dict[str, str]) -> None:
        if self._handle is None:
            display: Any = sys.modules["IPython"].display  # it is there: this is a notebook
            self._handle = display.display(line, raw=True, display_id=True)
        else:
            self._handle.update(line, raw=True)


def duration(seconds: float) -> str:
    """A time as one says it."""
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def _in_notebook() -> bool:
    """Whether this runs in a kernel that a notebook talks to."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
