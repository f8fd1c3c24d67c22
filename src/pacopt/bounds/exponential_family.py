"""Bounds that hold by one moment: E exp(exponent) <= 1 under the prior, for every lambda fixed in advance.

The log-partition, the bound for a given posterior, the best bound over all posteriors and the Gibbs posterior that
attains it are written here once; a theorem only says what its statistics and natural parameters are.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from pacopt.assumptions import Assumption
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure


class AbstractExponentialBound(ABC):
    """Exponents S(alpha, lambda) and a link: with KL and price, E_Q risk <= link(KL + price - E_Q S).

    Together with a grid of lambdas it is a bound like any other: `pacopt.bounds.OnGrid`.
    """

    theorem: ClassVar[str]
    assumptions: ClassVar[tuple[Assumption, ...]]

    @abstractmethod
    def statistics(self, table: LossTable) -> np.ndarray:
        """What the exponents need of the table, with candidates as the first axis; computed once for all lambdas."""

    @abstractmethod
    def exponents(self, statistics: np.ndarray, lam: float, n: int) -> Float[np.ndarray, " hyper"]:
        """The known part of the exponent for each candidate; -inf for a candidate that no posterior may hold."""

    @abstractmethod
    def link(self, value: float, lam: float, n: int) -> float:
        """The bound on the risk, increasing in value."""


class AbstractLinearBound(AbstractExponentialBound):
    """P Cor. 5.5: <eta(lambda), T> with T = (R - Rhat, T'). Give (-Rhat, T') and eta; all else follows.

    >>> class Hoeffding(AbstractLinearBound):
    ...     theorem, assumptions = "Hoeffding", ()
    ...
    ...     def statistics(self, table):
    ...         z = table.safeguarded()
    ...         return np.stack([-z.mean(axis=1), np.ones(len(z))], axis=1)
    ...
    ...     def natural_parameters(self, lam, n):
    ...         return np.array([lam, -(lam**2) / (8 * n)])
    """

    @abstractmethod
    def natural_parameters(self, lam: float, n: int) -> Float[np.ndarray, " stat"]:
        """eta(lambda) = (eta_1, eta'), with eta_1 > 0."""

    def exponents(self, statistics: np.ndarray, lam: float, n: int) -> Float[np.ndarray, " hyper"]:
        """<eta, (-Rhat, T')>; a candidate whose T' is infinite gets weight exp(-inf) = 0."""
        eta = self.natural_parameters(lam, n)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(statistics).any(axis=1), -np.inf, statistics @ eta)

    def link(self, value: float, lam: float, n: int) -> float:
        """Value / eta_1."""
        return float(value / self.natural_parameters(lam, n)[0])


def log_partition(prior: DiscreteMeasure, exponents: Float[np.ndarray, " hyper"]) -> float:
    """kappa = log E_pi exp(exponent) = sup_Q E_Q exponent - KL(Q || pi) (Donsker-Varadhan, P Lemma 5.1)."""
    return float(logsumexp(prior.log_weights + exponents))


def gibbs_posterior(prior: DiscreteMeasure, exponents: Float[np.ndarray, " hyper"]) -> DiscreteMeasure:
    """The measure proportional to pi exp(exponent), which attains the supremum."""
    log_weights = prior.log_weights + exponents
    return DiscreteMeasure(prior.support, log_weights - logsumexp(log_weights))


def best_bound(
    bound: AbstractExponentialBound, prior: DiscreteMeasure, statistics: Any, lam: float, n: int, price: float
) -> float:
    """F(lambda): the bound of the Gibbs posterior, the smallest over all posteriors; price = log(1 / (eps weight))."""
    value = price - log_partition(prior, bound.exponents(statistics, lam, n))
    return bound.link(value, lam, n) if value < np.inf else np.inf


def posterior_bound(
    bound: AbstractExponentialBound,
    posterior: DiscreteMeasure,
    prior: DiscreteMeasure,
    statistics: Any,
    lam: float,
    n: int,
    price: float,
) -> float:
    """The bound for a given posterior (P Thm 5.2, Cor. 5.5)."""
    value = posterior.kl(prior) + price - posterior.expectation(bound.exponents(statistics, lam, n))
    return bound.link(value, lam, n) if value < np.inf else np.inf
