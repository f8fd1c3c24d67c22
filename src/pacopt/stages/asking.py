"""What `learn` was asked for: an engine and a split, in either of its two forms, and random numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pacopt.claims import AbstractClaim
from pacopt.design import Seeding
from pacopt.engines.base import AbstractEngine
from pacopt.errors import DesignError, EngineError, SplitError
from pacopt.scores import AbstractScore, Ranged, Ratio
from pacopt.space import AbstractSpace
from pacopt.splits import Split
from pacopt.support.numbers import is_whole


def engine_and_split(
    problem: Any, algorithm: Any, split: Any, steps: Any, dtype: Any, success: Any
) -> tuple[AbstractEngine, Split]:
    """learn(problem, algorithm, split, steps=...), or learn(engine, split)."""
    if isinstance(problem, type) and issubclass(problem, AbstractEngine):
        raise EngineError(
            f"The class {problem.__name__} was given.", "An engine is an object.", "", f"Call it: {problem.__name__}()."
        )
    if not isinstance(problem, AbstractEngine):
        from pacopt.engines.traced.checks import check_kinds, checked_steps
        from pacopt.engines.traced.engine import Traced

        given = _checked_split(split)
        check_kinds(problem, algorithm, given.train)
        traced = Traced(problem, algorithm, checked_steps(steps), np.float64 if dtype is None else dtype, success)
        return traced, given
    settings = {"steps": steps, "dtype": dtype, "success": success, "a third argument": split}
    said = [name for name, value in settings.items() if value is not None]
    if said:
        raise EngineError(
            f"An engine was given, and {', '.join(said)}.",
            "An engine knows how it runs: learn(engine, split).",
            "Two answers to one question could differ.",
            "Give it to the engine, or leave it out.",
        )
    checked_space(problem)
    return problem, _checked_split(algorithm)


def check_flag(name: str, value: Any) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool | np.bool_):
        raise DesignError(f"{name} is {value!r}.", "It is True or False.", "", f"Use {name}=True, or leave it out.")


def recording(
    engine: AbstractEngine, claims: Sequence[AbstractClaim], score: AbstractScore | None = None
) -> AbstractEngine:
    """The engine, recording when runs reach the targets of the claims; unchanged if they have none."""
    targets = {target for claim in claims for target in claim.targets_recorded}
    goal = getattr(score, "target", None)
    beyond = [target for target in targets if isinstance(goal, float) and target < goal]
    if beyond:
        raise DesignError(
            f"The score is {score!r}, and {beyond[0]!r} times the start is to be reached within a budget.",
            "A run that stops at its target never goes below it.",
            "",
            "Leave out targets of the budget below that of the effort.",
        )
    return engine.recording(tuple(sorted(targets, reverse=True))) if targets else engine


def checked_space(engine: AbstractEngine) -> None:
    """Refuse an engine with an invalid space."""
    space: Any = engine.space
    wrong = space if not isinstance(space, Mapping) else [s for s in space.values() if not isinstance(s, AbstractSpace)]
    if wrong or not isinstance(space, Mapping):
        raise EngineError(
            f"The space of {type(engine).__name__} is {space!r}.",
            "An engine has an Interval, Whole, Choice or Array for each hyperparameter.",
            "Candidates of an engine are arrays by name; a Tree is for algorithms in JAX.",
            'Write space = {"damping": pacopt.Interval(0.05, 1.0)}.',
        )


def seeding_of(engine: AbstractEngine, split: Split, seed: int, replicates: Any) -> Seeding | None:
    """Where random numbers come from; None if none are needed: no random runs, and no groups to draw rows from."""
    if not is_whole(replicates, 1):
        raise DesignError(
            f"replicates is {replicates!r}.",
            "Each instance is run a whole number of times, at least once.",
            "",
            "Use replicates=1.",
        )
    if replicates > 1 and not engine.random:
        raise DesignError(
            f"replicates is {replicates}, and the algorithm draws no random numbers.",
            "Replicates are runs with different seeds.",
            "All of them would be the same run.",
            "Leave replicates out; or derive the algorithm from pacopt.AbstractStochasticAlgorithm, or say "
            "random = True in the engine.",
        )
    if not engine.random and split.train.groups is None:
        return None
    return Seeding(seed, int(replicates))


def _checked_split(split: Any) -> Split:
    if not isinstance(split, Split):
        raise SplitError(
            f"An object of type {type(split).__name__} was given.",
            "Instances divided into prior, train and test are needed.",
            "Candidates have to be chosen on instances other than those that certify them.",
            "Use pacopt.split(instances, prior=200, train=1000, test=200, seed=0).",
        )
    return split


def checked_score(
    score: Any, engine: AbstractEngine, target_ratio: float, truncation: Any, success: Any
) -> AbstractScore:
    """The score asked for, for runs of this engine; by default, the ratio of losses."""
    metric = engine.metric
    if score is None and metric is not None and metric.largest is not None:
        score = Ranged(metric.largest, noun=metric.name, unit=metric.unit)
    elif score is None:
        score = Ratio() if metric is None else Ratio(metric.name)
    elif metric is not None and isinstance(score, AbstractScore):
        score = score.measuring(metric)
    if isinstance(score, type) or not isinstance(score, AbstractScore):
        raise DesignError(
            f"score is {score!r}.", "A score is an object.", "", "Use pacopt.Digits(), or leave it out for the ratio."
        )
    beside = {"target_ratio": target_ratio != 1, "truncation": truncation is not None, "success": success is not None}
    given = [name for name, said in beside.items() if said and not score.relative]
    if given:
        raise DesignError(
            f"The score is {score!r}, and {given[0]} is given.",
            "Without a start loss there is no fraction of it to reach; with Effort, success means meeting its target.",
            "Two answers to one question could differ.",
            f"Leave {given[0]} out.",
        )
    return score.begun(engine.steps)
