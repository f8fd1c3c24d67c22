"""An engine of one's own: tables that do not depend on who else is in them, and can be made again."""

import json
import tempfile
from pathlib import Path

import numpy as np

from pacopt.engines.base import AbstractEngine
from pacopt.engines.store import Checkpoint
from pacopt.instances import Instances
from pacopt.stages.asking import checked_space
from pacopt.support.values import ONLY
from pacopt.testing.checking import need, told

#: In another table the same run may round otherwise.
ROUNDING = 1e-9


def check_engine(engine: AbstractEngine, instances: Instances) -> None:
    """Raise unless an engine makes tables on which `learn`, races, stores and verification can rely.

    >>> from pacopt import AbstractCellEngine, Interval, Run
    >>> class Halving(AbstractCellEngine):
    ...     space = {"factor": Interval(0.0, 1.0)}
    ...
    ...     def run(self, hyper, instance, seed):
    ...         x = float(instance["x"])
    ...         return Run(loss=(hyper["factor"] ** 9 * x) ** 2, start_loss=x**2)
    >>> check_engine(Halving(), Instances({"x": np.arange(1.0, 30.0)}))
    """
    name = type(getattr(engine, "algorithm", engine)).__name__
    need(isinstance(engine, AbstractEngine), f"{name} is no AbstractEngine; of a class make an object")
    with told(f"{name}.space"):
        checked_space(engine)
    few = instances[: min(24, len(instances))].drawn(root=0, part="check")
    candidates = some_candidates(engine, 5)
    with told(f"{name}.check"):
        engine.check(candidates, few)
    with told(f"{name}.table"):
        table = engine.table(candidates, few)
        again = engine.table(candidates, few)
    rows = len(next(iter(candidates.values()))) if candidates else 1
    need(table.shape == (rows, few.count), f"{name}.table has the shape {table.shape} for {rows} x {few.count}")
    need(_same(table.losses, again.losses, 0.0), f"{name} does not give the same losses twice")
    need(table.fingerprints is not None, f"{name}.table does not tell its instances: pass fingerprints")
    order = np.random.default_rng(0).permutation(len(few)) if few.groups is None else np.arange(len(few))
    moved = engine.table(candidates, few[order])
    need(_same(moved.losses, table.losses[:, order], ROUNDING), f"{name}: losses depend on the order of instances")
    part = engine.table({key: values[:1] for key, values in candidates.items()}, few)
    need(_same(part.losses, table.losses[:1], ROUNDING), f"{name}: losses depend on which other candidates there are")
    _check_random(engine, name, few, candidates, table.losses)
    with tempfile.TemporaryDirectory() as place, told(f"{name} with a store"):
        store = Checkpoint(Path(place))
        for _ in range(2):
            kept = engine.table(candidates, few, None, store)
            need(_same(kept.losses, table.losses, 0.0), f"{name} gives other losses from a store")
    with told(f"{name}.provenance"):
        json.dumps(engine.provenance(candidates, few), allow_nan=False)
    json.dumps(engine.stored()[0], allow_nan=False)
    need(len(engine.seen(few)) == len(few), f"{name}.seen loses instances")
    with told(f"{name}.solve"):
        solution = engine.solve(table.hyper(0), few[0], 0)
    if table.start is None:
        need(not solution.returned_start, f"{name}.solve returns a start, and the table knows none")
        return
    same = solution.start_loss is not None and np.isclose(solution.start_loss, table.starts[0], rtol=ROUNDING)
    need(same, f"{name}.solve starts at the loss {solution.start_loss}, and in the table at {table.starts[0]}")
    need(0 <= solution.ratio <= 1, f"{name}.solve returns a ratio of {solution.ratio}")


def some_candidates(engine: AbstractEngine, count: int) -> dict[str, np.ndarray]:
    """Candidates from all over the space of an engine."""
    rng, found = np.random.default_rng(0), {}
    for key, space in engine.space.items():
        found[key] = space.at(rng.uniform(0, 1, (count, space.dimension) if space.shape else count))
    return found or {ONLY: np.zeros(1)}


def _check_random(
    engine: AbstractEngine, name: str, few: Instances, candidates: dict[str, np.ndarray], losses: np.ndarray
) -> None:
    if not engine.random:
        return
    other = engine.table(candidates, few.drawn(root=1, part="check")).losses
    need(not _same(other, losses, 0.0), f"{name} says that it is random, and other seeds change nothing")
    twice = engine.table(candidates, few.drawn(root=0, part="check", replicates=2))
    need(twice.losses.shape[1] == 2 * len(few), f"{name} does not run every replicate")
    need(twice.columns is not None, f"{name} counts replicates as instances: pass columns")
    need(_same(twice.losses[:, ::2], losses, ROUNDING), f"{name}: replicate 0 depends on how many there are")


def _same(one: np.ndarray, other: np.ndarray, rounding: float) -> bool:
    failed = ~np.isfinite(one)
    if not np.array_equal(failed, ~np.isfinite(other)):
        return False
    return bool(np.allclose(one[~failed], other[~failed], rtol=rounding, atol=0.0))
