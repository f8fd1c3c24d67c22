"""The default prior: a search on the prior split that needs nothing but a domain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from cmaes import CMA  # type: ignore[import-untyped]
from jaxtyping import Float, Int
from scipy.spatial import cKDTree

from pacopt.bounds.informed import FAVOURITE, best_fraction, informed_weights, tempered
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.priors.product import checked_count, checked_names, spread
from pacopt.priors.trials import Trials
from pacopt.space import Domain, Interval

#: The first spread of the evolution strategy, as a part of the domain.
SIGMA = 0.1
#: A strategy with fewer points at a time has nothing to estimate a covariance from.
LEAST = 16
#: Points closer than this part of the domain to one that failed are as unsafe as it is.
NEAR = 1e-4
#: The failures of so many neighbours count, each at this rate, against a point that has none itself.
NEIGHBOURS, RATE = 64, 0.1
#: Beyond this many decades above the start a run is as bad as one that overflows.
DECADES = 300.0


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Good candidates found on the prior split, with informed weights.

    `explore` rounds of points spread evenly over the domain (Sobol), then `rounds` rounds of an evolution strategy
    (CMA-ES, Hansen 2016, as in the package `cmaes`) that starts from the best of them. The best points of all rounds
    become the candidates, where failures nearby count against a point, and with them a ladder of slower and safer ones.
    What the textbook recommends is a candidate too, if there is such a thing, so that no search ends up behind it for
    want of luck. Half of the weight goes to the favourite, the rest to a Gibbs measure of the prior split and to the
    ladder, in equal parts, and a little to everybody. If `min_success` is asked for, points that succeed often enough
    come before those that do not.

    A hyperparameter that `domain` does not name is searched in the domain of the algorithm, widened if the standard
    value for these instances lies outside of it.
    """

    domain: Domain = field(default_factory=dict)
    candidates: int = 256
    explore: int = 2
    rounds: int = 6

    def searched(self, trials: Trials) -> Domain:
        """Where it looks: the domain given, else that of the algorithm, reaching to the standard hyperparameters."""
        given = dict(checked_names(self.domain, trials.domain, intervals=True))
        return {name: _reaching(interval, trials.standard, name) for name, interval in trials.domain.items()} | given

    def __call__(self, trials: Trials) -> DiscreteMeasure:
        """Explore, refine, select, weigh."""
        trials.need_instances()
        domain = self.searched(trials)
        batch = max(LEAST, checked_count(self.candidates))
        rounds = checked_count(self.rounds, "rounds", least=0)
        explored = spread(batch * checked_count(self.explore, "rounds of exploration"), len(domain), trials.seed)
        if trials.standard is not None:
            explored[-1] = _position(domain, trials.standard)
        points = [explored[first : first + batch] for first in range(0, len(explored), batch)]
        asked = [at(domain, part) for part in points]
        if trials.standard is not None:
            for name, values in asked[-1].items():
                values[-1] = trials.standard[name]  # exactly: its place in the domain has been rounded
        tables = [trials.table(candidates) for candidates in asked]
        scores = [score(table, trials) for table in tables]

        best = np.clip(explored[np.concatenate(scores).argmin()], 0.0, 1.0)  # the textbook may lie outside
        # The strategy needs two coordinates at least; a second one that nobody reads does no harm.
        idle = max(0, 2 - len(domain))
        strategy = CMA(
            mean=np.append(best, np.full(idle, 0.5)),
            sigma=SIGMA,
            bounds=np.tile([0.0, 1.0], (len(best) + idle, 1)),
            seed=trials.seed,
            population_size=batch,
        )
        for _ in range(rounds):
            drawn = np.stack([strategy.ask() for _ in range(batch)])
            points.append(drawn[:, : len(domain)])
            tables.append(trials.table(at(domain, points[-1])))
            scores.append(score(tables[-1], trials))
            strategy.tell(list(zip(drawn, scores[-1], strict=True)))

        order = np.argsort(np.concatenate(scores) + threat(np.concatenate(points), tables, trials), kind="stable")
        rungs = ladder(np.concatenate(points), tables, trials, max(1, self.candidates // 8))
        # The favourite first, then the textbook's, then the ladder, then the best of the others, none of them twice.
        standard = np.arange(len(explored))[-1:] if trials.standard is not None else np.empty(0, dtype=int)
        order = np.concatenate([order[:1], standard, rungs, order])
        chosen = order[np.sort(np.unique(order, return_index=True)[1])][: self.candidates]
        found = {name: np.concatenate([table.candidates[name] for table in tables])[chosen] for name in domain}
        return weigh(trials.table(found), np.flatnonzero(np.isin(chosen, rungs)), trials)


def _reaching(interval: Interval, standard: Mapping[str, float] | None, name: str) -> Interval:
    """The algorithm's own domain, wide enough for what theory recommends for these instances."""
    value = None if standard is None else standard[name]
    if value is None or interval.low <= value <= interval.high:
        return interval
    room = 10.0 if interval.log else 1.0
    low, high = (value / room, value * room) if value > 0 else (value, value)
    return Interval(min(interval.low, low), max(interval.high, high), log=interval.log and low > 0)


def _position(domain: Domain, hyper: Mapping[str, float]) -> Float[np.ndarray, " d"]:
    """Where hyperparameters stand in the domain: between 0 and 1, or beyond if they lie outside of it."""
    return np.array([interval.position(hyper[name]) for name, interval in domain.items()])


def at(domain: Domain, points: Float[np.ndarray, "hyper d"]) -> dict[str, np.ndarray]:
    """Candidates from points of the unit cube."""
    return {name: interval.at(points[:, k]) for k, (name, interval) in enumerate(domain.items())}


def score(table: LossTable, trials: Trials) -> Float[np.ndarray, " hyper"]:
    """What is minimised: the mean safeguarded ratio, above 2 for a candidate that does not succeed often enough.

    Where all runs end above their start, the ratios still tell which way is down.
    """
    ratios = table.ratios()
    excess = np.clip(np.log10(np.maximum(ratios, 1.0)), 0.0, DECADES) / DECADES
    value = np.minimum(ratios, 1.0).mean(axis=1) + 1e-3 * excess.mean(axis=1)
    if trials.wanted_success is None:
        return np.asarray(value)
    short = np.maximum(0.0, trials.wanted_success - table.successes(trials.target_ratio).mean(axis=1))
    return np.asarray(np.where(short > 0, 2.0 + short + 1e-3 * value, value))


def threat(points: np.ndarray, tables: Sequence[LossTable], trials: Trials) -> Float[np.ndarray, " hyper"]:
    """What failures in the neighbourhood of a point add to its score.

    The best of many points near a cliff has been lucky on the prior split, and fails on others.
    """
    failures = np.concatenate([1 - table.successes(trials.target_ratio).mean(axis=1) for table in tables])
    nearest = cKDTree(points).query(points, k=np.arange(1, min(NEIGHBOURS, len(points)) + 1))[1]
    added: np.ndarray = RATE * failures[nearest].mean(axis=1)
    return added


def ladder(points: np.ndarray, tables: Sequence[LossTable], trials: Trials, most: int) -> np.ndarray:
    """Points that no other one beats in both speed and safety, from the fastest to the safest, at most so many.

    The safer of two points succeeds more often; where the prior split shows no difference, it is farther from all
    points that failed on it. If a success probability is asked for, those below it are left out.
    """
    speed = np.concatenate([table.safeguarded().mean(axis=1) for table in tables])
    success = np.concatenate([table.successes(trials.target_ratio).mean(axis=1) for table in tables])
    failed = points[success < 1.0]
    distance = np.asarray(cKDTree(failed).query(points)[0]) if len(failed) else np.ones(len(points))
    # Decades of distance, so that rungs are close to each other where failures are near.
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

    Its rivals are those that did nearly as well, and the rungs of the ladder (from the fastest on, the k-th in
    proportion to 1/k), in case that it fails more often than the prior split shows.
    """
    price = np.log(1 / (FAVOURITE * trials.epsilon * trials.claims[0].share))
    t = best_fraction(table.safeguarded()[0], train=trials.train, price=price)
    climbers = np.zeros(table.shape[0])
    climbers[rungs] = 1 / np.arange(1, len(rungs) + 1)
    rivals = DiscreteMeasure.of(table.candidates, (tempered(table, t).weights + climbers / climbers.sum()) / 2)
    return informed_weights(0, rivals)
