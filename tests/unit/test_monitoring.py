"""A monitor watches a certificate in use, keeps its state, and refuses what is no evidence."""

import json
import math
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import alone
import pacopt
from pacopt import LossTable, Monitor, certify
from pacopt.claims.base import Watched
from pacopt.engines.solution import Solution
from pacopt.errors import DesignError, MonitorError
from pacopt.monitoring.stream import History, Told, scores, watch
from streams import SlopeStream

STREAM = SlopeStream()
PACOPT = Path(sys.executable).with_name("pacopt")


@pytest.fixture(scope="module")
def certificate():
    ratios = np.random.default_rng(0).beta(1, 20, size=(3, 600))
    return certify(LossTable(ratios, np.ones(600)))


def told(monitor, values):
    for value in values:
        monitor.update(value)
    return monitor


def test_scores_that_keep_the_certificate_raise_few_alarms_and_those_that_do_not_raise_one_soon(certificate):
    rng = np.random.default_rng(1)
    most, alarms = certificate.deployed.risk, 0
    for _ in range(20):
        monitor = Monitor.of(certificate, every=500)
        for score in (rng.random(1000) < most).tolist():
            if monitor.update(float(score)):
                alarms += 1
                monitor.restart()
    assert alarms <= 40 + 4 * math.sqrt(40), "two for each thousand, on average"
    monitor = told(Monitor.of(certificate), [most] * 1000)
    assert not monitor.alarm
    delay = next(k for k in range(1000) if monitor.update(float(rng.random() < 4 * most)))
    assert delay < 300
    assert monitor.alarm
    assert "learn again" in str(monitor)
    monitor.restart()
    assert (monitor.alarm, monitor.alarms, monitor.evidence) == (False, 1, 0.0)


def test_once_and_for_all_is_not_started_again(certificate):
    monitor = told(Monitor.of(certificate, ever=0.01), [1.0] * 20)
    assert monitor.alarm
    assert monitor.threshold == pytest.approx(100, rel=1e-5)
    with pytest.raises(MonitorError, match="It cannot be restarted"):
        monitor.restart()


def test_a_saved_monitor_goes_on_as_if_it_had_never_stopped(certificate, tmp_path):
    values = np.random.default_rng(2).beta(1, 15, 400).tolist()
    whole = told(Monitor.of(certificate, ["risk"]), values)
    told(Monitor.of(certificate, "risk"), values[:150]).save(tmp_path / "state.json")
    again = told(Monitor.load(tmp_path / "state.json", certificate), values[150:])
    assert again.to_dict() == whole.to_dict()
    json.loads((tmp_path / "state.json").read_text())


def test_what_is_no_state_of_this_certificate_is_refused(certificate, tmp_path):
    other = certify(LossTable(np.random.default_rng(5).beta(1, 20, size=(3, 600)), np.ones(600)))
    path = tmp_path / "state.json"
    Monitor.of(other).save(path)
    with pytest.raises(MonitorError, match="another certificate"):
        Monitor.load(path, certificate)
    told(Monitor.of(certificate), [0.1]).save(path)
    state = json.loads(path.read_text())
    damaged = [
        "",
        "[]",
        "null",
        path.read_text()[:-40],
        json.dumps(state | {"schema": "x"}),
        json.dumps(state | {"count": -1}),
        json.dumps(state | {"alarm": 3}),
        json.dumps(state | {"evidence": {"risk": state["evidence"]["risk"] | {"bets": [1.0] * 6}}}),
        json.dumps(state | {"evidence": {"risk": state["evidence"]["risk"] | {"most": 0.5}}}),
        json.dumps(state | {"evidence": {"risk": state["evidence"]["risk"] | {"log_r": [0.0]}}}),
        json.dumps(state | {"evidence": {"risk": state["evidence"]["risk"] | {"log_m": ["a"] * 6}}}),
    ]
    for text in damaged:
        path.write_text(text)
        with pytest.raises(MonitorError):
            Monitor.load(path, certificate)
    with pytest.raises(MonitorError, match="not the state of a monitor"):
        Monitor.load(tmp_path / "nowhere.json", certificate)
    with pytest.raises(MonitorError, match="could not be written"):
        Monitor.of(certificate).save(tmp_path / "nowhere" / "state.json")


