"""What every theorem offers: a number for every candidate, all at once, and one for a posterior."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from numpy import ndarray

from pacopt.assumptions import Assumption
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure


class AbstractBound(ABC):
    """A theorem: with probability 1 - epsilon over the instances of the table, everything it returns holds at once.

    >>> import numpy as np
    >>> class Hoeffding(AbstractBound):
    ...     theorem, assumptions = "Hoeffding 1963, with a union over the candidates", ()
    ...
    ...     def for_candidates(self, table, prior, epsilon):
    ...         z = table.safeguarded()
    ...         return z.mean(axis=1) + np.sqrt((np.log(1 / epsilon) - prior.log_weights) / (2 * z.shape[1]))
    ...
    ...     def for_posterior(self, table, prior, posterior, epsilon):
    ...         return posterior.expectation(self.for_candidates(table, prior, epsilon))
    """

    theorem: ClassVar[str]
    assumptions: ClassVar[tuple[Assumption, ...]]

    @abstractmethod
    def for_candidates(self, table: LossTable, prior: DiscreteMeasure, epsilon: float) -> Float[ndarray, " hyper"]:
        """A bound for every candidate; all of them hold together with probability 1 - epsilon."""

    @abstractmethod
    def for_posterior(
        self, table: LossTable, prior: DiscreteMeasure, posterior: DiscreteMeasure, epsilon: float
    ) -> float:
        """The bound for a fresh candidate drawn from the posterior for each instance, on the same event."""
