"""Lines on a terminal: a list and a label have their text below it, and nothing that is to be copied is broken."""

import os
import pty
import subprocess
from contextlib import suppress

import pytest

from alone import PACOPT
from pacopt.app.wrapping import wrapped


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("- one two three", ["- one two", "  three"]),
        ("Note: one two", ["Note: one", "  two"]),
        ("With 2: one two", ["With 2:", "one two"]),
        ("set rate = 0.1", ["set", "rate = 0.1"]),
        ("at least 9 %", ["at least", "9 %"]),
        ("a /long/path/to/a/run", ["a", "/long/path/to/a/run"]),
        ("one\n\n- two three four", ["one", "", "- two", "  three", "  four"]),
    ],
)
def test_a_text_is_broken_between_words_and_hangs_below_its_mark(text, lines):
    assert wrapped(text, 10).split("\n") == lines


def test_mistakes_in_a_job_hang_below_their_marks_on_a_terminal(tmp_path):
    (tmp_path / "job.toml").write_text('problem = "DiagonalQuadratik"\nalgorithm = "HeavyBal"\n')
    master, slave = pty.openpty()
    environment = os.environ | {"COLUMNS": "60"}
    process = subprocess.Popen([PACOPT, "learn", "job.toml"], cwd=tmp_path, stderr=slave, env=environment)
    os.close(slave)
    shown = ""
    with suppress(OSError):  # the other end is closed
        while part := os.read(master, 65536):
            shown += part.decode().replace("\r", "")
    os.close(master)
    assert process.wait() == 2
    listed = shown[shown.index("- line 1") : shown.index("Nothing was run")].splitlines()
    assert len(listed) > len([line for line in listed if line.startswith("- ")]), "some are broken"
    assert all(line.startswith(("- ", "  ")) and len(line) <= 60 for line in listed)
