"""How large a gain over a baseline can be certified, and how many instances that takes."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr, ndtri

from pacopt.bounds.informed import FAVOURITE
from pacopt.claims import Gain, Win
from pacopt.errors import DesignError
from pacopt.planning.sizes import BEYOND, beta_quantiles, check_law, expected_grid, panels, smallest
from pacopt.support.numbers import is_real

#: The weights of the two claims over a baseline, beside those of the standard ones, which sum to 1.
GAIN, WIN = Gain().share, Win().share
#: Nodes of the quadrature in each of its panels, in each of two dimensions.
NODES = 12
#: How much larger the true gain is guessed to be than the one that is wished for.
EXCESS = 1.25
#: What "likely" means: in nine of ten samples.
LIKELY = 0.9


@dataclass(frozen=True, slots=True)
class Compared:
    """What is guessed of the scores of the learned algorithm and of the baseline.

    Both have Beta distributions. `mean` and `variation` (standard deviation over mean) are those of the learned one,
    `factor` times that mean is the baseline's; `correlation` is that of a normal copula. If `baseline_variation` is
    left out it is the same variation, or half of the largest that such a mean can have, if that is less.
    """

    mean: float
    variation: float
    factor: float
    baseline_variation: float | None = None
    correlation: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no two scores between 0 and 1 can have, and fill in what was left out."""
        check_law(self.mean, self.variation)
        if not is_real(self.factor) or not 1 < self.factor < 1 / self.mean:
            raise DesignError(
                f"The factor is {self.factor!r}, for a mean of {self.mean}.",
                f"It is above 1 and below {1 / self.mean:.4g}.",
                "It is the baseline's mean over that of the learned algorithm, and no mean is larger than 1.",
                "Measure both means on a few instances, or guess a smaller mean.",
            )
        if not is_real(self.correlation) or not -0.999 <= self.correlation <= 0.999:
            raise DesignError(
                f"The correlation is {self.correlation!r}.", "It lies between -0.999 and 0.999.", "", "Use 0."
            )
        theirs = self.factor * self.mean
        if self.baseline_variation is None:
            object.__setattr__(
                self, "baseline_variation", float(min(self.variation, np.sqrt((1 - theirs) / theirs) / 2))
            )
        check_law(theirs, self.baseline_variation)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Scores of both on imagined instances, with weights that sum to 1."""

    z: np.ndarray
    other: np.ndarray
    weights: np.ndarray

    def growth(self, r: float, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of log(1 - t (z - r z_b)), for each t."""
        logs = np.log1p(-np.multiply.outer(points, self.z - r * self.other))
        means = logs @ self.weights
        return means, np.sqrt(np.maximum(0.0, logs**2 @ self.weights - means**2))


@lru_cache(maxsize=8)
def drawn(compared: Compared) -> Pairs:
    """Scores of both on imagined instances, with weights; remembered, since a plan asks for them at every size."""
    u, weights = panels(NODES)
    z = beta_quantiles(compared.mean, compared.variation, u)[:, None]
    mixed = compared.correlation * ndtri(u)[:, None] + np.sqrt(1 - compared.correlation**2) * ndtri(u)[None]
    theirs = compared.factor * compared.mean
    other = beta_quantiles(theirs, float(compared.baseline_variation or 0), ndtr(mixed))
    return Pairs(np.broadcast_to(z, other.shape).ravel(), other.ravel(), np.outer(weights, weights).ravel())


def gain_level(confidence: float) -> float:
    """The failure probability of the statement on the gain of the favourite."""
    return (1 - confidence) * GAIN * FAVOURITE


def predicted_gain(compared: Compared, train: int, confidence: float) -> float | None:
    """The factor to be expected on the certificate; None if no gain is to be expected.

    A prediction, not a bound: what betting on both scores gives for a sample whose average log-wealth is the expected
    one, so that about half of all samples give more.
    """
    grid, pairs = expected_grid(compared.mean, compared.variation, train, confidence), drawn(compared)

    def evidence(r: float) -> float:
        growth, _ = pairs.growth(r, grid.points)
        return float(logsumexp(np.log(grid.weights) + train * growth) + np.log(gain_level(confidence)))

    if evidence(1.0) < 0:
        return None
    return float(1 / brentq(evidence, 1 / compared.factor, 1.0, xtol=1e-7))  # at the truth nothing is expected


def needed_for_gain(gain: float, compared: Compared, confidence: float, chance: float = LIKELY) -> int | None:
    """The smallest number of training instances that certify this gain with this chance; None if it is not true.

    The logarithm of the wealth is a sum over the instances, taken to be normal.
    """
    check_gain(gain)
    if gain >= compared.factor:
        return None
    pairs, margin = drawn(compared), float(ndtri(chance))

    def enough(train: int) -> bool:
        grid = expected_grid(compared.mean, compared.variation, train, confidence)
        growth, spread = pairs.growth(1 / gain, grid.points)
        wealth = train * growth - margin * np.sqrt(train) * spread
        return bool(logsumexp(np.log(grid.weights) + wealth) >= -np.log(gain_level(confidence)))

    return smallest(enough) or BEYOND


def check_gain(gain: Any) -> float:
    """A factor above 1; anything else is refused."""
    if not is_real(gain) or not gain > 1:
        raise DesignError(
            f"gain is {gain!r}.",
            "It is a factor above 1.",
            "It says how many times smaller the mean is; a gain makes it smaller.",
            "Use 2, for example.",
        )
    return float(gain)
