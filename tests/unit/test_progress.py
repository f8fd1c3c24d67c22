"""What somebody who waits is shown: a bar on a terminal or in a notebook, lines in a log, and the time left."""

import os
import pty
import sys
from contextlib import suppress

import numpy as np
import pytest

from pacopt import DiscreteMeasure, GradientDescent, VaryingCurvature, learn, split
from pacopt.priors import Product, Search
from pacopt.support import progress as module
from pacopt.support.progress import WHOLE, Lines, duration, shown

LAW = VaryingCurvature.draw(seed=0, n=4)
SCRIPT = """
import numpy as np
import pacopt
law = pacopt.VaryingCurvature.draw(seed=0, n=10)
parts = pacopt.split(law.sample(300, seed=1), prior=50, train=200, test=50, seed=2)
pacopt.learn(law.problem, pacopt.HeavyBall(), parts, steps=5, prior=pacopt.priors.Search(candidates=16){options})
"""


def told(prior, **options):
    calls = []
    parts = split(LAW.sample(160, seed=1), prior=40, train=100, test=20, seed=2)
    learned = learn(
        LAW.problem,
        GradientDescent(),
        parts,
        steps=3,
        prior=prior,
        progress=lambda *call: calls.append(call),
        **options,
    )
    return learned, calls


@pytest.mark.parametrize("racing", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "prior",
    [
        Search(candidates=16),
        Search(candidates=4, rounds=0, explore=1),
        Product({}, candidates=8),
        DiscreteMeasure.uniform({"step_size": np.geomspace(1e-5, 1e-4, 5)}),
    ],
    ids=["search", "exploration", "product", "given"],
)
def test_the_whole_is_known_from_the_first_run_on_and_is_reached_at_the_end(prior, racing):
    learned, calls = told(prior, racing=racing)
    whole = [(done, total) for stage, done, total in calls if stage == WHOLE]
    finished, totals = np.array(whole).T
    assert np.all(np.diff(finished) >= 0)
    assert np.all(np.diff(totals) <= 0), "it only gets shorter"
    assert finished[-1] == totals[-1]
    assert totals[0] >= learned.table.losses.size
    assert list(dict.fromkeys(stage for stage, _, _ in calls if stage != WHOLE))[-3:] == ["train", "certify", "test"]


def test_nobody_is_told_of_a_whole_that_is_not_known():
    _, calls = told(lambda trials: Search(candidates=16)(trials))
    first = next(k for k, (stage, _, _) in enumerate(calls) if stage == WHOLE)
    assert calls[first - 1][0] == "train"
    assert calls[0] == ("begin", 0, 1), "something is told before anything is compiled"


def at_terminal(monkeypatch, code):
    """What somebody at a terminal sees of code that runs."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    seen = b""
    with os.fdopen(slave, "w") as stderr, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stderr)
        exec(code, {})
        stderr.flush()
        with suppress(BlockingIOError):
            while part := os.read(master, 65536):
                seen += part
    os.close(master)
    return seen.decode()


def test_learn_shows_a_bar_on_a_terminal_unless_it_is_told_not_to(monkeypatch):
    assert at_terminal(monkeypatch, SCRIPT.format(options=", progress=False")) == ""
    seen = at_terminal(monkeypatch, SCRIPT.format(options=""))
    assert "━" in seen
    assert any(words in seen for words in module.STAGES.values()), "which of them, depends on how fast it goes"


def test_nothing_is_shown_where_nobody_looks(capfd):
    learn(
        LAW.problem,
        GradientDescent(),
        split(LAW.sample(60, seed=1), prior=20, train=30, test=10, seed=2),
        steps=2,
        prior=Product({}, candidates=2),
    )
    assert capfd.readouterr() == ("", "")
    with shown(None) as nothing, shown(False) as silence:
        assert nothing is silence


@pytest.mark.slow
def test_a_notebook_has_one_line_that_is_rewritten():
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    messages = []
    try:
        reply = client.execute_interactive(SCRIPT.format(options=""), timeout=120, output_hook=messages.append)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert reply["content"]["status"] == "ok", reply
    lines = [message for message in messages if message["msg_type"] in ("display_data", "update_display_data")]
    assert [message["msg_type"] for message in lines].count("display_data") == 1
    texts = [message["content"]["data"]["text/plain"] for message in lines]
    assert any("search on the prior split" in text for text in texts)
    assert texts[-1].startswith("█" * module.WIDTH)
    assert not [message for message in messages if message["msg_type"] == "stream"], "nothing else is printed"


def test_a_log_has_a_line_for_each_stage_and_the_time_left_for_the_whole(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    lines = []
    tell = Lines(lines.append)
    tell("begin", 0, 1)
    tell("prior", 0, 400)
    tell(WHOLE, 0, 1000)
    for done in (100, 200):
        now[0] += 6
        tell("prior", done, 400)
        tell(WHOLE, done, 1000)
    tell("prior", 250, 400)
    now[0] += 10
    tell("prior", 400, 400)
    tell("train", 0, 600)
    assert lines == [
        "preparing",
        "search on the prior split: 400 runs",
        "search on the prior split: 200 of 400 runs, 10% of the whole, about 54 s left",
        "search on the prior split: 400 of 400 runs, 20% of the whole, about 48 s left",
        "training split: 600 runs",
    ]


def test_a_log_counts_what_a_stage_counts_and_says_how_far_a_training_has_come(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    lines = []
    tell = Lines(lines.append)
    tell("Optuna", 0, 300)
    for leg, loss in enumerate((-1.0, -1.1, -1.169), start=1):
        tell(f"training, {loss} on held-out instances", leg, 23)
        now[0] += 6
    assert lines == [
        "Optuna: 300 trials",
        "training: 23 rounds",
        "training: 3 of 23 rounds, -1.169 on held-out instances",
    ]


def test_what_a_store_had_already_does_not_make_the_rest_look_short(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    pace = module.Pace()
    pace.told(900, 1000)
    now[0] = 10.0
    pace.told(910, 1000)
    assert pace.left == 90.0


@pytest.mark.parametrize(
    ("seconds", "words"), [(3.2, "about 3 s"), (240, "about 4 min"), (7200, "about 2.0 h")], ids=["s", "min", "h"]
)
def test_a_time_is_said_as_one_says_it(seconds, words):
    assert duration(seconds) == words
