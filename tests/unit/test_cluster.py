"""Tables are the same, whoever makes them: this process, or the workers of a Dask cluster."""

import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import jax
import numpy as np
import pytest
from distributed import Client, LocalCluster

import pacopt
from compiling import FLAGS
from pacopt import BlackBox, HeavyBall, Instances, Interval, Ranged, VaryingCurvature
from pacopt.app.clusters import connected
from pacopt.engines.cluster import Cluster
from pacopt.engines.ended import LATE
from pacopt.engines.store import Checkpoint
from pacopt.engines.traced.engine import Traced
from pacopt.errors import EngineError, JobError, ProblemError, ResourceError
from pacopt.priors import Search

OWN = '''
import os, time

def solve(hyper, instance):
    return abs(hyper["a"] - float(instance["x"]))

def hangs(hyper, instance):
    while float(instance["x"]) > 0.9:
        time.sleep(1)
    return solve(hyper, instance)

def crashes(hyper, instance):
    if float(instance["x"]) > 0.9:
        os._exit(3)
    return solve(hyper, instance)

def writes(hyper, instance):
    with open(os.environ.get("SCRATCH", os.devnull), "w") as file:
        file.write("x" * 10_000)
    return solve(hyper, instance)

def counted(hyper, instance):
    return abs(hyper["a"] - instance["object"].x)

class Model:
    """Says in a file in which process it was unpacked."""

    def __init__(self, x, place):
        self.x, self.place = x, place

    def __reduce__(self):
        return unpacked, (self.x, self.place)

def unpacked(x, place):
    with open(place, "a") as file:
        file.write(f"{os.getpid()} {os.getppid()} {x}\\n")
    return Model(x, place)
'''
SPACE = {"a": Interval(0.0, 1.0)}
TWENTY = {"a": np.linspace(0.0, 1.0, 20)}
X = Instances({"x": np.random.default_rng(0).uniform(size=300)})
LAW = VaryingCurvature.draw(seed=0, n=30)
STEPS = {"step_size": np.geomspace(1e-5, 1e-3, 30), "momentum": np.full(30, 0.9)}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A module of the user's, beside the script."""
    place = tmp_path_factory.mktemp("own")
    (place / "own_solver.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        patch.setenv("XLA_FLAGS", FLAGS)
        import own_solver

        yield own_solver


@contextmanager
def workers(count, threads=1):
    """A client of so many worker processes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            LocalCluster(
                n_workers=count, threads_per_worker=threads, dashboard_address=":0", silence_logs="CRITICAL"
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def two(own):
    with workers(2) as client:
        yield client


@contextmanager
def another_worker(client, **environment):
    """One more worker, started by the command, in an environment of its own."""
    command = [Path(sys.executable).with_name("dask"), "worker", client.scheduler.address, "--no-nanny", "--nthreads=1"]
    process = subprocess.Popen(
        [*command, "--no-dashboard"],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    before = len(client.nthreads())
    try:
        client.wait_for_workers(before + 1, timeout=60)
        yield
    finally:
        process.kill()
        process.wait()
        while len(client.nthreads()) > before:
            time.sleep(0.05)


def same(one, other):
    np.testing.assert_array_equal(one.losses, other.losses)
    assert one.provenance == other.provenance


def test_a_table_of_a_solver_is_that_of_one_process(own, two):
    engine = BlackBox(own.solve, SPACE)
    same(engine.table(TWENTY, X, None, Cluster(two)), engine.table(TWENTY, X))


def test_a_table_of_jax_is_that_of_one_process_bit_by_bit(own, two):
    engine, instances = Traced(LAW.problem, HeavyBall(), 30), LAW.sample(3000, seed=1)
    same(engine.table(STEPS, instances, None, Cluster(two)), engine.table(STEPS, instances))
    at = (0, 10, 30)
    both = [engine.recorded(STEPS, instances, at, store)[1] for store in (None, Cluster(two))]
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize("count", [1, 4])
def test_any_number_of_workers_makes_the_same_table_of_a_solver(own, count):
    solver = BlackBox(own.solve, SPACE)
    with workers(count) as client:
        same(solver.table(TWENTY, X, None, Cluster(client)), solver.table(TWENTY, X))


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 4])
def test_any_number_of_workers_makes_the_same_table_of_jax(own, count):
    traced, instances = Traced(LAW.problem, HeavyBall(), 30), LAW.sample(900, seed=1)
    with workers(count) as client:
        same(traced.table(STEPS, instances, None, Cluster(client)), traced.table(STEPS, instances))


@pytest.mark.parametrize("racing", [False, True])
def test_what_is_learned_on_a_cluster_is_what_is_learned_on_one_machine(own, two, racing):
    parts = pacopt.split(X, prior=40, train=200, test=60, seed=1)
    options = {"prior": Search(candidates=16, explore=1, rounds=1), "score": Ranged(1.0), "racing": racing}
    here, there = (
        pacopt.learn(BlackBox(own.solve, SPACE), parts, executor=executor, progress=False, **options)
        for executor in (None, two)
    )
    assert here.certificate.to_dict() == there.certificate.to_dict()
    np.testing.assert_array_equal(here.test.losses, there.test.losses)


def test_instances_travel_once_to_each_worker_whatever_is_made_of_them(own, two, tmp_path):
    place = tmp_path / "unpacked.txt"
    models = Instances.of_objects([own.Model(x, str(place)) for x in range(200)], fingerprint=lambda model: model.x)
    cluster, workers = Cluster(two), {*two.run(os.getpid).values()}
    place.write_text("")  # fingerprints were asked of copies
    for guess in (0.25, 0.5):
        BlackBox(own.counted, SPACE).table({"a": np.array([guess, 0.75])}, models, None, cluster)
    lines = [line.split() for line in place.read_text().splitlines()]
    came = [(int(process), x) for process, _, x in lines if int(process) in workers]
    # Once for whoever fetched them first from the scheduler, which unpacks nothing.
    assert len(came) == len({*came}) == 200 * len({process for process, _ in came})
    assert {process for process, _ in came} == workers


def test_a_call_that_hangs_is_stopped_and_one_that_crashes_takes_no_worker_with_it(own, two):
    few, before = X[:60], two.run(os.getpid)
    late = BlackBox(own.hangs, SPACE, limit=1.0).table({"a": np.array([0.5])}, few, None, Cluster(two))
    dead = BlackBox(own.crashes, SPACE).table({"a": np.array([0.5])}, few, None, Cluster(two))
    failed = few.fields["x"] > 0.9
    assert failed.any()
    for table in (late, dead):
        np.testing.assert_array_equal(np.isinf(table.losses[0]), failed)
    assert late.provenance["failures"] == {LATE: failed.sum()}
    assert two.run(os.getpid) == before


def test_a_run_that_was_begun_on_a_cluster_goes_on_elsewhere(own, two, tmp_path):
    parts = pacopt.split(X, prior=40, train=200, test=60, seed=1)
    options = {"prior": Search(candidates=16, explore=1, rounds=0), "score": Ranged(1.0), "checkpoint": tmp_path}

    def stop(stage, done, total):
        if stage == "train" and done > total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pacopt.learn(BlackBox(own.solve, SPACE), parts, executor=two, progress=stop, **options)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    assert len(kept) > 5
    resumed = pacopt.learn(BlackBox(own.solve, SPACE), parts, progress=False, **options)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    whole = pacopt.learn(BlackBox(own.solve, SPACE), parts, progress=False, **options | {"checkpoint": None})
    assert resumed.certificate.to_dict() == whole.certificate.to_dict()
    # Nothing that waited is run by anybody.
    until = time.monotonic() + 10
    while two.cluster.scheduler.tasks and time.monotonic() < until:
        time.sleep(0.05)
    assert not two.cluster.scheduler.tasks


def test_what_was_begun_on_one_machine_goes_on_on_a_cluster(own, two, tmp_path):
    engine, store = BlackBox(own.solve, SPACE), Checkpoint(tmp_path)
    serial = engine.table(TWENTY, X, None, store)
    for number, path in enumerate(sorted(tmp_path.rglob("*.npz"))):
        if number % 3:
            path.unlink()
    same(engine.table(TWENTY, X, None, Cluster(two, store)), serial)


def test_a_worker_with_another_version_of_the_module_is_named_before_anything_runs(own, two, tmp_path):
    (tmp_path / "own_solver.py").write_text(OWN.replace("abs(", "2 * abs("))
    with (
        another_worker(two, PYTHONPATH=str(tmp_path)),
        pytest.raises(EngineError, match=r"own_solver is with the hash .*, but here it is with the hash"),
    ):
        BlackBox(own.solve, SPACE).table(TWENTY, X, None, Cluster(two))


def test_a_worker_that_comes_later_with_another_version_is_left_out(own, two, tmp_path):
    (tmp_path / "own_solver.py").write_text(OWN.replace("abs(", "2 * abs("))
    engine, cluster = BlackBox(own.solve, SPACE), Cluster(two)
    engine.table(TWENTY, X[:20], None, cluster)
    with another_worker(two, PYTHONPATH=str(tmp_path)), pytest.warns(UserWarning, match="is left out: On the worker"):
        same(engine.table(TWENTY, X, None, cluster), engine.table(TWENTY, X))


EDITED = """
import equinox as eqx
import pacopt

FACTOR = 1.0

class Line(pacopt.AbstractProblem):
    def start(self, instance):
        return instance["x"]

    def loss(self, x, instance):
        return FACTOR * (x - 2.0) ** 2

def solve(hyper, instance):
    return FACTOR * float(instance["x"])
"""


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(("x - 2.0", "x - 3.25"), id="code"),
        pytest.param(("= 1.0", "= 7.25"), id="value", marks=pytest.mark.slow),
    ],
)
def test_a_module_that_was_edited_and_loaded_anew_is_run_as_it_is_now(two, tmp_path, monkeypatch, changed):
    file, name = tmp_path / f"edited_{abs(hash(changed))}.py", f"edited_{abs(hash(changed))}"
    file.write_text(EDITED)
    monkeypatch.syspath_prepend(tmp_path)
    module, cluster = importlib.import_module(name), Cluster(two)

    def engines():
        yield Traced(module.Line(), HeavyBall(), 3), {"step_size": np.array([0.1]), "momentum": np.array([0.5])}
        yield BlackBox(module.solve, SPACE), {"a": np.array([0.5])}

    before = [engine.table(candidates, X, None, cluster) for engine, candidates in engines()]
    file.write_text(EDITED.replace(*changed))
    for engine, candidates in engines():
        with pytest.raises(EngineError, match="was edited after the module was imported"):
            engine.table(candidates, X, None, cluster)
    module = importlib.reload(module)
    after = [engine.table(candidates, X, None, cluster) for engine, candidates in engines()]
    for (engine, candidates), table in zip(engines(), after, strict=True):
        same(table, engine.table(candidates, X))
    assert not np.array_equal(before[0].losses, after[0].losses)


TOLD = """
import os
import pacopt

class Told(pacopt.AbstractProblem):
    place: str

    def start(self, instance):
        return instance["x"]

    def loss(self, x, instance):
        with open(self.place, "a") as file:  # when it is traced
            file.write(f"{os.getpid()}\\n")
        return (x - 2.0) ** 2
"""


def test_a_worker_compiles_once_for_all_tables_of_a_shape(two, tmp_path, monkeypatch):
    (tmp_path / "told_problem.py").write_text(TOLD)
    monkeypatch.syspath_prepend(tmp_path)
    import told_problem

    place, cluster = tmp_path / "traced.txt", Cluster(two)
    engine = Traced(told_problem.Told(str(place)), HeavyBall(), 200)
    instances = Instances({"x": np.random.default_rng(0).uniform(size=20_000)})
    assert len(engine.prepare(STEPS, instances).layout) > 20

    def traces():
        lines = [int(line) for line in place.read_text().splitlines()]
        return {process: lines.count(process) for process in two.run(os.getpid).values()}

    engine.table(STEPS, instances, None, cluster)
    first = traces()
    assert len(set(first.values())) == 1  # as often on one worker as on the other: for starts, and for tiles
    engine.table({**STEPS, "momentum": np.full(30, 0.5)}, instances, None, cluster)
    assert traces() == first


def test_a_worker_that_is_started_after_an_edit_does_not_run_the_edited_code(tmp_path, monkeypatch):
    file, text = tmp_path / "edited_between.py", "import os\n\nFACTOR = 1.0\n\ndef solve(hyper, instance):\n"
    text += '    if instance["x"] > 0.99:\n        os._exit(3)\n    return FACTOR * float(instance["x"])\n'
    file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    import edited_between

    def edit(done, total):
        if done:
            file.write_text(text.replace("1.0", "7.25"))

    x = Instances({"x": np.linspace(0.0, 0.995, 2000)})  # the last ones end their process
    with pytest.raises(EngineError, match="is not what it was when the table was begun"):
        BlackBox(edited_between.solve, SPACE, workers=2).table({"a": np.array([0.5])}, x, edit)


def test_flags_of_the_compiler_are_compared_for_jax(own, two, monkeypatch):
    with another_worker(two, XLA_FLAGS="--xla_cpu_enable_fast_math=true"):
        with pytest.raises(EngineError, match="XLA_FLAGS is --xla_cpu_enable_fast_math=true, but here it is"):
            Traced(LAW.problem, HeavyBall(), 30).table(STEPS, LAW.sample(90, seed=1), None, Cluster(two))
        engine = BlackBox(own.solve, SPACE)
        same(engine.table(TWENTY, X, None, Cluster(two)), engine.table(TWENTY, X))


def test_runs_that_fail_for_a_full_disk_of_one_worker_are_made_by_others(own, two):
    engine = BlackBox(own.writes, SPACE)
    with another_worker(two, SCRATCH="/dev/full"), pytest.warns(UserWarning, match="left out: The disk is full"):
        same(engine.table(TWENTY, X, None, Cluster(two)), engine.table(TWENTY, X))


def test_on_one_machine_a_full_disk_ends_the_job_and_is_no_failure_of_a_run(own, monkeypatch):
    monkeypatch.setenv("SCRATCH", "/dev/full")
    for count in (1, 2):
        with pytest.raises(ResourceError, match="The disk is full"):
            BlackBox(own.writes, SPACE, workers=count).table(TWENTY, X)


def test_what_pacopt_says_on_a_worker_is_said_here(own, two):
    class Infinite(type(LAW.problem)):
        def loss(self, x, instance):
            return jax.numpy.sum(x) + jax.numpy.inf

    fields = {field: getattr(LAW.problem, field) for field in LAW.problem.__dataclass_fields__}
    with pytest.raises((EngineError, ProblemError, pacopt.errors.TableError)):
        Traced(Infinite(**fields), HeavyBall(), 30).table(STEPS, LAW.sample(90, seed=1), None, Cluster(two))


def test_a_module_that_workers_lack_is_named(two, monkeypatch):
    module = ModuleType("nowhere_else")
    exec("def solve(hyper, instance): return 0.0", vars(module))
    monkeypatch.setitem(sys.modules, "nowhere_else", module)
    with pytest.raises(EngineError, match="No module named 'nowhere_else'"):
        BlackBox(module.solve, SPACE).table(TWENTY, X, None, Cluster(two))


@pytest.mark.parametrize(
    ("executor", "said"),
    [
        ("tcp://127.0.0.1:8786", "executor is 'tcp://127.0.0.1:8786'"),
        (ThreadPoolExecutor(1), "is for BlackBox"),
    ],
)
def test_what_is_no_client_is_refused(own, executor, said):
    parts = pacopt.split(X, prior=40, train=200, test=60, seed=1)
    with pytest.raises(EngineError, match=said):
        pacopt.learn(BlackBox(own.solve, SPACE), parts, score=Ranged(1.0), executor=executor)


def test_a_client_that_is_closed_is_refused(own):
    parts = pacopt.split(X, prior=40, train=200, test=60, seed=1)
    with workers(1) as client:
        pass
    with pytest.raises(EngineError, match="status 'closed'"):
        pacopt.learn(BlackBox(own.solve, SPACE), parts, score=Ranged(1.0), executor=client)


def test_seconds_are_not_measured_on_a_cluster(own, two):
    with pytest.raises(EngineError, match="measured on one machine"):
        BlackBox(own.solve, SPACE).counting("seconds", None).table(TWENTY, X, None, Cluster(two))


def test_nothing_stays_on_the_workers_when_all_is_learned(own, two):
    parts = pacopt.split(X, prior=40, train=200, test=60, seed=1)
    few = Search(candidates=16, explore=1, rounds=0)
    from pacopt.engines.cluster import worker

    def held():
        return {*worker._parts, *worker._tables}

    before = two.run(held)
    pacopt.learn(BlackBox(own.solve, SPACE), parts, score=Ranged(1.0), prior=few, executor=two, progress=False)
    assert all(keys <= before[address] for address, keys in two.run(held).items())


CLIENT_ONLY = "SET = 1.0\n\ndef solve(hyper, instance):\n    return SET * abs(hyper['a'] - float(instance['x']))\n"


def test_a_value_that_was_set_in_the_client_alone_is_noticed_by_its_losses(two, tmp_path, monkeypatch):
    (tmp_path / "set_in_client.py").write_text(CLIENT_ONLY)
    monkeypatch.syspath_prepend(tmp_path)
    import set_in_client

    set_in_client.SET = 2.0
    with pytest.raises(EngineError, match=r"gets the loss .* where the client gets"):
        BlackBox(set_in_client.solve, SPACE).table(TWENTY, X, None, Cluster(two))


IMPORTS = "def solve(hyper, instance):\n    from imported_later import K\n    return K * float(instance['x'])\n"


def test_modules_that_are_imported_inside_of_functions_are_compared_too(two, tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    for place, value in ((here, 1), (there, 2)):
        place.mkdir()
        (place / "imports_later.py").write_text(IMPORTS)
        (place / "imported_later.py").write_text(f"K = {value}\n")
    monkeypatch.syspath_prepend(here)
    import imports_later

    with (
        another_worker(two, PYTHONPATH=str(there)),
        pytest.raises(EngineError, match="imported_later is with the hash"),
    ):
        BlackBox(imports_later.solve, SPACE).table(TWENTY, X, None, Cluster(two))


CHANGES_ITSELF = """
import time
import pacopt

class Changing(pacopt.AbstractCellEngine):
    space = {"a": pacopt.Interval(0.0, 1.0)}

    def run(self, hyper, instance, seed):
        self.x = float(instance["x"])
        time.sleep(1e-4)
        return pacopt.Run(loss=abs(hyper["a"] - self.x))
"""


@pytest.mark.slow
def test_an_engine_that_changes_itself_is_called_by_one_thread_at_a_time(tmp_path, monkeypatch):
    (tmp_path / "changes_itself.py").write_text(CHANGES_ITSELF)
    monkeypatch.syspath_prepend(tmp_path)
    import changes_itself

    engine = changes_itself.Changing()
    with workers(1, threads=4) as client:
        there = engine.table(TWENTY, X, None, Cluster(client))
    np.testing.assert_array_equal(there.losses, engine.table(TWENTY, X).losses)


def test_a_command_finds_a_cluster_by_address_or_file(two, tmp_path, monkeypatch):
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": two.scheduler.address}))
    for where in (str(file), two.scheduler.address):
        with connected(where) as client:
            assert len(client.nthreads()) == 2
    with connected(None) as client:
        assert client is None
    monkeypatch.setattr("pacopt.app.clusters.PATIENCE", 0.5)
    for where, said in {
        "tcp://127.0.0.1:1": "no scheduler answers",
        str(tmp_path): "neither an address nor a scheduler file",
        "ftp://nowhere": "no scheduler answers",
    }.items():
        with pytest.raises(JobError, match=said), connected(where):
            pass
