"""A run is on the disk whole or not at all, and whatever happens to it is seen."""

import html
import json
import os
import re
import shutil
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

import pacopt
from alone import run_code, run_fresh
from pacopt import Instances, Learned, LossTable, certify
from pacopt.errors import StorageError
from pacopt.report import write_report
from pacopt.report.seal import sealed
from pacopt.runs.files import MANIFEST, _fingerprint, write_json, write_run
from pacopt.statement import certificate_text
from pacopt.support.arrays import digest
from unit.test_learned import Above, learn

FILES = [
    "certificate.json",
    "code.json",
    "code.npz",
    "curves.npz",
    "instances.npz",
    "provenance.json",
    "statement.txt",
    "table.npz",
    "test.npz",
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return learn().save(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def run(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "run")


def resealed(run):
    """The manifest written anew, by somebody who knows how."""
    files = {name: _fingerprint(run / name) for name in FILES if (run / name).exists()}
    write_json(run / MANIFEST, {"schema": "pacopt.run/1", "files": files})
    return run


def test_a_run_holds_these_files_and_is_verified(saved):
    assert sorted(path.name for path in saved.iterdir()) == sorted([*FILES, MANIFEST, "report.html"])
    result = pacopt.verify(saved)
    assert result.passed
    assert result.compared > 30
    assert "verified" in str(result)
    certificate = (saved / "certificate.json").read_text()
    assert json.dumps(json.loads(certificate), sort_keys=True, indent=1) + "\n" == certificate


def test_verification_needs_no_jax(saved):
    code = f"import sys, pacopt; print(pacopt.verify({str(saved)!r}).passed, {{'jax', 'equinox'}} & sys.modules.keys())"
    assert run_fresh(code) == "True set()\n"


def test_an_existing_run_is_never_overwritten(saved, tmp_path):
    learned = Learned.load(saved)
    with pytest.raises(StorageError, match="exists"):
        learned.save(saved)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="exists"):
        learned.save(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    learned.save(tmp_path / "empty")
    assert pacopt.verify(tmp_path / "empty").passed


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_altered_truncated_or_missing_is_named(run, name):
    path = run / name
    content = path.read_bytes()
    for damaged in (content[:-3], content[:-1] + bytes([content[-1] ^ 1]), b"", None):
        if damaged is None:
            path.unlink()
        else:
            path.write_bytes(damaged)
        if damaged != content:
            with pytest.raises(StorageError, match=name):
                Learned.load(run)
            result = pacopt.verify(run)
            assert not result.passed
            assert name in str(result)


def test_other_damaged_files_are_counted(run):
    for count, name in enumerate(FILES[:3]):
        (run / name).unlink()
        with pytest.raises(StorageError) as told:
            Learned.load(run)
        more = ["", "1 more file is not as saved.", "2 more files are not as saved."][count]
        assert more in told.value.found
        assert ("more" in told.value.found) == (count > 0)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "pacopt.run/2", "files": {}}', '{"files": 3}'])
def test_a_manifest_that_is_none_is_an_error(run, content):
    (run / MANIFEST).write_text(content)
    with pytest.raises(StorageError, match=r"schema|JSON"):
        Learned.load(run)


def test_a_manifest_cannot_point_outside_of_its_directory(run):
    manifest = json.loads((run / MANIFEST).read_text())
    manifest["files"]["../../etc/passwd"] = manifest["files"]["table.npz"]
    write_json(run / MANIFEST, manifest)
    with pytest.raises(StorageError, match="manifest"):
        Learned.load(run)


def test_a_directory_without_a_run_is_an_error(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StorageError, match="holds no run"):
            pacopt.verify(place)
        with pytest.raises(StorageError, match="holds no run"):
            Learned.load(place)


@pytest.mark.parametrize("after", [0, 1, 3, 8])
def test_a_process_killed_while_saving_leaves_no_run(saved, tmp_path, after):
    """Killed by the system, without a chance to clean up, while the file number `after` is half written."""
    script = f"""
import os, signal
import pacopt, pacopt.runs.saving
from pathlib import Path

def dying(write, path):
    write(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    os.kill(os.getpid(), signal.SIGKILL)

original = pacopt.runs.saving.write_run
def write_run(directory, writers):
    name = list(writers)[{after}]
    write = writers[name]
    return original(directory, writers | {{name: lambda path: dying(write, path)}})

import pacopt.learned
pacopt.runs.saving.write_run = write_run
pacopt.Learned.load({str(saved)!r}).save({str(tmp_path / "run")!r})
"""
    answer = run_code(script)
    assert answer.returncode == -signal.SIGKILL, answer.stderr
    assert not (tmp_path / "run").exists()
    with pytest.raises(StorageError, match="A save was interrupted"):
        Learned.load(tmp_path / "run")
    Learned.load(saved).save(tmp_path / "run")
    assert pacopt.verify(tmp_path / "run").passed


def test_a_writer_that_fails_leaves_nothing_behind(tmp_path):
    def fails(path):
        path.write_text("half")
        raise OSError("disk full")

    with pytest.raises(StorageError, match="disk full"):
        write_run(tmp_path / "run", {"a.txt": lambda path: path.write_text("a"), "b.txt": fails})
    assert os.listdir(tmp_path) == []


def forged(run, change):
    """A certificate altered in one place, with its own hash and the manifest made to fit."""
    stored = json.loads((run / "certificate.json").read_text())
    change(stored)
    stored["design_hash"] = digest(stored["design"])
    stored["hash"] = digest({key: value for key, value in stored.items() if key != "hash"})
    write_json(run / "certificate.json", stored)
    (run / "statement.txt").write_text(f"{pacopt.Certificate.from_dict(stored)}\n")
    return resealed(run)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda c: c["deployed"].update(risk=c["deployed"]["risk"] * 0.999), "deployed.risk"),
        (lambda c: c["deployed"].update(success=c["deployed"]["success"] + 1e-4), "deployed.success"),
        (lambda c: c["deployed"]["hyper"].update(step_size=0.1), "deployed.hyper"),
        (lambda c: c.update(confidence=0.999), "certificate"),
        (lambda c: c.update(instances=15_000), "instances"),
        (lambda c: c["posterior"].update(risk=c["posterior"]["risk"] * 0.999), "posterior.risk"),
        (lambda c: c.update(ledger=c["ledger"][1:]), "ledger"),
        (lambda c: c.update(zero_starts=3), "zero_starts"),
    ],
)
def test_a_forged_number_is_found_whatever_the_hashes_say(run, change, match):
    result = pacopt.verify(forged(run, change))
    assert not result.passed
    assert match in str(result)


