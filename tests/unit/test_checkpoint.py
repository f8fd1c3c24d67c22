"""Finished tiles are kept, and what is kept is not run again."""

import threading
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pacopt import AbstractProblem, GradientDescent, HeavyBall, Instances, VaryingCurvature, learn, split
from pacopt.engines.store import Checkpoint
from pacopt.engines.traced import tabulation
from pacopt.engines.traced.engine import Traced
from pacopt.errors import StorageError
from pacopt.support.arrays import load_npz, save_npz

LAW = VaryingCurvature.draw(seed=0, n=10)
CANDIDATES = {"step_size": np.geomspace(1e-5, 1e-3, 8)}
INSTANCES = LAW.sample(900, seed=1)
STEPS = 1000


SCALE = 1.0


class Hidden(AbstractProblem):
    """A loss that depends on a global name."""

    def start(self, instance):
        return jnp.zeros(3)

    def loss(self, x, instance):
        return SCALE * instance["a"] * jnp.sum((x - 1.0) ** 2)


@pytest.fixture
def ran(monkeypatch):
    """The tiles that are really run, one entry each."""
    tiles = []
    real = tabulation.Tabulation._tile
    monkeypatch.setattr(
        tabulation.Tabulation,
        "_tile",
        lambda self, job, first, *rest: tiles.append(first) or real(self, job, first, *rest),
    )
    return tiles


class Keeping(NamedTuple):
    """An engine and the store that its tables are kept in."""

    engine: Traced
    store: Checkpoint | None

    def table(self, candidates, instances, progress=None):
        return self.engine.table(candidates, instances, progress, self.store)

    def prepare(self, candidates, instances):
        return self.engine.prepare(candidates, instances)


def engine(place=None, **changes):
    traced = replace(Traced(LAW.problem, GradientDescent(), STEPS), **changes)
    return Keeping(traced, None if place is None else Checkpoint(place))


def idle():
    """Wait for the tiles that were under way when somebody stopped asking."""
    for thread in threading.enumerate():
        if thread.name.startswith("pacopt"):
            thread.join()


def same(one, other):
    verdicts = one.success is None and other.success is None
    return (
        np.array_equal(one.losses, other.losses, equal_nan=True)
        and np.array_equal(one.start, other.start)
        and (verdicts or np.array_equal(one.success, other.success))
        and one.provenance == other.provenance
    )


