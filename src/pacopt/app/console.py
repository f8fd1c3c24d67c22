"""What a person or a machine sees of a command: results on stdout, everything else on stderr."""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any, TextIO, cast

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from pacopt.app.stopping import document_written, first_document, stdout_at
from pacopt.support.interrupts import heed

#: Seconds between two lines about the same stage where there is no terminal.
PAUSE = 10.0
#: What the stages of `learn` do.
STAGES = {"prior": "search on the prior split", "train": "training split", "test": "test split"}


def shortened(text: str, most: int = 300) -> str:
    """A text that may hold a path of thousands of characters, with its middle left out."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


@dataclass(frozen=True, slots=True)
class Output:
    """Where words go: nowhere if quiet, and if a machine listens one JSON document is all that stdout gets."""

    json: bool = False
    quiet: bool = False

    def say(self, *parts: RenderableType) -> None:
        """The result, for a person."""
        heed()
        if not self.json and not self.quiet:
            console = Console(file=cast(TextIO, _Patient(sys.stdout)))
            for part in parts:
                # In a pipe nothing is broken into lines: a command that is printed can be copied.
                unbroken = isinstance(part, str) and not console.is_terminal
                console.print(part, markup=False, highlight=False, soft_wrap=unbroken)

    def log(self, text: str) -> None:
        """A line about what goes on."""
        if not self.quiet:
            console = Console(file=cast(TextIO, _Patient(sys.stderr)))
            console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)

    def document(self, value: Any) -> None:
        """The result, for a machine."""
        if self.json:
            text, out = json.dumps(finite(value), indent=1, allow_nan=False) + "\n", _Patient(sys.stdout)
            heed()
            if first_document():
                try:
                    out.write(text)
                    out.flush()
                finally:
                    document_written()

    @contextmanager
    def busy(self) -> Iterator[Callable[[str, int, int], None]]:
        """A function that is told of stages and their finished cells; what other code prints goes to stderr."""
        with redirect_stdout(sys.stderr), _descriptor_moved():
            if self.quiet:
                yield lambda stage, done, total: None
            elif sys.stderr.isatty():
                with Progress(
                    TextColumn("{task.description}"),
                    BarColumn(),
                    MofNCompleteColumn(),
                    TimeRemainingColumn(),
                    console=Console(stderr=True),
                    transient=True,
                ) as bars:
                    yield _Bars(bars, {}, {})
            else:
                yield _Lines(self.log, {}, {}, {})


class _Patient:
    """A stream whose reader may go away: what is written then is lost, and nothing else."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        with suppress(BrokenPipeError):
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except BrokenPipeError:
            # Python flushes once more at its end, and would complain there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def _descriptor_moved() -> Iterator[None]:
    """While this lasts, what is written to stdout below Python, by a library in C say, goes to stderr."""
    try:
        sys.stdout.flush()
        before, _ = os.dup(1), os.fstat(2)
    except OSError:  # there is no such descriptor
        yield
        return
    try:
        with stdout_at(before):
            os.dup2(2, 1)
            try:
                yield
            finally:
                os.dup2(before, 1)
    finally:
        os.close(before)


@dataclass(frozen=True, slots=True)
class _Bars:
    """A bar for each stage; a stage that begins again is another round of it."""

    bars: Progress
    tasks: dict[str, TaskID]
    rounds: dict[str, int]

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage not in self.tasks:
            self.tasks[stage] = self.bars.add_task(STAGES.get(stage, stage))
        if self.bars.tasks[self.tasks[stage]].finished:
            self.rounds[stage] = self.rounds.get(stage, 1) + 1
            description = f"{STAGES.get(stage, stage)}, round {self.rounds[stage]}"
            self.bars.reset(self.tasks[stage], description=description)
        self.bars.update(self.tasks[stage], completed=done, total=total)


@dataclass(frozen=True, slots=True)
class _Lines:
    """A line when a stage begins, when the last one ends, and now and then between; no more than one in ten seconds."""

    log: Callable[[str], None]
    begun: dict[str, float]
    said: dict[str, float]
    rounds: dict[str, int]

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage not in self.rounds:
            self.rounds[stage], self.begun[stage], self.said[stage] = 1, now, -math.inf
        if now - self.said[stage] >= PAUSE or (stage == "train" and done == total):
            self.said[stage] = now
            spent = now - self.begun[stage]
            left = f", about {spent * (total - done) / done:.0f} s left" if 0 < done < total and spent > 1 else ""
            number = f", round {self.rounds[stage]}" if self.rounds[stage] > 1 else ""
            self.log(f"{STAGES.get(stage, stage)}{number}: {done} of {total} runs{left}")
        if done == total:
            self.rounds[stage] += 1
            self.begun[stage] = now


def finite(value: Any) -> Any:
    """The same JSON value with null in place of numbers that are none."""
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
