"""Threads: order, how much is under way, and what happens when nobody asks any more."""

import threading
import time

import pytest

from pacopt.engines.traced.parallel import ordered_results


def test_results_come_in_order_and_few_are_under_way():
    lock, state = threading.Lock(), {"started": 0, "taken": 0, "ahead": 0}

    def solve(key, position):
        with lock:
            state["started"] += 1
            state["ahead"] = max(state["ahead"], state["started"] - state["taken"])
        time.sleep(0.001 * (key % 3))
        return key, position

    for number, result in enumerate(ordered_results(solve, range(60), workers=2)):
        assert result == (number, number)
        state["taken"] += 1
    assert state["started"] == 60
    assert 2 <= state["ahead"] <= 5


def test_whoever_stops_asking_goes_on_at_once_and_the_rest_is_never_started():
    started, gate = [], threading.Event()

    def solve(key, position):
        started.append(key)
        if key:
            gate.wait(10)
        return key

    results = ordered_results(solve, range(100), workers=2)
    assert next(results) == 0
    results.close()
    gate.set()
    time.sleep(0.05)
    assert len(started) <= 5


def test_an_error_reaches_the_caller():
    def solve(key, position):
        if key == 3:
            raise RuntimeError("three")
        return key

    with pytest.raises(RuntimeError, match="three"):
        list(ordered_results(solve, range(10), workers=2))
