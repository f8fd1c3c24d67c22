"""Deblurring as a problem: its loss, and the parts of its Hessian that are diagonal in Fourier space or in pixels."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pacopt.algorithms.base import Hyper
from pacopt.algorithms.modelled_newton import AbstractHessianModel
from pacopt.algorithms.transformed import AbstractCoordinates
from pacopt.problems.base import AbstractKnownMinimum, AbstractProblem, Instance, Objective, Point
from pacopt.space import Interval

Picture = Float[Array, "n n"]


class Deblurring(AbstractProblem, AbstractKnownMinimum):
    """1/2 |h * x - b|^2 + weight * sum(sqrt(|Dx|^2 + edge^2) - edge) + ridge / 2 |x|^2 over pictures x, from x = b.

    An instance has the blurred picture `b` (n x n), the `kernel` h (odd by odd), the `weight` of the regulariser and a
    `minimum`. Convolution * and differences D to the right and down wrap around. The sum is the total variation,
    smoothed for differences below about `edge`: it penalises noise and spares edges. The tiny ridge makes the loss
    ridge-strongly convex, so any point x proves a lower bound: loss(x) - |gradient(x)|^2 / (2 ridge). `minimum` is such
    a bound, so the reported gap is slightly above the true one, and never below it.
    """

    edge: float = 0.01
    ridge: float = 1e-4

    def start(self, instance: Instance) -> Point:
        """The blurred picture."""
        return instance["b"]

    def loss(self, x: Point, instance: Instance) -> Float[Array, ""]:
        """The misfit, by Parseval's theorem in Fourier space, plus both penalties."""
        n, b = len(x), instance["b"]
        residual = transfer(instance["kernel"], n) * jnp.fft.rfft2(x) - jnp.fft.rfft2(b)
        misfit = jnp.sum(mirrored(n) * (residual.real**2 + residual.imag**2)) / (2 * n * n)
        # sqrt(s + edge^2) - edge without cancellation: XLA's square roots may be wrong in the last ten bits.
        variation = jnp.sum(_slopes(x) / (self.rounded(x) + self.edge))
        return jnp.asarray(misfit + instance["weight"] * variation + 0.5 * self.ridge * jnp.sum(x**2))

    def minimum(self, instance: Instance) -> Float[Array, ""]:
        """A proven lower bound on the minimum, tight to about 1e-12 of the gap at the start."""
        return jnp.asarray(instance["minimum"])

    def rounded(self, x: Picture) -> Picture:
        """sqrt(|Dx|^2 + edge^2) at each pixel."""
        return jnp.sqrt(_slopes(x) + self.edge**2)

    def steepest(self, instance: Instance) -> Float[Array, ""]:
        """An upper bound on all curvatures: L = 1 + 8 weight / edge + ridge, for a kernel that sums to 1."""
        return jnp.asarray(1.0 + 8.0 * instance["weight"] / self.edge + self.ridge)


def _slopes(x: Picture) -> Picture:
    """|Dx|^2 at each pixel: squared differences to the right and down."""
    return (jnp.roll(x, -1, 1) - x) ** 2 + (jnp.roll(x, -1, 0) - x) ** 2


