"""Experiment 3: whether the success probability that was asked for is reached on unseen instances."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from pacopt.bounds.success import ClopperPearson
from pacopt.papers.sucker_ochs_2023.iterative_box import IterativeBox
from pacopt.papers.sucker_ochs_2023.setting import (
    EPSILON,
    Published,
    Variant,
    heavy_ball,
    published,
    stream,
    textbook,
    varying,
)
from pacopt.papers.sucker_ochs_2023.verdicts import Verdict, above_diagonal, admits_only_able
from pacopt.problems.quadratic_laws import VaryingCurvature

#: The levels of the figure.
LEVELS = np.round(np.arange(0.05, 0.951, 0.01), 2)
PRIOR, TRAIN, CANDIDATES, SETS, SIZE = 100, 100, 150, 25, 250
#: Levels at which all draws of the final prior are looked at, and on how many instances.
EVERY, POOL = 10, 2000


@dataclass(frozen=True, slots=True, eq=False)
class ConvergenceProbability:
    """Success frequencies of what was learned for each level, on each test set.

    `filtered` is the share of those that the paper's filter lets through (success frequency on 50 instances at least
    the level) though their success probability is below the level, over 40 repetitions of the filter on draws from the
    initial box; `admitted` the share of the final prior's draws of which this is true.
    """

    variant: Variant
    levels: Float[np.ndarray, " level"]
    learned: tuple[Published, ...]
    frequencies: Float[np.ndarray, "level set"]
    counts: Float[np.ndarray, " level"]
    filtered: dict[float, float]
    admitted: dict[float, float]

    @property
    def lower(self) -> Float[np.ndarray, " level"]:
        """Lower bounds on the success probabilities from all test instances, simultaneous over the levels."""
        log_share = np.full(len(self.levels), -np.log(len(self.levels)))
        return ClopperPearson().lower(self.counts, SETS * SIZE, log_share, EPSILON)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The points of the figure, and what can be said with confidence."""
        return (
            above_diagonal(self.levels, self.frequencies, "empirical success probabilities on all test sets"),
            above_diagonal(self.levels, self.lower[:, None], "simultaneous lower bounds (confidence 0.99)"),
            admits_only_able(np.array(list(self.admitted.values()))),
        )

    @property
    def numbers(self) -> dict[str, float]:
        """What can be compared with other runs of the experiment."""
        means = self.frequencies.mean(axis=1)
        picked = {f"success at level {level:g}": float(mean) for level, mean in zip(self.levels, means, strict=True)}
        picked |= {f"filtered but below level {level:g}": share for level, share in self.filtered.items()}
        return picked | {f"draws below level {level:g}": share for level, share in self.admitted.items()}


def convergence_probability(
    *, seed: int = 0, variant: Variant = Variant.TEXT, levels: Float[np.ndarray, " level"] = LEVELS
) -> ConvergenceProbability:
    """Section 7.3: the same prior, training and test instances for all levels."""
    law = varying(seed, variant)
    prior, train = law.sample(PRIOR, seed=stream(seed, 1)), law.sample(TRAIN, seed=stream(seed, 2))
    test, sets = law.sample(SETS * SIZE, seed=stream(seed, 3)), _test_sets(seed, variant)
    pool = law.sample(POOL, seed=stream(seed, 4))
    engine, found, successes, filtered, admitted = heavy_ball(law), [], [], {}, {}
    for k, level in enumerate(levels):
        result = published(law, prior, train, success=float(level), candidates=CANDIDATES, seed=seed)
        found.append(result)
        successes.append(engine.table(result.hyper, test).reached()[0])
        if k % EVERY == 0:
            initial = engine.table(_initial(law, float(level), seed), pool).reached()
            filtered[float(level)] = _passed_but_below(initial, float(level))
            p = engine.table(result.table.candidates, pool).reached().mean(axis=1)
            admitted[float(level)] = float(np.mean(_below(p, float(level), len(pool))))
    success = np.array(successes)
    frequencies, counts = success[:, sets].mean(axis=2), success.sum(axis=1).astype(np.float64)
    return ConvergenceProbability(variant, levels, tuple(found), frequencies, counts, filtered, admitted)


def _initial(law: VaryingCurvature, level: float, seed: int) -> dict[str, np.ndarray]:
    """Draws from the initial box."""
    box = IterativeBox.published(textbook(law), L=law.curvature[1], success=level).box
    rng = np.random.default_rng(stream(seed, 7))
    return {name: rng.uniform(interval.low, interval.high, CANDIDATES) for name, interval in box.items()}


def _below(p: np.ndarray, level: float, count: int) -> np.ndarray:
    """Below the level by more than three standard errors of a frequency among so many: truly below."""
    below: np.ndarray = p < level - 3 * np.sqrt(level * (1 - level) / count)
    return below


def _passed_but_below(success: np.ndarray, level: float) -> float:
    """The share of those let through by a frequency on 50 instances that are truly below."""
    halves = success.reshape(len(success), -1, PRIOR // 2).mean(axis=2)
    passed, below = halves >= level, _below(success.mean(axis=1), level, success.shape[1])
    return float((passed & below[:, None]).sum() / max(1, passed.sum()))


def _test_sets(seed: int, variant: Variant) -> Int[np.ndarray, "set instance"]:
    """25 sets of 250 among the test instances: separate in the text, drawn anew from all of them in the code."""
    if variant == Variant.TEXT:
        return np.arange(SETS * SIZE).reshape(SETS, SIZE)
    rng = np.random.default_rng(stream(seed, 6))
    return np.stack([rng.choice(SETS * SIZE, SIZE, replace=False) for _ in range(SETS)])
