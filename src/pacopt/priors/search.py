"""The default prior: a search on the prior split that needs nothing but a domain."""

from dataclasses import dataclass, field

import numpy as np
from cmaes import CMA  # type: ignore[import-untyped]
from jaxtyping import Float

from pacopt.domain import Domain
from pacopt.informed import informed_grid, informed_weights
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.priors.product import checked_names, spread
from pacopt.trials import Trials

#: The first spread of the evolution strategy, as a part of the domain.
SIGMA = 0.1
#: A strategy with fewer points at a time has nothing to estimate a covariance from.
LEAST = 16
#: Beyond this many decades above the start a run is as bad as one that overflows.
DECADES = 300.0


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Good candidates found on the prior split, with informed weights.

    `explore` rounds of points spread evenly over the domain (Sobol), then `rounds` rounds of an evolution strategy
    (CMA-ES, Hansen 2016, as in the package `cmaes`) that starts from the best of them. The best points of all rounds
    become the candidates, and with them those that succeed more often at some cost, for the frontier. Half of the
    weight goes to the favourite, most of the rest to a Gibbs measure of the prior split. If `min_success` is asked for,
    points that succeed often enough come before those that do not.

    A hyperparameter that `domain` does not name is searched in the domain of the algorithm.
    """

    domain: Domain = field(default_factory=dict)
    candidates: int = 256
    explore: int = 2
    rounds: int = 6

    def __call__(self, trials: Trials) -> DiscreteMeasure:
        """Explore, refine, select, weigh."""
        trials.need_instances()
        domain = dict(trials.domain) | dict(checked_names(self.domain, trials.domain))
        batch = max(LEAST, self.candidates)
        explored = spread(batch * max(1, self.explore), len(domain), trials.seed)
        tried = [at(domain, explored[first : first + batch]) for first in range(0, len(explored), batch)]
        scores = [score(trials.table(candidates), trials) for candidates in tried]

        best = explored[np.concatenate(scores).argmin()]
        # The strategy needs two coordinates at least; a second one that nobody reads does no harm.
        idle = max(0, 2 - len(domain))
        strategy = CMA(
            mean=np.append(best, np.full(idle, 0.5)),
            sigma=SIGMA,
            bounds=np.tile([0.0, 1.0], (len(best) + idle, 1)),
            seed=trials.seed,
            population_size=batch,
        )
        for _ in range(self.rounds):
            asked = np.stack([strategy.ask() for _ in range(batch)])
            tried.append(at(domain, asked[:, : len(domain)]))
            scores.append(score(trials.table(tried[-1]), trials))
            strategy.tell(list(zip(asked, scores[-1], strict=True)))

        found, rows = np.unique(
            [np.concatenate([part[name] for part in tried]) for name in domain], axis=1, return_index=True
        )
        everything, values = trials.table(dict(zip(domain, found, strict=True))), np.concatenate(scores)[rows]
        chosen = select(values, everything.successes(trials.target_ratio).mean(axis=1), self.candidates)
        return weigh(everything.select(rows=chosen), values[chosen], trials)


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


def select(scores: np.ndarray, success: np.ndarray, count: int) -> np.ndarray:
    """So many of the best by score, and for a quarter of them those that nobody beats in both score and success."""
    by_success = np.lexsort((scores, -success))
    leading = np.minimum.accumulate(scores[by_success])
    front = by_success[scores[by_success] < np.append(np.inf, leading[:-1])]
    # From the best score on, so that a cut leaves out the slowest.
    front = front[np.argsort(scores[front], kind="stable")][: max(1, count // 4)]
    order = np.argsort(scores, kind="stable")
    chosen: np.ndarray = np.sort(np.append(front, order[~np.isin(order, front)][: count - len(front)]))
    return chosen


def weigh(table: LossTable, scores: np.ndarray, trials: Trials) -> DiscreteMeasure:
    """Informed weights, with the best score as the favourite."""
    favourite = int(np.argmin(scores))
    price = np.log(2 / (trials.epsilon * trials.shares.risk))
    t = float(informed_grid(table.safeguarded()[favourite], train=trials.train, price=price).points[1])
    able = scores < 2.0
    allowed = able if able.any() else np.ones(len(scores), dtype=bool)
    return DiscreteMeasure.of(table.candidates, informed_weights(table, favourite, t, allowed))
