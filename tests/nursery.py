"""A process that has imported everything once, and forks a child for each request: `alone.py` is who asks.

A child is a process of its own, with descriptors, environment, signals, exit code and end as if it had just been
started, but for the seconds that importing JAX takes. No backend of JAX is started here: it would run threads, and a
process with threads is not to be forked. What a child does not show is what importing itself does; tests about that
start real processes (`run_fresh`).
"""

import json
import os
import runpy
import signal
import socket
import sys
from types import ModuleType

import altair  # noqa: F401
import jinja2  # noqa: F401

import pacopt
import pacopt.app.commands
import pacopt.app.demo
import pacopt.app.job_parts
import pacopt.app.presenting
from pacopt.app.cli import main
from pacopt.report.script import vega


def children(channel):
    """In the child, the request and its stdout and stderr; in this process, nothing until nobody asks any more."""
    lines = channel.makefile("r")
    while True:
        begin, descriptors, *_ = socket.recv_fds(channel, 1, 2)
        if not begin:
            lines.close()
            return
        line = lines.readline()
        child = os.fork()
        if not child:
            lines.close()
            channel.close()
            yield json.loads(line), descriptors
            return
        for descriptor in descriptors:
            os.close(descriptor)
        channel.sendall(f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        channel.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def become(request, descriptors):
    """Make this process what it would be had it been started for the request."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, descriptor in enumerate([nothing, *descriptors]):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv, sys.path[0] = request["argv"], request["path"]


def run(request):
    """The command line, a script, or a piece of code as the main module."""
    if request["kind"] == "command":
        main()
    elif request["kind"] == "script":
        sys.dont_write_bytecode = True
        runpy.run_path(request["code"], run_name="__main__")
    else:
        sys.modules["__main__"] = module = ModuleType("__main__")
        exec(compile(request["code"], "<string>", "exec"), module.__dict__)


if __name__ == "__main__":
    for name in pacopt.__all__:  # lazily imported, by whoever needs them first
        getattr(pacopt, name)
    vega()  # takes as long as JAX
    nursery = sys.modules["__main__"]  # which code in a child replaces
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        for request, descriptors in children(channel):
            become(request, descriptors)
            run(request)
