"""A certificate watched in use: how soon a change is noticed, and how often an alarm is false.

`python -m benchmarks.watch`, less than a minute. Many streams at once, with the bets of `Evidence` and its recursion
written for arrays; one stream is compared with `Evidence` itself.
"""

import math
import time

import numpy as np

from pacopt.claims.base import Watched
from pacopt.monitoring import Evidence, Monitor

THRESHOLD, MOST, STREAMS = 1e5, 0.01, 200


class Streams:
    """Evidence of many streams."""

    def __init__(self, streams, most=MOST):
        self.bets, self.most = np.array(Evidence.against(most).bets)[:, None], most
        self.r = np.zeros((len(self.bets), streams))

    def add(self, z):
        self.r = (self.r + 1) * (1 + self.bets * (z - self.most))
        return self.r.mean(axis=0) >= THRESHOLD

    def restart(self, where):
        self.r[:, where] = 0.0


def compared(rng):
    """One stream, both ways."""
    one, many = Evidence.against(MOST), Streams(1)
    for z in (rng.random(500) < 0.02).astype(float):
        one.add(z)
        many.add(np.array([z]))
    assert math.isclose(one.log_restarting, math.log(many.r.mean()), rel_tol=1e-9)


def delays(rng, before, streams=2000, worse=0.05):
    """How many instances pass from a change until it is noticed."""
    watched, found = Streams(streams), np.full(streams, -1)
    for _ in range(before):
        watched.restart(watched.add((rng.random(streams) < MOST).astype(float)))
    for n in range(1, 5000):
        alarm = watched.add((rng.random(streams) < worse).astype(float))
        found = np.where((found < 0) & alarm, n, found)
        if (found > 0).all():
            break
    return found


def false_alarms(rng, instances=1_000_000):
    """Alarms among so many instances that just keep the certificate, in each stream."""
    watched, alarms = Streams(STREAMS), np.zeros(STREAMS)
    for _ in range(instances // 1000):
        block = (rng.random((1000, STREAMS)) < MOST).astype(float)
        for z in block:
            alarm = watched.add(z)
            if alarm.any():
                alarms += alarm
                watched.restart(alarm)
    return alarms


def cost(updates=50_000):
    """Microseconds for an update."""
    monitor = Monitor({"success": Watched(MOST, lambda loss, start: 0.0)})
    begun = time.perf_counter()
    for _ in range(updates):
        monitor.update(0.0)
    return 1e6 * (time.perf_counter() - begun) / updates


def main():
    rng = np.random.default_rng(0)
    compared(rng)
    for before in (0, 2000):
        found = delays(rng, before)
        low, high = np.quantile(found, [0.1, 0.9])
        spread = f"80 % from {low:.0f} to {high:.0f}"
        print(f"success 0.99 -> 0.95 after {before}: median delay {np.median(found):.0f} ({spread})")
    print(f"an update: {cost():.1f} microseconds")
    alarms = false_alarms(rng)
    error = alarms.std() / math.sqrt(len(alarms))
    promised = f"promised: at most {1e6 / THRESHOLD:.0f}"
    print(f"false alarms in 1e6 instances: {alarms.mean():.2f} +- {2 * error:.2f} ({promised})")


if __name__ == "__main__":
    main()
