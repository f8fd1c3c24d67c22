"""Cells of a stored table, run again: the only part of a verification that needs the user's code."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pacopt.errors import StorageError
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.support.cells import UNKNOWN_START
from pacopt.support.rounding import counted

if TYPE_CHECKING:
    from pacopt.learned import Learned

#: A cell that is run again may differ by this much of its loss, and by this much of its start.
TOLERANCE, ROUNDING = 1e-6, 1e-9
#: A run that ended above its start has amplified its roundings, and may differ by this much of its loss.
DIVERGED = 1e-3
#: Which cells of a table, made before and again, may differ.
Excuse = Callable[[LossTable, LossTable], np.ndarray]
#: So many cells that differ are named.
EXAMPLES = 3


def run_again(
    root: Path,
    table: LossTable,
    count: int,
    seed: int | None,
    given: dict[str, Any],
    success: Any,
    instances: Instances | None,
) -> tuple[int, list[str], list[str]]:
    """How many cells were run again, disagreements, and what could not be run; the engine is imported only here."""
    from pacopt.engines.description import predicate_hash
    from pacopt.learned import Learned

    learned = Learned.load(root, **given)
    if instances is not None:
        learned = replace(learned, train=_found(instances, table))
    if learned.engine is None or learned.train is None:
        raise StorageError(
            "The training instances were not stored with the run." if learned.train is None else f"{learned.missing}.",
            "To run cells again, the instances and the code are needed.",
            "",
            "Save runs with their instances, or pass instances=...." if learned.train is None else _remedy(learned),
        )
    if success is not None and predicate_hash(success) != learned.origin.predicate:
        return 0, ["the success predicate that was given is not the one of the run"], []
    learned.train.refuse_changed()
    if not learned.certificate.design.score.runs(learned.engine).repeatable:
        return 0, [], ["measured times are drawn anew with each run, so no cell was run again"]
    rows, columns = _chosen(table, count, np.random.default_rng(seed))
    deployed = np.array([learned.certificate.deployed.index])
    cells, problems = _again(learned, table, deployed, np.arange(table.shape[1]), success)
    others = np.setdiff1d(rows, deployed)
    if len(others):
        more, found = _again(learned, table, others, columns, success)
        cells, problems = cells + more, problems + found
    more, found, notes = _baselines_again(learned, table)
    cells, problems = cells + more, problems + found
    if len(problems) > EXAMPLES:
        rest = (
            f"{counted(len(problems) - EXAMPLES, 'more cell differs', 'more cells differ')}: code or table have changed"
        )
        problems = [*problems[:EXAMPLES], rest]
    return cells, problems, notes


def _remedy(learned: "Learned") -> str:
    """How a run is checked with code that was not found: a function is passed, a class may also be imported before."""
    given = "problem=..., algorithm=..." if learned.origin.engine is None else "engine=..."
    first = "import the code first, or pass it" if "not imported" in learned.missing else "pass it"
    call = f"pacopt.verify(directory, rerun=20, {given})"
    return f"Name the job file of the run, if there is one: --job job.toml. In Python, {first}: {call}."


def _found(instances: Instances, table: LossTable) -> Instances:
    """The training instances among some, in the order of the table."""
    if not isinstance(instances, Instances):
        raise StorageError(
            f"instances is a {type(instances).__name__}.", "Instances are needed.", "", "Pass what was split."
        )
    places = {mark: row for row, mark in enumerate(instances.fingerprints.tolist())}
    rows = [places.get(mark) for mark in ([] if table.fingerprints is None else table.fingerprints.tolist())]
    if None in rows or not rows:
        raise StorageError(
            f"{rows.count(None)} of the training instances are not among those that were given.",
            "All of them are needed.",
            "",
            "Pass the instances that were split.",
        )
    return instances[np.array(rows)]


def _again(
    learned: "Learned", table: LossTable, rows: np.ndarray, columns: np.ndarray, success: Any
) -> tuple[int, list[str]]:
    """How many cells of these rows and columns were run again, and which of them differ."""
    chosen = {name: values[rows] for name, values in table.candidates.items()}
    train: Any = learned.train
    whole = train.columns()
    runner: Any = learned.engine
    runner = runner if success is None else replace(runner, success=success)
    runner = runner.recording(tuple(table.times)) if table.times else runner
    again = runner.table(chosen, train[columns if whole is None else whole.at(columns)[1]])
    before, target = table.select(rows=rows, columns=columns), learned.certificate.design.target_ratio
    excused = _excuses(runner, chosen, train, table.provenance)
    found = _differences(before, again, rows, _columns_of_runs(before, columns), target, excused)
    return before.losses.size if before.missing is None else int((~before.missing).sum()), found


def _chosen(table: LossTable, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns of so many random cells that were run."""
    missing = table.leads.missing
    run = np.ones(table.shape, dtype=bool) if missing is None else ~missing
    cells = np.flatnonzero(run)
    rows, columns = np.divmod(rng.choice(cells, min(count, len(cells)), replace=False), table.shape[1])
    return np.unique(rows), np.unique(columns)


