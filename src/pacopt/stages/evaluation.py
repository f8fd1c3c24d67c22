"""What the learned hyperparameters are compared with, and how they do on the test split."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pacopt.comparison import Curves, recorded_steps
from pacopt.decisions import Decisions
from pacopt.design import Design
from pacopt.engines.base import AbstractEngine
from pacopt.engines.work import Tiles
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio
from pacopt.stages.baselines import Opponent
from pacopt.stages.refusals import named
from pacopt.support.values import same_hyper

#: How many instances are run with other seeds, to see whether seeds matter.
FEW = 8


def median_candidate(table: LossTable, prior: DiscreteMeasure, score: AbstractScore) -> int:
    """The candidate that half of the others beat on the training cells that ran."""
    z = score.of(table)
    run = np.ones(table.shape, dtype=bool) if table.missing is None else ~table.leads.missing  # type: ignore[operator]
    means = np.where(run, z, 0.0).sum(axis=1) / run.sum(axis=1)
    held = np.flatnonzero(prior.log_weights > -np.inf)
    return int(held[np.argsort(means[held], kind="stable")[(len(held) - 1) // 2]])


def number_of(table: LossTable, hyper: Mapping[str, Any] | None) -> int | None:
    """Which candidate has these hyperparameters; None if none has."""
    rows = range(0 if hyper is None else table.shape[0])
    return next((row for row in rows if same_hyper(table.hyper(row), hyper or {})), None)


def compared(
    table: LossTable, design: Design, deployed: Mapping[str, Any], standard: Mapping[str, Any] | None
) -> dict[str, Mapping[str, Any]]:
    """What runs on the test split: the learned hyperparameters, the textbook's and the median candidate's."""
    rows = {"learned": deployed}
    if standard is not None:
        rows["standard"] = standard
    if len(design.prior) > 1:
        rows["prior median"] = table.hyper(median_candidate(table, design.prior, design.score))
    return rows


def evaluated(
    engine: AbstractEngine,
    rows: Mapping[str, Mapping[str, Any]],
    test: Instances,
    others: Sequence[Opponent] = (),
    score: AbstractScore | None = None,
    store: Tiles | None = None,
) -> tuple[LossTable | None, Curves | None]:
    """Each row on the test split, with its losses along the way if the engine sees them; nothing without a test split.

    Baselines that are not rows are listed separately, with their curves if they have as many steps.
    """
    if not len(test):
        return None, None
    candidates = _side_by_side(rows.values())
    at = recorded_steps(engine.steps or 0)
    with named("test"):
        found = engine.curves(candidates, test, at, store)
        table, losses = (engine.table(candidates, test, None, store), None) if found is None else found
        beside = {each.name: each.curve(score or Ratio(), test, at, store) for each in others}
    about: dict[str, Any] = {"rows": list(rows), "baselines": {each.name: each.described() for each in others}}
    about |= usual_of(engine)
    table = replace(
        table, provenance={**table.provenance, **about}, baselines={name: ends for name, (ends, _) in beside.items()}
    )
    if losses is None:
        return table, None
    ways = {name: way[None] for name, (_, way) in beside.items() if way is not None}
    return table, Curves.of((*rows, *ways), at, np.concatenate([losses, *ways.values()]), table)


def decided(
    engine: AbstractEngine, hyper: Mapping[str, Any], test: Instances, curvature: tuple[float, float] | None
) -> Decisions | None:
    """What the deployed algorithm decides on the test split, if it reports it; None without a test split."""
    at = recorded_steps(engine.steps or 0)[1:]
    if not len(test) or not at:
        return None
    with named("test"):
        found = engine.decisions(hyper, test, at, curvature)
    return None if found is None else Decisions.of(at, found.values, found.textbook)


def usual_of(engine: AbstractEngine) -> dict[str, str]:
    """The name of the hyperparameters you would use otherwise, unless they are the textbook's."""
    name = engine.usual.removeprefix("the ")
    return {} if name == "textbook" else {"usual": name}


def seeds_matter(engine: AbstractEngine, hyper: Mapping[str, Any], instances: Instances, root: int) -> bool:
    """Whether runs of some instances end differently with other seeds; an algorithm may ignore its key."""
    few, candidates = instances[:FEW], _side_by_side([hyper])
    tables = [engine.table(candidates, few.drawn(root=root, part=f"seeds {number}")) for number in range(2)]
    return not np.array_equal(tables[0].losses, tables[1].losses, equal_nan=True)


def _side_by_side(hypers: Iterable[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    rows = list(hypers)
    return {name: np.array([hyper[name] for hyper in rows]) for name in rows[0]}
