"""What a search minimises, which of the points it tried are safe, and how candidates are weighted."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from pacopt.bounds.informed import FAVOURITE, best_fraction, informed_weights, tempered
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.priors.trials import Trials

#: A point closer than this fraction of the domain to one that failed is as unsafe as that one.
NEAR = 1e-4
#: Beyond this many decades above the start a run is as bad as one that overflows.
DECADES = 300.0


def score(table: LossTable, trials: Trials) -> Float[np.ndarray, " hyper"]:
    """What is minimised: the mean score, above 2 for a candidate that does not succeed often enough."""
    return scored(trials.score.of(table), table.outcomes(), table.succeeded(trials.target_ratio), trials.wanted_success)


def scored(
    z: Float[np.ndarray, "hyper instance"],
    ratios: Float[np.ndarray, "hyper instance"],
    successes: Bool[np.ndarray, "hyper instance"],
    wanted: float | None,
) -> Float[np.ndarray, " hyper"]:
    """The score of each row. If all runs end above their start, the ratios still show which way is down."""
    excess = np.clip(np.log10(np.maximum(ratios, 1.0)), 0.0, DECADES) / DECADES
    value = z.mean(axis=1) + 1e-3 * excess.mean(axis=1)
    if wanted is None:
        return np.asarray(value)
    short = np.maximum(0.0, wanted - successes.mean(axis=1))
    return np.asarray(np.where(short > 0, 2.0 + short + 1e-3 * value, value))


def failed(table: LossTable, trials: Trials) -> Bool[np.ndarray, "hyper instance"]:
    """Which runs count as failures: those without success if it is asked for, else those that ended above the start."""
    if trials.min_success is not None or table.start is None:
        return ~table.succeeded(trials.target_ratio)
    return ~(table.ratios() <= 1.0)


def each(kinds: Int[np.ndarray, " hyper"]) -> Iterator[Int[np.ndarray, " row"]]:
    """The rows of each kind."""
    for kind in np.unique(kinds):
        yield np.flatnonzero(kinds == kind)


def nearest_failure(
    points: Float[np.ndarray, "hyper d"], kinds: Int[np.ndarray, " hyper"], bad: Bool[np.ndarray, " hyper"]
) -> Float[np.ndarray, " hyper"]:
    """The distance to the nearest bad point of the same kind; 1 if there is none."""
    distance = np.ones(len(points))
    for rows in each(kinds):
        if bad[rows].any():
            distance[rows] = cKDTree(points[rows][bad[rows]]).query(points[rows])[0]
    return distance


def ladder(
    points: Float[np.ndarray, "hyper d"], kinds: Int[np.ndarray, " hyper"], table: LossTable, trials: Trials, most: int
) -> Int[np.ndarray, " rung"]:
    """At most `most` points that none beats in both speed and safety, from the fastest to the safest.

    The safer of two points succeeds more often; where the prior split shows no difference, it is farther from all
    points of its kind that failed on it. If a success probability is asked for, those below it are left out.
    """
    speed = trials.score.of(table).mean(axis=1)
    success = table.succeeded(trials.target_ratio).mean(axis=1)
    distance = nearest_failure(points, kinds, success < 1.0)
    # Decades of distance, so that rungs are close together where failures are near.
    safety = success + np.log10(np.maximum(distance / NEAR, 1.0))
    able = np.flatnonzero(success >= min(trials.min_success or 0.0, success.max()))
    by_safety = able[np.lexsort((speed[able], -safety[able]))]
    leading = np.minimum.accumulate(speed[by_safety])
    front = by_safety[speed[by_safety] < np.append(np.inf, leading[:-1])][::-1]
    wanted = np.linspace(safety[front[0]], safety[front[-1]], most)
    nearest = np.abs(safety[front][None] - wanted[:, None]).argmin(axis=1)
    rungs: np.ndarray = front[np.unique(nearest)]
    return rungs


def weigh(table: LossTable, rungs: Int[np.ndarray, " rung"], trials: Trials) -> DiscreteMeasure:
    """Informed weights; the first candidate is the favourite.

    Its rivals are those that did nearly as well, and the rungs of the ladder (fastest first, the k-th in proportion
    to 1/k), in case it fails more often than the prior split shows.
    """
    price = np.log(1 / (FAVOURITE * trials.epsilon * trials.claims[0].share))
    t = best_fraction(trials.score.of(table)[0], train=trials.train, price=price)
    weights = tempered(table, t, trials.score).weights
    if len(rungs):
        climbers = np.zeros(table.shape[0])
        climbers[rungs] = 1 / np.arange(1, len(rungs) + 1)
        weights = (weights + climbers / climbers.sum()) / 2
    return informed_weights(0, DiscreteMeasure.of(table.candidates, weights))
