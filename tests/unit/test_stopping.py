"""Interrupts of the command line, each provoked at a known moment, in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

from alone import run_code
from pacopt.app.workplace import Workplace

#: An interrupt during a callback of the garbage collector, which JAX registers one of: the exception is thrown away.
LOSE = """
import gc, signal, sys
def lose():
    callback = lambda phase, info: signal.raise_signal(signal.SIGINT) if phase == "start" else None
    gc.callbacks.append(callback)
    gc.collect()
    gc.callbacks.remove(callback)
"""


def run(*arguments, code, cwd=None):
    """The command line, with some code run before it."""
    script = f"{LOSE}\n{code}\nsys.argv = ['pacopt', *{arguments!r}]\nfrom pacopt.app.cli import main\nmain()"
    return run_code(script, cwd=cwd)


#: The interrupt is lost when a command begins.
AT_THE_START = """
from pacopt.app import commands
real = commands.Output
commands.Output = lambda *values, **named: (lose(), real(*values, **named))[1]
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo"],
        ["learn", "--init"],
        ["verify", "nowhere"],
        ["report", "nowhere"],
        ["plan", "--success", "0.9"],
        ["reproduce"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_ends_with_an_interrupt_that_python_threw_away(arguments, tmp_path):
    answer = run(*arguments, code=AT_THE_START, cwd=tmp_path)
    assert answer.returncode == 130, answer.stderr
    assert answer.stderr == "Interrupted.\n"
    assert not answer.stdout


def test_a_machine_is_told_of_an_interrupt_in_one_document():
    answer = run("plan", "--success", "0.9", "--json", code=AT_THE_START)
    assert answer.returncode == 130
    assert json.loads(answer.stdout)["error"] == {"type": "Interrupted", "found": "plan --success 0.9 --json"}


#: The interrupt comes just before the document is written, on a machine that gives its writer no turn for a while.
WHILE_WRITING = """
import time
from pacopt.app import console
real = console.first_document
def slow():
    allowed = real()
    signal.raise_signal(signal.SIGINT)
    time.sleep(0.2)
    return allowed
console.first_document = slow
"""


def test_a_document_that_was_begun_is_written_to_its_end():
    answer = run("plan", "--success", "0.9", "--json", code=WHILE_WRITING)
    assert answer.returncode == 130
    assert "error" not in json.loads(answer.stdout)


def test_what_hangs_after_an_interrupt_is_ended_all_the_same():
    code = """
import threading
from pacopt.planning import plans
def make_plan(**options):
    signal.raise_signal(signal.SIGINT)
    while True:
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
plans.make_plan = make_plan
"""
    answer = run("plan", "--success", "0.9", "--json", code=code)
    assert (answer.returncode, answer.stderr) == (130, "Interrupted.\n")
    assert json.loads(answer.stdout)["error"]["type"] == "Interrupted"


@pytest.mark.parametrize("error", ["RuntimeError('INTERNAL: CpuCallback error')", "SystemExit(0)", "SystemExit(2)"])
def test_whatever_becomes_of_an_interrupt_on_its_way_the_exit_code_tells_of_it(error):
    code = f"from pacopt.planning import plans\ndef make_plan(**options):\n    lose()\n    raise {error}\n"
    answer = run("plan", "--success", "0.9", code=code + "plans.make_plan = make_plan")
    assert (answer.returncode, answer.stderr) == (130, "Interrupted.\n")


def test_the_end_of_the_process_is_no_time_in_which_an_interrupt_is_lost():
    answer = run("plan", "--success", "0.9", "--json", code="import atexit\natexit.register(lose)")
    assert answer.returncode == 130
    assert "error" not in json.loads(answer.stdout), "the answer was complete"


def test_what_is_registered_for_the_end_of_the_process_is_called():
    answer = run("--version", code="import atexit\natexit.register(print, 'the end')")
    assert answer.returncode == 0
    assert answer.stdout.endswith("the end\n")


def test_quiet_is_silent_about_interrupts_too():
    answer = run("verify", "nowhere", "--quiet", code=AT_THE_START)
    assert (answer.returncode, answer.stdout, answer.stderr) == (130, "", "")


def test_interrupts_that_are_ignored_stay_ignored():
    code = "signal.signal(signal.SIGINT, signal.SIG_IGN)" + AT_THE_START
    assert run("plan", "--success", "0.9", code=code).returncode == 0


def test_a_process_that_is_forked_off_has_interrupts_of_its_own():
    code = """
import os
from pacopt.planning import plans
real = plans.make_plan
def make_plan(**options):
    if not (child := os.fork()):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        except KeyboardInterrupt:
            os._exit(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    return real(**options)
plans.make_plan = make_plan
"""
    answer = run("plan", "--success", "0.9", code=code)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_an_answer_that_could_not_be_written_is_an_error():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", "from pacopt.app.cli import main; main()", "--version"]
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert answer.returncode == 3
    assert "No space left" in answer.stderr


def test_what_is_left_behind_is_said_and_what_is_of_no_use_is_removed(tmp_path):
    place = Workplace(tmp_path / "run")
    place.unfinished.mkdir()
    assert place.left_behind("job.toml") == ""
    assert not place.unfinished.exists()
    (place.tiles / "table").mkdir(parents=True)
    (place.tiles / "table" / "0.npz").write_bytes(b"")
    assert "1 finished tile is kept" in place.left_behind("job.toml")
    assert place.unfinished.exists()
    place.run.mkdir()
    assert f"pacopt report {place.run}" in place.left_behind("job.toml")
    assert not place.unfinished.exists()