def test_words_that_do_not_fit_the_numbers_are_found(run):
    text = (run / "statement.txt").read_text()
    (run / "statement.txt").write_text(text.replace("With confidence 0.99 ", "With confidence 0.999 "))
    assert "statement.txt" in str(pacopt.verify(resealed(run)))
    (run / "statement.txt").write_text(re.sub(r"(Exact values: .*\d)\d", r"\1", text))
    assert "statement.txt" in str(pacopt.verify(resealed(run)))


def test_words_with_all_digits_in_the_sentence_are_the_same_words(run):
    certificate = Learned.load(run).certificate
    earlier, today = certificate_text(certificate, in_full=True), str(certificate)
    assert "Exact values" in today
    assert "Exact values" not in earlier
    (run / "statement.txt").write_text(f"{earlier}\n")
    page = (run / "report.html").read_text()
    assert html.escape(today) in page
    body = page.replace(html.escape(today), html.escape(earlier))[: page.rindex("<!-- pacopt seal")]
    (run / "report.html").write_text(sealed(body.rpartition("<!-- pacopt seal")[0] or body))
    assert pacopt.verify(resealed(run)).passed


def test_other_instances_than_those_of_the_table_are_found(run):
    instances = pacopt.Instances.load(run / "instances.npz")
    pacopt.Instances({"a": instances.fields["a"] * 1.0001}).save(run / "instances.npz")
    assert "instances.npz" in str(pacopt.verify(resealed(run)))


def test_a_provenance_of_another_run_is_found(run):
    provenance = json.loads((run / "provenance.json").read_text())
    write_json(run / "provenance.json", provenance | {"steps": 500})
    assert "different runs" in str(pacopt.verify(resealed(run)))


def test_a_forged_deployed_row_shows_only_when_it_is_run_again_and_then_always(run):
    """Everything made to fit: the one lie is in the losses, and only the code and the instances tell."""
    learned = Learned.load(run)
    losses = learned.table.losses.copy()
    losses[learned.certificate.deployed.index] *= 0.25
    recertified(run, losses)
    assert pacopt.verify(run).passed
    for seed in range(5):
        result = pacopt.verify(run, rerun=3, seed=seed)
        assert not result.passed
        assert "when run again" in str(result)
        assert result.rerun >= 3, "everything that was run is compared"