def test_numbers_that_come_twice_or_too_late_are_refused_and_gaps_are_not(certificate):
    monitor = Monitor.of(certificate)
    monitor.update(0.1, number=3)
    monitor.update(0.1, number=7)
    for number in (7, 5, 0, -1, 2.5, "8"):
        with pytest.raises(MonitorError, match="comes after number 7"):
            monitor.update(0.1, number=number)
    monitor.update(0.1)
    with pytest.raises(MonitorError, match="comes after number 8"):
        monitor.update(0.1, number=8)
    assert monitor.count == 3


@pytest.mark.parametrize("score", [-0.1, 1.1, math.nan, math.inf, None, "a", True, [], [0.1, 2.0]], ids=str)
def test_what_is_no_score_is_refused_and_changes_nothing(certificate, score):
    monitor = told(Monitor.of(certificate), [0.3])
    before = monitor.to_dict()
    with pytest.raises(MonitorError):
        monitor.update(score)
    assert monitor.to_dict() == before


@pytest.mark.parametrize(
    "options",
    [{"every": 0.5}, {"every": "a"}, {"ever": 0.0}, {"ever": 1}, {"every": 10, "ever": 0.1}, {"claims": []}],
    ids=str,
)
def test_a_rate_that_makes_no_sense_is_refused(certificate, options):
    with pytest.raises(MonitorError):
        Monitor.of(certificate, **options)


def test_a_claim_that_says_nothing_cannot_be_watched(certificate):
    empty = certify(LossTable(np.full((2, 20), 3.0), np.ones(20)))
    with pytest.raises(MonitorError, match="below 1"):
        Monitor.of(empty)
    with pytest.raises(MonitorError, match="below 1"):
        Monitor.of(empty, "success")
    with pytest.raises(MonitorError, match="none is certified"):
        Monitor.of(empty, "quantile")
    with pytest.raises(DesignError, match="no claim 'median'"):
        Monitor.of(certificate, "median")
    with pytest.raises(MonitorError, match="NoneType"):
        Monitor.of(None)


@pytest.mark.parametrize("claim", ["success", "quantile"])
def test_a_fraction_is_no_score_of_a_claim_about_shares(certificate, claim):
    monitor = Monitor.of(certificate, claim)
    for score in (0, 1.0, True * 1):
        monitor.update(score)
    for score in (0.03, [0, 0.5]):
        with pytest.raises(
            MonitorError, match=f"the claim '{claim}' is watched.* a run scores 0 if it went as claimed"
        ):
            monitor.update(score)
    monitor.update([0, 1])


@pytest.mark.parametrize("top", [0.3, 0.5, 2.0])
def test_a_score_of_few_digits_may_be_a_fraction_also_after_loading(top, tmp_path):
    table = LossTable(np.random.default_rng(0).beta(1, 3, size=(3, 500)), np.ones(500))
    digits = certify(table, pacopt.Design.uniform(table, score=pacopt.Digits(top)))
    told(Monitor.of(digits), [0.4, 0.0, 1.0]).save(tmp_path / "state.json")
    again = told(Monitor.load(tmp_path / "state.json", digits), [0.4])
    assert again.count == 4
    with pytest.raises(MonitorError, match="a run scores 0 if"):
        Monitor.of(digits, "success").update(0.4)


def test_a_claim_of_ones_own_says_itself_whether_its_runs_score_fractions():
    unsaid = Watched(0.5, lambda loss, start: 0.0)
    binary = unsaid._replace(binary=True)
    told(Monitor({"mine": unsaid}), [0.5, 0, 1])
    with pytest.raises(MonitorError, match="a run scores 0 if"):
        Monitor({"mine": binary}).update(0.5)
    told(Monitor({"mine": binary}, grouped=True), [0.5])


