"""How far from failures the favourite should stay, decided by leaving out parts of the prior split."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from pacopt.loss_table import LossTable
from pacopt.priors.selection import each, failed, nearest_failure, score, scored
from pacopt.priors.trials import Trials

#: How many neighbours' failures count against a point that has none itself, and at what rate each.
NEIGHBOURS, RATE = 64, 0.1
#: The tail of the margins is fitted to this many of the smallest ones, and at most a quarter of them.
TAILS = (3, 5, 10)
#: The favourite is one of this many points at each of this many distances from the nearest failure.
BEST, DISTANCES = 16, 16
#: The most parts that the prior split is cut into, each of which is left out once.
FOLDS = 20
#: With tails of at most this many, caution may cost this fraction of one failure among all instances unasked.
TRUSTED, SLIGHT = 5, 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Caution:
    """Rules that name a favourite, from the boldest to the most cautious, and what they know about each contender.

    The boldest rule takes the point with the best score. The second lets failures of its neighbours count: the best of
    many points near a cliff has been lucky, and fails on other instances. The rest add the probability that the next
    instance fails. The margin of a point on an instance is the distance to the nearest point that failed on it; an
    exponential tail, fitted to the smallest margins of a point, tells how many instances leave it none.
    """

    z: Float[np.ndarray, "point instance"]
    ratios: Float[np.ndarray, "point instance"]
    successes: Bool[np.ndarray, "point instance"]
    threat: Float[np.ndarray, "point instance"]
    margin: Float[np.ndarray, "point instance"]
    wanted: float | None

    @property
    def rules(self) -> int:
        """How many rules there are."""
        return 2 + sum(1 for tail in TAILS if 4 * tail <= self.margin.shape[1])

    def picks(self, seen: np.ndarray) -> list[int]:
        """The contender that each rule names after seeing these instances, the boldest rule first."""
        value = scored(self.z[:, seen], self.ratios[:, seen], self.successes[:, seen], self.wanted)
        wary = value + RATE * self.threat[:, seen].mean(axis=1)
        smallest = np.sort(self.margin[:, seen], axis=1)
        named = [value, wary]
        for tail in TAILS[: self.rules - 2]:
            excess = (smallest[:, tail, None] - smallest[:, :tail]).mean(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                beyond = np.where(excess > 0, np.exp(-smallest[:, tail] / excess), smallest[:, tail] <= 0)
            named.append(wary + tail / len(seen) * beyond)
        return [int(np.argmin(points)) for points in named]

    def chosen(self, seed: int) -> tuple[int, list[int]]:
        """The favourite, and the contender that each rule names.

        Each rule is judged on the instances it did not see. The most cautious of those within a standard error of the
        best (Breiman et al. 1984) names the favourite. So does one that costs next to nothing: a failure too rare to
        be seen on the prior split would outweigh everything lost.
        """
        count = self.ratios.shape[1]
        named = self.picks(np.arange(count))
        order = np.random.default_rng(seed).permutation(count)
        unseen = np.zeros((self.rules, count))
        folds = min(FOLDS, count)
        for fold in range(folds if count > 1 else 0):
            out = order[fold::folds]
            for rule, point in enumerate(self.picks(np.setdiff1d(order, out))):
                unseen[rule, out] = self.z[point, out]
        means = unseen.mean(axis=1)
        error = (unseen - unseen[means.argmin()]).std(axis=1) / np.sqrt(count)
        trusted = np.arange(self.rules) < 2 + sum(1 for tail in TAILS if tail <= TRUSTED)
        good = means - means.min() <= np.maximum(error, np.where(trusted, SLIGHT / count, 0.0))
        return named[int(np.flatnonzero(good)[-1])], named


def favourites(
    points: Float[np.ndarray, "hyper d"], kinds: Int[np.ndarray, " hyper"], table: LossTable, trials: Trials
) -> tuple[int, Int[np.ndarray, " rule"]]:
    """The row of the favourite, and the row that each rule names, the boldest rule first."""
    failures = failed(table, trials)
    distance = nearest_failure(points, kinds, np.asarray(failures.any(axis=1)))
    rows = contenders(score(table, trials), distance)
    caution = Caution(
        z=trials.score.of(table)[rows],
        ratios=table.outcomes()[rows],
        successes=table.succeeded(trials.target_ratio)[rows],
        threat=threats(points, kinds, failures, rows),
        margin=margins(points, kinds, failures, rows),
        wanted=trials.wanted_success,
    )
    favourite, named = caution.chosen(trials.seed)
    return int(rows[favourite]), rows[named]


def contenders(value: Float[np.ndarray, " hyper"], distance: Float[np.ndarray, " hyper"]) -> Int[np.ndarray, " row"]:
    """The best points at each distance from failures, including the best of all."""
    decades = np.log10(np.maximum(distance, 1e-6))
    part = np.ceil((decades - decades.min()) / (np.ptp(decades) or 1.0) * DISTANCES)
    order = np.argsort(value, kind="stable")
    return np.concatenate([order[part[order] == one][:BEST] for one in np.unique(part)])


def threats(
    points: np.ndarray, kinds: np.ndarray, failures: Bool[np.ndarray, "hyper instance"], rows: np.ndarray
) -> Float[np.ndarray, "row instance"]:
    """The fraction of neighbours of these rows that failed on each instance; neighbours are of the same kind."""
    found = np.zeros((len(rows), failures.shape[1]))
    for members in each(kinds):
        mine = np.flatnonzero(kinds[rows] == kinds[members[0]])
        near = np.arange(1, min(NEIGHBOURS, len(members)) + 1)
        if len(mine):
            nearest = cKDTree(points[members]).query(points[rows[mine]], k=near)[1]
            found[mine] = failures[members][nearest].mean(axis=1)
    return found


def margins(
    points: np.ndarray, kinds: np.ndarray, failures: Bool[np.ndarray, "hyper instance"], rows: np.ndarray
) -> Float[np.ndarray, "row instance"]:
    """The distance to the nearest point of the same kind that failed on an instance; the diameter if none did."""
    found = np.full((len(rows), failures.shape[1]), np.sqrt(points.shape[1]))
    for members in each(kinds):
        here = failures[members]
        for row in np.flatnonzero(kinds[rows] == kinds[members[0]]):
            distance = np.sqrt(((points[members] - points[rows[row]]) ** 2).sum(axis=1))
            order = np.argsort(distance)
            first = here[order].argmax(axis=0)
            hit = here[order[first], np.arange(here.shape[1])]
            found[row, hit] = distance[order[first]][hit]
    return found