def test_one_forged_cell_of_the_deployed_row_is_always_found(run):
    learned = Learned.load(run)
    losses = learned.table.losses.copy()
    losses[learned.certificate.deployed.index, 57] *= 0.9
    recertified(run, losses)
    for seed in range(3):
        result = pacopt.verify(run, rerun=1, seed=seed)
        assert "on instance 57 has the loss" in str(result)
        assert result.rerun >= len(learned.train)


def recertified(run, losses, **options):
    """A table with other losses, and everything that follows from it made to fit."""
    learned = Learned.load(run)
    table = replace(learned.table, losses=losses)
    certificate = certify(table, learned.certificate.design)
    table.save(run / "table.npz")
    write_json(run / "certificate.json", certificate.to_dict())
    (run / "statement.txt").write_text(f"{certificate}\n")
    write_report(run, replace(learned, certificate=certificate, table=table))
    return resealed(run), certificate


def test_losses_above_the_start_count_when_cells_are_run_again(run):
    """They do not matter to the risk, but the quantile is made of them."""
    table = Learned.load(run).table
    failed = ~(table.losses <= table.start)
    forged, _ = recertified(run, np.where(failed, table.start * (1 + 1e-9), table.losses))
    assert failed.mean() > 0.01
    assert pacopt.verify(forged).passed
    assert not pacopt.verify(forged, rerun=10**6).passed


def test_small_losses_count_when_cells_are_run_again(tmp_path):
    run = learn(target_ratio=1e-8).save(tmp_path / "run")
    table = Learned.load(run).table
    forged, certificate = recertified(run, np.where(table.losses <= 9e-7 * table.start, 0.0, table.losses))
    assert certificate.deployed.success > 0
    assert pacopt.verify(forged).passed
    assert not pacopt.verify(forged, rerun=10**6).passed


def test_a_ledger_that_denies_copies_is_not_believed(run):
    instances = pacopt.Instances.load(run / "instances.npz")
    a = instances.fields["a"].copy()
    a[1] = a[0]
    pacopt.Instances({"a": a}).save(run / "instances.npz")
    assert "holds an instance twice" in str(pacopt.verify(resealed(run)))


def test_a_file_that_says_two_things_is_refused(run):
    text = (run / "certificate.json").read_text()
    (run / "certificate.json").write_text(text.replace('  "risk"', '  "risk": 1e-06,\n  "risk"', 1))
    assert "not in the form" in str(pacopt.verify(resealed(run)))


def test_a_comparison_of_other_hyperparameters_is_found(run):
    test = LossTable.load(run / "test.npz")
    candidates = {name: values[::-1] for name, values in test.candidates.items()}
    LossTable(test.losses, test.start, candidates, provenance=test.provenance).save(run / "test.npz")
    assert "test.npz" in str(pacopt.verify(resealed(run)))


@pytest.mark.parametrize("seed", range(6))
def test_honest_runs_are_verified(seed, tmp_path):
    learn(seed=seed, min_success=[None, 0.5][seed % 2]).save(tmp_path / "run")
    result = pacopt.verify(tmp_path / "run", rerun=30)
    assert result.passed, str(result)


GARBAGE = [
    ("code.json", []),
    ("code.json", {"problem": "x", "algorithm": None}),
    ("code.json", {"problem": {"class": 5, "fields": {}}, "algorithm": None}),
    ("certificate.json", []),
    ("certificate.json", {"schema": "pacopt.certificate/1"}),
    ("provenance.json", []),
    ("provenance.json", {"steps": 10**400}),
]


