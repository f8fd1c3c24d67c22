"""Advice for users of job files: what errors say in terms of Python, in terms of a job."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pacopt.app.job_file import Job, line_of
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
    (r"pacopt\.Effort\(\"(\w+)\", unit=\"(\w+)\"\)", r'score = { effort = "\1", unit = "\2" }'),
    (r"pacopt\.Ranged\(([\d.]+)\)", r"score = { largest = \1 }"),
    (r"(The score is) Ratio\(.*?\),", r'\1 "ratio",'),
    (r"files \(Instances\.of_files\) or be given objects \(Instances\.of_objects\)", 'files: instances = "data/*.mps"'),
    (r"Pass groups=table\[\"user\"\], for example", "Store such an array beside the others"),
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
def told_in_job_words(job: Job) -> Iterator[None]:
    """Errors of what a job runs speak of the job, and name the line of the key they are about."""
    try:
        yield
    except PacoptError as error:
        found, *rest = map(in_job_words, error.args)
        raise type(error)(_placed(job, found), *rest) from error


def _placed(job: Job, found: str) -> str:
    """What was found, with the line of the key that it begins with, if it is one of the file."""
    key = found.removeprefix("The ").partition(" ")[0]
    line = line_of(job.text, key) if job.said(key) else 0
    return f"{job.path}, line {line}: {found}" if line else found