@pytest.mark.parametrize("success", [None, lambda x, instance: x[0] > 0])
def test_an_interrupted_table_goes_on_where_it_stopped_and_ends_with_the_same_bits(tmp_path, ran, success):
    whole = engine(success=success).table(CANDIDATES, INSTANCES)
    everything = sorted(ran)
    assert len(everything) > 5
    ran.clear()

    def interrupt(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine(tmp_path, success=success).table(CANDIDATES, INSTANCES, interrupt)
    idle()
    kept = {int(path.stem) for path in tmp_path.glob("*/*.npz")}
    assert 0 < len(kept) < len(everything)
    ran.clear()
    again = engine(tmp_path, success=success).table(CANDIDATES, INSTANCES)
    assert same(again, whole)
    looked = min(kept)  # one of those that are kept is run again, to see that nothing has changed
    assert sorted(ran) == sorted({*everything} - kept | {looked})
    ran.clear()
    assert same(engine(tmp_path, success=success).table(CANDIDATES, INSTANCES), whole)
    assert ran == [looked]


def test_a_damaged_tile_is_run_again(tmp_path, ran):
    whole = engine(tmp_path).table(CANDIDATES, INSTANCES)
    truncated, altered, *_ = sorted(tmp_path.glob("*/*.npz"))
    truncated.write_bytes(truncated.read_bytes()[:100])
    content = bytearray(altered.read_bytes())
    content[len(content) // 2] ^= 1
    altered.write_bytes(content)
    ran.clear()
    assert same(engine(tmp_path).table(CANDIDATES, INSTANCES), whole)
    intact = min({int(path.stem) for path in tmp_path.glob("*/*.npz")} - {int(truncated.stem), int(altered.stem)})
    assert sorted(ran) == sorted([int(truncated.stem), int(altered.stem), intact])


def test_a_tile_whose_losses_somebody_halved_is_run_again(tmp_path, ran):
    whole = engine(tmp_path).table(CANDIDATES, INSTANCES)
    last = sorted(tmp_path.glob("*/*.npz"))[-1]
    arrays = load_npz(last)
    save_npz(last, arrays | {"losses": arrays["losses"] / 2})
    ran.clear()
    assert same(engine(tmp_path).table(CANDIDATES, INSTANCES), whole)
    assert int(arrays["first"]) in ran


def test_a_tile_in_the_place_of_another_is_run_again(tmp_path):
    whole = engine(tmp_path).table(CANDIDATES, INSTANCES)
    one, other, *_ = sorted(tmp_path.glob("*/*.npz"))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert same(engine(tmp_path).table(CANDIDATES, INSTANCES), whole)


def test_tiles_are_refused_if_something_has_changed_that_no_hash_can_see(tmp_path, monkeypatch):
    hidden = engine(tmp_path, problem=Hidden())
    data = Instances({"a": np.linspace(1.0, 2.0, 900)})
    before = hidden.table(CANDIDATES, data)
    monkeypatch.setattr(f"{__name__}.SCALE", 2.0)
    jax.clear_caches()  # as in another process
    with pytest.raises(StorageError, match=r"gives different losses from those stored in"):
        hidden.table(CANDIDATES, data)
    monkeypatch.undo()
    jax.clear_caches()
    assert same(hidden.table(CANDIDATES, data), before)


def test_tiles_of_another_experiment_are_not_taken(tmp_path, ran):
    engine(tmp_path).table(CANDIDATES, INSTANCES)
    for other in (engine(tmp_path, length=STEPS + 1), engine(tmp_path, dtype=np.float32)):
        ran.clear()
        other.table(CANDIDATES, INSTANCES)
        assert ran
    ran.clear()
    engine(tmp_path).table({"step_size": CANDIDATES["step_size"] * 1.01}, INSTANCES)
    engine(tmp_path).table(CANDIDATES, INSTANCES[1:])
    assert len(ran) > 10


@pytest.mark.parametrize("racing", [False, True])
def test_learning_goes_on_where_it_was_interrupted_and_gives_the_same_certificate(tmp_path, ran, racing):
    parts = split(LAW.sample(700, seed=1), prior=100, train=500, test=100, seed=2)
    options = {"steps": 100, "min_success": 0.9, "seed": 5, "racing": racing}
    whole = learn(LAW.problem, HeavyBall(), parts, **options)
    everything = len(ran)

    def interrupt(stage, done, total):
        if stage == "train" and done > total / 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(LAW.problem, HeavyBall(), parts, checkpoint=tmp_path / "kept", progress=interrupt, **options)
    idle()
    kept = len(list((tmp_path / "kept").glob("*/*.npz")))
    ran.clear()
    again = learn(LAW.problem, HeavyBall(), parts, checkpoint=tmp_path / "kept", **options)
    assert again.certificate.to_dict() == whole.certificate.to_dict()
    assert again.comparison == whole.comparison
    tables = len(list((tmp_path / "kept").iterdir()))
    assert everything - kept <= len(ran) <= everything - kept + tables


def test_a_place_that_is_none_is_refused(tmp_path):
    parts = split(LAW.sample(70, seed=1), prior=10, train=50, test=10, seed=2)
    (tmp_path / "file").write_text("")
    for wrong in (3, "", tmp_path / "file"):
        with pytest.raises(StorageError):
            learn(LAW.problem, HeavyBall(), parts, steps=5, checkpoint=wrong)
