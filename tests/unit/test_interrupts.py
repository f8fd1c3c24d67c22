"""An interrupt is never lost, wherever Python throws its exception away."""

import gc
import signal
import sys
import threading
import time
from concurrent.futures import Future

import pytest

from pacopt import HeavyBall, VaryingCurvature, learn, loss_curves, split, tabulate
from pacopt.app import stopping
from pacopt.engines.traced import parallel
from pacopt.engines.traced.parallel import ordered_results
from pacopt.support.interrupts import forget, heed, heeded, noted

LAW = VaryingCurvature.draw(seed=0, n=5)
PARTS = split(LAW.sample(90, seed=1), prior=20, train=60, test=10, seed=2)


@pytest.fixture(autouse=True)
def default_handler():
    """Python's own handler, also where the tests run in the background of a shell; it is back at the end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    assert not noted()


def lose():
    """An interrupt during a callback of the garbage collector: Python prints the exception and goes on."""
    assert threading.current_thread() is threading.main_thread()
    sent = []

    def callback(phase, info):
        # Once, and here: collections of other threads are none of this test, and their signals would come any time.
        if phase == "start" and not sent and threading.current_thread() is threading.main_thread():
            sent.append(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    lost, hook = [], sys.unraisablehook
    gc.callbacks.append(callback)
    sys.unraisablehook = lambda thrown: lost.append(thrown.exc_type)
    try:
        while not sent:  # while another thread collects, this one does not
            gc.collect()
    finally:
        gc.callbacks.remove(callback)
        sys.unraisablehook = hook
    assert KeyboardInterrupt in lost


def learned(progress=None, prior=None):
    return learn(LAW.problem, HeavyBall(), PARTS, steps=5, prior=prior, progress=progress)


@pytest.mark.parametrize("stage", ["prior", "train"])
def test_learning_ends_with_an_interrupt_that_python_threw_away_and_the_next_call_knows_nothing_of_it(stage):
    reached = []

    def progress(name, done, total):
        reached.append(name)
        if name == stage:
            lose()

    with pytest.raises(KeyboardInterrupt):
        learned(progress)
    assert reached[-2:] == [stage, "whole"], "it ends there"
    assert reached.count(stage) == 1
    assert learned().certificate.deployed.risk < 1


def test_tables_and_curves_end_with_it_too():
    candidates, instances = {"step_size": [1e-4], "momentum": [0.5]}, PARTS.train
    with pytest.raises(KeyboardInterrupt):
        tabulate(LAW.problem, HeavyBall(), candidates, instances, steps=5, progress=lambda done, total: lose())

    class Losing(HeavyBall):
        def read(self, state):
            if threading.current_thread() is threading.main_thread():
                lose()  # while it is traced; the threads that trace it again would wait for a signal for ever
            return HeavyBall.read(self, state)

    with pytest.raises(KeyboardInterrupt):
        loss_curves(LAW.problem, Losing(), candidates, instances, steps=5, at=(0, 5))


def test_whoever_waits_for_a_long_tile_notices_an_interrupt_that_was_lost(monkeypatch):
    gate, result = threading.Event(), Future.result

    def awaited(future, timeout):
        lose()
        return result(future, timeout)

    monkeypatch.setattr(Future, "result", awaited)
    try:
        with pytest.raises(KeyboardInterrupt), heeded():
            next(ordered_results(lambda key, position: gate.wait(), range(3), workers=1))
        assert not gate.is_set()
    finally:
        gate.set()


def test_a_result_that_comes_late_and_an_error_that_says_timeout_both_arrive(monkeypatch):
    monkeypatch.setattr(parallel, "SLICE", 1e-6)

    def solve(key, position):
        time.sleep(0.01)
        if key == 2:
            raise TimeoutError("of the tile's own")
        return key

    found = ordered_results(solve, range(3), workers=2)
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(TimeoutError, match="of the tile's own"):
        next(found)


def test_an_interrupt_is_raised_where_it_came_if_nothing_is_in_its_way():
    after = []

    @heeded()
    def work():
        signal.raise_signal(signal.SIGINT)
        after.append("this is not reached")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not after


def test_what_was_lost_is_raised_at_the_end_at_the_latest():
    after = []

    @heeded()
    def work():
        lose()
        after.append("this is reached")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert after


def test_an_error_that_follows_an_interrupt_is_its_cause():
    @heeded()
    def work(interrupt):
        interrupt()
        raise RuntimeError("what XLA makes of an exception in a callback")

    with pytest.raises(KeyboardInterrupt) as caught:
        work(lose)
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(RuntimeError, match="what XLA makes"):
        work(lambda: None)


def test_it_can_be_nested():
    after = []

    @heeded()
    def work():
        heeded()(lose)()
        after.append("this is not reached")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not after
    with heeded(), heeded():
        pass


def test_a_handler_of_the_users_own_is_left_alone():
    calls = []

    def mine(signum, frame):
        calls.append(signum)

    signal.signal(signal.SIGINT, mine)
    try:
        learned(lambda stage, done, total: calls or signal.raise_signal(signal.SIGINT))
        assert calls == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is mine
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with heeded():
            signal.signal(signal.SIGINT, mine)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_learn_too_and_do_not_stop_for_what_the_main_thread_is_told():
    results = []

    def elsewhere():
        heed()
        results.append(learned())

    @heeded()
    def work():
        lose()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    with pytest.raises(KeyboardInterrupt):
        work()
    assert len(results) == 1


def test_the_command_line_looks_at_the_mark_and_is_ended_by_a_timer_or_a_second_interrupt(monkeypatch):
    ends, timers = [], []
    monkeypatch.setattr(stopping, "farewell", lambda: ends.append("now"))
    monkeypatch.setattr(signal, "setitimer", lambda which, seconds: timers.append(seconds))
    alarm = signal.getsignal(signal.SIGALRM)
    signal.signal(signal.SIGINT, stopping._handler)
    try:
        signal.raise_signal(signal.SIGINT)
        assert (ends, timers) == ([], [stopping.GRACE])
        with pytest.raises(KeyboardInterrupt):
            heed()
        signal.raise_signal(signal.SIGALRM)
        assert ends == ["now"]
        signal.raise_signal(signal.SIGINT)
        assert ends == ["now", "now"]
        assert len(timers) == 1
    finally:
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        forget()
