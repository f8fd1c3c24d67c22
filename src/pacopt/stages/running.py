"""What `learn` does with a split, in this order: check it, try candidates on prior, fix the design, run train."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from pacopt.claims import AbstractClaim, compared_claims
from pacopt.claims.standard import REQUIRED
from pacopt.design import Design, Seeding
from pacopt.engines.base import AbstractEngine
from pacopt.engines.blackbox.notes import notes_on
from pacopt.engines.description import identity
from pacopt.engines.legs import KeptLegs
from pacopt.engines.racing import race
from pacopt.engines.training import AbstractTraining, Descent
from pacopt.engines.work import Tiles
from pacopt.errors import DesignError, correction, nearest
from pacopt.instances import Instances
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.priors.trials import Trials
from pacopt.scores import AbstractScore, Ratio
from pacopt.sources import Sources
from pacopt.splits import Split
from pacopt.stages.baselines import Opponent
from pacopt.stages.course import Course
from pacopt.stages.evaluation import number_of
from pacopt.stages.refusals import TrainingGuard, named, refuse_unreachable, rows_of
from pacopt.support.arrays import digest
from pacopt.support.interrupts import heed
from pacopt.support.machine import cores


@dataclass(frozen=True, eq=False)
class Stages:
    """An engine on a split, with every part of the design that is fixed before candidates are known.

    The `recorder` is the engine that runs training and test instances: it records what the claims need.
    """

    engine: AbstractEngine
    recorder: AbstractEngine
    split: Split
    seeding: Seeding | None
    target_ratio: float
    claims: tuple[AbstractClaim, ...]
    epsilon: float
    score: AbstractScore = field(default_factory=Ratio)
    course: Course = field(default_factory=Course)
    opponents: tuple[Opponent, ...] = ()
    store: Tiles | None = None

    def against(self, opponents: tuple[Opponent, ...]) -> "Stages":
        """These stages with claims of a gain over these baselines, if there are any."""
        if not opponents:
            return self
        over = tuple(each.name for each in opponents)
        # A solver without a step limit is counted up to the cap of the score.
        other = [each.name for each in opponents if each.engine.steps not in (None, self.engine.steps)]
        if other and self.score.counts_steps:
            raise DesignError(
                f"The score is {self.score!r}, and the baseline {other[0]!r} has its own number of steps.",
                "A score that counts steps is compared at equal numbers of steps.",
                "With fewer steps a baseline would look worse, or better, than it is.",
                "Leave the steps of the baseline out.",
            )
        return replace(self, opponents=opponents, claims=compared_claims(self.claims, over, tuple(map(str, opponents))))

    def aiming(self, objective: str) -> "Stages":
        """These stages with this claim as the objective, which is the first claim."""
        names = [claim.name for claim in self.claims]
        if objective not in names:
            raise DesignError(
                f"The objective is {objective!r}.",
                f"It is the name of a claim: {', '.join(names)}.",
                "",
                correction(objective, names) if nearest(objective, names) else 'Leave it out for "risk".',
            )
        chosen = self.claims[names.index(objective)]
        return replace(self, claims=(chosen, *(claim for claim in self.claims if claim is not chosen)))

    def begin(self) -> None:
        """Record in the store what is run there; refused if it holds something else."""
        if self.store is not None:
            parts = (self.split.prior, self.split.train, self.split.test)
            belongs = {
                "the solver": identity(self.engine),
                "the space": digest(repr(sorted(self.engine.space.items()))),
                "the instances": digest([part.fingerprint for part in parts]),
            }
            self.store.begin(belongs)

    def refuse_unreachable(self, wanted: float | None, weight: float) -> None:
        """Refuse a success probability that a candidate of this weight cannot reach even if all its runs succeed."""
        share = next(claim.share for claim in self.claims if claim.name == REQUIRED)
        refuse_unreachable(wanted, self.split.train.count, self.epsilon * share, weight)

    def trials(
        self, guard: TrainingGuard, wanted: float | None, standard: Mapping[str, float] | None, seed: int
    ) -> Trials:
        """What a prior may look at."""

        def run_prior(candidates: Mapping[str, np.ndarray], instances: Instances) -> LossTable:
            if instances is not self.split.prior:
                with named("prior"):
                    self.engine.check(candidates, instances)  # instances that cannot be run cannot be compared either
                guard.refuse(instances)
            return self._run(self.score.runs(self.engine), "prior", candidates, instances)

        def train_prior(fit: Instances, held_out: Instances, descent: Descent) -> AbstractTraining:
            guard.refuse(fit)
            with named("prior"):
                return self.score.runs(self.engine).training(fit, held_out, descent)

        return Trials(
            run_prior,
            self.split.prior,
            self.engine.space,
            train=self.split.train.count,
            epsilon=self.epsilon,
            claims=self.claims,
            target_ratio=self.target_ratio,
            score=self.score,
            min_success=wanted,
            standard=standard,
            seed=seed,
            steps=self.engine.steps or 1,
            trains=train_prior,
            kept=None if self.store is None or self.store.kept is None else KeptLegs(self.store.kept),
            tell=self.course.tell,
        )

    def design(self, measure: DiscreteMeasure, trials: Trials) -> Design:
        """The design: candidates and weights as the prior found them, betting fractions for the heaviest."""
        separate = self.split.allow_duplicates  # then equal instances mean nothing
        score = self.score
        if score.open:
            heaviest = [int(measure.log_weights.argmax())]
            favourite = {name: values[heaviest] for name, values in measure.support.items()}
            score = score.fixed(trials.table(favourite) if len(self.split.prior) else None, self.engine.steps)
        return Design(
            measure,
            trials.t_grid(measure, score),
            self.target_ratio,
            claims=self.claims,
            score=score,
            sources=None if separate else Sources.of_instances(self.split.prior.fingerprints),
            seeding=self.seeding,
        )

    def training_table(
        self, design: Design, *, racing: bool, curvature: Mapping[str, Any] | None, study: Mapping[str, Any]
    ) -> LossTable:
        """The table of every candidate on the training instances, with its provenance."""
        candidates, train, runner = design.prior.support, self.split.train, self.runner(design)
        about = {"curvature": None if curvature is None else dict(curvature), "split": described_split(self.split)}
        about |= study
        if self.opponents:
            about["baselines"] = {each.name: each.described() for each in self.opponents}
        if racing:
            run = partial(self._run, runner, "train")
            provenance = runner.provenance(candidates, train)
            raced = race(
                run, candidates, train, target_ratio=self.target_ratio, score=design.score, provenance=provenance
            )
            baselines = self._baselines(raced, design, about)
            return replace(raced, provenance={**raced.provenance, **about}, baselines=baselines)
        table = self._run(runner, "train", candidates, train)
        baselines = self._baselines(table, design, about)
        return replace(table, provenance={**table.provenance, **about}, baselines=baselines)

    def runner(self, design: Design) -> AbstractEngine:
        """The engine that runs training and test instances, once the score is known."""
        return design.score.runs(self.recorder)

    def _baselines(self, table: LossTable, design: Design, about: dict[str, Any]) -> dict[str, np.ndarray]:
        """The losses of the baselines on the training instances; one that is a candidate has the candidate's losses.

        Runs in a table of another shape may round differently, and that must not decide. How runs failed is noted.
        """
        found = {}
        for each in self.opponents:
            row = number_of(table, each.hyper) if each.engine is self.engine else None
            known = row is not None and (table.missing is None or not table.missing[row].any())
            if known:
                losses = table.losses[row]
                if failed := table.provenance.get("failed_candidates", {}).get(f"{row}", 0):
                    about["baselines"][each.name] |= {"failures": {"failed": failed}}
            else:
                losses, failures = each.losses(design.score, self.split.train, self.store, table.start)
                about["baselines"][each.name] |= failures
            found[each.name] = np.where(np.isfinite(losses), losses, np.inf)
        return found

    def _run(
        self, engine: AbstractEngine, part: str, candidates: Mapping[str, np.ndarray], instances: Instances
    ) -> LossTable:
        """The candidates on instances of one part of the split."""
        heed()
        with named(part, rows_of(self.split, part, instances)):
            return engine.table(candidates, instances, self.course.table(part), self.store)


def described_machine(table: LossTable, *engines: AbstractEngine) -> dict[str, Any]:
    """The hardware and versions that a table was computed with, and the fixed settings of the first engine's solver."""
    versions = {**table.provenance["versions"], "python": platform.python_version(), "scipy": scipy.__version__}
    for engine in engines:
        versions |= notes_on(engine)["versions"]
    hardware = {"cores": cores(), "machine": platform.machine(), "system": platform.system()}
    settings = notes_on(engines[0])["settings"] if engines else {}
    return {"hardware": hardware, "versions": versions} | ({"settings": settings} if settings else {})


def described_split(split: Split) -> dict[str, Any]:
    """The sizes and fingerprints of the parts, as a JSON value."""
    parts = {"prior": split.prior, "train": split.train, "test": split.test}
    sizes: dict[str, Any] = {
        name: {"instances": len(part), "fingerprint": part.fingerprint}
        | ({} if part.groups is None else {"groups": part.count})
        for name, part in parts.items()
    }
    return sizes | {"allow_duplicates": split.allow_duplicates}
