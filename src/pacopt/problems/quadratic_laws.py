"""The two random families of quadratics of Sucker & Ochs (2023, App. B.2), with their closed forms."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from pacopt.instances import Instances
from pacopt.problems.quadratic import DiagonalQuadratic, SharedQuadratic
from pacopt.support.arrays import frozen


@dataclass(frozen=True, eq=False)
class GaussianVector:
    """The right-hand side b ~ N(mean, factor' factor), and the law of the start loss 1/2 |b|^2 at x0 = 0."""

    mean: Float[np.ndarray, " n"]
    factor: Float[np.ndarray, "n n"]

    @property
    def covariance(self) -> Float[np.ndarray, "n n"]:
        """Sigma = factor' factor."""
        covariance: np.ndarray = self.factor.T @ self.factor
        return covariance

    def sample(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "count n"]:
        """Independent draws of b."""
        draws: np.ndarray = self.mean + rng.standard_normal((count, len(self.mean))) @ self.factor
        return draws

    def mean_start_loss(self) -> float:
        """E l0 = (|m|^2 + tr Sigma) / 2."""
        return float(self.mean @ self.mean + np.trace(self.covariance)) / 2

    def mean_square_start_loss(self) -> float:
        """E l0^2 = (2 tr Sigma^2 + 4 m' Sigma m + (|m|^2 + tr Sigma)^2) / 4."""
        sigma = self.covariance
        spread = 2 * np.sum(sigma**2) + 4 * self.mean @ sigma @ self.mean
        return float(spread) / 4 + self.mean_start_loss() ** 2

    def log_mgf_start_loss(self, theta: float) -> float:
        """log E exp(theta l0); +inf for theta >= 1 / (largest eigenvalue of Sigma)."""
        eigenvalues, basis = np.linalg.eigh(self.covariance)
        room = 1.0 - theta * eigenvalues
        if room.min() <= 0.0:
            return np.inf
        coordinates = basis.T @ self.mean
        return float(np.sum(theta * coordinates**2 / room - np.log(room))) / 2


@dataclass(frozen=True, eq=False)
class FixedCurvature:
    """All instances share one dense square matrix; an instance is its right-hand side."""

    A: Float[np.ndarray, "n n"]
    right_hand_side: GaussianVector

    @staticmethod
    def draw(*, seed: int, n: int = 50, integer_entries: bool = True) -> "FixedCurvature":
        """A random family: entries of A uniform in -10..10 plus standard normal noise.

        With `integer_entries=False`, entries are uniform on the real interval, as in the authors' code.
        """
        rng = np.random.default_rng(seed)
        A = _uniform(rng, 10, (n, n), integer_entries) + rng.standard_normal((n, n))
        return FixedCurvature(frozen(A), _right_hand_side(rng, n, integer_entries))

    @property
    def problem(self) -> SharedQuadratic:
        """The problem whose instances `sample` draws."""
        return SharedQuadratic(self.A)

    @property
    def curvature(self) -> tuple[float, float]:
        """(mu, L): the smallest and the largest eigenvalue of A'A."""
        singular = np.linalg.svd(self.A, compute_uv=False)
        return float(singular[-1] ** 2), float(singular[0] ** 2)

    def sample(self, count: int, *, seed: int) -> Instances:
        """Independent instances."""
        return Instances({"b": self.right_hand_side.sample(count, np.random.default_rng(seed))})


@dataclass(frozen=True, eq=False)
class VaryingCurvature:
    """Each instance has its own diagonal: sqrt(mu) to sqrt(L) in equal steps, in random order, L ~ U[L_range]."""

    right_hand_side: GaussianVector
    mu: float = 0.05
    L_range: tuple[float, float] = (1.0, 5000.0)

    @staticmethod
    def draw(*, seed: int, n: int = 50, integer_entries: bool = True) -> "VaryingCurvature":
        """A random family; `integer_entries=False` gives real-valued entries, as in the authors' code."""
        return VaryingCurvature(_right_hand_side(np.random.default_rng(seed), n, integer_entries))

    @property
    def problem(self) -> DiagonalQuadratic:
        """The problem whose instances `sample` draws."""
        return DiagonalQuadratic()

    @property
    def curvature(self) -> tuple[float, float]:
        """(mu, L) valid for every instance."""
        return self.mu, self.L_range[1]

    def sample(self, count: int, *, seed: int) -> Instances:
        """Independent instances."""
        rng = np.random.default_rng(seed)
        b = self.right_hand_side.sample(count, rng)
        L = rng.uniform(*self.L_range, size=count)
        ordered = np.linspace(np.full(count, np.sqrt(self.mu)), np.sqrt(L), b.shape[1], axis=1)
        return Instances({"diagonal": rng.permuted(ordered, axis=1), "b": b})


def _uniform(rng: np.random.Generator, bound: int, shape: tuple[int, ...], integer: bool) -> np.ndarray:
    if integer:
        return rng.integers(-bound, bound, size=shape, endpoint=True).astype(np.float64)
    return rng.uniform(-bound, bound, size=shape)


def _right_hand_side(rng: np.random.Generator, n: int, integer: bool) -> GaussianVector:
    return GaussianVector(frozen(_uniform(rng, 5, (n,), integer)), frozen(_uniform(rng, 5, (n, n), integer)))
