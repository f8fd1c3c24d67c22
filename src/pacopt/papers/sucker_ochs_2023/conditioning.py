"""Experiment 2: how fast heavy-ball becomes if it need not always converge."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from pacopt.algorithms import HeavyBall
from pacopt.instances import Instances
from pacopt.learning import learn
from pacopt.papers.sucker_ochs_2023.setting import (
    STEPS,
    Published,
    Variant,
    heavy_ball,
    published,
    published_mean,
    stream,
    textbook,
    varying,
)
from pacopt.papers.sucker_ochs_2023.verdicts import Verdict, beats_textbook, no_further_acceleration
from pacopt.priors.search import Search
from pacopt.problems.quadratic_laws import VaryingCurvature
from pacopt.splits import split
from pacopt.tradeoff import Frontier, frontier

CANDIDATES, TEST = 200, 200
LEVELS = {Variant.TEXT: (0.9, 0.7, 0.5, 0.3), Variant.CODE: (0.95, 0.75, 0.5, 0.25)}
#: Prior and training instances.
SIZES = {Variant.TEXT: (100, 100), Variant.CODE: (200, 200)}
#: Training instances of the certified frontiers, which need more than a hundred to say something.
CERTIFIED = 2000


@dataclass(frozen=True, slots=True, eq=False)
class HeavyTailed:
    """The second family: curvatures L log-normal around 300, so that a few instances are very steep."""

    law: VaryingCurvature

    def sample(self, count: int, *, seed: int) -> Instances:
        """Independent instances."""
        rng = np.random.default_rng(seed)
        L = np.exp(np.log(300.0) + 1.5 * rng.standard_normal(count))
        b = self.law.right_hand_side.sample(count, rng)
        ordered = np.linspace(np.full(count, np.sqrt(self.law.mu)), np.sqrt(np.maximum(L, 1.0)), b.shape[1], axis=1)
        return Instances({"diagonal": rng.permuted(ordered, axis=1), "b": b})


@dataclass(frozen=True, slots=True, eq=False)
class Conditioning:
    """Losses on the test split over the steps: the textbook first, then each level; and two certified frontiers."""

    variant: Variant
    levels: tuple[float, ...]
    learned: tuple[Published, ...]
    curves: Float[np.ndarray, "row instance step"]
    start: Float[np.ndarray, " instance"]
    frontiers: dict[str, Frontier]

    @property
    def final(self) -> Float[np.ndarray, "row instance"]:
        """Losses after the last step, or the start's where a run ended above it."""
        last = self.curves[:, :, -1]
        return np.where(last <= self.start, last, self.start)

    @property
    def success(self) -> Float[np.ndarray, " row"]:
        """How often each row ended at or below its start."""
        return np.asarray((self.curves[:, :, -1] <= self.start).mean(axis=1))

    @property
    def means(self) -> Float[np.ndarray, " row"]:
        """Mean final losses, as the variant reports them."""
        return np.array([published_mean(row, self.start, self.variant) for row in self.curves[:, :, -1]])

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Learned against the textbook at the strongest guarantee; weaker guarantees against it."""
        last = self.curves[:, :, -1]
        converged = np.array([published_mean(row, self.start, Variant.TEXT) for row in last[1:]])
        return beats_textbook(self.final[1], self.final[0]), no_further_acceleration(converged, self.levels[0])

    @property
    def numbers(self) -> dict[str, float]:
        """What can be compared with other runs of the experiment."""
        values = {"textbook, mean loss": float(self.means[0]), "textbook, success": float(self.success[0])}
        for row, (level, result) in enumerate(zip(self.levels, self.learned, strict=True), start=1):
            values |= {f"level {level}, {name}": value for name, value in result.hyper.items()}
            values[f"level {level}, plug-in estimate"] = result.estimate.value
            values[f"level {level}, mean loss"] = float(self.means[row])
            values[f"level {level}, success"] = float(self.success[row])
        for name, found in self.frontiers.items():
            for end, choice in (("fastest", found.choices[0]), ("safest", found.choices[-1])):
                values[f"frontier, {name}, {end}, certified success"] = choice.success
                values[f"frontier, {name}, {end}, certified ratio"] = choice.risk
        strongest, weakest = f"level {self.levels[0]}, ", f"level {self.levels[-1]}, "
        values |= {n.replace(strongest, "strongest level, "): v for n, v in values.items() if n.startswith(strongest)}
        values |= {n.replace(weakest, "weakest level, "): v for n, v in values.items() if n.startswith(weakest)}
        return values


def conditioning(*, seed: int = 0, variant: Variant = Variant.TEXT) -> Conditioning:
    """Section 7.2, and beyond it the certified frontier on this family and on one with heavy-tailed curvature."""
    law, (prior, train), levels = varying(seed, variant), SIZES[variant], LEVELS[variant]
    parts = split(
        law.sample(prior + train + TEST, seed=stream(seed, 1)), prior=prior, train=train, test=TEST, seed=seed
    )
    found = tuple(
        published(law, parts.prior, parts.train, success=level, candidates=CANDIDATES, seed=seed) for level in levels
    )
    rows = [textbook(law), *(result.hyper for result in found)]
    candidates = {name: np.array([hyper[name] for hyper in rows]) for name in HeavyBall.hyperparameters}
    table, losses = heavy_ball(law).recorded(candidates, parts.test, range(STEPS + 1))
    frontiers = {
        "curvature uniform": _frontier(law, law, seed),
        "curvature log-normal": _frontier(HeavyTailed(law), law, seed),
    }
    return Conditioning(variant, levels, found, losses, table.starts, frontiers)


def _frontier(family: VaryingCurvature | HeavyTailed, law: VaryingCurvature, seed: int) -> Frontier:
    parts = split(family.sample(200 + CERTIFIED, seed=stream(seed, 5)), prior=200, train=CERTIFIED, test=0, seed=seed)
    learned = learn(law.problem, HeavyBall(), parts, steps=STEPS, prior=Search(candidates=CANDIDATES), seed=seed)
    return frontier(learned, levels=(1 - np.geomspace(0.5, 0.001, 200)).tolist())
