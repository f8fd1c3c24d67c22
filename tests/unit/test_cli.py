"""The command line as a user runs it: in a process of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pacopt import __version__, cli
from pacopt.errors import TableError

PACOPT = Path(sys.executable).with_name("pacopt")


def pacopt(*arguments):
    return subprocess.run([PACOPT, *arguments], capture_output=True, text=True, check=False)


def test_the_version_and_the_help_are_printed():
    assert pacopt("--version").stdout == f"pacopt {__version__}\n"
    answer = pacopt("--help")
    assert answer.returncode == 0
    assert "demo" in answer.stdout


def test_an_unknown_command_is_a_mistake_of_the_user():
    answer = pacopt("dmeo")
    assert answer.returncode == 2
    assert "Traceback" not in answer.stderr


def test_a_mistake_is_printed_as_it_is_with_its_brackets(monkeypatch, capsys):
    def mistaken():
        raise TableError("found [/path]", "shape [candidates, instances]", "", "")

    monkeypatch.setattr(cli, "app", mistaken)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert "TableError: found [/path] shape [candidates, instances]" in capsys.readouterr().err.replace("\n", " ")


def test_the_demo_certifies_hyperparameters_that_beat_the_textbook():
    answer = pacopt("demo", "--seed", "3")
    assert answer.returncode == 0, answer.stderr
    rows = {line.split("│")[1].strip(): line.split("│")[2:-1] for line in answer.stdout.splitlines() if "│" in line}
    standard, learned = (float(rows[name][2]) for name in ("standard", "learned"))
    # The paper's code and prototypes: 0.38-0.41 for the textbook, 0.036-0.039 for the best constant pair.
    assert 0.3 < standard < 0.5
    assert learned < 0.06
    text = " ".join(answer.stdout.split())
    certified = float(re.search(r"expected final-to-initial loss ratio at most ([\d.]+\d)", text)[1])
    assert learned * 0.8 < certified < 0.1
    assert re.search(r"all \d+ numbers agree", text)
