"""Workers that crash, hang, eat memory, shout, fork or are killed: the table is the one that is made without them."""

import importlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import pacopt
from pacopt import BlackBox, Instances, Interval, Result
from pacopt.engines.blackbox.workers import answers, close_idle
from pacopt.errors import EngineError

WILD = {"a": np.array([0.25, 0.5, 0.75])}


def wild(hyper, instance):
    """Every fault that a solver can have, on some instances; a number on the others."""
    import ctypes
    import os
    import time

    fault, number = int(instance["fault"]), float(instance["number"])
    if fault == 1:
        ctypes.string_at(0)
    if fault == 2:
        ctypes.CDLL(None).sleep(600)
    if fault == 3:
        return Result(loss=float(len(b"x" * 2**33)))
    if fault == 4:
        os.write(1, b"words " * 500_000)
        print("words " * 500_000)
    if fault == 5:
        os.chdir("/")
    if fault == 6 and os.fork() == 0:
        time.sleep(60)
    if fault == 7:
        os.fork()  # both return
    if fault == 8:
        raise SystemExit(3)
    until = time.perf_counter() + 0.003
    while time.perf_counter() < until:
        number = number + 0.0
    return Result(loss=hyper["a"] * number, iterations=int(instance["number"]))


def tame(hyper, instance):
    """What it comes to where it comes to anything."""
    return Result(loss=hyper["a"] * float(instance["number"]), iterations=int(instance["number"]))


def box(function, **options):
    return BlackBox(function, {"a": Interval(0.0, 1.0)}, **options)


def faulty(count, seed=0):
    """Instances of which one in a hundred has each of the faults."""
    fault = np.arange(count) % 100
    return Instances({"number": np.arange(float(count)), "fault": np.where(fault <= 8, fault, 0).astype(float)})


def children():
    """The processes of workers that this process has started."""
    own = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in own if "pacopt.support.worker" in Path(f"/proc/{pid}/cmdline").read_text()]


@contextmanager
def killer(every, seed=0):
    """Somebody who kills a worker now and then; yields whom."""
    over, killed, chance = threading.Event(), [], random.Random(seed)

    def kill():
        while not over.wait(every):
            try:
                victim = chance.choice(children())
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
            except (IndexError, OSError):  # none is there, or it has just ended
                continue

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def same_but_for_failures(table, instances):
    expected = box(tame).table(WILD, instances).losses
    failed = np.isin(instances.fields["fault"], (1, 2, 3, 8))
    np.testing.assert_array_equal(table.losses[:, ~failed], expected[:, ~failed])
    assert np.isinf(table.losses[:, failed]).all()
    each = int(np.sum(instances.fields["fault"] == 1)) * len(WILD["a"])
    assert table.provenance["failures"] == {
        "MemoryError": each,
        "SystemExit": each,
        "the process died": each,
        "time limit": each,
    }


@pytest.mark.parametrize(
    ("workers", "count"),
    [(4, 100), *(pytest.param(k, 300, marks=pytest.mark.slow) for k in (1, 2, 8))],
)
def test_every_fault_of_a_solver_is_a_failure_of_its_own_runs(workers, count):
    place = os.getcwd()
    instances = faulty(count)
    table = box(wild, workers=workers, limit=2.0, memory=4.0).table(WILD, instances)
    same_but_for_failures(table, instances)
    assert os.getcwd() == place
    close_idle()
    assert not children()


def slow_sum(hyper, instance):
    import time

    until = time.perf_counter() + 0.004
    while time.perf_counter() < until:
        pass
    return Result(loss=hyper["a"] * float(instance["number"]))


@pytest.mark.parametrize("limit", [None, 20.0])
def test_workers_that_are_killed_at_random_change_nothing(limit):
    numbers = Instances({"number": np.arange(250.0)})
    with killer(every=0.25) as killed:
        table = box(slow_sum, workers=4, limit=limit).table(WILD, numbers)
    assert len(killed) >= 3
    np.testing.assert_array_equal(table.losses, np.outer(WILD["a"], np.arange(250.0)))
    assert "failures" not in table.provenance


@pytest.mark.slow
def test_workers_killed_every_three_seconds_among_four_with_a_solver_that_has_every_fault():
    instances = faulty(4000)
    with killer(every=3.0, seed=1) as killed:
        table = box(wild, workers=4, limit=2.0, memory=4.0).table(WILD, instances)
    assert len(killed) >= 5
    same_but_for_failures(table, instances)


def test_a_worker_that_is_killed_while_it_waits_is_replaced():
    close_idle()
    found = answers(slow_sum, [({"a": 0.5}, {"number": float(k)}) for k in range(6)], workers=1)
    first = next(found)
    time.sleep(0.2)  # it has done what it was sent, and nobody sends more
    (pid,) = children()
    os.kill(pid, signal.SIGKILL)
    assert [answer.value.loss for answer in (first, *found)] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]


def test_a_limit_stops_native_code_within_a_second():
    begun = time.monotonic()
    hanging = Instances({"number": np.zeros(2), "fault": np.full(2, 2.0)})
    table = box(wild, workers=2, limit=0.3).table({"a": [0.5]}, hanging)
    assert np.isinf(table.losses).all()
    assert time.monotonic() - begun < 20  # not ten minutes; how long exactly is for benchmarks


