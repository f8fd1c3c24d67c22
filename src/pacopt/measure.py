"""Discrete measures on candidates: priors, posteriors, and the divergence between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import logsumexp

from pacopt.errors import MeasureError
from pacopt.support.arrays import frozen
from pacopt.support.cells import candidate_values

#: Weights given by hand may miss one by this much; they are normalised afterwards.
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class DiscreteMeasure:
    """A probability on finitely many candidates: named values and normalised log-weights.

    >>> prior = DiscreteMeasure.uniform({"step_size": [0.1, 0.2, 0.4]})
    >>> posterior = prior.restrict(np.array([True, False, True]))
    >>> posterior.weights, round(posterior.kl(prior), 4)
    (array([0.5, 0. , 0.5]), 0.4055)
    """

    support: Mapping[str, np.ndarray]
    log_weights: Float[np.ndarray, " hyper"]

    def __post_init__(self) -> None:
        """Check and freeze."""
        log_weights = frozen(self.log_weights, np.float64)
        try:
            support = {name: candidate_values(values) for name, values in self.support.items()}
        except (TypeError, ValueError, AttributeError) as error:
            raise MeasureError(
                f"The candidates are no values by name: {error}.",
                "A measure sits on candidates given as one list of values for each hyperparameter: finite numbers "
                "(whole ones up to 2^53), texts, or booleans.",
                "A candidate is stored, compared and deployed by its values.",
                'Use a mapping such as {"step_size": [0.1, 0.2]}.',
            ) from error
        for name, values in support.items():
            if log_weights.ndim != 1 or values.shape[:1] != log_weights.shape:
                raise MeasureError(
                    f"{name} has shape {values.shape} and the weights have shape {log_weights.shape}.",
                    "A measure has one weight for each candidate.",
                    "",
                    "Pass arrays of equal length.",
                )
        total = logsumexp(log_weights) if log_weights.size else -np.inf
        if np.isnan(log_weights).any() or not abs(total) <= SUM_TOLERANCE:
            raise MeasureError(
                f"The weights sum to {np.exp(total):.12g}.",
                "The weights of a probability are not negative and sum to one.",
                "A prior that weighs more than one would let bounds fail more often than they say.",
                "Divide them by their sum before the training instances are looked at.",
            )
        object.__setattr__(self, "support", MappingProxyType(support))
        # Left alone where they are normalised, so that what was stored comes back bit for bit.
        object.__setattr__(
            self, "log_weights", frozen(log_weights if abs(total) < 1e-14 * len(log_weights) else log_weights - total)
        )

    @staticmethod
    def of(support: Mapping[str, Any], weights: Any) -> "DiscreteMeasure":
        """The measure with these weights, which must sum to one."""
        weights = np.asarray(weights, dtype=np.float64)
        bad = np.flatnonzero(~(weights >= 0))
        if len(bad):
            raise MeasureError(
                f"The weight of candidate {bad[0]} is {weights[bad[0]]}.",
                "Weights are not negative.",
                "",
                "Use 0 for a candidate that is out of the question.",
            )
        with np.errstate(divide="ignore"):
            return DiscreteMeasure(support, np.log(weights))

    @staticmethod
    def uniform(support: Mapping[str, Any]) -> "DiscreteMeasure":
        """Equal weights."""
        count = len(next(iter(support.values()))) if support else 0
        if not count:
            raise MeasureError("There are no candidates.", "A measure has at least one candidate.", "", "Name some.")
        return DiscreteMeasure(support, np.full(count, -np.log(count)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it was made of, for worker processes."""
        return DiscreteMeasure, (dict(self.support), self.log_weights)

    def __len__(self) -> int:
        return len(self.log_weights)

    def __repr__(self) -> str:
        largest = f"largest weight {self.weights.max():.3g}"
        return f"DiscreteMeasure({len(self)} candidates of {', '.join(self.support)}, {largest})"

    @property
    def weights(self) -> Float[np.ndarray, " hyper"]:
        """The weights."""
        weights: np.ndarray = np.exp(self.log_weights)
        return weights

    def kl(self, prior: "DiscreteMeasure") -> float:
        """KL(self || prior); infinite where this measure has weight and the prior has none."""
        return relative_entropy(self.log_weights, prior.log_weights)

    def expectation(self, values: Float[np.ndarray, " hyper"]) -> float:
        """The mean of one value for each candidate; values of candidates without weight do not matter."""
        held = self.log_weights > -np.inf
        return float(self.weights[held] @ np.asarray(values, dtype=np.float64)[held])

    def sample(self, count: int, *, seed: int) -> np.ndarray:
        """Indices of candidates drawn independently."""
        weights = self.weights
        return np.random.default_rng(seed).choice(len(self), size=count, p=weights / weights.sum())

    def restrict(self, mask: Bool[np.ndarray, " hyper"]) -> "DiscreteMeasure":
        """This measure conditioned on a set of candidates; for posteriors only, since a prior is never renormalised."""
        log_weights = np.where(mask, self.log_weights, -np.inf)
        total = logsumexp(log_weights)
        if total == -np.inf:
            raise MeasureError(
                "None of the selected candidates has weight.",
                "A measure needs at least one candidate with positive weight.",
                "",
                "Select others.",
            )
        return DiscreteMeasure(self.support, log_weights - total)

    def dirac(self, index: int) -> "DiscreteMeasure":
        """All weight on one candidate."""
        return DiscreteMeasure(self.support, np.where(np.arange(len(self)) == index, 0.0, -np.inf))


def relative_entropy(log_q: np.ndarray, log_p: np.ndarray) -> float:
    """sum q log(q / p) from log-weights, with 0 log 0 = 0."""
    held = log_q > -np.inf
    return max(0.0, float(np.sum(np.exp(log_q[held]) * (log_q[held] - log_p[held]))))
