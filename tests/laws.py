"""Finite laws of instances, on which every expectation is a sum: the truth is known and nothing is simulated."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from math import factorial, prod

import numpy as np

from pacopt import DiscreteMeasure, LossTable


@dataclass(frozen=True, eq=False)
class Law:
    """An instance is an atom: it has a probability, a start loss, and a final loss for each candidate."""

    name: str
    probability: np.ndarray  # [atom]
    start: np.ndarray  # [atom]
    losses: np.ndarray  # [candidate, atom]
    weights: np.ndarray  # [candidate]
    baseline: np.ndarray | None = None  # [atom]

    @property
    def other(self):
        """The losses of a baseline: those given, else those of the first candidate on other atoms."""
        row = np.where(np.isfinite(self.losses[0]), self.losses[0], np.inf)
        return np.roll(row, 1) if self.baseline is None else self.baseline

    @property
    def whole(self):
        """All atoms as a table: rows of truth."""
        return LossTable(losses=self.losses, start=self.start, baselines={"it": self.other}, times=self.times)

    @property
    def times(self):
        """When runs reach a half and a tenth of their start: the sooner the lower they end, half as late a half."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(np.isfinite(self.losses), self.losses, np.inf) / self.start
        ratios = np.where(self.start == 0, np.where(self.losses == 0, 0.0, np.inf), ratios)
        return {r: np.where(ratios <= r, np.ceil(200 * ratios / (2 if r == 0.5 else 1)), np.inf) for r in (0.5, 0.1)}

    @property
    def prior(self):
        return DiscreteMeasure.of({"candidate": np.arange(len(self.weights))}, self.weights)

    def mean(self, values):
        """E of one value for each candidate and atom."""
        return np.asarray(values) @ self.probability

    @property
    def mu(self):
        return self.mean(self.whole.safeguarded())

    def p(self, r=1.0):
        return self.mean(self.whole.succeeded(r))

    def conditional(self, r=1.0, *, relative):
        """E[l | success] or E[l / l0 | success]; 0 where success never happens."""
        values = self.whole.ratios() if relative else self.losses
        kept = self.mean(np.where(self.whole.succeeded(r), values, 0.0))
        return np.divide(kept, self.p(r), out=np.zeros_like(kept), where=self.p(r) > 0)

    @property
    def second_moment(self):
        return float(self.start**2 @ self.probability)

    def table(self, atoms):
        """The table of a sample."""
        return LossTable(
            losses=self.losses[:, atoms],
            start=self.start[atoms],
            candidates=self.prior.support,
            baselines={"it": self.other[atoms]},
            times={target: times[:, atoms] for target, times in self.times.items()},
        )

    def samples(self, n):
        """All samples of n instances up to order, with their probabilities."""
        for atoms in combinations_with_replacement(range(len(self.start)), n):
            counts = Counter(atoms)
            ways = factorial(n) // prod(factorial(k) for k in counts.values())
            yield ways * prod(self.probability[a] ** k for a, k in counts.items()), self.table(list(atoms))

    def expectation(self, n, function):
        """E function(table) over samples of n instances, exactly."""
        return sum(probability * function(table) for probability, table in self.samples(n) if probability > 0)

    def draw(self, n, rng):
        """The table of a random sample."""
        return self.table(rng.choice(len(self.start), size=n, p=self.probability))


def random_law(seed):
    """Divergence, ties l = l0, l0 = 0, non-finite losses, unequal weights: everything at random."""
    rng = np.random.default_rng(seed)
    atoms, rows = 3, int(rng.integers(1, 4))
    start = rng.choice([0.0, 1.0, 3.0, 100.0], size=atoms)
    ratio = rng.choice([0.0, 0.1, 0.5, 1.0, 1.5], size=(rows, atoms))
    losses = np.where(rng.random((rows, atoms)) < 0.15, rng.choice([np.inf, np.nan]), ratio * start)
    return Law(f"random {seed}", rng.dirichlet(np.ones(atoms)), start, losses, rng.dirichlet(np.ones(rows)))


#: A catastrophe in one instance of fifty.
RARE = Law("rare catastrophe", np.array([0.98, 0.02]), np.ones(2), np.array([[0.01, 1.0]]), np.ones(1))
#: A start loss that is huge once in a thousand, and losses proportional to it.
HUGE_START = Law(
    "rare huge start", np.array([0.999, 0.001]), np.array([1.0, 1e6]), np.array([[0.5, 0.5e6]]), np.ones(1)
)
#: Twenty candidates, each of which fails on its own half of six equally likely atoms.
HALVES = Law(
    "halves",
    np.full(6, 1 / 6),
    np.ones(6),
    np.array([[2.0 if atom in half else 0.0 for atom in range(6)] for half in combinations(range(6), 3)]),
    np.full(20, 1 / 20),
)
#: One candidate that fails with probability one half.
COIN = Law("coin", np.array([0.5, 0.5]), np.ones(2), np.array([[0.0, 2.0]]), np.ones(1))
#: Two candidates that do the same.
TWINS = Law("twins", np.array([0.3, 0.7]), np.ones(2), np.array([[0.9, 0.1]] * 2), np.array([0.9, 0.1]))
#: Half the candidates' weight never runs, one run returns NaN, one ends exactly at its start.
ASYMMETRIC = Law(
    "asymmetric",
    np.array([0.5, 0.3, 0.2]),
    np.array([1.0, 2.0, 10.0]),
    np.array([[0.2, 2.0, np.nan], [1.0, 0.0, 1.0], [3.0, np.inf, 11.0]]),
    np.array([0.2, 0.3, 0.5]),
)
LAWS = [RARE, COIN, TWINS, ASYMMETRIC, *(random_law(seed) for seed in range(20))]