def _columns_of_runs(table: LossTable, columns: np.ndarray) -> np.ndarray:
    """For each run of a table the number of its column in the whole."""
    return columns if table.columns is None else np.repeat(columns, table.columns.sizes)


def _differences(
    before: LossTable, again: LossTable, rows: np.ndarray, columns: np.ndarray, target: float, excused: Excuse
) -> list[str]:
    """Every cell that does not come out as it stands in the table; a cell that was not run then says nothing."""
    problems = []
    verdicts = before.success is not None and again.success is not None
    # Roundings may move a run across a target by one step; never comes after the last one.
    never, before_goal = (again.origin.steps or 0) + 1, again.origin.goal is not None
    before_at, again_at = (
        {target: np.minimum(times, never) for target, times in table.times.items()} for table in (before, again)
    )
    by_chance = excused(before, again)
    for j, column in enumerate(columns.tolist()):
        start = None if before.start is None else before.start[j]
        for i, row in enumerate(rows.tolist()):
            if (before.missing is not None and before.missing[i, j]) or by_chance[i, j]:
                continue
            place, old, new = f"candidate {row} on instance {column}", before.losses[i, j], again.losses[i, j]
            if start is None:
                alike = _near(old, new, never if before_goal else None)
            else:
                told = UNKNOWN_START not in (start, again.starts[j])
                alike = _same(old, new, start, target) and not (
                    told and abs(again.starts[j] - start) > ROUNDING * start
                )
            if not alike:
                problems.append(f"{place} has the loss {old:.10g} in the table and {new:.10g} when run again")
            elif any(abs(times[i, j] - again_at[target][i, j]) > 1 for target, times in before_at.items()):
                problems.append(f"{place} reaches a target at another step when run again")
            elif verdicts and before.success[i, j] != again.success[i, j]:  # type: ignore[index]
                problems.append(f"{place} has another verdict when run again")
    return problems


def _excuses(runner: Any, candidates: dict[str, Any], train: Instances, about: Mapping[str, Any]) -> Excuse:
    """Which cells may differ: a run that a time limit ended, or whose process died, may come to an end another time.

    One that came to none in the table is excused as often as the table counts such failures; one that came to none now
    only if it is such a failure now: it is run once more, alone, to see.
    """
    from pacopt.engines.ended import BY_CHANCE

    allowed = sum(about.get("failures", {}).get(kind, 0) for kind in BY_CHANCE)
    places = {mark: row for row, mark in enumerate(train.fingerprints.tolist())}

    def excused(before: LossTable, again: LossTable) -> np.ndarray:
        found: np.ndarray = np.isinf(before.losses) & np.isfinite(again.losses)
        found &= found.sum() <= allowed
        lost = np.isfinite(before.losses) & np.isinf(again.losses)
        possible = again.fingerprints is not None and any(
            kind in again.provenance.get("failures", {}) for kind in BY_CHANCE
        )
        for i, j in np.argwhere(lost) if possible and len(again.fingerprints) == lost.shape[1] else ():  # type: ignore[arg-type]
            place = places[again.fingerprints.tolist()[j]]  # type: ignore[union-attr]
            one = runner.table({name: values[i : i + 1] for name, values in candidates.items()}, train[[place]])
            found[i, j] = bool(one.provenance.get("failures", {}).keys() & set(BY_CHANCE)) or (
                one.losses[0, 0] == before.losses[i, j]
            )
        return found

    return excused