def test_a_monitor_says_its_evidence_in_plain_numbers_and_against_which_claim(certificate):
    monitor = told(Monitor.of(certificate), [0.02] * 5)
    assert monitor.summary["threshold"] == 100_000
    assert monitor.summary["claims"] == ["risk"]
    assert re.fullmatch(r"No alarm: 5 instances, evidence [\d.]+ of 100,000 against the claim 'risk'\.", str(monitor))
    alarm = told(
        Monitor.of(certificate, ["risk", "success"], ever=0.01), [Solution.safeguarded(None, None, 3, 2, 5)] * 9
    )
    assert re.match(r"ALARM: 9 instances, evidence [\d,e+.]+ of 100 against the claim 'success'\. ", str(alarm))


def test_a_misspelt_claim_is_answered_by_the_nearest(certificate):
    with pytest.raises(DesignError, match="did you mean 'success'"):
        Monitor.of(certificate, "succes")


def test_a_group_counts_as_its_mean(certificate):
    one, other = Monitor.of(certificate), Monitor.of(certificate)
    one.update([0.1, 0.2, 0.6])
    other.update((0.1 + 0.2 + 0.6) / 3)
    assert one.evidence == other.evidence
    assert one.count == 1


def test_threads_lose_no_score(certificate):
    monitor = Monitor.of(certificate)
    threads = [threading.Thread(target=told, args=(monitor, [0.02] * 500)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert monitor.count == 4000
    assert monitor.evidence == pytest.approx(told(Monitor.of(certificate), [0.02] * 4000).evidence, rel=1e-9)


@pytest.mark.parametrize(
    ("run_loss", "start", "expected"),
    [
        (0.1, 2.0, {"risk": 0.05, "success": 0.0, "quantile": 0.0}),
        (3.0, 2.0, {"risk": 1.0, "success": 1.0, "quantile": 1.0}),
        (2.0, 2.0, {"risk": 1.0, "success": 0.0, "quantile": 1.0}),
        (math.nan, 2.0, {"risk": 1.0, "success": 1.0, "quantile": 1.0}),
        (math.inf, 2.0, {"risk": 1.0, "success": 1.0, "quantile": 1.0}),
        (0.0, 0.0, {"risk": 0.0, "success": 0.0, "quantile": 0.0}),
        (1e-9, 0.0, {"risk": 1.0, "success": 1.0, "quantile": 1.0}),
        (1e300, 1e-300, {"risk": 1.0, "success": 1.0, "quantile": 1.0}),
    ],
    ids=str,
)
def test_a_solution_scores_as_its_cell_of_a_table_would(certificate, run_loss, start, expected):
    solution = Solution.safeguarded(None, None, run_loss, start, 5)
    table = LossTable(np.array([[run_loss]]), np.array([start]))
    assert table.safeguarded()[0, 0] == expected["risk"]
    assert float(not table.succeeded()[0, 0]) == expected["success"]
    for name, score in expected.items():
        one, other = Monitor.of(certificate, name), Monitor.of(certificate, name)
        one.update(solution)
        other.update(score)
        assert one.evidence == other.evidence
    every = Monitor.of(certificate, ["risk", "success", "quantile"])
    every.update(solution)
    alone = [Monitor.of(certificate, name) for name in expected]
    for monitor in alone:
        monitor.update(solution)
    assert every.evidence == pytest.approx(max(monitor.evidence for monitor in alone) / 3)
    with pytest.raises(MonitorError, match="a score of its own"):
        every.update(0.5)


def test_what_was_learned_feeds_its_monitor():
    parts = pacopt.split(STREAM.sample(240, 0), prior=40, train=150, test=50, seed=0)
    learned = pacopt.learn(
        STREAM.problem, STREAM.algorithm, parts, steps=5, prior=pacopt.priors.Search(candidates=16, explore=1, rounds=2)
    )
    monitor = learned.monitor()
    solutions = [learned.solve(parts.test[k], monitor=monitor) for k in range(10)]
    assert monitor.count == 10
    assert monitor.evidence == told(learned.monitor(), [solution.ratio for solution in solutions]).evidence
    with pytest.raises(MonitorError, match="watches the deployed ones"):
        learned.solve(parts.test[0], learned.table.hyper(0), monitor=monitor)


def test_a_verdict_of_the_users_own_has_to_be_told():
    rng = np.random.default_rng(0)
    losses = rng.random((2, 300))
    certificate = certify(LossTable(losses, np.ones(300), success=losses < 0.99))
    monitor = Monitor.of(certificate, "success")
    with pytest.raises(MonitorError, match="your own verdict"):
        monitor.update(Solution(None, 0.1, 1.0, 0.1, None))
    assert not monitor.update(0)


def test_lines_are_read_with_and_without_a_heading():
    assert [*scores(iter(["0.1\n", "\n", "# a note\n", "1\n"]))] == [(1, None, 0.1), (4, None, 1.0)]
    headed = ["number,time,score\n", "3,noon,0.5\n", "5,one,\n", '6,"two, or so",0.25\n']
    assert [*scores(iter(headed))] == [(2, 3, 0.5), (4, 6, 0.25)]
    for lines in (
        ["a\n"],
        ["0.1\n", "0.2,0.3\n"],
        ["0.1\n", "nan\n"],
        ["2\n"],
        ["number,score\n", "x,0.1\n"],
        ["0.1 0.2\n"],
        ["0.1\n", "1" * 200_000 + "\n"],
        ["a" * 200_000 + "\n"],
        ["number,score\n", "1" * 5000 + ",0.1\n"],
        ["score,score\n", "0.1,0.9\n"],
        ["number,score,number\n", "1,0.1,7\n"],
    ):
        with pytest.raises(MonitorError, match="Line"):
            list(scores(iter(lines)))


def test_a_long_history_is_thinned_out_and_keeps_its_shape(certificate):
    history = History()
    for count in range(1, 50_001):
        history.add(count, float(count), keep=False)
    counts = [count for count, _ in history.points]
    assert 500 < len(counts) < 2001
    assert counts[-1] > 49_900
    assert all(level == math.log10(count) for count, level in history.points)
    ended = watch(Monitor.of(certificate, every=50), iter([Told(1, None, 1.0)] * 500))
    assert ended.points[-1][0] < 100, "it stops at an alarm"


@pytest.fixture(scope="module")
def run(certificate, tmp_path_factory):
    place = tmp_path_factory.mktemp("watched")
    certificate.save(place / "run")
    rng = np.random.default_rng(4)
    (place / "empty.csv").write_text("# no score\nscore\n")
    np.savetxt(place / "kept.csv", rng.beta(1, 22, 300))
    np.savetxt(place / "drifted.csv", np.append(rng.beta(1, 22, 300), rng.beta(1, 4, 300)))
    return place


def command(*arguments, cwd):
    return alone.pacopt("watch", *arguments, cwd=cwd)


def piped(*arguments, cwd, text):
    """What becomes of a command that reads what another one writes."""
    words = [PACOPT, "watch", *map(str, arguments)]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, input=text)


def test_the_command_line_says_whether_it_still_holds(run):
    kept = command("run", "kept.csv", cwd=run)
    assert (kept.returncode, kept.stderr) == (0, "")
    assert kept.stdout.startswith("No alarm: 300 instances")
    drifted = command("run", "drifted.csv", "--out", "watch.svg", "--json", cwd=run)
    assert drifted.returncode == 1
    answer = json.loads(drifted.stdout)
    assert answer["alarm"]
    assert 300 < answer["instances"] < 450
    picture = (run / "watch.svg").read_text()
    assert "alarm at 100,000" in picture
    assert "instances in use" in picture
    told = piped("run", "-", cwd=run, text=(run / "drifted.csv").read_text())
    assert told.returncode == 1
    assert "ALARM" in told.stdout
    assert "the lines after it were not counted" in command("run", "drifted.csv", cwd=run).stderr


def test_the_command_line_goes_on_from_a_state(run, tmp_path):
    lines = (run / "drifted.csv").read_text().splitlines(keepends=True)
    whole = command("run", "drifted.csv", "--json", cwd=run)
    state = tmp_path / "state.json"
    first = piped("run", "-", "--state", state, cwd=run, text="".join(lines[:200]))
    assert first.returncode == 0, first.stderr
    rest = piped("run", "-", "--state", state, "--json", cwd=run, text="".join(lines[200:]))
    assert json.loads(rest.stdout) == json.loads(whole.stdout)
    assert "after 200 instances" in rest.stderr
    idle = piped("run", "-", "--state", tmp_path / "idle.json", cwd=run, text="0.1\n")
    assert "No alarm: 1 instance," in idle.stdout
    nothing_new = piped("run", "-", "--state", tmp_path / "idle.json", cwd=run, text="")
    assert nothing_new.returncode == 0
    assert "after 1 instance.\nThere are no new scores.\n" in nothing_new.stderr
    again = piped("run", "-", "--state", state, cwd=run, text="0.1\n")
    assert again.returncode == 1, "an alarm stays one"
    changed = piped("run", "-", "--state", state, "--every", 10, cwd=run, text="0.1\n")
    assert changed.returncode == 2
    assert "with its original settings" in changed.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nowhere.csv"], "cannot be read"),
        (["run", "kept.csv", "--claim", "budget"], "no claim 'budget'"),
        (["run", "kept.csv", "--ever", "2"], "ever is 2.0"),
        (["run", "kept.csv", "--out", "watch.txt"], "ends in .svg"),
        (["run", "empty.csv"], "empty.csv holds no scores, so nothing was watched"),
        (["nowhere", "kept.csv"], "nowhere"),
    ],
    ids=str,
)
def test_mistakes_on_the_command_line_are_explained(run, arguments, words):
    answer = command(*arguments, cwd=run)
    assert answer.returncode == 2
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_file_that_grows_is_followed_until_the_alarm(run, tmp_path):
    lines = (run / "drifted.csv").read_text().splitlines(keepends=True)
    log = tmp_path / "log.csv"
    log.write_text("".join(lines[:100]))
    process = subprocess.Popen([PACOPT, "watch", "run", log, "--follow", "--json"], cwd=run, stdout=subprocess.PIPE)
    time.sleep(1)
    assert process.poll() is None
    with log.open("a") as file:
        for part in ("".join(lines[100:400])[:-3], "".join(lines[100:400])[-3:], "".join(lines[400:])):
            file.write(part)
            file.flush()
            time.sleep(0.1)
    answer = json.loads(process.communicate(timeout=30)[0])
    assert process.returncode == 1
    assert 300 < answer["instances"] < 450


