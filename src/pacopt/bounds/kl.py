"""PAC-Bayes-kl (Seeger 2002, Maurer 2004), and the inverses of the binary divergence."""

from dataclasses import dataclass, field
from math import log, log1p
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from pacopt.aliases import with_earlier_methods
from pacopt.assumptions import FIXED_BEFORE, IID
from pacopt.bounds.base import AbstractBound
from pacopt.bounds.sums import by_rows
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio


@with_earlier_methods
@dataclass(frozen=True, eq=False)
class SmallKL(AbstractBound):
    """Upper bound on E_Q mu, mu = E min(l / l0, 1).

    **Theorem** (Seeger 2002; Maurer 2004; for every N >= 1). kl(E_Q zbar, E_Q mu) <= (KL + log(2 sqrt(N) / eps)) / N.
    **Needs** z in [0, 1] (proved).
    """

    score: AbstractScore = field(default_factory=Ratio)

    theorem: ClassVar = "Seeger 2002; Maurer 2004"
    assumptions: ClassVar = (IID, FIXED_BEFORE)

    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[np.ndarray, " hyper"]:
        """The bound of a posterior on one candidate, for each of them: KL = log(1 / pi)."""
        means, n = by_rows(table, lambda rows: self.score.of(table, rows).mean(axis=1)), table.shape[1]
        pairs = zip(means.tolist(), prior.log_weights.tolist(), strict=True)
        return np.array([kl_upper(min(m, 1.0), kl_price(-w, n, epsilon)) if w > -np.inf else 1.0 for m, w in pairs])

    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The bound for a posterior."""
        risk = posterior.expectation(by_rows(table, lambda rows: self.score.of(table, rows).mean(axis=1)))
        return kl_upper(min(risk, 1.0), kl_price(posterior.kl(prior), table.shape[1], epsilon))


def kl_price(divergence: float, n: int, epsilon: float) -> float:
    """(KL + log(2 sqrt(N) / eps)) / N."""
    return (divergence + log(2 * n**0.5 / epsilon)) / n


def binary_kl(q: float, p: float) -> float:
    """kl(q, p) between coins; infinite where p excludes what q allows."""
    first = 0.0 if q < 1e-300 else (np.inf if p <= 0 else q * (log(q) - log(p)))
    second = 0.0 if q >= 1 else (np.inf if p >= 1 else (1 - q) * (log1p(-q) - log1p(-p)))
    return first + second


def kl_upper(q: float, price: float) -> float:
    """The largest p with kl(q, p) <= price, on the safe side."""
    return _invert(q, price, inside=q, outside=1.0)


def kl_lower(q: float, price: float) -> float:
    """The smallest p with kl(q, p) <= price, on the safe side."""
    return _invert(q, price, inside=q, outside=0.0)


def _invert(q: float, price: float, *, inside: float, outside: float) -> float:
    # Rounding in kl can put a bisection on the wrong side; the padding is larger (docs/theory.md, numerical safety).
    padded = price * (1 + 1e-9) + 1e-14
    if binary_kl(q, outside) <= padded:
        return outside
    for _ in range(200):
        middle = (inside + outside) / 2
        if middle in (inside, outside):
            break
        if binary_kl(q, middle) <= padded:
            inside = middle
        else:
            outside = middle
    return outside
