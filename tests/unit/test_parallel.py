"""Threads: order, how much is under way, and what happens when nobody asks any more."""

import threading

import pytest

from pacopt.engines.traced.parallel import ordered_results


def test_results_come_in_order_and_few_are_under_way():
    lock, state = threading.Lock(), {"started": 0, "taken": 0, "ahead": 0}
    together = threading.Barrier(2)

    def solve(key, position):
        with lock:
            state["started"] += 1
            state["ahead"] = max(state["ahead"], state["started"] - state["taken"])
        if key < 2:
            together.wait(60)  # two are under way at once
        return key, position

    for number, result in enumerate(ordered_results(solve, range(60), workers=2)):
        assert result == (number, number)
        state["taken"] += 1
    assert state["started"] == 60
    assert 2 <= state["ahead"] <= 4


def test_whoever_stops_asking_goes_on_at_once_and_the_rest_is_never_started():
    started, gate = [], threading.Event()

    def solve(key, position):
        started.append(key)
        if key:
            gate.wait()
        return key

    results = ordered_results(solve, range(100), workers=2)
    assert next(results) == 0
    results.close()
    gate.set()
    for thread in threading.enumerate():
        if thread.name.startswith("pacopt"):
            thread.join()
    assert set(started) <= {0, 1, 2}, "two workers, one result"


def test_an_error_reaches_the_caller():
    def solve(key, position):
        if key == 3:
            raise RuntimeError("three")
        return key

    with pytest.raises(RuntimeError, match="three"):
        list(ordered_results(solve, range(10), workers=2))


def test_an_error_about_time_is_an_error_like_others():
    def solve(key, position):
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        list(ordered_results(solve, range(10), workers=2))
