"""A report says no more than is known, no less, and in the unit of the score."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import pacopt
from pacopt import LossTable, plot, report_html
from pacopt.claims import Gain, Quantile, Risk, Success, shared_out
from pacopt.errors import ExportError
from pacopt.report.evidence import draw_evidence
from pacopt.report.tested import contradictions
from reports import first_screen, reportable, specs, uniform

from .test_report_sections import against_several, compared, drawn, rows_of, section

EFFORT = pacopt.Effort("solved", 300, unit="iterations")


def with_test(source, losses, start=True, candidates=None):
    """The same certificate, with other losses on the test split: learned, and textbook below."""
    losses = np.asarray(losses, dtype=float)
    start = np.ones(losses.shape[1]) if start else None
    rows = {"rows": ("learned", "standard")}
    chosen = source.test.candidates if candidates is None else candidates
    source.test = LossTable(losses, start, chosen, provenance=rows)
    source.comparison = pacopt.Comparison.of(source.test, rows["rows"], source.certificate.design)
    source.remarks = contradictions(source)
    return source


def solving(ours, theirs, test=40, score=EFFORT):
    """Iterations of two candidates, of which the second is what one would use otherwise; infinite if not solved."""
    losses = np.stack([ours, theirs])
    table = LossTable(losses)
    design = pacopt.Design.uniform(table, score=score)
    certificate = pacopt.certify(table, design)
    source = SimpleNamespace(certificate=certificate, table=table, curves=None, provenance={}, remarks=())
    source.test = LossTable(losses[:, :test], candidates=table.candidates)
    return with_test(source, losses[:, :test], start=False)


def repeated(losses, test, runs=3):
    """Several runs of each instance, side by side: of training, and of the test split."""

    def table(losses, **more):
        count = losses.shape[1] // runs
        columns = pacopt.columns.Columns(np.full(count, runs), runs * np.arange(count))
        return LossTable(losses, np.ones(losses.shape[1]), columns=columns, **more)

    trained, drawn = table(losses), {"seeds": {"hash": "0", "replicates": runs}}
    certificate = replace(pacopt.certify(trained), provenance=drawn)
    source = SimpleNamespace(certificate=certificate, table=trained, curves=None, provenance=drawn, remarks=())
    rows = {"rows": ("learned", "standard")} | drawn
    source.test = table(test, candidates=trained.candidates, provenance=rows)
    source.comparison = pacopt.Comparison.of(source.test, rows["rows"], certificate.design)
    return source


def legend(text, name):
    """The entries of the legends of a section."""
    found = re.findall(r'aria-hidden="true"></span>(.*?)</li>', section(text, name))
    return [entry.replace("\u00a0", " ") for entry in found]


def test_a_headline_never_denies_a_gain_that_is_certified():
    source = against_several({"close": 1.3}, ends=(0.05, 0.7))
    gain = source.certificate.deployed.values["gain"]
    few = source.test.select(columns=slice(0, 12))
    source.test = replace(few, provenance=source.test.provenance)
    source.comparison = pacopt.Comparison.of(source.test, ("learned", "standard"), source.certificate.design)
    assert not source.comparison.factor("learned", "close").sure
    words = first_screen(report_html(source))
    assert "no difference" not in words
    assert "times lower mean ratio than that of close, which 12 instances alone do not show" in words
    assert f"a gain of at least {source.certificate.design['gain'].shown(gain)} times is certified" in words


def test_less_than_one_win_in_a_hundred_is_not_called_certified():
    source = against_several({"better": 0.912})
    assert 0 < source.certificate.deployed.values["win"] < 0.01
    words = first_screen(report_html(source))
    assert "Still, this is certified" not in words
    assert "No gain over better is certified." in words


def test_whoever_learns_the_textbooks_hyperparameters_is_told_to_keep_them():
    ours = uniform(1, 300)[0]
    source = reportable(np.stack([ours, 2 * ours, 3 * ours]), candidates={"w": np.array([0.1, 0.2, 0.3])})
    source = with_test(source, np.stack([ours, ours]), candidates={"w": np.array([0.1, 0.1])})
    text = report_html(source)
    words = first_screen(text)
    assert "The textbook's hyperparameters are the best of 3 candidates: keep them." in words
    assert "the same as the textbook on all 300 test instances" in words
    assert "between" not in words, "what is the same needs no interval"
    assert "The same as the textbook on all 300 test instances" in section(text, "rivals")
    assert legend(text, "rivals") == ["learned is equal (300)"]


def test_a_claim_within_its_interval_is_not_contradicted():
    rng = np.random.default_rng(0)
    source = reportable(rng.uniform(0.0, 0.1, (2, 1000)))
    risk = source.certificate.deployed.values["risk"]
    test = np.append(np.full(24, 0.045), [1.0] * 2)
    source = with_test(source, np.stack([test, test]))
    assert source.comparison["learned"].mean > risk > source.comparison["learned"].interval[0]
    text = report_html(source)
    assert "No claim is contradicted by the 26 test instances" in section(text, "held")
    assert {row[4] for row in rows_of(text, "held")[1:]} == {"yes", "not contradicted"}
    assert "Not contradicted: measured on the wrong side" in section(text, "held")


def test_every_run_of_an_instance_counts_as_a_failure():
    rng = np.random.default_rng(4)
    losses = rng.uniform(0.1, 0.3, (2, 300))
    losses[1, 2::3] = np.nan  # the last of three runs of each instance
    columns = pacopt.columns.Columns(np.full(100, 3), 3 * np.arange(100))
    text = report_html(pacopt.certify(LossTable(losses, np.ones(300), columns=columns)))
    assert "100 of 600 training runs failed, none of 300 with the certified candidate" in section(text, "failures")


def test_whole_numbers_have_whole_bins():
    rng = np.random.default_rng(0)
    table = LossTable(rng.integers(5, 40, (2, 400)).astype(float))
    text = report_html(pacopt.certify(table, pacopt.Design.uniform(table, score=EFFORT)))
    bars = [row for row in drawn(text, "histogram") if "count" in row]
    assert len(bars) == 35, "one for each number"
    assert {row["to"] - row["from"] for row in bars} == {1.0}
    assert {row["range"] for row in bars} == {str(number) for number in range(5, 40)}
    table = LossTable(rng.integers(1, 250, (2, 400)).astype(float))
    text = report_html(pacopt.certify(table, pacopt.Design.uniform(table, score=EFFORT)))
    bars = [row for row in drawn(text, "histogram") if "count" in row]
    assert {row["from"] % 1 for row in bars} == {row["to"] % 1 for row in bars} == {0.5}, "in decades too"
    assert sum(row["count"] for row in bars) == 400


def test_a_number_of_iterations_has_its_unit_and_an_unsolved_run_is_no_infinity():
    rng = np.random.default_rng(0)
    ours, theirs = rng.integers(5, 40, 300).astype(float), rng.integers(100, 290, 300).astype(float)
    theirs[rng.uniform(size=300) < 0.3] = np.inf
    text = report_html(solving(ours, theirs)).replace("\u00a0", " ")
    words = first_screen(text)
    assert re.search(r"90 % of instances ≤ \d+ iterations", words)
    assert re.search(r"are solved within \d+ iterations \(textbook: fewer than 90 % are solved\)", text)
    assert "∞" not in text[text.index("<body>") : text.index('id="specs"')]
    assert re.search(r"Not on the axis: runs that were not solved within 300 iterations \(textbook \d+\)", text)
    assert {row[2] for row in rows_of(text, "rivals")[1:6]} <= {"failed", *(f"{k}" for k in range(100, 290))}
    assert "3000" not in section(text, "profile")


def test_a_learned_run_that_failed_has_a_whole_sentence_in_the_legend():
    ours, theirs = np.full(200, 0.1), np.full(200, 0.5)
    ours[:3], ours[3:5], theirs[4] = 3.0, 0.5, 0.6
    text = report_html(reportable(np.stack([ours, theirs])))
    assert legend(text, "rivals") == [
        "learned is better (196) or equal (1)",
        "the learned run failed, or ended above its start (3)",
    ]
    source = solving(np.append(np.full(299, 9.0), np.inf)[::-1], np.full(300, 20.0))
    assert "the learned run was not solved within 300 iterations (1)" in legend(report_html(source), "rivals")


def test_marks_that_are_not_there_have_no_entry_in_the_legend():
    grid = {"a": np.linspace(0.1, 1, 12), "b": np.geomspace(0.01, 1, 12)}
    losses = np.random.default_rng(1).uniform(0, 0.5, (12, 200))
    assert legend(report_html(reportable(losses, None, grid)), "posterior")[:2] == ["candidate", "deployed"]
    asked = report_html(reportable(losses, None, grid, min_success=0.5))
    assert legend(asked, "posterior")[:2] == ["success at least 0.5 certified", "deployed"]
    losses[6:, ::2] = np.nan
    both = report_html(reportable(losses, None, grid, min_success=0.8))
    assert legend(both, "posterior")[:2] == ["success at least 0.8 certified", "not certified at that level"]


def test_a_few_candidates_far_away_leave_the_others_their_room():
    rng = np.random.default_rng(1)
    grid = {"a": np.append(rng.uniform(1.0, 1.1, 98), [40.0, 50.0]), "b": rng.uniform(1.0, 1.1, 100)}
    losses = np.random.default_rng(1).uniform(0, 0.5, (100, 60))
    losses[97:] = np.nan
    losses[97, 0] = 0.1
    text = report_html(pacopt.certify(LossTable(losses, np.ones(60), grid)))
    assert "not drawn: 2 far away (2 failed)" in legend(text, "failures")
    assert max(row["x"] for row in drawn(text, "failed0")) < 2


def test_bars_of_whole_numbers_stand_in_their_order():
    candidates = {"depth": np.array([33, 8, 39, 12]), "rule": np.array(["a", "b", "a", "b"])}
    losses = np.linspace(0.2, 0.1, 4)[:, None] * np.ones(200)
    text = report_html(pacopt.certify(LossTable(losses, np.ones(200), candidates)))
    bars = max(specs(text)["marginal0"]["datasets"].values(), key=len)
    assert [row["name"] for row in bars] == ["8", "12", "33", "39"]


def test_tables_below_charts_are_folded_and_others_are_not():
    text = report_html(reportable(uniform()))
    assert "<details open" not in text
    one = report_html(
        pacopt.certify(
            LossTable(uniform(), np.ones(300)),
            pacopt.Design.uniform(LossTable(uniform(), np.ones(300)), claims=shared_out([Risk(), Quantile()])),
        )
    )
    assert "<details open" in section(one, "choices"), "here the table is what there is to see"


def test_a_frontier_of_one_choice_offers_no_trade():
    table = LossTable(np.stack([np.full(300, 0.1), np.full(300, 0.2)]), np.ones(300))
    claims = shared_out([Risk(), Success(), Quantile()])
    chart = plot.frontier(pacopt.certify(table, pacopt.Design.uniform(table, claims=claims)))
    words = " ".join([*chart.title.text, *chart.title.subtitle])
    assert "there is nothing to trade" in words
    assert "pick one" not in words


def test_a_scatter_without_a_baseline_says_that_there_is_none():
    source = reportable(uniform())
    source.test = LossTable(source.test.losses[:1], np.ones(300), provenance={"rows": ("learned",)})
    source.comparison = pacopt.Comparison.of(source.test, ("learned",), source.certificate.design)
    with pytest.raises(ExportError, match="There is no baseline"):
        plot.scatter(source)


def test_instances_in_use_are_counted_in_whole_numbers(tmp_path):
    picture = draw_evidence(tmp_path / "watch.svg", [(0, 0.0), (1, 0.2), (2, 0.1), (3, 0.4)], 100.0).read_text()
    labels = re.findall(r">([\d.]+)</text>", picture)
    assert {"0", "1", "2", "3"} <= set(labels)
    assert not {"0.5", "1.5", "2.5"} & set(labels)


def test_the_first_screen_says_that_the_test_split_contradicts_the_claims():
    ours, theirs = np.full(300, 0.1), np.full(300, 0.7)
    source = with_test(compared(ours, theirs), np.stack([theirs, ours]))
    words = first_screen(report_html(source))
    assert "Certified, but contradicted" in words
    assert "The test split contradicts 4 of 5 claims: the test instances are not like those of training" in words
    assert "4 of 5 claims do not hold" in section(report_html(source), "held")
    assert "Still, this is certified" not in words
    assert "The certified mean is 0.1" in words
    assert "on the test split it was 0.7" in words


def test_a_mean_that_is_contradicted_is_not_said_to_lie_below_others():
    source = with_test(compared(np.full(300, 0.1), np.full(300, 0.9)), np.stack([np.full(300, 0.5), np.full(300, 0.9)]))
    words = first_screen(report_html(source))
    assert "Even the certified mean" not in words
    assert "on the test split it was 0.5" in words


def test_a_gain_that_is_contradicted_is_no_comfort():
    rng = np.random.default_rng(0)
    source = compared(rng.uniform(0.0, 0.1, 400), rng.uniform(0.6, 0.9, 400))
    close = rng.uniform(0.03, 0.07, 400)
    source = with_test(source, np.stack([close, close * rng.uniform(0.9, 1.1, 400)]))
    words = first_screen(report_html(source))
    assert not source.comparison.factor("learned", "standard").sure
    assert "no difference from the textbook's mean ratio that 400 instances can show" in words
    assert "does not lie below the textbook's mean" in words
    assert not re.search("Still, this is certified|a gain of .* is certified", words)


def test_of_one_claim_that_is_contradicted_the_reader_learns_how_often_chance_does_that():
    rng = np.random.default_rng(0)
    source = reportable(rng.uniform(0.0, 0.1, (2, 1000)))
    test = np.where(np.arange(1000) < 80, 0.9, 0.05)
    words = first_screen(report_html(with_test(source, np.stack([test, test]))))
    assert "The test split contradicts 1 of 3 claims (mean ratio): " in words
    assert "By chance a true claim is contradicted on at most one test split in 20." in words


def test_a_claim_without_an_interval_is_not_contradicted(monkeypatch):
    monkeypatch.setattr(Risk, "interval", lambda self, table, design: None)
    source = reportable(np.full((2, 300), 0.05))
    source = with_test(source, np.full((2, 300), 0.5))
    verdicts = {row[0]: row[4] for row in rows_of(report_html(source), "held")[1:]}
    assert verdicts["mean ratio"] == "not contradicted"
    assert "The test split contradicts 1 of 3 claims (90 % quantile)" in first_screen(report_html(source)).replace(
        "\u00a0", " "
    )


def test_nobody_is_told_to_keep_what_a_rival_surpasses_or_what_nothing_is_known_of():
    ours = uniform(1, 300)[0]
    losses, chosen = np.stack([ours, 2 * ours, 3 * ours]), {"w": np.array([0.1, 0.2, 0.3])}
    source = with_test(reportable(losses, candidates=chosen), np.stack([ours, ours]), candidates={"w": [0.1, 0.1]})
    rival = {"rows": ("learned", "standard"), "baselines": {"rival": {"text": "another solver"}}}
    source.test = replace(source.test, baselines={"rival": 0.03 * ours}, provenance=rival)
    source.comparison = pacopt.Comparison.of(source.test, rival["rows"], source.certificate.design)
    words = first_screen(report_html(source))
    assert "The textbook's hyperparameters are the best of 3 candidates." in words
    assert "keep them" not in words
    source = with_test(
        reportable(losses[:, :1] / 100, candidates=chosen, confidence=0.5),
        np.stack([ours, ours]),
        candidates={"w": [0.1, 0.1]},
    )
    text = report_html(source)
    words = first_screen(text)
    assert "The textbook's hyperparameters are deployed." in words
    assert "keep them" not in words
    assert "but 1 instance cannot certify" in words
    assert "on the 1 training instance, with" in section(text, "histogram")


def test_means_over_runs_are_not_described_as_single_runs():
    rng = np.random.default_rng(4)
    losses, test = rng.uniform(0.1, 0.3, (2, 600)), rng.uniform(0.1, 0.3, (2, 120))
    losses[0] /= 2
    losses[:, [0, 4, 8, 9]] = np.nan
    test[0, [0, 4, 5]] = np.nan
    text = report_html(repeated(losses, test)).replace("\u00a0", " ")
    shown = section(text, "histogram")
    assert "with the safeguard, means of 3 runs." in shown
    assert "4 of all 600 runs ended above their start or failed: there the start is returned." in shown
    assert "the ratio is 1" not in shown
    assert ["start returned (of 600 runs)", "4"] in rows_of(text, "histogram")
    assert sum(row["count"] for row in drawn(text, "histogram") if "count" in row) == 200
    assert legend(text, "histogram")[2].endswith("(of single runs)")
    assert legend(text, "histogram")[-1] == "training instances", "no bar of its own for failed runs"
    instances = section(text, "rivals")
    assert re.search(r"Better than the textbook on \d+ of 40 test instances \(means of 3 runs\)", instances)
    assert "at least one of the learned runs failed, or ended above its start (2)" in instances
    assert "Numbers are indices of the worst, on the first run of each instance." in instances
    assert "Success is measured on the first run of each instance." in first_screen(text)
    assert "probabilities and quantiles are measured on the first run of each instance" in section(text, "held")


def test_means_over_groups_are_called_so():
    losses = np.random.default_rng(4).uniform(0.1, 0.3, (2, 600))
    columns = pacopt.columns.Columns(np.full(200, 3), 3 * np.arange(200))
    text = report_html(pacopt.certify(LossTable(losses, np.ones(600), columns=columns)))
    assert "on the 200 training groups, with the safeguard, means over groups." in section(text, "histogram")


def test_what_could_not_be_certified_has_no_unit():
    times = np.full(200, 20.0)
    times[::5] = np.inf
    words = first_screen(report_html(solving(times, times))).replace("\u00a0", " ")
    assert "90 % quantile none " in words
    assert "none iterations" not in words


def test_a_run_that_did_not_get_to_a_part_of_its_start_has_a_whole_sentence():
    ours, theirs = np.full(200, 9.0), np.full(200, 20.0)
    ours[:2] = theirs[:7] = np.inf
    text = report_html(solving(ours, theirs, score=pacopt.Effort(0.01, 40)))
    assert "runs that were not at 0.01 times the start within 40 steps (learned 2, textbook 7)" in text
    assert "2 were not at 0.01 times the start within 40 steps, and count as 40" in section(text, "histogram")
    assert "the learned run was not at 0.01 times the start within 40 steps (2)" in legend(text, "rivals")


def test_a_run_far_above_its_start_ended_at_so_many_times_its_start():
    ours, theirs = np.full(200, 0.1), np.full(200, 0.5)
    theirs[:3] = 50.0
    text = report_html(reportable(np.stack([ours, theirs])))
    assert "runs that ended above 10 times their start (textbook 3)" in section(text, "profile")


def test_the_verdict_on_digits_is_in_the_digits_of_the_tile():
    rng = np.random.default_rng(0)
    table = LossTable(10.0 ** -rng.uniform(1, 3, (2, 300)), np.ones(300))
    design = pacopt.Design.uniform(table, score=pacopt.Digits(4))
    source = reportable(table.losses, design=design)
    words = first_screen(report_html(source))
    shown = design.score.highlight(source.certificate.deployed.values["risk"])[1]
    measured = 4 - source.comparison["learned"].values["risk"]
    assert f"Certified: digits gained {shown}. On the test split they were {measured:.4g} (95" in words
    assert "short of" not in words


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        (1.0, r"between 0\.\d+ and 1\.\d+ more digits than the textbook \(95"),
        (-1.0, r"between 0\.\d+ and 1\.\d+ fewer digits than the textbook \(95"),
        (0.0, "no difference from the textbook in digits that 300 instances can show"),
    ],
)
def test_a_headline_on_digits_counts_them_where_mean_ratios_tell_nothing(shift, words):
    rng = np.random.default_rng(0)
    ours, theirs = 10.0 ** -rng.uniform(3, 5, (2, 300))
    losses = np.stack([ours, np.minimum(theirs * 10.0**shift, 1.0)])
    baselines = {"the textbook": losses[1]}
    table = LossTable(losses, np.ones(300), baselines=baselines)
    claims = shared_out([Risk(), Success(), Quantile(), Gain()])
    design = pacopt.Design.uniform(table, score=pacopt.Digits(8), claims=claims)
    source = with_test(reportable(losses, design=design, baselines=baselines), losses)
    assert re.search(words, first_screen(report_html(source)))