def test_a_file_with_a_bad_line_is_counted_once_when_it_is_put_right(run, tmp_path):
    file, state = tmp_path / "scores.txt", tmp_path / "state.json"
    file.write_text("0.02\n0.02\nbad\n0.02\n")
    answer = command("run", file, "--state", state, cwd=run)
    assert (answer.returncode, "Line 3 is 'bad'" in answer.stderr, state.exists()) == (2, True, False)
    file.write_text("0.02\n0.02\n0.02\n0.02\n")
    unpictured = command("run", file, "--state", state, "--out", tmp_path / "watch.txt", cwd=run)
    assert (unpictured.returncode, state.exists()) == (2, False)
    assert "No alarm: 4 instances" in command("run", file, "--state", state, cwd=run).stdout
    before = state.read_text()
    file.write_text("number,score\n5,0.02\n6,0.02\n6,0.02\n")
    numbered = command("run", file, "--state", state, cwd=run)
    assert "Line 4: Instance number 6 comes after number 6." in numbered.stderr
    assert state.read_text() == before
    file.write_text("number,score\n5,0.02\n6,0.02\n7,0.02\n")
    assert "No alarm: 7 instances" in command("run", file, "--state", state, cwd=run).stdout


def test_lines_without_numbers_after_a_state_are_remarked_on(run, tmp_path):
    file, state, words = tmp_path / "scores.txt", tmp_path / "state.json", "Pass none that was counted before."
    file.write_text("0.02\n0.02\n")
    assert words not in command("run", file, "--state", state, cwd=run).stderr
    again = command("run", file, "--state", state, cwd=run).stderr
    assert again.count(words) == 1
    assert "Continuing after 2 instances" in again
    file.write_text("number,score\n5,0.02\n6,0.02\n")
    assert words not in command("run", file, "--state", state, cwd=run).stderr


