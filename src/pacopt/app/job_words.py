"""Advice for users of job files: what errors say in terms of Python, in terms of a job."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pacopt.app.job_keys import TOP
from pacopt.errors import PacoptError

#: Python as errors write it, and the same in a job file; the first that fits comes first.
_PHRASES = (
    (r"(?:pacopt\.)?split\(\.\.\., (\w+)=(\d+)\)", r"[split] \1 = \2"),
    (r"(?:split\(\.\.\., )?allow_duplicates=True\)?", "[split] allow_duplicates = true"),
    (r"Train\((\w+)=([\w.+-]+)\)", r"[training] \1 = \2"),
    (r"(?:use )?pacopt\.priors\.Search\b(?:\(\))?", "candidates = 256, without [training], for a search"),
    (r" \(pacopt\.priors\.Product\)", ""),
    (r"dtype=numpy\.(\w+)", r'precision = "\1"'),
    (r"pacopt\.Baseline\(\{\"(\w+)\": ([\w.+-]+)\}\)", r"baseline = { \1 = \2 }"),
    (r"pacopt\.Effort\(([\d.]+)\)", r"score = { effort = \1 }"),
    (r"pacopt\.Digits\((\d+)\)", r"score = { digits = \1 }"),
    (rf"\b({'|'.join(TOP)})=(?=\w)", r"\1 = "),
)


def in_job_words(text: str) -> str:
    """The text with the keys and tables of a job in place of arguments of Python.

    >>> in_job_words("Use pacopt.split(..., prior=8) or more.")
    'Use [split] prior = 8 or more.'
    """
    for python, job in _PHRASES:
        text = re.sub(python, job, text)
    return text


@contextmanager
def told_in_job_words() -> Iterator[None]:
    """Errors of what a job runs speak of the job."""
    try:
        yield
    except PacoptError as error:
        raise type(error)(*map(in_job_words, error.args)) from error
