"""What calls of a black box cost beside the solver itself, how much workers help, and what a million cells take.

    python -m benchmarks.workers

Quiet cores are needed: whatever else runs takes from the second worker what the ratio measures.
"""

import resource
import time

import numpy as np

from pacopt import BlackBox, Instances, Interval
from pacopt.engines.blackbox.workers import close_idle

SPACE = {"a": Interval(0.0, 1.0)}
SOLVE = 0.005


def trivial(hyper, instance):
    return 0.5


def busy(hyper, instance):
    """Five milliseconds of one core, whoever else wants it."""
    until = time.process_time() + SOLVE
    while time.process_time() < until:
        pass
    return 0.5


def asleep(hyper, instance):
    import ctypes

    ctypes.CDLL(None).sleep(60)
    return 0.5


def seconds(function, candidates: int, instances: Instances, **options) -> float:
    """How long a table takes, from the call to the last of its numbers; workers have to start."""
    close_idle()
    engine = BlackBox(function, SPACE, **options)
    begun = time.perf_counter()
    engine.table({"a": np.linspace(0, 1, candidates)}, instances)
    return time.perf_counter() - begun


def main() -> None:
    instances = Instances({"A": np.random.default_rng(0).normal(size=(200, 20, 20))})
    for name, options in (("serial", {}), ("two workers, with a limit", {"workers": 2, "limit": 10.0})):
        cost = min(seconds(trivial, 100, instances, **options) for _ in range(3)) / 20_000
        print(f"a call, {name}: {1e3 * cost:.3f} ms")
    ratios = []
    for _ in range(3):
        one = seconds(busy, 20, instances)
        two = seconds(busy, 20, instances, workers=2, limit=10.0)
        ratios.append(one / two)
    spread = f"({min(ratios):.2f}-{max(ratios):.2f})"
    print(f"4,000 solves of 5 ms, two workers: {np.median(ratios):.2f} times as fast {spread}")
    late = seconds(asleep, 1, instances[:1], limit=1.0) - seconds(trivial, 1, instances[:1], limit=1.0)
    print(f"native code that hangs is stopped {late - 1.0:.2f} s after its limit of 1 s")
    many = Instances({"x": np.arange(10_000.0)})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took = seconds(trivial, 100, many)
    shared = seconds(trivial, 100, many, workers=2, limit=10.0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"a million cells: {took:.0f} s serial, {shared:.0f} s with two workers; {grown:.0f} MiB more than before")


if __name__ == "__main__":
    main()