def test_what_a_pipe_brought_before_a_bad_line_is_kept_and_said(run, tmp_path):
    state = tmp_path / "state.json"
    answer = piped("run", "-", "--state", state, cwd=run, text="0.02\n0.02\nbad\n0.02\n")
    assert answer.returncode == 2
    assert f"kept in {state}: 2 scores. Go on with this line, without them." in answer.stderr
    assert json.loads(state.read_text())["count"] == 2
    rest = piped("run", "-", "--state", state, cwd=run, text="0.02\n0.02\n")
    assert "No alarm: 4 instances" in rest.stdout
    assert "Pass none that was counted before." in rest.stderr
    (tmp_path / "bad.txt").write_text("0.02\nbad\n")
    with (tmp_path / "bad.txt").open() as file:  # it can be read again
        whole = subprocess.run(
            [PACOPT, "watch", "run", "-", "--state", state], cwd=run, stdin=file, capture_output=True, check=False
        )
    assert whole.returncode == 2
    assert json.loads(state.read_text())["count"] == 4


def test_a_file_that_is_followed_keeps_what_came_before_an_interrupt_or_a_bad_line(run, tmp_path):
    log, state = tmp_path / "log.csv", tmp_path / "state.json"
    log.write_text("0.02\n0.02\n")
    words = [PACOPT, "watch", "run", log, "--follow", "--state", state]
    lines = 2
    with subprocess.Popen(words, cwd=run, stderr=subprocess.DEVNULL) as process:
        try:
            while not state.exists() and process.poll() is None:  # it is written once a second, when a line comes
                time.sleep(0.3)
                with log.open("a") as file:
                    file.write("0.02\n")
                lines += 1
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
        finally:
            process.kill()
    before = json.loads(state.read_text())["count"]
    assert 2 < before <= lines
    log.write_text("0.02\nbad\n")
    answer = subprocess.run(words, cwd=run, capture_output=True, text=True, check=False, timeout=60)
    assert "Line 2 is 'bad'" in answer.stderr
    assert "1 score. Go on with this line" in answer.stderr
    assert json.loads(state.read_text())["count"] == before + 1