def transfer(kernel: Float[Array, "k k"], n: int) -> Array:
    """The blur in Fourier space: the n x (n // 2 + 1) transform of the kernel, centred at the origin."""
    down, right = (
        np.outer(np.arange(m), np.arange(s) - s // 2) for m, s in zip((n, n // 2 + 1), kernel.shape, strict=True)
    )
    waves = np.exp(-2j * np.pi * down / n), np.exp(-2j * np.pi * right / n)
    kind = jnp.result_type(kernel.dtype, jnp.complex64)
    return jnp.asarray(waves[0], kind) @ kernel.astype(kind) @ jnp.asarray(waves[1].T, kind)


def mirrored(n: int) -> np.ndarray:
    """How often each column of a real transform occurs in the full one: twice, except the first and the middle."""
    times = np.full((1, n // 2 + 1), 2.0)
    times[0, 0] = 1.0
    if n % 2 == 0:
        times[0, -1] = 1.0
    return times


def laplacian(n: int) -> np.ndarray:
    """|d|^2, the squared differences in Fourier space."""
    wave = 2.0 - 2.0 * np.cos(2.0 * np.pi * np.arange(n) / n)
    return wave[:, None] + wave[None, : n // 2 + 1]


def in_fourier(x: Picture, factors: Float[Array, "n m"]) -> Picture:
    """F^-1 factors F x."""
    return jnp.fft.irfft2(factors * jnp.fft.rfft2(x), s=x.shape).astype(x.dtype)


def symbol(problem: Deblurring, instance: Instance, n: int, smoothness: Array | float, floor: Array | float) -> Array:
    """|h|^2 + smoothness (weight / edge) |d|^2 + ridge + floor: the Hessian if all differences were this smooth."""
    blur = transfer(instance["kernel"], n)
    curvature = smoothness * instance["weight"] / problem.edge
    return jnp.asarray(blur.real**2 + blur.imag**2 + curvature * laplacian(n) + problem.ridge + floor)


class FourierModel(AbstractHessianModel):
    """H^-1 is about scale S F^-1 P F S: P = 1 / (|h|^2 + c1 (weight / edge) |d|^2 + c2), S = (1 + c3 w)^-1/2.

    P inverts the blur and a mean curvature of the regulariser, which are diagonal in Fourier space. S shrinks the moves
    of pixels according to w, the curvature of the regulariser there: weight / edge where the picture is flat, almost
    none at edges. c1 is `smoothness`, c2 `floor`, c3 `edges`. It is exact for a flat picture if c1 = 1 and c2 = c3 = 0.
    """

    problem: Deblurring = Deblurring()

    numbers: ClassVar = {
        "scale": (1.0, Interval(0.1, 10.0, log=True)),
        "smoothness": (0.3, Interval(1e-3, 3.0, log=True)),
        "floor": (0.01, Interval(1e-4, 1.0, log=True)),
        "edges": (3.0, Interval(1e-2, 100.0, log=True)),
    }

    def solved(self, vector: Point, x: Point, hyper: Hyper, objective: Objective) -> Point:
        """scale S F^-1 P F S vector."""
        problem, instance = self.problem, objective.instance
        spared = problem.edge / problem.rounded(x)
        # A pixel is in its own differences to the right and down, and in those of its neighbours to the left and above.
        around = (2.0 * spared + jnp.roll(spared, 1, 0) + jnp.roll(spared, 1, 1)) / 4.0
        shrunk = (1.0 + hyper["edges"] * instance["weight"] / problem.edge * around) ** -0.5
        inverse = hyper["scale"] / symbol(problem, instance, len(x), hyper["smoothness"], hyper["floor"])
        return shrunk * in_fourier(shrunk * vector, inverse)


class FourierCoordinates(AbstractCoordinates):
    """x = start + F^-1 P^1/2 F z, P = 1 / (|h|^2 + smoothness (weight / edge) |d|^2 + ridge + floor).

    With smoothness 1 and floor 0, P is the inverse of an upper bound on all Hessians, and gradient descent with step
    size 1 is the half-quadratic method of Geman and Yang (1995), which decreases the loss at every step.
    """

    problem: Deblurring = Deblurring()
    smoothness: float = 1.0
    floor: float = 0.0

    def applied(self, z: Point, instance: Instance) -> Point:
        """F^-1 P^1/2 F z."""
        return in_fourier(z, symbol(self.problem, instance, len(z), self.smoothness, self.floor) ** -0.5)


class SteepestCoordinates(AbstractCoordinates):
    """x = start + z / sqrt(L), L the largest curvature of the instance, so that step size 1 is the textbook 1 / L."""

    problem: Deblurring = Deblurring()

    def applied(self, z: Point, instance: Instance) -> Point:
        """z / sqrt(L)."""
        return z / jnp.sqrt(self.problem.steepest(instance))
