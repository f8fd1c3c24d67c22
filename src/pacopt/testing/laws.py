"""Small laws, over which expectations and probabilities are sums: no simulation, no luck."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import factorial, prod

import numpy as np

from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure


@dataclass(frozen=True, eq=False)
class SmallLaw:
    """A distribution of instances with a few atoms, the losses of some candidates on each, and a prior on these."""

    name: str
    weights: np.ndarray  # [atom]
    start: np.ndarray  # [atom]
    losses: np.ndarray  # [candidate, atom]
    prior: np.ndarray  # [candidate]

    @property
    def measure(self) -> DiscreteMeasure:
        """The prior as a measure."""
        return DiscreteMeasure.of({"candidate": np.arange(len(self.prior), dtype=float)}, self.prior)

    @property
    def atoms(self) -> LossTable:
        """One column for each atom, to take means over the law."""
        return LossTable(self.losses, self.start, self.measure.support)

    def tables(self, n: int) -> Iterator[tuple[float, LossTable]]:
        """Every table of n instances, up to the order of its columns, with its probability."""
        for chosen in combinations_with_replacement(range(len(self.weights)), n):
            counts = [chosen.count(atom) for atom in range(len(self.weights))]
            orders = factorial(n) / prod(factorial(count) for count in counts)
            probability = orders * prod(float(w) ** c for w, c in zip(self.weights, counts, strict=True))
            atoms = list(chosen)
            yield probability, LossTable(self.losses[:, atoms], self.start[atoms], self.measure.support)

    def probability(self, n: int, event: Callable[[LossTable], bool]) -> float:
        """The exact probability of an event decided by a table of n instances."""
        return sum(probability for probability, table in self.tables(n) if event(table))


def _law(
    name: str, weights: list[float], start: list[float], losses: list[list[float]], prior: list[float]
) -> SmallLaw:
    return SmallLaw(name, np.array(weights), np.array(start), np.array(losses), np.array(prior))


_COINS = np.array(list(product([0.0, 1.0], repeat=4))).T
#: Ties, failures, rare catastrophes, starts of very different size, candidates that differ and that do not.
LAWS = (
    _law("a fair coin", [0.5, 0.5], [1.0, 1.0], [[0.0, 1.0]], [1.0]),
    _law("ties", [0.5, 0.3, 0.2], [1.0, 2.0, 4.0], [[1.0, 1.0, 1.0], [0.5, 2.0, 3.0]], [0.3, 0.7]),
    _law("a rare failure", [0.9, 0.1], [1.0, 1.0], [[0.1, np.inf], [0.2, 0.3]], [0.5, 0.5]),
    _law("a huge start", [0.95, 0.05], [1.0, 1e6], [[0.3, 9e5], [np.nan, 1e5], [0.0, 1e6]], [0.2, 0.3, 0.5]),
    _law("twins", [0.4, 0.6], [1.0, 1.0], [[0.0, 0.6]] * 4, [0.25] * 4),
    SmallLaw("four coins that are independent", np.full(16, 1 / 16), np.ones(16), _COINS, np.full(4, 0.25)),
    _law("a start of zero", [0.3, 0.3, 0.4], [0.0, 0.0, 1.0], [[0.0, 1.0, 0.5]], [1.0]),
)