def test_an_alarm_in_the_middle_of_a_file_is_kept_with_its_line(run, tmp_path):
    file, state = tmp_path / "scores.txt", tmp_path / "state.json"
    file.write_text("1\n" * 50 + "bad\n")
    answer = command("run", file, "--state", state, cwd=run)
    assert answer.returncode == 1
    stored = json.loads(state.read_text())
    assert stored["alarm"]
    assert f"Reading stopped at the alarm, in line {stored['count']}: the lines after it" in answer.stderr


def test_a_byte_order_mark_is_no_part_of_a_heading(run, tmp_path):
    text = "\ufeffscore\r\n0.02\r\n0.02\r\n".encode()
    (tmp_path / "excel.csv").write_bytes(text)
    assert "No alarm: 2 instances" in command("run", tmp_path / "excel.csv", cwd=run).stdout
    answer = subprocess.run([PACOPT, "watch", "run", "-"], cwd=run, input=text, capture_output=True, check=False)
    assert b"No alarm: 2 instances" in answer.stdout
    assert (
        b"Line 1 is"
        in subprocess.run(
            [PACOPT, "watch", "run", "-"], cwd=run, input=b"\xff\xfe\n", capture_output=True, check=False
        ).stderr
    )


def test_a_fraction_for_a_claim_about_shares_is_named_by_its_line(run, tmp_path):
    (tmp_path / "scores.txt").write_text("0\n# a note\n0.5\n")
    answer = command("run", tmp_path / "scores.txt", "--claim", "success", cwd=run)
    assert answer.returncode == 2
    assert "Line 3: The score of an instance is 0.5, and the claim 'success' is watched." in answer.stderr
