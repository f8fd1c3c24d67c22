"""Weights and betting fractions chosen on the prior split. They can make a certificate loose, never wrong."""

import numpy as np
from jaxtyping import Float

from pacopt.bounds.exponential_family import gibbs_posterior
from pacopt.bounds.grids import Grid
from pacopt.bounds.sums import log_products
from pacopt.loss_table import LossTable
from pacopt.measure import DiscreteMeasure
from pacopt.scores import AbstractScore, Ratio

#: Of the Gibbs measure of the prior split; measured between 2 and 1/4, the certified risk falls by 1 %.
TEMPERATURE = 0.25
#: The weight of the betting fractions that are there whatever the prior split says.
FALLBACK = 0.1
#: Of the favourite, of others that may do better, and spread evenly so that no weight vanishes.
FAVOURITE, RIVALS, EVEN = 0.5, 0.45, 0.05


def best_fraction(z: Float[np.ndarray, " instance"], *, train: int, price: float) -> float:
    """The t that would be best for `train` instances like those of the prior split.

    `z` are the safeguarded ratios of the candidate that will probably be deployed, `price` is log(1 / (epsilon
    weight)).
    """
    points = 1 / (1 + np.geomspace(1e-3, 1e2, 60))
    growth = log_products(z[None], points)[0] / len(z)
    return float(points[np.argmin(-np.expm1(growth - price / train) / points)])


def informed_grid(best: float) -> Grid:
    """Three values of t around the best one, and with a tenth of the weight eight values over the whole range.

    Where the prior split shows no failure the best t is near 1; if the training split does have one, it costs
    log(1 / (1 - t)) of wealth, and a smaller t is needed.
    """
    # In the odds t / (1 - t), so that the values stay below 1.
    odds = best / (1 - best) * np.array([0.5, 1.0, 2.0])
    points = np.append(odds / (1 + odds), -np.expm1(-np.geomspace(0.01, 6.0, 8)))
    weights = np.append((1 - FALLBACK) * np.array([0.25, 0.5, 0.25]), np.full(8, FALLBACK / 8))
    order = np.argsort(points)
    return Grid(points[order], weights[order])


def tempered(table: LossTable, t: float, score: AbstractScore | None = None) -> DiscreteMeasure:
    """A Gibbs measure of the prior split, as if it had four times as many instances."""
    wealth = log_products((score or Ratio()).of(table), np.array([t]))[:, 0]
    return gibbs_posterior(DiscreteMeasure.uniform(table.candidates), wealth / TEMPERATURE)


def informed_weights(favourite: int, others: DiscreteMeasure) -> DiscreteMeasure:
    """Half on the favourite, 45 % on others that may do better, 5 % even."""
    weights = RIVALS * others.weights + EVEN / len(others)
    weights[favourite] += FAVOURITE
    return DiscreteMeasure.of(others.support, weights / weights.sum())
