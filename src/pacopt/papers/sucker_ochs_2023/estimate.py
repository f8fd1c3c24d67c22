"""The published bound with the quantities that the authors plug in."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from pacopt.errors import TableError
from pacopt.loss_table import LossTable


def published_lambdas() -> Float[np.ndarray, " grid"]:
    """The authors' grid: 25,000 points in equal steps from 1e-8 to 1."""
    return np.linspace(1e-8, 1.0, 25_000)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A plug-in estimate: probabilities and moments are training frequencies and means, so nothing is promised."""

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
    lambdas = published_lambdas() if lambdas is None else np.asarray(lambdas, dtype=np.float64)
    if not 0 < epsilon < 1 or lambdas.ndim != 1 or not lambdas.size or not np.all(lambdas > 0):
        raise TableError(
            f"epsilon is {epsilon}, lambdas has shape {lambdas.shape}.",
            "0 < epsilon < 1, and a list of positive lambdas.",
            "",
            "Leave them out for the published values.",
        )
    rows, n = table.shape
    success = table.succeeded()
    p = success.mean(axis=1)
    converged = p > 0
    if not converged.any():
        raise TableError(
            "No candidate succeeded on any instance.",
            "The published bound conditions on success.",
            "It would be the mean over nothing.",
            "Use pacopt.certify, which says what can be said.",
        )
    risk = np.where(success, table.losses, 0.0).mean(axis=1)[converged] / p[converged]
    spread = np.mean(table.start**2) / n / p[converged] ** 2
    price = np.log(len(lambdas) / epsilon)

    def exponents(lam: np.ndarray) -> np.ndarray:
        values: np.ndarray = -np.multiply.outer(lam, risk) - np.multiply.outer(lam**2 / 2, spread)
        return values

    blocks = np.array_split(lambdas, max(1, len(lambdas) * rows // 2**21))
    kappa = np.concatenate([logsumexp(exponents(block), axis=1) for block in blocks]) - np.log(rows)
    bound = (price - kappa) / lambdas
    best = int(np.argmin(bound))

    log_weights = np.full(rows, -np.inf)
    log_weights[converged] = exponents(lambdas[best : best + 1])[0]
    if density is not None:
        with np.errstate(divide="ignore"):
            log_weights = log_weights + np.log(np.asarray(density, dtype=np.float64))
    return Estimate(float(bound[best]), float(lambdas[best]), np.exp(log_weights - logsumexp(log_weights)))
