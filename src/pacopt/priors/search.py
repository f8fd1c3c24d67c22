"""The default prior: a search on the prior split that needs nothing but a domain."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from pacopt.measure import DiscreteMeasure
from pacopt.priors.cube import Cube
from pacopt.priors.product import checked_count, spread
from pacopt.priors.strategy import strategy
from pacopt.priors.trials import Trials
from pacopt.priors.tried import Tried, begun, looked_in
from pacopt.space import Domain

#: The initial spread of an evolution strategy, as a fraction of the domain.
SIGMA = 0.1
#: With fewer points at a time, a strategy cannot estimate a covariance.
LEAST = 16
#: How many generations a round is cut into, and how many strategies share each, if there are enough points.
PARTS, STARTS = 4, 2
#: Strategies start at least this far from each other along one coordinate, or with other choices.
APART = 0.1
#: The search ends if the best quarter of each strategy's points differs by less than this part of a standard error.
SETTLED = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Good candidates found on the prior split, with informed weights.

    `explore` rounds of points spread evenly over the domain (Sobol), then `rounds` rounds of evolution strategies (from
    the package `cmaes`: CMA-ES for real numbers, with margin for whole ones, CatCMA with margin for choices) that start
    from the best of them, and stop early if they agree. A round has as many points as there will be candidates. If the
    domain is finite and no larger than the number of trials, every point is tried instead.

    The favourite is the best point, or one farther from failures if that pays on held-out instances. The other
    candidates are the favourites of bolder and more cautious rules, a ladder of slower and safer points, the best of
    the rest, and the textbook settings, if there are any, so that bad luck cannot leave the search behind
    them. Half of the weight goes to the favourite; the rest is divided equally between a Gibbs measure of the prior
    split and the ladder, and every candidate gets a little. With `min_success`, points that succeed often enough come
    before those that do not.

    A hyperparameter that `domain` does not name is searched in the domain of the algorithm, widened if the textbook
    value for these instances lies outside it.
    """

    domain: Domain = field(default_factory=dict)
    candidates: int = 256
    explore: int = 2
    rounds: int = 6

    def searched(self, trials: Trials) -> Domain:
        """Where it searches: the given domain, else that of the algorithm, extended to the textbook settings."""
        return looked_in(self.domain, trials)

    def most(self, trials: Trials) -> tuple[int, int]:
        """How many points it tries on the prior split, and how many candidates it returns, at most."""
        cube, (batch, parts, explore, rounds) = Cube(self.searched(trials)), self._plan()
        tried = min(cube.size, batch * parts * (explore + rounds)) if cube.domain else 0
        return int(tried), max(1, int(min(tried, self.candidates)))

    def _plan(self) -> tuple[int, int, int, int]:
        """How many points a batch has, how many batches a round, and how many rounds explore and refine."""
        size = max(LEAST, checked_count(self.candidates))
        explore = checked_count(self.explore, "rounds of exploration")
        rounds = checked_count(self.rounds, "rounds", least=0)
        parts = min(PARTS, size // LEAST)
        return -(-size // parts), parts, explore, rounds

    def __call__(self, trials: Trials) -> DiscreteMeasure:
        """Explore, refine, select, weigh."""
        trials.need_instances()
        cube, (batch, parts, explore, rounds) = Cube(self.searched(trials)), self._plan()
        if not cube.domain:
            return DiscreteMeasure({}, np.zeros(1))
        if cube.size <= batch * parts * (explore + rounds):
            return begun(cube, trials, cube.everything(), batch).selected(self.candidates)
        points = spread(batch * parts * explore, cube.dimension, trials.seed)
        # The textbook settings are one of the points, so that all batches have one size and are compiled once.
        tried = begun(cube, trials, points if trials.standard is None else points[:-1], batch)
        return refined(tried, rounds * parts, batch).selected(self.candidates)


def refined(tried: Tried, generations: int, batch: int) -> Tried:
    """What was tried, and at most `generations` generations of evolution strategies started from the best of it."""
    starts = tried.best(max(1, min(STARTS, batch // LEAST)), APART)
    sizes = [len(part) for part in np.array_split(np.arange(batch), len(starts))]
    running = [
        strategy(tried.cube, start, sigma=SIGMA, population=size, seed=tried.trials.seed + k)
        for k, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]
    for _ in range(generations):
        asked = [one.ask() for one in running]
        tried = tried.more(np.concatenate(asked))
        found = np.split(tried.last, np.cumsum(sizes)[:-1])
        if all(settled(points, scores, tried.error) for points, scores in zip(asked, found, strict=True)):
            break
        for one, scores in zip(running, found, strict=True):
            # Ranks: nothing in a strategy depends on the scale of the scores, and there are no ties.
            one.tell(scores.argsort(kind="stable").argsort().astype(np.float64))
    return tried


def settled(points: Float[np.ndarray, "hyper d"], scores: Float[np.ndarray, " hyper"], error: float) -> bool:
    """Whether the best quarter of the distinct points of a generation do not differ measurably."""
    different = scores[np.unique(points, axis=0, return_index=True)[1]]
    return bool(np.quantile(different, 0.25) - different.min() <= SETTLED * error)
