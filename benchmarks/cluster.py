"""What tables cost on a Dask cluster beside the runs themselves, and what that means for 10^9 cells on 1,000 workers.

    python -m benchmarks.cluster

Scheduler and workers are processes of their own, as on a cluster. Quiet cores are needed: two workers, their helpers,
the scheduler and the client share this machine.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client

from benchmarks.workers import SOLVE, SPACE, busy, trivial
from pacopt import BlackBox, Instances
from pacopt.engines.cellwise import TILES
from pacopt.engines.cluster import Cluster
from pacopt.engines.cluster.dealing import FOR_EACH_THREAD
from pacopt.engines.store import Checkpoint

DASK = Path(sys.executable).with_name("dask")
CELLS, WORKERS = 10**9, 1000


@contextmanager
def cluster(workers: int) -> Iterator[Client]:
    """A scheduler and workers as processes of their own."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        file = str(Path(place) / "scheduler.json")

        def start(*words: str) -> None:
            command = [str(DASK), *words, "--scheduler-file", file, "--no-dashboard"]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        start("scheduler", "--port", "0")
        for _ in range(workers):
            start("worker", "--nthreads", "1")
        client = stack.enter_context(Client(scheduler_file=file, timeout=60))
        client.wait_for_workers(workers)
        yield client


def seconds(function: Any, candidates: int, instances: Instances, store: Any) -> float:
    begun = time.perf_counter()
    BlackBox(function, SPACE).table({"a": np.linspace(0, 1, candidates)}, instances, None, store)
    return time.perf_counter() - begun


def main() -> None:
    instances = Instances({"A": np.random.default_rng(0).normal(size=(200, 20, 20))})
    with cluster(2) as client:
        there = Cluster(client)
        seconds(trivial, 20, instances, there)  # everybody imports what is needed
        cost = min(seconds(trivial, 100, instances, there) for _ in range(3)) / 20_000
        print(f"a call through two workers, in tiles: {1e3 * cost:.3f} ms")
        pairs = []
        for _ in range(3):
            one = seconds(busy, 20, instances, None)
            seconds(busy, 20, instances[:40], there)  # which starts the processes of the solver
            pairs.append((one, seconds(busy, 20, instances, there)))
        ratios = [one / two for one, two in pairs]
        spread = f"({min(ratios):.2f}-{max(ratios):.2f})"
        print(f"4,000 solves of 5 ms, two workers that were started: {np.median(ratios):.2f} times as fast {spread}")

        many = Instances({"x": np.arange(10_000.0)})
        before, busy_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        took, used = seconds(trivial, 100, many, there), time.process_time() - busy_before
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"a million cells: {took:.0f} s, the client busy for {used:.1f} s; {grown:.0f} MiB more than before")
        with tempfile.TemporaryDirectory() as place:
            kept = seconds(trivial, 100, many, Cluster(client, Checkpoint(Path(place))))
            file = max(0.0, kept - took) / len([*Path(place).rglob("*.npz")])
            print(f"a tile that is stored: {1e3 * file:.1f} ms more")
        task = _task(client)
        print(f"a task of the scheduler: {1e3 * task:.2f} ms")

    work, tile = CELLS * SOLVE / WORKERS, CELLS / TILES * SOLVE
    tasks = min(TILES, CELLS * SOLVE / (FOR_EACH_THREAD * WORKERS))
    print(f"\n10^9 solves of 5 ms on 1,000 workers, from these figures: {work / 3600:.1f} hours for each worker;")
    print(f"  {TILES:,} tiles of {CELLS // TILES:,} calls, {tile:.0f} s each, in {tasks:,.0f} tasks")
    print(f"  scheduler and client: {tasks * task / 60:.0f} minutes; files: {TILES * file / 60:.0f} minutes")
    print(f"  the losses on the client: {CELLS * 8 / 2**30:.1f} GiB")


def _task(client: Client) -> float:
    """The time that an empty task takes, with many under way."""
    begun, count = time.perf_counter(), 2000
    client.gather([client.submit(int, number, pure=False) for number in range(count)])
    return (time.perf_counter() - begun) / count


if __name__ == "__main__":
    main()
