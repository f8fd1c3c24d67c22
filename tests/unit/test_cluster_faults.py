"""Whoever is killed, paused or cut off while a table is made, nothing is lost and the table is that of one process."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

from compiling import FLAGS
from pacopt import BlackBox, HeavyBall, Instances, Interval, VaryingCurvature
from pacopt.engines.cluster import Cluster
from pacopt.engines.store import Checkpoint
from pacopt.engines.traced.engine import Traced
from pacopt.errors import EngineError

OWN = """
import os, tempfile, time

def slow(hyper, instance):
    until = time.perf_counter() + 0.005
    while time.perf_counter() < until:
        pass
    return abs(hyper["a"] - float(instance["x"]))

def writes(hyper, instance):
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 400_000)
        file.flush()
    return abs(hyper["a"] - float(instance["x"]))
"""
SPACE = {"a": Interval(0.0, 1.0)}
TWENTY = {"a": np.linspace(0.0, 1.0, 20)}
DASK = str(Path(sys.executable).with_name("dask"))
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns of what is done to it here


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    (place / "own_slow.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        patch.setenv("PYTHONPATH", str(place))
        patch.setenv("XLA_FLAGS", FLAGS)
        import own_slow

        yield own_slow


def drawn(count):
    return Instances({"x": np.random.default_rng(0).uniform(size=count)})


def truth(instances):
    return np.abs(TWENTY["a"][:, None] - instances.fields["x"])


@contextmanager
def local(count):
    with (
        warnings.catch_warnings(),
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL") as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def meanwhile(act, *, every):
    """Something that is done every few seconds in another thread."""
    over, done = threading.Event(), []

    def go():
        while not over.wait(every):
            done.append(act())

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()


def victim(client):
    """The process of some worker that works: a nanny whose worker dies before that gives it up."""
    known, nannies = client.cluster.scheduler.workers, client.cluster.workers.values()
    running = [nanny.process.pid for nanny in nannies if nanny.process is not None and nanny.worker_address in known]
    return random.choice([pid for pid in running if pid] or [0])


def kill(client):
    pid = victim(client)
    if pid:
        os.kill(pid, signal.SIGKILL)
    return pid


def test_a_worker_that_is_killed_is_replaced_and_its_tiles_are_made_again(own):
    instances, killed = drawn(60), []
    with local(2) as client:

        def progress(done, total):
            if done > total / 4 and not killed:
                killed.append(kill(client))

        table = BlackBox(own.slow, SPACE).table(TWENTY, instances, progress, Cluster(client))
    np.testing.assert_array_equal(table.losses, truth(instances))
    assert killed


@pytest.mark.slow
def test_workers_that_are_killed_every_three_seconds_finish_the_table_of_a_solver(own):
    instances = drawn(600)
    with local(4) as client, meanwhile(lambda: kill(client), every=3.0) as killed:
        table = BlackBox(own.slow, SPACE, limit=20.0).table(TWENTY, instances, None, Cluster(client))
    np.testing.assert_array_equal(table.losses, truth(instances))
    assert len(killed) > 5


@pytest.mark.slow
def test_workers_that_are_killed_every_three_seconds_finish_the_table_of_jax():
    law, candidates = VaryingCurvature.draw(seed=0, n=50), {"step_size": np.geomspace(1e-5, 1e-3, 40)}
    engine = Traced(law.problem, HeavyBall(), 160)
    candidates["momentum"], instances = np.full(40, 0.9), law.sample(60_000, seed=1)
    serial = engine.table(candidates, instances)
    with local(4) as client, meanwhile(lambda: kill(client), every=3.0) as killed:
        table = engine.table(candidates, instances, None, Cluster(client))
    np.testing.assert_array_equal(table.losses, serial.losses)
    assert len(killed) >= 2


@pytest.mark.slow
def test_a_worker_that_is_paused_for_ten_seconds_goes_on(own):
    instances = drawn(300)
    with local(2) as client:
        first = next(iter(client.run(os.getpid).values()))

        def pause():
            os.kill(first, signal.SIGSTOP)
            time.sleep(10)
            os.kill(first, signal.SIGCONT)

        with meanwhile(pause, every=2.0) as paused:
            table = BlackBox(own.slow, SPACE, limit=5.0).table(TWENTY, instances, None, Cluster(client))
    np.testing.assert_array_equal(table.losses, truth(instances))
    assert paused


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def running(*command, before=(), **environment):
    process = subprocess.Popen(
        [*before, DASK, *command, "--no-dashboard"],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def commanded(address, count=2, patience=30):
    """A scheduler and workers as a user starts them by hand, and a client."""
    host, port = address.removeprefix("tcp://").split(":")
    with ExitStack() as stack:
        scheduler = stack.enter_context(running("scheduler", "--host", host, "--port", port))
        for _ in range(count):
            stack.enter_context(running("worker", address, "--nthreads", "1", "--host", host))
        client = stack.enter_context(Client(address, timeout=patience, set_as_default=False))
        client.wait_for_workers(count, timeout=60)
        yield client, scheduler


@pytest.mark.slow
def test_when_the_scheduler_is_killed_that_is_said_and_another_cluster_goes_on(own, tmp_path):
    instances, store, engine = drawn(300), Checkpoint(tmp_path), BlackBox(own.slow, SPACE)
    with commanded(f"tcp://127.0.0.1:{free_port()}", patience=5) as (client, scheduler):

        def progress(done, total):
            if done > total / 3:
                scheduler.kill()

        with pytest.raises(EngineError, match="The scheduler of the cluster is gone"):
            engine.table(TWENTY, instances, progress, Cluster(client, store))
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    assert 15 < len(kept) < 75
    with commanded(f"tcp://127.0.0.1:{free_port()}") as (client, _):
        table = engine.table(TWENTY, instances, None, Cluster(client, store))
    np.testing.assert_array_equal(table.losses, truth(instances))
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@pytest.mark.slow
def test_a_scheduler_that_comes_back_at_its_address_finds_the_job_waiting(own):
    instances, address = drawn(300), f"tcp://127.0.0.1:{free_port()}"
    host, port = "127.0.0.1", address.rpartition(":")[2]
    with ExitStack() as stack, commanded(address) as (client, scheduler):
        restarted = []

        def progress(done, total):
            if done > total / 3 and not restarted:
                scheduler.kill()
                scheduler.wait()
                restarted.append(stack.enter_context(running("scheduler", "--host", host, "--port", port)))
                restarted.append(stack.enter_context(running("worker", address, "--nthreads", "1", "--host", host)))

        table = BlackBox(own.slow, SPACE).table(TWENTY, instances, progress, Cluster(client))
        assert restarted
    np.testing.assert_array_equal(table.losses, truth(instances))


CLIENT = """
import os, sys
import numpy as np
from distributed import Client
from pathlib import Path
from pacopt import BlackBox, Instances, Interval
from pacopt.engines.cluster import Cluster
from pacopt.engines.store import Checkpoint
import own_slow

def kill(done, total):
    if done > total / 3:
        os.kill(os.getpid(), int(sys.argv[3]))

if __name__ == "__main__":
    with Client(sys.argv[1], set_as_default=False) as client:
        x = Instances({"x": np.random.default_rng(0).uniform(size=300)})
        engine = BlackBox(own_slow.slow, {"a": Interval(0.0, 1.0)})
        engine.table({"a": np.linspace(0.0, 1.0, 20)}, x, kill, Cluster(client, Checkpoint(Path(sys.argv[2]))))
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_when_the_client_is_killed_or_interrupted_what_is_finished_is_kept_and_the_cluster_stops(own, tmp_path, number):
    (tmp_path / "client.py").write_text(CLIENT)
    instances, place, engine = drawn(300), tmp_path / "kept", BlackBox(own.slow, SPACE)
    with local(2) as client:
        address = client.scheduler.address
        ended = subprocess.run(
            [sys.executable, tmp_path / "client.py", address, str(place), str(int(number))], capture_output=True
        )
        assert ended.returncode in (-number, 128 + number), ended.stderr
        kept = {path: path.stat().st_mtime_ns for path in place.rglob("*.npz")}
        assert 15 < len(kept) < 75
        until = time.monotonic() + 20
        while client.cluster.scheduler.tasks and time.monotonic() < until:
            time.sleep(0.1)
        assert not client.cluster.scheduler.tasks
        table = engine.table(TWENTY, instances, None, Cluster(client, Checkpoint(place)))
    np.testing.assert_array_equal(table.losses, truth(instances))
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    np.testing.assert_array_equal(engine.table(TWENTY, instances, None, Checkpoint(place)).losses, truth(instances))


def can_make_namespaces():
    return os.geteuid() == 0 and shutil.which("ip") and shutil.which("unshare")


@pytest.mark.slow
@pytest.mark.skipif(not can_make_namespaces(), reason="a network of one's own needs root; a paused worker does not")
def test_a_worker_that_loses_its_network_for_ten_seconds_costs_nothing_but_time(own):
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    instances, name = drawn(300), f"pc{os.getpid() % 10_000}"
    ip("netns", "add", name)
    try:
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        ip("addr", "add", "10.231.7.1/24", "dev", f"{name}a")
        ip("link", "set", f"{name}a", "up")
        ip("-n", name, "addr", "add", "10.231.7.2/24", "dev", f"{name}b")
        for device in (f"{name}b", "lo"):
            ip("-n", name, "link", "set", device, "up")
        address = f"tcp://10.231.7.1:{free_port()}"
        inside = ("ip", "netns", "exec", name)

        def cut():
            ip("-n", name, "link", "set", f"{name}b", "down")
            time.sleep(10)
            ip("-n", name, "link", "set", f"{name}b", "up")

        with (
            commanded(address, count=1) as (client, _),
            running("worker", address, "--nthreads", "1", "--host", "10.231.7.2", before=inside),
        ):
            client.wait_for_workers(2, timeout=60)
            with meanwhile(cut, every=3.0) as cuts:
                table = BlackBox(own.slow, SPACE).table(TWENTY, instances, None, Cluster(client))
        np.testing.assert_array_equal(table.losses, truth(instances))
        assert cuts
    finally:
        ip("netns", "delete", name)


@pytest.mark.slow
@pytest.mark.skipif(not can_make_namespaces(), reason="a disk of one's own needs root; /dev/full does not")
def test_a_worker_with_a_full_disk_is_left_out_and_the_others_finish(own, tmp_path):
    instances, disk = drawn(100), tmp_path / "disk"
    disk.mkdir()
    small = f'mount -t tmpfs -o size=300k none {disk} && exec "$@"'
    before = ("unshare", "--mount", "sh", "-c", small, "sh")
    address = f"tcp://127.0.0.1:{free_port()}"
    with (
        commanded(address, count=1) as (client, _),
        running("worker", address, "--nthreads", "1", "--no-nanny", before=before, TMPDIR=str(disk)),
    ):
        client.wait_for_workers(2, timeout=60)
        with pytest.warns(UserWarning, match="is left out: The disk is full"):
            table = BlackBox(own.writes, SPACE).table(TWENTY, instances, None, Cluster(client))
    np.testing.assert_array_equal(table.losses, truth(instances))
