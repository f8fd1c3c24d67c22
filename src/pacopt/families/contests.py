"""A family from data to report: learned, certified, and compared with the solvers people use today."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pacopt.claims.measuring import measured_beside
from pacopt.comparison import recorded_steps
from pacopt.engines.base import AbstractEngine, Standard
from pacopt.engines.traced.engine import Traced
from pacopt.errors import EngineError, FamilyError, ResourceError
from pacopt.families.base import LEARNED, TUNED, Family
from pacopt.families.freshness import fresh_draws, refuse_ignored_seed
from pacopt.families.outcome import Contest, Method
from pacopt.families.tuning import Tuned, first_rows, tuned
from pacopt.instances import Instances
from pacopt.learned import Learned
from pacopt.learning import learn
from pacopt.loss_table import LossTable
from pacopt.scores import AbstractScore
from pacopt.splits import Split
from pacopt.stages.asking import checked_score, recording
from pacopt.stages.baselines import Baseline, Opponent, opponents
from pacopt.support.intervals import mean_interval
from pacopt.support.progress import StageProgress, silent

#: The number of prior rows on which the best of the usual solvers is found, and of fresh rows in the curves.
ENOUGH = 1000
#: A gradient through an unrolled run costs about three runs.
GRADIENT = 3


def contest(
    family: Family,
    *,
    seed: int = 0,
    fresh: int = 2000,
    out: Path | None = None,
    progress: StageProgress = silent,
) -> Contest:
    """The outcome of learning a family's algorithm, certifying it, and comparing it with usual solvers on fresh draws.

    The best of the usual solvers is chosen on the prior split, so that the gain over it can be certified. The run is
    saved in the directory `out`, if given. The seed determines everything.
    """
    refuse_ignored_seed(family, seed)
    clock = time.perf_counter()
    parts = family.drawn(seed)
    engine = Traced(family.problem, family.learns(parts), family.steps)
    score = checked_score(family.score, engine, 1.0, None, None)
    usual = opponents(family.usual, engine, parts, Standard(), None)
    best = _best(family, usual, score, _seeded(first_rows(parts.prior, ENOUGH), seed, "prior"))
    counting = _Counting(progress)
    learned = learn(
        family.problem,
        engine.algorithm,
        parts,
        steps=family.steps,
        prior=family.prior,
        score=family.score,
        budget=family.budget,
        baseline={name: family.usual[name] for name in dict.fromkeys((best, family.textbook))},
        seed=seed,
        progress=counting,
    )
    place = None if out is None else learned.save(out)
    seconds = time.perf_counter() - clock

    runs, design = counting.total + GRADIENT * _trained(learned), learned.certificate.design
    study, rival = _studied(family, parts, design.score, runs, seed, progress)
    progress("fresh instances", 0, 1)
    others = (*usual, *opponents({TUNED: rival}, engine, parts, Standard(), None))
    drawn = _seeded(fresh_draws(family, parts, fresh, seed), seed, "fresh")
    runner = design.score.runs(recording(engine, design.claims, design.score))
    table, failed = _beside(family, runner, learned.hyper, others, design.score, drawn)
    at = recorded_steps(family.steps)
    curves = _curves(engine, learned.hyper, others, design.score, first_rows(drawn, ENOUGH), at)
    progress("fresh instances", 1, 1)
    texts = {LEARNED: type(engine.algorithm).__name__, **{each.name: str(each) for each in others}}
    return Contest(
        family=family,
        learned=learned if place is None else learned.beside(place),
        best=best,
        methods=tuple(
            _method(name, text, table, design.score, curves.get(name), failed.get(name, {}))
            for name, text in texts.items()
        ),
        checks=tuple(measured_beside(learned.certificate.deployed.values, design, table)),
        at=at,
        runs=runs,
        study=study,
        seconds=seconds,
        place=place,
    )


@dataclass(slots=True)
class _Counting:
    """Passes on progress, and remembers how many runs each stage took."""

    tell: StageProgress
    finished: dict[str, int] = field(default_factory=dict)

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.finished[stage] = done
        self.tell(stage, done, total)

    @property
    def total(self) -> int:
        """Runs on prior and training instances."""
        return self.finished.get("prior", 0) + self.finished.get("train", 0)


def _trained(learned: Learned) -> int:
    """The number of runs that were differentiated, over all training updates."""
    training: Any = learned.table.provenance.get("training", {})
    return int(sum(training.get("updates", ()))) * int(training.get("batch", 0))


def _seeded(instances: Instances, seed: int, part: str) -> Instances:
    """The rows with random numbers, for stochastic algorithms and for groups from which a row is drawn."""
    return instances.drawn(root=seed, part=part)


def _best(family: Family, usual: Sequence[Opponent], score: AbstractScore, prior: Instances) -> str:
    """The usual solver with the smallest mean score on prior instances."""
    # Algorithms in JAX report the losses at the start; other engines need not.
    telling = [each for each in usual if isinstance(each.engine, Traced) or not score.relative]
    if not telling:
        raise FamilyError(
            f"None of the usual solvers of {family.name!r} is an algorithm in JAX.",
            "At least one must be if the score compares losses with their start.",
            "It reports the losses at the start.",
            'Add one: usual={..., "gradient descent": pacopt.Baseline(algorithm=pacopt.GradientDescent())}.',
        )
    first, rest = telling[0], [each for each in usual if each is not telling[0]]
    table, _ = _beside(family, score.runs(first.engine), first.hyper, rest, score, prior)
    means = {first.name: score.of(table)[0].mean()}
    means |= {each.name: score.of(_alone(table, each.name)).mean() for each in rest}
    return min(means, key=lambda name: float(means[name]))


def _studied(
    family: Family, parts: Split, score: AbstractScore, runs: int, seed: int, progress: StageProgress
) -> tuple[Tuned, Baseline]:
    """What Optuna finds with the same number of runs, also as a baseline."""
    assert family.tuned is not None  # set by Family itself
    engine = Traced(family.problem, family.tuned, family.steps)
    study = tuned(engine, _seeded(parts.prior, seed, "prior"), score, runs=runs, seed=seed, progress=progress)
    return study, Baseline(study.hyper, family.tuned)


def _beside(
    family: Family,
    runner: AbstractEngine,
    hyper: Mapping[str, Any],
    others: Sequence[Opponent],
    score: AbstractScore,
    instances: Instances,
) -> tuple[LossTable, dict[str, dict[str, int]]]:
    """A table of one candidate, with the other solvers as baselines; and how often these failed, by kind."""
    table = runner.table({name: np.asarray([value]) for name, value in hyper.items()}, instances)
    found = {each.name: _runs(family, each, score, instances, table.start) for each in others}
    failed = {name: dict(about.get("failures", {})) for name, (_, about) in found.items()}
    return replace(table, baselines={name: losses for name, (losses, _) in found.items()}), failed


def _runs(
    family: Family, solver: Opponent, score: AbstractScore, instances: Instances, start: np.ndarray | None
) -> tuple[np.ndarray, dict[str, Any]]:
    """The losses of a solver, and how it failed; errors name it."""
    try:
        return solver.losses(score, instances, None, start)
    except ResourceError:
        raise
    except EngineError as error:
        raise FamilyError(
            f"The solver {solver.name!r} of the family {family.name!r} cannot be run. {error.found}",
            error.needed,
            error.why,
            error.remedy,
        ) from error


def _alone(table: LossTable, name: str) -> LossTable:
    """A table with the runs of just one of the solvers."""
    losses = table.baselines[name][None] if name in table.baselines else table.losses[:1]
    return LossTable(losses, table.start, columns=table.columns)


def _curves(
    engine: AbstractEngine,
    hyper: Mapping[str, Any],
    others: Sequence[Opponent],
    score: AbstractScore,
    instances: Instances,
    at: tuple[int, ...],
) -> dict[str, np.ndarray]:
    """Mean scores at the given steps, for all solvers that report them; none if the score itself counts steps."""
    if not score.relative:
        return {}
    found = engine.curves({name: np.asarray([value]) for name, value in hyper.items()}, instances, at)
    if found is None:
        return {}
    table, losses = found
    telling = [each for each in others if each.engine.steps == at[-1]]
    ways = {LEARNED: losses[0]} | {each.name: each.curve(score, instances, at)[1] for each in telling}

    def mean(way: np.ndarray) -> np.ndarray:
        tables = [LossTable(way[None, :, k], table.start, columns=table.columns) for k in range(len(at))]
        return np.array([score.scale * score.of(each).mean() for each in tables])

    return {name: mean(way) for name, way in ways.items() if way is not None}


def _method(
    name: str,
    text: str,
    table: LossTable,
    score: AbstractScore,
    curve: np.ndarray | None,
    failures: Mapping[str, int],
) -> Method:
    alone = _alone(table, name)
    z, scale = score.of(alone)[0], score.scale
    low, high = mean_interval(z)
    mean = scale * float(z.mean())
    return Method(
        name=name,
        text=text,
        mean=mean,
        interval=(scale * low, scale * high),
        scores=scale * z,
        curve=curve,
        ratios=None if alone.start is None else alone.safeguarded()[0],
        ends=alone.losses[0],
        told=score.told(mean),
        failures=dict(failures),
    )
