"""Commands, scripts and pieces of code in processes of their own.

Most are children of a process that has imported everything already (`nursery.py`), which saves the seconds that JAX
takes to start. `run_fresh` and the console script `PACOPT` are for tests in which the start itself is the point.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path

#: The console script, which a user starts.
PACOPT = Path(sys.executable).with_name("pacopt")
#: Seconds after which a child is thought to hang. Nothing takes a tenth of it.
PATIENCE = 600.0


@cache
def _nursery():
    """The connection to the process that has imported everything, and its answers. It ends when this process does."""
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    command = [sys.executable, "-W", "error", Path(__file__).with_name("nursery.py"), str(theirs.fileno())]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()
    answers = ours.makefile("r")

    def end():
        answers.close()
        ours.close()
        process.wait()

    atexit.register(end)
    return ours, answers


def _run(kind, argv, path, *, code="", cwd=None, environment):
    channel, answers = _nursery()
    request = {
        "kind": kind,
        "argv": [str(word) for word in argv],
        "path": str(path),
        "code": str(code),
        "cwd": str(cwd or Path.cwd()),
        "environment": os.environ | environment,
    }
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as log:
        socket.send_fds(channel, [b">"], [out.fileno(), log.fileno()])
        channel.sendall(json.dumps(request).encode() + b"\n")
        child = int(answers.readline())
        try:
            returncode = int(answers.readline())
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            _nursery.cache_clear()
            raise
        said = []
        for stream in (out, log):
            stream.seek(0)
            said.append(stream.read().decode())
    return subprocess.CompletedProcess(request["argv"], returncode, *said)


def pacopt(*arguments, cwd=None, **environment):
    """What became of a command: exit code, stdout and stderr."""
    return _run("command", [PACOPT, *arguments], PACOPT.parent, cwd=cwd, environment=environment)


def run_script(path, cwd, *arguments):
    """What became of a script that is started in a directory."""
    return _run("script", [path, *arguments], path.parent, code=path, cwd=cwd, environment={})


def run_code(code, *arguments, cwd=None, **environment):
    """What became of a piece of code, in the way of `python -c`."""
    return _run("code", ["-c", *arguments], "", code=textwrap.dedent(code), cwd=cwd, environment=environment)


def run_alone(code, **environment):
    """The output of a piece of code that ends well."""
    answer = run_code(code, **environment)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def run_fresh(code):
    """The output of a piece of code in a process that has imported nothing before."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout
