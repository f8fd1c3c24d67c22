"""Timing of several things in turns, so that whatever else the machine does hits all of them."""

import time
from collections.abc import Callable

import numpy as np


def side_by_side(contestants: dict[str, Callable[[], object]], *, rounds: int) -> dict[str, np.ndarray]:
    """Seconds of each round for each contestant; each ran once before, so that nothing is compiled on the clock."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    return {name: np.array(values) for name, values in seconds.items()}


def show(title: str, seconds: dict[str, np.ndarray], flops: float, baseline: str) -> None:
    """A table: fastest and median seconds, rate at the fastest, and the ratios to the baseline."""
    print(f"\n{title}")
    print(f"{'':<62}{'fastest':>9}{'median':>9}{'GF/s':>8}{'ratio':>8}{'median':>8}")
    for name, values in seconds.items():
        fastest = values.min() / seconds[baseline].min()
        typical = np.median(values / seconds[baseline])
        rate = flops / values.min() / 1e9
        print(f"{name:<62}{values.min():>8.3f}s{np.median(values):>8.3f}s{rate:>8.1f}{fastest:>8.2f}{typical:>8.2f}")
