"""Split Bregman, ADMM for total variation: the usual method for deblurring where Fourier transforms diagonalise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.fft import irfft2, rfft2

from pacopt.engines.blackbox import Result
from pacopt.families.deblurring_model import Deblurring

Picture = Float[np.ndarray, "n n"]
Field = Float[np.ndarray, "2 n n"]
#: Newton steps for the length of a gradient: lengths no longer change after five.
INNER = 8
#: Added to the normal equations of Anderson's mixing, in units of their trace.
RIDGE = 1e-12


@dataclass(frozen=True, eq=False)
class SplitBregman:
    """Goldstein and Osher's method as a function for `BlackBox`: the lowest loss of `steps` pictures, less the minimum.

    An iteration solves for the picture by one transform and one back, then for its gradients pixel by pixel. Its
    penalty is `penalty` times the largest curvature of the regulariser, and `relaxation` is that of ADMM. With a
    `memory`, Anderson's mixing combines the last iterations, as in the solver SCS. The defaults are the best of a grid
    on instances that nothing else uses.
    """

    problem: Deblurring
    steps: int
    penalty: float = 0.14
    relaxation: float = 1.8
    memory: int = 0

    def __call__(self, hyper: Mapping[str, Any], instance: Mapping[str, Any]) -> Result:
        """The lowest loss of its pictures, and that of the start, both above the minimum."""
        b, weight = np.asarray(instance["b"]), float(instance["weight"])
        problem, n = self.problem, len(b)
        h = transformed(np.asarray(instance["kernel"]), n)
        rho = self.penalty * weight / problem.edge
        waves = 2 - 2 * np.cos(2 * np.pi * np.arange(n) / n)
        hessian = np.abs(h) ** 2 + problem.ridge + rho * (waves[:, None] + waves[None, : n // 2 + 1])
        data = np.conj(h) * rfft2(b)
        minimum = float(instance["minimum"])

        def above(picture: Picture) -> float:
            residual = irfft2(h * rfft2(picture), s=b.shape) - b
            lengths = np.sqrt(np.sum(differences(picture) ** 2, axis=0) + problem.edge**2) - problem.edge
            square = problem.ridge * np.sum(picture**2)
            return float(0.5 * np.sum(residual**2) + weight * np.sum(lengths) + 0.5 * square) - minimum

        def step(s: Field) -> tuple[Field, float]:
            """The next sum of gradients and multipliers, and the loss of the picture on the way."""
            z = shrunk(s, weight / rho, problem.edge)
            u = s - z
            x = irfft2((data + rho * rfft2(adjoint(z - u))) / hessian, s=b.shape)
            return self.relaxation * differences(x) + (1 - self.relaxation) * z + u, above(x)

        slopes = differences(b)  # with the multipliers that belong to them
        s = slopes * (1 + weight / rho / np.sqrt(np.sum(slopes**2, axis=0) + problem.edge**2))
        points: list[Field] = []
        images: list[Field] = []
        losses = [above(b)]
        for _ in range(self.steps):
            image, loss = step(s)
            losses.append(loss)
            points, images = [*points, s][-self.memory - 1 :], [*images, image][-self.memory - 1 :]
            s = mixed(points, images)
        return Result(loss=min(losses), start_loss=losses[0])


def mixed(points: list[Field], images: list[Field]) -> Field:
    """Anderson's mixing: the combination of the images of which that of the points would have moved the least."""
    moves = [image.ravel() - point.ravel() for point, image in zip(points, images, strict=True)]
    if len(moves) == 1:
        return images[-1]
    changes = np.diff(moves, axis=0)
    normal = changes @ changes.T
    normal += (RIDGE * np.trace(normal) + np.finfo(float).tiny) * np.eye(len(normal))
    weights = np.linalg.solve(normal, changes @ moves[-1])
    back = np.diff([image.ravel() for image in images], axis=0).T @ weights
    return np.asarray(images[-1] - back.reshape(images[-1].shape))


def transformed(kernel: np.ndarray, n: int) -> np.ndarray:
    """The half of its Fourier transform on an n x n grid that wraps around, with its centre at the origin."""
    whole = np.zeros((n, n))
    rows = (np.arange(len(kernel)) - len(kernel) // 2) % n
    np.add.at(whole, (rows[:, None], rows[None, :]), kernel)
    return np.asarray(rfft2(whole))


def differences(x: Picture) -> Field:
    """To the right and down, wrapping around."""
    return np.stack([np.roll(x, -1, axis=1) - x, np.roll(x, -1, axis=0) - x])


def adjoint(v: Field) -> Picture:
    """The adjoint of `differences`."""
    moved: np.ndarray = np.roll(v[0], 1, axis=1) - v[0] + np.roll(v[1], 1, axis=0) - v[1]
    return moved


def shrunk(a: Field, strength: float, edge: float) -> Field:
    """The minimiser of strength sqrt(|z|^2 + edge^2) + |z - a|^2 / 2 in each pixel, by Newton's method on lengths."""
    lengths = np.sqrt(np.sum(a**2, axis=0))
    s = lengths / (1 + strength / np.sqrt(lengths**2 + edge**2))
    for _ in range(INNER):
        q = np.sqrt(s**2 + edge**2)
        s = np.clip(s - (strength * s / q + s - lengths) / (strength * edge**2 / q**3 + 1), 0.0, lengths)
    return np.asarray(a * np.divide(s, lengths, out=np.zeros_like(s), where=lengths > 0))
