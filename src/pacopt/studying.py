"""Certify a study: the best trials of Optuna become candidates, and the study keeps the certificate."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pacopt._version import __version__
from pacopt.bounds.absolute import Truncation
from pacopt.certificate import Certificate
from pacopt.claims import AbstractClaim
from pacopt.engines.base import AbstractEngine
from pacopt.engines.blackbox import BlackBox
from pacopt.errors import EngineError
from pacopt.learned import Learned
from pacopt.learning import learn
from pacopt.priors.best_trials import BestTrials
from pacopt.priors.witness import CERTIFICATE
from pacopt.scores import AbstractScore
from pacopt.splits import Split
from pacopt.stages.baselines import TEXTBOOK, Baseline
from pacopt.support.progress import StageProgress

#: So many certificates does a study remember by their hashes: an attribute has room for some 65,000 characters.
MOST = 100


def certify_study(
    study: Any,
    solve: Callable[[Mapping[str, Any], Mapping[str, Any]], Any] | AbstractEngine,
    split: Split,
    *,
    top: int = 50,
    defaults: Mapping[str, Any] | None = None,
    target_ratio: float = 1.0,
    min_success: float | None = None,
    confidence: float = 0.99,
    quantile_level: float = 0.9,
    truncation: Truncation | None = None,
    claims: Sequence[AbstractClaim] = (),
    score: AbstractScore | None = None,
    baseline: Baseline | Mapping[str, Any] | str | None = TEXTBOOK,
    budget: AbstractClaim | Sequence[float] | None = None,
    objective: str = "risk",
    racing: bool = False,
    replicates: int = 1,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: StageProgress | bool | None = True,
) -> Learned:
    """What `learn` returns, with the best trials of an Optuna study as the candidates.

    `solve(hyper, instance)` returns a loss or a `Result`, as for a `BlackBox`; the parameters of the trials are its
    hyperparameters, and a gain is claimed over the `defaults`, if you pass them. You can pass an engine instead. The
    `top` best distinct trials run once on `split.prior`, which only sets their weights, and on `split.train`, which
    certifies them; see `priors.BestTrials`. Everything else is as in `learn`.

    The study must not have seen any training instance: make it on `split.prior`, or on other instances with `prior=0`.
    The ledger lists this as declared; trials that recorded training or test instances (`seen_by`) are rejected. The
    certificate goes into the study, as `study.user_attrs["pacopt:certificate"]`; if it already held one with the same
    training instances, the new one says so.

    >>> import optuna
    >>> from pacopt import Instances, Ranged, split
    >>> parts = split(Instances({"x": np.random.default_rng(0).uniform(size=300)}), prior=50, train=200, test=50)
    >>> def solve(hyper, instance):
    ...     return abs(hyper["guess"] - float(instance["x"]))
    >>> def mean(trial):
    ...     hyper = {"guess": trial.suggest_float("guess", 0, 1)}
    ...     return sum(solve(hyper, instance) for instance in parts.prior) / 50
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(mean, n_trials=20)
    >>> certified = certify_study(study, solve, parts, top=5, score=Ranged(1.0))
    >>> certified.certificate.deployed.risk < 0.35, study.user_attrs["pacopt:certificate"]["hyper"] == certified.hyper
    (True, True)
    """
    best = BestTrials(study, top)
    learned = learn(
        _engine(solve, best, defaults),
        split,
        prior=best,
        target_ratio=target_ratio,
        min_success=min_success,
        confidence=confidence,
        quantile_level=quantile_level,
        truncation=truncation,
        claims=claims,
        score=score,
        baseline=baseline,
        budget=budget,
        objective=objective,
        racing=racing,
        replicates=replicates,
        seed=seed,
        checkpoint=checkpoint,
        executor=executor,
        progress=progress,
    )
    return _noted(study, learned)


def _engine(solve: Any, best: BestTrials, defaults: Mapping[str, Any] | None) -> AbstractEngine:
    if not isinstance(solve, AbstractEngine):
        return BlackBox(solve, best.domain, defaults=defaults)
    if defaults is not None:
        raise EngineError(
            f"An engine was given, and defaults={dict(defaults)!r}.",
            "An engine has its own defaults.",
            "Two answers to one question could differ.",
            "Give them to the engine, or name them as a baseline: certify_study(..., baseline={...}).",
        )
    return solve


def _noted(study: Any, learned: Learned) -> Learned:
    """The same, knowing of earlier certificates that the study holds; its own is written into the study."""
    certificate = learned.certificate
    mine = [certificate.table_hash, certificate.design.hash, learned.origin.split.train.fingerprint]  # type: ignore[union-attr]
    held = study.user_attrs.get(CERTIFICATE)
    before = held.get("made", []) if isinstance(held, dict) else []
    made = [*(each for each in before if each != mine), mine][-MOST:]
    certificate = certificate.after(sum(each[2] == mine[2] for each in made[:-1]))
    try:
        study.set_user_attr(CERTIFICATE, {**_summary(certificate), "made": made})
    except Exception as error:  # hours of runs are in memory: a storage that is away is no reason to lose them
        warnings.warn(
            f"The study is certified, and its storage did not take the certificate ({type(error).__name__}: {error}). "
            "Keep what is returned: save(directory).",
            stacklevel=3,
        )
    return replace(learned, certificate=certificate)


def _summary(certificate: Certificate) -> dict[str, Any]:
    """What somebody who looks at the study wants to know, in a few thousand characters."""
    origin, deployed = certificate.origin, certificate.deployed
    return {
        "attained": certificate.attained,
        "confidence": certificate.confidence,
        "hash": certificate.to_dict()["hash"],
        "hyper": dict(deployed.hyper),
        "instances": certificate.instances,
        "numbers": {claim.name: deployed.values[claim.name] for claim in certificate.design.claims},
        "rests_on": [f"{entry.text} ({entry.status})" for entry in certificate.ledger],
        "sentences": {claim.name: certificate.sentences[claim.name] for claim in certificate.design.spoken},
        "trial": None if origin.study is None else origin.study.numbers[deployed.index],
        "version": __version__,
    }
