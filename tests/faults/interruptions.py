"""Sends SIGINT to real commands at random moments: none may be lost, none may take longer than half a second.

    python tests/faults/interruptions.py [number of signals] [seed]

The moments are uniform over the time that the command takes when nobody interrupts it, from the start of its process
to its end. It is run by hand: it takes a quarter of an hour, and what it finds depends on what else the machine does.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PACOPT = Path(sys.executable).with_name("pacopt")
LIMIT = 0.5
#: How many in a hundred signals go to each command.
COMMANDS = {
    "demo": 30,
    "learn": 30,
    "learn --json": 15,
    "verify runs/demo": 7,
    "report runs/demo": 8,
    "plan --success 0.99": 5,
    "reproduce fig4": 5,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one signal."""

    command: str
    moment: float  # seconds after the start of the process, at which the signal was sent, or it had finished
    delay: float
    code: int
    kind: str  # stopped, starting, lost, finished
    log: str


def started(command: str, folder: Path) -> subprocess.Popen:
    """The command in a process of its own. A new place for every run, so that no number is searched for."""
    words = command.split()
    if words[0] in ("demo", "learn"):
        words += ["--out", f"runs/{time.monotonic_ns()}"]
    with open(folder / "out", "wb") as out, open(folder / "log", "wb") as log:
        return subprocess.Popen([PACOPT, *words], cwd=folder, stdout=out, stderr=log)


def interrupted(command: str, moment: float, folder: Path) -> Outcome:
    """Send the signal at this moment and wait for the end."""
    process, begin = started(command, folder), time.perf_counter()
    with suppress(subprocess.TimeoutExpired):
        process.wait(moment)
    finished, sent = process.returncode is not None or exiting(process.pid), time.perf_counter()
    process.send_signal(signal.SIGINT)
    code = process.wait()
    moment, delay = sent - begin, time.perf_counter() - sent
    log, out = (folder / "log").read_text(), (folder / "out").read_text()
    return Outcome(
        command, moment, delay, code, kind(code, finished, log, "--json" not in command or is_json(out)), log
    )


def exiting(pid: int) -> bool:
    """Whether the process has called exit, and the system is still taking it apart, which takes some 10 ms.

    Nobody can be told of a signal then. It is looked at before the signal is sent, never after.
    """
    try:
        flags = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[6]
    except OSError:  # not Linux, or the process is gone
        return False
    return bool(int(flags) & 0x4)  # PF_EXITING


def is_json(text: str) -> bool:
    """Whether it is exactly one document."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def kind(code: int, finished: bool, log: str, told: bool) -> str:
    """What became of the signal. Before pacopt's first line Python itself is in charge, and ends with a traceback."""
    if finished:
        return "finished"
    if code == 130 and told:
        return "stopped"
    starting = code == -signal.SIGINT or (code == 1 and "init_import_site" in log)
    return "starting" if starting and ", in main\n" not in log else "lost"


def main(count: int = 300, seed: int = 0) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets its background jobs ignore it
    rng = random.Random(seed)
    commands = [name for name, share in COMMANDS.items() for _ in range(max(1, round(count * share / 100)))][:count]
    rng.shuffle(commands)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run([PACOPT, "learn", "--init"], cwd=folder, check=True, capture_output=True)
        subprocess.run([PACOPT, "demo", "--quiet"], cwd=folder, check=True)
        lengths = {}
        for name in COMMANDS:
            begin = time.perf_counter()
            assert started(name, folder).wait() == 0, (folder / "log").read_text()
            lengths[name] = time.perf_counter() - begin
        print("seconds without an interrupt:", {name: round(value, 2) for name, value in lengths.items()}, flush=True)
        for command in commands:
            while True:  # until the command had not finished already
                outcome = interrupted(command, rng.uniform(0, lengths[command]), folder)
                outcomes.append(outcome)
                if outcome.kind == "lost" or (outcome.kind != "finished" and outcome.delay > LIMIT):
                    print(outcome, "load of the machine", os.getloadavg()[0], flush=True)
                if outcome.kind != "finished":
                    break
                lengths[command] = outcome.moment  # others may have left the machine, and it is faster now
            if sum(outcome.kind != "finished" for outcome in outcomes) % 50 == 0:
                judged(outcomes)
    return judged(outcomes)


def judged(outcomes: list[Outcome]) -> int:
    """Print what was found; 1 if that is not as it should be."""
    sent = [outcome for outcome in outcomes if outcome.kind != "finished"]
    delays = sorted(outcome.delay for outcome in sent)
    lost, slow = [o for o in sent if o.kind == "lost"], [o for o in sent if o.delay > LIMIT]
    print(
        f"{len(sent)} signals:", dict(Counter(o.kind for o in sent)), "exit codes", dict(Counter(o.code for o in sent))
    )
    print(f"{len(outcomes) - len(sent)} more came after the end of the process and do not count")
    print("with a traceback on stderr:", sum("Traceback" in o.log for o in sent if o.kind == "stopped"))
    parts = {part: round(delays[min(len(delays) - 1, int(part * len(delays)))], 3) for part in (0.5, 0.9, 0.99)}
    print(f"delay in seconds: quantiles {parts}, largest {delays[-1]:.3f}; load of the machine {os.getloadavg()}")
    for name in COMMANDS:
        own = [o.delay for o in sent if o.command == name]
        if own:
            print(f"  {name}: {len(own)} signals, largest delay {max(own):.3f}")
    print(f"lost: {len(lost)}, slower than {LIMIT} s: {len(slow)}", flush=True)
    return 1 if lost or slow else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
