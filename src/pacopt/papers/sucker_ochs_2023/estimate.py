"""The published bounds with the quantities that the authors plug in."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from pacopt.errors import TableError
from pacopt.loss_table import LossTable

#: Points of the grid that are kept or left out together.
BLOCK = 64


def published_lambdas() -> Float[np.ndarray, " grid"]:
    """The authors' grid: 25,000 points in equal steps from 1e-8 to 1."""
    return np.linspace(1e-8, 1.0, 25_000)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A plug-in estimate: probabilities and moments are training frequencies and means, so it guarantees nothing."""

    value: float
    lam: float
    weights: Float[np.ndarray, " hyper"]


def plug_in_bound(
    table: LossTable,
    *,
    epsilon: float = 0.01,
    lambdas: Float[np.ndarray, " grid"] | None = None,
    density: Float[np.ndarray, " hyper"] | None = None,
) -> Estimate:
    """The minimum over lambda of F for P Thm 6.7, with p the success frequency and E l0^2 the mean on the same table.

    The candidates are taken as samples of the prior, so that expectations under it are means over them. `density` is
    the prior density at each candidate, which the published procedure multiplies onto the weights of samples already
    drawn from that prior; leave it out for weights that follow the theorem. Candidates that never succeed get weight
    0.
    """
    n = table.shape[1]
    success = table.reached()
    p = success.mean(axis=1)
    if not p.any():
        raise TableError(
            "No candidate succeeded on any instance.",
            "The published bound conditions on success.",
            "It would be the mean over nothing.",
            "Use pacopt.certify, which says what can be said.",
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        risk = np.where(success, table.losses, 0.0).mean(axis=1) / p
        spread = np.mean(table.starts**2) / n / p**2
    return minimised(risk, spread, epsilon=epsilon, lambdas=lambdas, density=density)


def minimised(
    risk: Float[np.ndarray, " hyper"],
    spread: Float[np.ndarray, " hyper"],
    *,
    epsilon: float = 0.01,
    lambdas: Float[np.ndarray, " grid"] | None = None,
    density: Float[np.ndarray, " hyper"] | None = None,
) -> Estimate:
    """The minimum over lambda of F for exponents -lambda risk - lambda^2 / 2 spread (P section 5.1), and its posterior.

    A candidate whose risk or spread is not finite gets weight 0. The value is a bound only if the risk is an empirical
    mean and the spread an upper bound on its second moment over n that was known beforehand.
    """
    lambdas = published_lambdas() if lambdas is None else np.asarray(lambdas, dtype=np.float64)
    if not 0 < epsilon < 1 or lambdas.ndim != 1 or not lambdas.size or not np.all(lambdas > 0):
        raise TableError(
            f"epsilon is {epsilon}, lambdas has shape {lambdas.shape}.",
            "0 < epsilon < 1, and a list of positive lambdas.",
            "",
            "Leave them out for the published values.",
        )
    rows = len(risk)
    held = np.isfinite(risk) & np.isfinite(spread)
    risk, spread = risk[held], spread[held]

    def log_sums(lam: np.ndarray) -> np.ndarray:
        """log sum exp of the exponents for each lambda; the largest exponent is taken out first."""
        exponents = np.multiply.outer(lam, -risk)
        exponents -= np.multiply.outer(lam**2 / 2, spread)
        top = exponents.max(axis=1, keepdims=True)
        exponents -= top
        np.exp(exponents, out=exponents)
        sums: np.ndarray = np.log(exponents.sum(axis=1)) + top[:, 0]
        return sums

    price = np.log(len(lambdas) / epsilon) + np.log(rows)

    def bound(lam: np.ndarray) -> np.ndarray:
        values: np.ndarray = (price - log_sums(lam)) / lam
        return values

    # Only the smallest value is wanted: blocks of the grid that cannot hold it are left out. The log-partition falls at
    # least with the slope `least` behind the start of a block, so F there is at least what the two ends say.
    lambdas = np.sort(lambdas)
    starts = np.arange(0, len(lambdas), BLOCK)
    first, last = lambdas[starts], lambdas[np.minimum(starts + BLOCK, len(lambdas)) - 1]
    at_start = bound(first)
    least = np.min(risk + np.multiply.outer(first, spread), axis=1)
    floor = np.minimum(at_start, (at_start * first + (last - first) * least) / last)
    kept = starts[floor <= at_start.min() * (1 + 1e-12)]
    places = np.concatenate([np.arange(start, min(start + BLOCK, len(lambdas))) for start in kept])
    values = bound(lambdas[places])
    chosen = int(np.argmin(values))
    best, value = lambdas[places[chosen]], values[chosen]

    log_weights = np.full(rows, -np.inf)
    log_weights[held] = -best * risk - best**2 / 2 * spread
    if density is not None:
        with np.errstate(divide="ignore"):
            log_weights = log_weights + np.log(np.asarray(density, dtype=np.float64))
    return Estimate(float(value), float(best), np.exp(log_weights - logsumexp(log_weights)))
