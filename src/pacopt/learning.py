"""The one verb: from instances to certified hyperparameters. It only wires the stages."""

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.bounds.absolute import Truncation
from pacopt.certifying import certify, check_request
from pacopt.claims import AbstractClaim, shared_out, standard_claims
from pacopt.design import check_target_ratio
from pacopt.engines.store import checked_checkpoint
from pacopt.engines.traced.cell import Success
from pacopt.engines.traced.checks import check_kinds, checked_domain
from pacopt.engines.traced.engine import Traced
from pacopt.errors import PriorError
from pacopt.learned import Learned
from pacopt.measure import DiscreteMeasure
from pacopt.priors.search import Search
from pacopt.priors.trials import Trials
from pacopt.problems.base import AbstractProblem
from pacopt.space import Domain
from pacopt.splits import Split, refuse_repeats
from pacopt.stages.evaluation import curvature_of, evaluated, median_candidate, standard_hyper
from pacopt.stages.refusals import TrainingGuard, checked_seed
from pacopt.stages.running import StageProgress, Stages
from pacopt.support.interrupts import heed, heeded
from pacopt.support.machine import cores

#: A function of the prior split, or candidates with weights that were fixed without any instances.
Prior = Callable[[Trials], DiscreteMeasure] | DiscreteMeasure


@heeded()
def learn(
    problem: AbstractProblem,
    algorithm: AbstractAlgorithm,
    split: Split,
    *,
    steps: int,
    prior: Prior | None = None,
    target_ratio: float = 1.0,
    min_success: float | None = None,
    confidence: float = 0.99,
    quantile_level: float = 0.9,
    truncation: Truncation | None = None,
    claims: Sequence[AbstractClaim] = (),
    success: Success | None = None,
    curvature: tuple[float, float] | None = None,
    racing: bool = False,
    dtype: npt.DTypeLike = np.float64,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: StageProgress | None = None,
) -> Learned:
    """Hyperparameters for this stream of problems, with a certificate for the next instance.

    Candidates and their weights are chosen on `split.prior` (by a search over the algorithm's domain, unless another
    `prior` is given) and fixed; all of them run on `split.train`, from which posterior and certificate follow;
    `split.test` is only used to compare the result with the textbook's hyperparameters and with the median candidate.

    `min_success` is the success probability to be certified, success being a run that ends at or below `target_ratio`
    times its start, or what the predicate `success` says. The search looks for it, so learning again with another value
    is another design, and keeping the better of two certificates on the same training instances voids it. `curvature` =
    (mu, L) gives the textbook's hyperparameters, which are always candidates, and the search reaches at least to them;
    it is estimated on the prior split if it is not given. One that is given must not come from training instances: the
    ledger says that it is declared. `truncation` declares what a bound on the absolute loss needs. `claims` are made
    beside the standard ones, which then have smaller shares of the failure probability. With `racing`, hopeless
    candidates are given up early. Everything is determined by `seed`. In the directory `checkpoint` finished work is
    kept: the same call, made again after an interruption, goes on where it stopped.

    >>> from pacopt import HeavyBall, VaryingCurvature, split
    >>> law = VaryingCurvature.draw(seed=0, n=10)
    >>> parts = split(law.sample(300, seed=1), prior=50, train=200, test=50, seed=2)
    >>> learned = learn(law.problem, HeavyBall(), parts, steps=20)
    >>> learned.certificate.deployed.risk < 1, learned.comparison["learned"].mean < learned.comparison["standard"].mean
    (True, True)
    """
    check_request(confidence, min_success)
    check_target_ratio(target_ratio)
    wanted = None if min_success is None else float(min_success)
    seed = checked_seed(split, seed, progress)
    check_kinds(problem, algorithm, split.train)
    made = standard_claims(quantile_level=quantile_level, truncation=truncation)
    stages = Stages(
        engine=Traced(problem, algorithm, steps, dtype, success, checked_checkpoint(checkpoint)),
        split=split,
        domain=checked_domain(algorithm),
        target_ratio=float(target_ratio),
        claims=shared_out((*made, *claims)) if claims else made,
        epsilon=1 - float(confidence),
        progress=progress,
    )
    view = stages.view()  # refuses what can be refused before anything runs
    refuse_repeats(split, view)
    stages.refuse_unreachable(wanted, 1.0)
    mu_L = curvature_of(problem, algorithm, curvature, split.prior, stages.engine.precision)
    standard = standard_hyper(algorithm, mu_L)

    trials = stages.trials(TrainingGuard(split, view), wanted, standard, seed)
    measure = _measure(Search() if prior is None else prior, trials)
    stages.refuse_unreachable(wanted, float(measure.weights.max()))
    design = stages.design(measure, trials)

    heed()
    # From here on the design is fixed, and the training instances are looked at.
    given = None if mu_L is None else {"mu": mu_L[0], "L": mu_L[1], "given": curvature is not None}
    table = stages.training_table(design, racing=racing, curvature=given)
    heed()
    certificate = certify(
        table, design, confidence=confidence, min_success=wanted, allow_duplicates=split.allow_duplicates
    )
    heed()
    rows = {"learned": certificate.deployed.hyper}
    if standard is not None:
        rows["standard"] = standard
    rows["prior median"] = table.hyper(median_candidate(table, measure))
    test, curves = evaluated(stages.engine, rows, split.test)
    about = {
        **table.provenance,
        "confidence": float(confidence),
        "domain": {name: (i.low, i.high, i.log) for name, i in _searched(prior, trials).items()},
        "hardware": {"cores": cores(), "machine": platform.machine(), "system": platform.system()},
        "prior": _name(Search() if prior is None else prior),
        "seed": seed,
    }
    about["versions"] = {**about["versions"], "python": platform.python_version(), "scipy": scipy.__version__}
    return Learned(certificate, table, test, curves, replace(stages.engine, checkpoint=None), split.train, about)


def _searched(prior: Any, trials: Trials) -> Domain:
    """Where a search looked; nothing is known of other priors."""
    search = Search() if prior is None else prior
    return search.searched(trials) if isinstance(search, Search) else {}


def _name(prior: Any) -> str:
    """What a prior is called, the same in every process."""
    if isinstance(prior, DiscreteMeasure):
        return f"{len(prior)} candidates given"
    return f"{prior.__module__}:{prior.__qualname__}" if hasattr(prior, "__qualname__") else repr(prior)


def _measure(prior: Any, trials: Trials) -> DiscreteMeasure:
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
    return measure
