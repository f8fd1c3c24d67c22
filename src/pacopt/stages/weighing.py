"""The prior asked for: which candidates there are, and how they are weighted."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pacopt.engines.base import AbstractEngine
from pacopt.errors import PriorError
from pacopt.measure import DiscreteMeasure
from pacopt.priors.best_trials import BestTrials
from pacopt.priors.search import Search
from pacopt.priors.study import Study
from pacopt.priors.train import Train
from pacopt.priors.trials import Trials
from pacopt.support.values import ONLY

#: A function of the prior split, or candidates with weights fixed without any instances.
Prior = Callable[[Trials], DiscreteMeasure] | DiscreteMeasure


def default_prior(engine: AbstractEngine) -> Prior:
    """Training if the hyperparameters are made for it, else a search; without hyperparameters, the only candidate."""
    if engine.trainable:
        return Train()
    return Search() if engine.space else DiscreteMeasure.uniform({ONLY: np.zeros(1)})


def weighed(prior: Any, trials: Trials) -> DiscreteMeasure:
    """The candidates with their weights, as the prior finds them on the prior split."""
    if isinstance(prior, type):
        raise PriorError(
            f"The class {prior.__name__} was given as a prior.",
            "A prior is a function of Trials, or an object that can be called like one.",
            "",
            f"Call the class: {prior.__name__}().",
        )
    measure = prior if isinstance(prior, DiscreteMeasure) else prior(trials) if callable(prior) else None
    if not isinstance(measure, DiscreteMeasure):
        found = (
            f"The prior {prior!r} returned a {type(measure).__name__}." if callable(prior) else f"prior is {prior!r}."
        )
        raise PriorError(
            found,
            "A prior is a function of Trials that returns a DiscreteMeasure, or a DiscreteMeasure.",
            "It says which candidates there are and how they are weighed.",
            "Use pacopt.priors.Search() or pacopt.DiscreteMeasure.uniform(candidates).",
        )
    return measure if measure.support else DiscreteMeasure.uniform({ONLY: np.zeros(1)})


def described_prior(prior: Any, trials: Trials) -> dict[str, Any]:
    """The name of a prior, the same in every process, and for a search its domain; other priors give only a name."""
    searched = prior.searched(trials) if isinstance(prior, Search | Study | BestTrials | Train) else {}
    return {"prior": _name(prior), "domain": {name: space.to_json() for name, space in searched.items()}}


def described_study(prior: Any, trials: Trials, measure: DiscreteMeasure) -> dict[str, Any]:
    """The study whose best trials are the candidates, as a JSON value; empty for other priors."""
    return {"study": prior.described(trials, measure)} if isinstance(prior, BestTrials) else {}


def _name(prior: Any) -> str:
    if isinstance(prior, DiscreteMeasure):
        return f"{len(prior)} candidates given"
    return f"{prior.__module__}:{prior.__qualname__}" if hasattr(prior, "__qualname__") else repr(prior)
