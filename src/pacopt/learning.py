"""The one verb: from instances to certified hyperparameters. It only wires the stages."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from pacopt.algorithms.base import AbstractAlgorithm
from pacopt.bounds.absolute import Truncation
from pacopt.certifying import certify, check_request
from pacopt.claims import AbstractClaim, claims_with, standard_claims
from pacopt.design import check_target_ratio
from pacopt.engines.base import AbstractEngine, Predicate
from pacopt.engines.cluster import supply
from pacopt.errors import EngineError
from pacopt.learned import Learned
from pacopt.problems.base import AbstractProblem
from pacopt.scores import AbstractScore
from pacopt.splits import Split, refuse_repeats
from pacopt.stages.asking import check_flag, checked_score, engine_and_split, recording, seeding_of
from pacopt.stages.baselines import TEXTBOOK, Baseline, compared_with, opponents
from pacopt.stages.course import Course, expected_runs
from pacopt.stages.evaluation import compared, decided, evaluated, number_of, seeds_matter, usual_of
from pacopt.stages.refusals import TrainingGuard, checked_seed, refuse_seen
from pacopt.stages.rehearsing import few_of, rehearse
from pacopt.stages.running import Stages, described_machine
from pacopt.stages.weighing import Prior, default_prior, described_prior, described_study, weighed
from pacopt.support.interrupts import heed, heeded
from pacopt.support.progress import StageProgress, shown


@heeded()
def learn(
    problem: AbstractProblem | AbstractEngine,
    algorithm: AbstractAlgorithm | Split | None = None,
    split: Split | None = None,
    *,
    steps: int | None = None,
    prior: Prior | None = None,
    target_ratio: float = 1.0,
    min_success: float | None = None,
    confidence: float = 0.99,
    quantile_level: float = 0.9,
    truncation: Truncation | None = None,
    claims: Sequence[AbstractClaim] = (),
    score: AbstractScore | None = None,
    baseline: Baseline | Mapping[str, Any] | str | None = TEXTBOOK,
    budget: AbstractClaim | Sequence[float] | Mapping[str, float] | None = None,
    objective: str = "risk",
    success: Predicate | None = None,
    curvature: tuple[float, float] | None = None,
    racing: bool = False,
    replicates: int = 1,
    dtype: npt.DTypeLike | None = None,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: StageProgress | bool | None = True,
) -> Learned:
    """Hyperparameters for problems like these, with a certificate for the next instance.

    `learn(problem, algorithm, split, steps=50)` runs an algorithm that JAX can trace; `learn(engine, split)` runs any
    other engine.

    Candidates and their weights are chosen on `split.prior` (by a search over the algorithm's domain, unless another
    `prior` is given) and fixed; all of them run on `split.train`, from which posterior and certificate follow;
    `split.test` is only used to compare the result with the textbook hyperparameters and with the median candidate.

    `min_success` is the success probability to certify. A run succeeds if it ends at or below `target_ratio` times its
    start, or if the predicate `success` says so. The search aims at this level, so learning again with another value
    is another design, and keeping the better of two certificates on the same training instances voids it. `curvature` =
    (mu, L) gives the textbook hyperparameters, which are always candidates and always within reach of the search; by
    default it is estimated on the prior split. If you pass it, it must not come from training instances: the
    ledger lists it as declared. `truncation` declares what a bound on the absolute loss needs. `claims` are added to
    the default ones, which then get smaller shares of the failure probability. `score` is what is averaged: the ratio
    of final to initial loss, or `Rate()`, `Digits()` or `Effort(...)`. A gain is claimed over the `baseline`: the
    textbook if there is one, hyperparameters, a `Baseline`, or several of these by name; None for no gain. With a
    `budget`, fractions of the start loss to reach (or {"solved": 0.99}), the certificate says how many instances reach
    them within how many steps. `objective` names the claim to optimise. With `racing`, hopeless
    candidates are dropped early. For an algorithm that draws random numbers, `replicates` runs of each instance are
    averaged, and statements are about a run with a fresh seed. `seed` determines everything. Finished work is kept in
    the directory `checkpoint`: after an interruption, the same call continues where it stopped. With an `executor`,
    the client of a Dask cluster, its workers compute the same tables. In a terminal or notebook a bar shows the
    progress, unless `progress` is False; a function instead is called with the name of a stage, the number of
    finished runs and the total number of runs.

    >>> from pacopt import HeavyBall, VaryingCurvature, split
    >>> law = VaryingCurvature.draw(seed=0, n=10)
    >>> parts = split(law.sample(300, seed=1), prior=50, train=200, test=50, seed=2)
    >>> learned = learn(law.problem, HeavyBall(), parts, steps=20)
    >>> learned.certificate.deployed.risk < 1, learned.comparison["learned"].mean < learned.comparison["textbook"].mean
    (True, True)
    """
    check_request(confidence, min_success)
    check_flag("racing", racing)
    check_target_ratio(target_ratio)
    wanted = None if min_success is None else float(min_success)
    engine, parts = engine_and_split(problem, algorithm, split, steps, dtype, success)
    seed = checked_seed(seed, progress)
    seeding = seeding_of(engine, parts, seed, replicates)
    parts = parts if seeding is None else parts.drawn(root=seeding.root, replicates=seeding.replicates)
    averaged = checked_score(score, engine, target_ratio, truncation, success)
    made = claims_with(standard_claims(quantile_level=quantile_level, truncation=truncation), claims, budget)
    with shown(progress) as told, supply(checkpoint, executor) as store:
        course = Course(told)
        stages = Stages(
            engine=engine,
            recorder=recording(engine, made, averaged),
            split=parts,
            seeding=seeding,
            target_ratio=float(target_ratio),
            claims=made,
            epsilon=1 - float(confidence),
            score=averaged,
            course=course,
            store=store,
        )
        with course.stage("begin"):
            engine.seen(parts.train[:1])  # refuses what can be refused before anything runs
            refuse_repeats(parts, engine.seen)
            refuse_seen(prior, parts)
            standard = engine.standard(parts.prior, curvature)
            stages = stages.against(opponents(baseline, engine, parts, standard, curvature)).aiming(objective)
            stages.refuse_unreachable(wanted, 1.0)
            stages.begin()
            for part in (parts.prior, parts.train, parts.test):
                part.refuse_changed()
            rehearse(averaged.runs(engine), averaged, parts, standard)
            for rival in stages.opponents:
                rival.rehearse(averaged, few_of(parts))
        if curvature is not None and standard.curvature is None:
            raise EngineError(
                f"curvature is {curvature!r}, and {type(engine).__name__} has no use for it.",
                "It is for the textbook's hyperparameters of an algorithm in JAX.",
                "What is ignored would be taken for something that matters.",
                "Leave it out.",
            )

        trials = stages.trials(TrainingGuard(parts, engine.seen), wanted, standard.hyper, seed)
        chosen = default_prior(engine) if prior is None else prior
        course.expect(**expected_runs(chosen, trials, len(parts.prior) * replicates, len(parts.train) * replicates))
        measure = weighed(chosen, trials)
        stages.refuse_unreachable(wanted, float(measure.weights.max()))
        design = stages.design(measure, trials)
        course.over("prior")

        heed()
        # From here on the design is fixed, and the training instances are looked at.
        mu_L = standard.curvature
        given = None if mu_L is None else {"mu": mu_L[0], "L": mu_L[1], "given": curvature is not None}
        study = described_study(chosen, trials, measure)
        table = stages.training_table(design, racing=racing, curvature=given, study={**study, **trials.notes})
        parts.train.refuse_changed()
        course.over("train")
        heed()
        with course.stage("certify"):
            certificate = certify(
                table, design, confidence=confidence, min_success=wanted, allow_duplicates=parts.allow_duplicates
            )
        heed()
        deployed = table.hyper(certificate.deployed.index)
        with course.stage("test"):
            rows = compared(table, design, deployed, standard.hyper)
            others = compared_with(stages.opponents, rows, engine)
            test, curves = evaluated(stages.runner(design), rows, parts.test, others, design.score, store)
            decisions = decided(stages.runner(design), deployed, parts.test, mu_L)
        about = {
            **table.provenance,
            "confidence": float(confidence),
            "seed": seed,
            "textbook": number_of(table, standard.hyper),
            **usual_of(engine),
            **described_prior(chosen, trials),
            **described_machine(table, engine, *(each.engine for each in stages.opponents)),
        }
        if decisions is not None:
            about["decisions"] = list(decisions.names)
        if engine.random:
            about["seeds_matter"] = seeds_matter(engine, deployed, parts.train, seed)
        return Learned(
            certificate, table, test, curves, design.score.runs(engine), parts.train, about, decisions=decisions
        )