@pytest.mark.parametrize(("name", "value"), GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_inside_of_a_run_is_an_error_in_words(run, name, value):
    write_json(run / name, value)
    with pytest.raises(StorageError):
        Learned.load(resealed(run))
    if name != "code.json":
        assert not pacopt.verify(run).passed


def test_a_name_in_a_file_imports_nothing(run):
    for name in ("antigravity:x", "os:system", "pacopt.problems.nope:X", "pacopt.app.cli:main"):
        code = json.loads((run / "code.json").read_text())
        code["problem"]["class"] = name
        write_json(run / "code.json", code)
        assert Learned.load(resealed(run)).engine is None
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize("place", [5, None, "", "a\0b", "/proc/nowhere/run"])
def test_a_place_where_nothing_can_be_written_is_an_error_in_words(saved, place):
    with pytest.raises(StorageError):
        Learned.load(saved).save(place)


@pytest.mark.parametrize("options", [{"rerun": -1}, {"rerun": 1.5}, {"rerun": 3, "seed": -1}])
def test_what_is_no_number_of_cells_is_refused(saved, options):
    with pytest.raises(StorageError, match="whole number"):
        pacopt.verify(saved, **options)


def test_cells_run_again_agree_also_where_runs_failed_or_were_given_up(saved, tmp_path):
    assert pacopt.verify(saved, rerun=50, seed=1).passed
    assert pacopt.verify(saved, rerun=10**6).passed, "more than there are"
    raced = learn(racing=True)
    raced.save(tmp_path / "raced")
    assert pacopt.verify(tmp_path / "raced", rerun=50, seed=2).passed


def test_a_predicate_is_checked_where_it_is_given(tmp_path):
    def near(x, instance):
        return abs(x - 1.0) < 0.05

    def far(x, instance):
        return abs(x - 1.0) > 0.05

    learn(success=near).save(tmp_path / "run")
    assert pacopt.verify(tmp_path / "run", rerun=30, seed=0, success=near).passed
    assert not pacopt.verify(tmp_path / "run", rerun=30, seed=0, success=far).passed
    unaware = pacopt.verify(tmp_path / "run", rerun=30, seed=0)
    assert unaware.passed
    assert "verdicts of the success predicate" in str(unaware)


def test_nothing_in_a_run_is_pickled(saved):
    for path in saved.glob("*.npz"):
        for array in np.load(path, allow_pickle=False).values():
            assert array.dtype.kind in "biufUS"


def test_what_killed_saves_left_goes_with_the_next_that_succeeds(tmp_path):
    table = pacopt.LossTable(losses=np.full((2, 30), 0.5), start=np.ones(30))
    for name in (".run.0123abcd.part", ".run-2.0123abcd.part", ".run.other.0123abcd.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.npz").write_bytes(b"half of it")
    pacopt.certify(table).save(tmp_path / "run")
    assert sorted(path.name for path in tmp_path.glob(".*")) == [".run-2.0123abcd.part", ".run.other.0123abcd.part"]


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("instances.npz", "there is no instances.npz, so no cell can be run again"),
        ("test.npz", "curves.npz is there without test.npz"),
        ("curves.npz", "there is no curves.npz"),
    ],
)
def test_a_file_that_somebody_deleted_is_noticed_though_the_manifest_was_written_anew(run, name, note):
    (run / name).unlink()
    result = pacopt.verify(resealed(run))
    assert result.passed == (name != "test.npz")
    assert note in str(result)
    if name == "test.npz":
        (run / "curves.npz").unlink()
        assert "there is no test.npz, and the split has" in str(pacopt.verify(resealed(run)))


@pytest.mark.parametrize("name", ["code.json", "code.npz", "curves.npz"])
def test_a_file_that_was_cut_is_noticed_though_the_manifest_was_written_anew(run, name):
    (run / name).write_bytes((run / name).read_bytes()[:-20])
    assert not pacopt.verify(resealed(run)).passed


def test_a_table_in_the_place_of_the_losses_on_the_test_split_is_noticed(run):
    table = LossTable.load(run / "table.npz")
    deployed = json.loads((run / "certificate.json").read_text())["deployed"]["index"]
    table.select(rows=np.array([deployed])).save(run / "test.npz")
    assert "test.npz does not hold losses on the test split" in str(pacopt.verify(resealed(run)))


def test_a_minimum_that_is_denied_is_noticed_where_the_class_can_be_asked(tmp_path):
    honest = learn(problem=Above(), instances=Instances({"a": np.random.default_rng(0).uniform(1, 2, 240)}))
    assert pacopt.verify(honest.save(tmp_path / "honest")).passed
    table = replace(honest.table, provenance={**honest.table.provenance, "known_minimum": False})
    certificate = certify(table, honest.certificate.design)
    forged = replace(
        honest, table=table, certificate=certificate, provenance={**honest.provenance, "known_minimum": False}
    )
    result = pacopt.verify(forged.save(tmp_path / "forged"))
    assert "says otherwise than the class of the problem whether its minimum is known" in str(result)
