"""The one verb: from instances to certified hyperparameters. It only wires the stages."""

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.bounds.absolute import Truncation
from pacopt.certificate import certify, check_request
from pacopt.design import Design, Shares
from pacopt.engines.racing import race
from pacopt.engines.store import checked_checkpoint
from pacopt.engines.traced.cell import Success
from pacopt.engines.traced.checks import check_kinds, checked_domain
from pacopt.engines.traced.engine import Traced
from pacopt.engines.traced.reading import as_seen
from pacopt.errors import PriorError
from pacopt.evaluation import curvature_of, evaluated, median_candidate, standard_hyper
from pacopt.instances import Instances
from pacopt.learned import Learned
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.priors.search import Search
from pacopt.priors.trials import Trials
from pacopt.problems.base import AbstractProblem
from pacopt.refusals import checked_seed, named, refuse_training, refuse_unreachable
from pacopt.space import Domain
from pacopt.splits import Split, refuse_repeats
from pacopt.support.machine import cores

#: A function of the prior split, or candidates with weights that were fixed without any instances.
Prior = Callable[[Trials], DiscreteMeasure] | DiscreteMeasure
#: Called with the name of a stage and its numbers of finished and of all cells.
StageProgress = Callable[[str, int, int], None]


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
    (mu, L) is for the textbook's hyperparameters only, and estimated on the prior split if it is not given.
    `truncation` declares what a bound on the absolute loss needs. With `racing`, hopeless candidates are given up
    early. Everything is determined by `seed`. In the directory `checkpoint` finished work is kept: the same call, made
    again after an interruption, goes on where it stopped.

    >>> from pacopt import HeavyBall, VaryingCurvature, split
    >>> law = VaryingCurvature.draw(seed=0, n=10)
    >>> parts = split(law.sample(300, seed=1), prior=50, train=200, test=50, seed=2)
    >>> learned = learn(law.problem, HeavyBall(), parts, steps=20)
    >>> learned.certificate.deployed.risk < 1, learned.comparison["learned"].mean < learned.comparison["standard"].mean
    (True, True)
    """
    deployed = Traced(problem, algorithm, steps, dtype, success)
    engine = replace(deployed, checkpoint=checked_checkpoint(checkpoint))
    check_request(confidence, min_success)
    confidence, min_success = float(confidence), None if min_success is None else float(min_success)
    seed = checked_seed(split, seed, progress)
    check_kinds(problem, algorithm, split.train)
    domain = checked_domain(algorithm)
    middle = {name: interval.at(np.array([0.5])) for name, interval in domain.items()}
    first = engine.prepare(middle, split.train)  # refuses what can be refused before anything runs
    refuse_repeats(split, partial(as_seen, first.cell, middle, dtype=first.dtype))
    mu_L = curvature_of(problem, algorithm, curvature, split.prior, first.dtype)
    standard = standard_hyper(algorithm, mu_L)
    shares = Shares() if truncation is None else Shares(0.4, 0.2, 0.2, 0.2)
    draft = Design(
        DiscreteMeasure.uniform(middle),
        target_ratio=target_ratio,
        quantile_level=quantile_level,
        shares=shares,
        truncation=truncation,
    )
    level = (1 - confidence) * shares.success / 2
    refuse_unreachable(min_success, len(split.train), level, 1.0)

    def run(part: str, candidates: Mapping[str, np.ndarray], instances: Instances) -> LossTable:
        with named(part):
            return engine.table(candidates, instances, None if progress is None else partial(progress, part))

    def run_prior(candidates: Mapping[str, np.ndarray], instances: Instances) -> LossTable:
        refuse_training(split, instances)
        return run("prior", candidates, instances)

    trials = Trials(
        run_prior,
        split.prior,
        domain,
        train=len(split.train),
        epsilon=1 - confidence,
        shares=shares,
        target_ratio=target_ratio,
        min_success=min_success,
        standard=standard,
        seed=seed,
    )
    measure = _measure(Search() if prior is None else prior, trials)
    design = replace(draft, prior=measure, t_grid=trials.t_grid(measure))
    refuse_unreachable(min_success, len(split.train), level, float(measure.weights.max()))

    # From here on the design is fixed, and the training instances are looked at.
    work = engine.prepare(measure.support, split.train)
    provenance = {**work.provenance, "split": _split(split)}
    follow = partial(race, target_ratio=target_ratio) if racing else _follow
    table = follow(partial(run, "train"), measure.support, split.train, provenance=provenance)
    certificate = certify(table, design, confidence=confidence, min_success=min_success)

    rows = {"learned": certificate.deployed.hyper}
    if standard is not None:
        rows["standard"] = standard
    rows["prior median"] = table.hyper(median_candidate(table, measure))
    test, curves = evaluated(engine, rows, split.test)
    about = {
        **table.provenance,
        "confidence": confidence,
        "curvature": None if mu_L is None else {"mu": mu_L[0], "L": mu_L[1], "given": curvature is not None},
        "domain": {name: (i.low, i.high, i.log) for name, i in _searched(prior, trials).items()},
        "hardware": {"cores": cores(), "machine": platform.machine(), "system": platform.system()},
        "prior": _name(Search() if prior is None else prior),
        "seed": seed,
    }
    about["versions"] = {**about["versions"], "python": platform.python_version(), "scipy": scipy.__version__}
    return Learned(certificate, table, test, curves, deployed, split.train, about)


def _follow(
    run: Any, candidates: Mapping[str, np.ndarray], instances: Instances, provenance: Mapping[str, Any]
) -> LossTable:
    """All candidates on all instances."""
    table: LossTable = run(candidates, instances)
    return replace(table, provenance={**table.provenance, **provenance})


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


def _split(split: Split) -> dict[str, Any]:
    parts = {"prior": split.prior, "train": split.train, "test": split.test}
    sizes = {name: {"instances": len(part), "fingerprint": part.fingerprint} for name, part in parts.items()}
    return sizes | {"allow_duplicates": split.allow_duplicates}
