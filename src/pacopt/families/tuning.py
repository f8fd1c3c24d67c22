"""What Optuna finds on the prior split with as many runs as learning takes."""

from typing import Any, NamedTuple

import numpy as np

from pacopt.engines.base import AbstractEngine
from pacopt.instances import Instances
from pacopt.priors.cube import reaching
from pacopt.priors.parameters import candidates, distributions, flat, quiet
from pacopt.scores import AbstractScore
from pacopt.support.interrupts import heed
from pacopt.support.progress import StageProgress

#: The fewest and the most trials of a study, whatever the number of runs.
FEWEST, MOST = 20, 300


class Tuned(NamedTuple):
    """The best hyperparameters of a study, the number of trials, and the number of runs they took."""

    hyper: dict[str, Any]
    trials: int
    runs: int


def tuned(
    engine: AbstractEngine, prior: Instances, score: AbstractScore, *, runs: int, seed: int, progress: StageProgress
) -> Tuned:
    """The best of a study with Optuna's default sampler, TPE, which begins with the textbook hyperparameters.

    A trial is the mean score over prior instances: all of them, or as many as the number of runs allows. It searches
    where `learn` would by default: the domain of the algorithm, extended to include the textbook hyperparameters.
    """
    trials = int(np.clip(runs // len(prior), FEWEST, MOST))
    few = first_rows(prior, max(1, runs // trials))
    standard = engine.standard(prior, None).hyper
    domain = dict(engine.space)
    if standard is not None:
        domain = {name: reaching(space, standard[name]) for name, space in domain.items()}
    counted, asking = score.runs(engine), distributions(domain)
    with quiet() as optuna:
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        if standard is not None:
            study.enqueue_trial(flat(domain, standard))
        for number in range(trials):
            heed()
            progress("Optuna", number, trials)
            trial = study.ask(asking)
            found = candidates(domain, [trial.params])
            study.tell(trial, float(score.of(counted.table(found, few)).mean()))
        best = {name: values[0].tolist() for name, values in candidates(domain, [study.best_params]).items()}
    progress("Optuna", trials, trials)
    return Tuned(best, trials, trials * len(few))


def first_rows(instances: Instances, count: int) -> Instances:
    """The first rows, in whole groups if there are groups."""
    if count >= len(instances) or instances.groups is None:
        return instances[:count]
    codes: np.ndarray = instances.codes
    return instances[np.flatnonzero(codes <= codes[count - 1])]