CLIENT = """
from pathlib import Path

import numpy as np

from pacopt import BlackBox, Instances, Interval, Result
from pacopt.engines.store import Checkpoint

PLACE = Path({place!r})


def solve(hyper, instance):
    import time

    with open(PLACE / "log", "a") as log:
        log.write("a call\\n")
    while instance["number"] == 37 and (PLACE / "hang").exists():
        time.sleep(0.01)
    time.sleep(0.002)
    return Result(loss=hyper["a"] + 0.5 / (1 + float(instance["number"])), iterations=1)


engine = BlackBox(solve, {{"a": Interval(0.0, 1.0)}}, workers=2)
numbers = Instances({{"number": np.arange(60.0)}})
table = engine.table({{"a": np.linspace(0, 1, 40)}}, numbers, store=Checkpoint(PLACE / "store"))
np.save(PLACE / "losses.npy", table.losses)
"""


def test_a_client_that_is_killed_leaves_no_process_behind_and_loses_no_finished_tile(tmp_path):
    (tmp_path / "hang").touch()
    script = tmp_path / "client.py"
    script.write_text(CLIENT.format(place=str(tmp_path)))

    def finished():
        return len(list((tmp_path / "store").glob("*/*.npz")))

    def calls():
        return (tmp_path / "log").read_text().count("\n")

    with subprocess.Popen([sys.executable, script]) as client:
        until(lambda: finished() == 18)  # of 30 tiles with two instances each: the next one hangs
        workers = Path(f"/proc/{client.pid}/task/{client.pid}/children").read_text().split()
        client.kill()
    assert len(workers) == 2
    until(lambda: not any(alive(pid) for pid in workers))
    before = calls()
    (tmp_path / "hang").unlink()
    subprocess.run([sys.executable, script], check=True)
    one, missing = 2 * 40, 12 * 2 * 40
    assert calls() - before == one + missing  # one of the stored tiles is compared
    expected = np.linspace(0, 1, 40)[:, None] + 0.5 / (1 + np.arange(60.0))
    np.testing.assert_array_equal(np.load(tmp_path / "losses.npy"), expected)


def alive(pid):
    """Whether a process runs; one that waits to be buried by whoever adopted it does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=60.0):
    """Wait for something that will happen."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def test_what_cannot_be_loaded_in_a_worker_is_said(tmp_path, monkeypatch):
    class Unloadable:
        def __reduce__(self):
            return eval, ("1 / 0",)

    instances = {"number": 1.0, "thing": Unloadable()}
    with pytest.raises(EngineError, match="In a worker the call could not be loaded: ZeroDivisionError"):
        list(answers(tame, [({"a": 0.5}, instances)], workers=1))
    with pytest.raises(EngineError, match="An instance cannot be sent to a worker"):
        list(answers(tame, [({"a": 0.5}, {"number": 1.0, "lock": threading.Lock()})], workers=1))
    with pytest.raises(EngineError, match="cannot be sent back"):
        list(answers(lambda hyper, instance: threading.Lock(), [({"a": 0.5}, {"number": 1.0})], workers=1))


def test_a_mistake_that_is_not_one_of_a_run_ends_the_job_in_a_worker_too():
    command = pacopt.engines.Command("echo {lost}", parse=float)
    for options in ({}, {"workers": 2}):
        with pytest.raises(EngineError, match="there is no such value"):
            box(command, **options).table({"a": [0.5]}, Instances({"number": np.arange(3.0)}))


def test_arrays_of_an_instance_cannot_be_changed_wherever_a_call_is_made():
    def writes(hyper, instance):
        instance["v"][0] = 1.0
        return 0.5

    vectors = Instances({"v": np.zeros((20, 2))})
    for options in ({}, {"workers": 2}):
        with pytest.raises(EngineError, match="ValueError: assignment destination is read-only"):
            box(writes, **options).table({"a": [0.5]}, vectors)


def test_workers_that_are_kept_do_not_run_code_that_was_replaced(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "replaced_solver.py"
    for factor in (1.0, 2.0):
        source.write_text(f"def solve(hyper, instance):\n    return {factor} * hyper['a']\n")
        os.utime(source, (factor, factor))  # two versions within a second are told apart by this
        module = importlib.import_module("replaced_solver")
        module = importlib.reload(module)
        table = box(module.solve, workers=1, limit=20.0).table({"a": [0.5]}, Instances({"number": np.arange(2.0)}))
        assert table.losses.tolist() == [[0.5 * factor, 0.5 * factor]]


def place(hyper, instance):
    return float(Path("number").read_text())


def test_workers_that_are_kept_do_not_stay_in_a_directory_that_was_left(tmp_path, monkeypatch):
    for number in (1.0, 2.0):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "number").write_text(str(number))
        monkeypatch.chdir(folder)
        table = box(place, workers=1, limit=20.0).table({"a": [0.5]}, Instances({"number": np.arange(2.0)}))
        assert table.losses.tolist() == [[number, number]]