def _near(before: float, after: float, never: int | None) -> bool:
    """Whether two runs without a start ended alike: at steps that differ by one at most, or nearly at the same loss."""
    if never is not None:
        return bool(abs(np.fmin(before, never) - np.fmin(after, never)) <= 1)
    if not (np.isfinite(before) and np.isfinite(after)):
        return bool(np.isfinite(before) == np.isfinite(after))
    return bool(abs(after - before) <= TOLERANCE * abs(before))


def _same(before: float, after: float, start: float, target: float) -> bool:
    """Whether two runs of a cell ended alike, but for roundings that the run may have amplified."""
    if not (np.isfinite(before) and np.isfinite(after)):
        return bool(np.isfinite(before) == np.isfinite(after))
    if before > start:
        return bool(abs(after - before) <= DIVERGED * before)
    reached = (before <= target * start) == (after <= target * start) or target * start <= ROUNDING * start
    near = abs(before - target * start) <= TOLERANCE * target * start
    return bool(abs(after - before) <= TOLERANCE * before + ROUNDING * start and (reached or near))


def _baselines_again(learned: "Learned", table: LossTable) -> tuple[int, list[str], list[str]]:
    """How many runs of baselines were made again, which of them differ, and which baselines could not be run."""
    known, design, train = table.provenance.get("baselines", {}), learned.certificate.design, learned.train
    cells, problems, notes = 0, [], []
    if train is None:
        return 0, [], []
    for name, row in table.baselines.items():
        runner = _runner(learned.engine, known.get(name))
        if runner is None:
            notes.append(f"the baseline {name!r}, whose code is not at hand, was not run again")
            continue
        candidates = {key: np.asarray([value]) for key, value in known[name]["hyper"].items()}
        again = design.score.runs(runner).table(candidates, train)
        if again.losses.shape[1] != len(row):
            notes.append(f"the baseline {name!r}, which draws no random numbers, was not run again for every seed")
            continue
        before = LossTable(row[None], table.start, again.candidates, columns=table.columns)
        rows, columns = np.zeros(1, dtype=int), np.arange(len(row))
        excused = _excuses(design.score.runs(runner), candidates, train, known[name])
        found = _differences(before, again, rows, columns, design.target_ratio, excused)
        cells += len(row)
        problems += [text.replace("candidate 0", f"the baseline {name!r}") for text in found]
    return cells, problems, notes


def _runner(engine: Any, about: Any) -> Any:
    """The engine that runs a baseline, if its hyperparameters are stored and its algorithm is at hand."""
    from pacopt.engines.description import described

    if not isinstance(about, dict) or about.get("hyper") is None or "engine" in about:
        return None
    if about["algorithm"] is None:
        return engine
    from pacopt.engines.traced.engine import Traced

    module, _, name = about["algorithm"]["class"].partition(":")
    kind: Any = getattr(sys.modules.get(module), name, None)
    own = engine.algorithm if described(engine.algorithm) == about["algorithm"] else None
    # What its fields were is checked below: only their defaults can be made again.
    bare = isinstance(kind, type) and is_dataclass(kind) and all(each.default is not MISSING for each in fields(kind))
    algorithm = own or (kind() if bare else None)
    if algorithm is None or described(algorithm) != about["algorithm"]:
        return None
    return Traced(engine.problem, algorithm, about["steps"], engine.dtype)
