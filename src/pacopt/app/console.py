"""What a command prints: results on stdout, everything else on stderr."""

import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any, TextIO, cast

from rich.console import Console, RenderableType

from pacopt.app.stopping import document_written, first_document, stdout_at
from pacopt.app.wrapping import wrapped
from pacopt.support.interrupts import heed
from pacopt.support.progress import Lines, StageProgress, bar, silent


def shortened(text: str, most: int = 300) -> str:
    """The text with its middle left out if it is very long, such as a path of thousands of characters."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


@dataclass(frozen=True, slots=True)
class Output:
    """Where output goes: nowhere if quiet; with --json, stdout gets exactly one JSON document."""

    json: bool = False
    quiet: bool = False

    def say(self, *parts: RenderableType) -> None:
        """Print the result for a person."""
        heed()
        if not self.json and not self.quiet:
            console = Console(file=cast(TextIO, _Patient(sys.stdout)))
            for part in parts:
                _print(console, part)

    def log(self, text: str) -> None:
        """Print a line about progress."""
        if not self.quiet:
            _print(Console(file=cast(TextIO, _Patient(sys.stderr))), text)

    def document(self, value: Any) -> None:
        """Print the result for a machine."""
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
    def busy(self, stage: str = "begin") -> Iterator[StageProgress]:
        """A function to report stages to, of which one begins now; what other code prints goes to stderr."""
        with redirect_stdout(sys.stderr), _descriptor_moved():
            if self.quiet:
                yield silent
            elif sys.stderr.isatty():
                with bar() as told:
                    told(stage, 0, 1)
                    yield told
            else:
                told = Lines(self.log)
                told(stage, 0, 1)
                yield told


def _print(console: Console, part: RenderableType) -> None:
    """Text is wrapped on a terminal; in a pipe it is not, so that a command can be copied."""
    text = isinstance(part, str)
    if isinstance(part, str) and console.is_terminal:
        part = wrapped(part, console.width)
    console.print(part, markup=False, highlight=False, soft_wrap=text)


class _Patient:
    """A stream whose reader may go away: only what is written then is lost."""

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
    """Meanwhile, what is written to stdout below Python, by a C library for example, goes to stderr."""
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


def finite(value: Any) -> Any:
    """The same JSON value with null in place of infinity and NaN."""
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
