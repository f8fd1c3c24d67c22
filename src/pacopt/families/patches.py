"""Deblurring of real pictures: random patches, blurred and noisy, with a smooth regulariser that spares edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np

from pacopt.algorithms import (
    FISTA,
    LBFGS,
    BarzilaiBorwein,
    GradientDescent,
    HeavyBall,
    ModelledNewton,
    NonlinearConjugateGradients,
    Transformed,
)
from pacopt.engines import BlackBox
from pacopt.errors import ProblemError
from pacopt.families.base import Family, Sizes
from pacopt.families.deblurring_minima import proven_minima
from pacopt.families.deblurring_model import Deblurring, FourierCoordinates, FourierModel, SteepestCoordinates
from pacopt.families.split_bregman import SplitBregman
from pacopt.instances import Instances
from pacopt.priors.train import Train
from pacopt.scores import Digits
from pacopt.stages.baselines import Baseline
from pacopt.support.machine import cores

#: Pictures that ship with scikit-image: photographs, micrographs, scans.
SHIPPED = (
    "astronaut.png", "brick.png", "camera.png", "cell.png", "chelsea.png", "clock_motion.png", "coffee.png",
    "coins.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png", "moon.png", "motorcycle_left.png",
    "page.png", "retina.jpg", "rocket.jpg", "text.png",
)  # fmt: skip
#: The weights of red, green and blue in grey.
GREY = np.array([0.2125, 0.7154, 0.0721])
#: Kernels are 9 x 9: Gaussians with widths from the first interval, motions with lengths from the second, in pixels.
RADIUS, WIDTHS, LENGTHS = 4, (0.8, 2.0), (3.0, 8.0)
#: The standard deviation of the noise, log-uniform; the weight of the regulariser is 30 times its square.
NOISE, PER_VARIANCE = (0.005, 0.02), 30.0

#: The loss, with its edge and ridge.
PROBLEM = Deblurring()


@dataclass(frozen=True, eq=False)
class Patches:
    """The law: a random patch of given pictures, blurred and noisy.

    A picture is drawn uniformly, then a `size` x `size` patch of it at a uniform position. Half of the blurs are
    Gaussian, half are motions along a line of random length and direction. The noise is Gaussian with a standard
    deviation that is log-uniform in `noise`, and the weight of the regulariser is 30 times its square, a natural choice
    if the noise level is known. Blurring wraps around the patch.

    So draws are independent given the pictures, and the certificate is about more patches of *these* pictures. For
    statements about new pictures, `by_picture` makes each picture a group.
    """

    pictures: tuple[np.ndarray, ...]
    size: int = 32
    noise: tuple[float, float] = NOISE
    problem: Deblurring = PROBLEM

    def __post_init__(self) -> None:
        """Refuse anything but grey pictures at least as large as a patch."""
        object.__setattr__(self, "pictures", tuple(np.asarray(each) for each in self.pictures))
        for number, each in enumerate(self.pictures):
            if each.ndim != 2 or each.dtype.kind != "f" or min(each.shape) < self.size:
                raise ProblemError(
                    f"Picture {number} has the shape {list(each.shape)} and the type {each.dtype}.",
                    f"Pictures must be grey, at least {self.size} x {self.size} pixels, with values from 0 to 1.",
                    "Patches are cut from them.",
                    "Convert them, for example with skimage.color.rgb2gray, or use a smaller size.",
                )
        if not self.pictures or self.size <= 2 * RADIUS:
            raise ProblemError(
                f"There are {len(self.pictures)} pictures, and patches of size {self.size}.",
                f"At least one picture is needed, and a size above {2 * RADIUS}.",
                "A kernel has to fit into a patch.",
                "Use deblurring() for the pictures that ship with scikit-image.",
            )

    def sample(self, count: int, *, seed: int) -> Instances:
        """Independent draws, each with a proven lower bound on its minimum."""
        fields, _ = self.draws(count, seed=seed)
        return Instances(fields | {"minimum": proven_minima(self.problem, fields)[0]})

    def by_picture(self, each: int, *, seed: int) -> Instances:
        """This many patches of every picture, one group per picture: a draw is then a picture, and there are few."""
        which = np.repeat(np.arange(len(self.pictures)), each)
        fields, _ = self.draws(len(which), seed=seed, which=which)
        return Instances(fields | {"minimum": proven_minima(self.problem, fields)[0]}, groups=which)

    def draws(
        self, count: int, *, seed: int, which: np.ndarray | None = None
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Blurred patches with kernels and weights, and the sharp patches; `which` gives the picture of each."""
        rng, n = np.random.default_rng(seed), self.size
        which = rng.integers(len(self.pictures), size=count) if which is None else which
        sharp, kernels = np.empty((count, n, n)), np.empty((count, 2 * RADIUS + 1, 2 * RADIUS + 1))
        for row, number in enumerate(which):
            picture = self.pictures[number]
            top, left = (int(rng.integers(extent - n + 1)) for extent in picture.shape)
            sharp[row] = picture[top : top + n, left : left + n]
            motion = rng.random() < 0.5
            kernels[row] = (
                moved(rng.uniform(*LENGTHS), rng.uniform(0.0, np.pi)) if motion else gaussian(rng.uniform(*WIDTHS))
            )
        quiet, loud = (float(np.log(each)) for each in self.noise)
        level = np.exp(rng.uniform(quiet, loud, size=count))
        noise = level[:, None, None] * rng.standard_normal(sharp.shape)
        return {"b": blurred(sharp, kernels) + noise, "kernel": kernels, "weight": PER_VARIANCE * level**2}, sharp


def deblurring(pictures: Sequence[np.ndarray] | None = None, *, size: int = 32) -> Family:
    """The family of random patches of pictures, either those included in scikit-image or your own.

    Your own pictures must be two-dimensional arrays with values from 0 to 1. We learn the four numbers of a model of
    the Hessian, and 25 step sizes and momenta.
    """
    law, steps = Patches(tuple(shipped_pictures() if pictures is None else pictures), size), 25
    problem = law.problem
    steepest, fourier = SteepestCoordinates(problem), FourierCoordinates(problem)
    unit = {"step_size": 1.0}
    usual = {
        "gradient descent": Baseline(unit, Transformed(GradientDescent(), steepest)),
        "Nesterov with restart (FISTA)": Baseline(unit, Transformed(FISTA(), steepest)),
        "Barzilai-Borwein": Baseline(algorithm=BarzilaiBorwein()),
        "nonlinear conjugate gradients": Baseline(algorithm=NonlinearConjugateGradients()),
        "L-BFGS": Baseline(algorithm=LBFGS(20)),
        "half-quadratic (Geman-Yang)": Baseline(unit, Transformed(GradientDescent(), fourier)),
        "L-BFGS in the half-quadratic metric": Baseline(algorithm=Transformed(LBFGS(20), fourier)),
        "L-BFGS in a tuned Fourier metric": Baseline(
            algorithm=Transformed(LBFGS(20), FourierCoordinates(problem, 0.3, 0.005))
        ),
        "split Bregman": Baseline(engine=BlackBox(SplitBregman(problem, steps), {}, workers=cores())),
        "split Bregman, Anderson's mixing": Baseline(
            engine=BlackBox(SplitBregman(problem, steps, penalty=0.1, memory=10), {}, workers=cores())
        ),
    }
    return Family(
        "deblurring",
        problem,
        law.sample,
        ModelledNewton(FourierModel(problem), steps),
        steps,
        title="Deblurring of real pictures",
        usual=usual,
        tuned=Transformed(HeavyBall(), steepest),
        prior=Train(updates=80, batch=8, rate=0.05, restarts=1, candidates=2, clip=0.6),
        score=Digits(10),
        sizes=Sizes(prior=120, train=1000, test=200),
        note="If the blur is known and wraps around, split Bregman with Anderson's mixing needs no training and wins.",
    )


def shipped_pictures() -> tuple[np.ndarray, ...]:
    """The pictures that ship with scikit-image, in grey, with values from 0 to 1; nothing is downloaded."""
    try:
        io: Any = import_module("skimage.io")
    except ImportError as error:
        raise ProblemError(
            "scikit-image is not installed.",
            "Its pictures are needed for this family.",
            "",
            'Install it with pip install "pacopt[families]", or pass your own pictures: deblurring(pictures).',
        ) from error
    folder = files("skimage.data")
    return tuple(as_grey(io.imread(str(folder / name))) for name in SHIPPED)


def as_grey(picture: np.ndarray) -> np.ndarray:
    """Eight-bit colour or grey values, as grey values from 0 to 1."""
    values = np.asarray(picture, dtype=np.float64) / 255.0
    return values if values.ndim == 2 else values[..., :3] @ GREY


def gaussian(width: float) -> np.ndarray:
    """A Gaussian kernel that sums to 1, cut off at four pixels."""
    squares = np.arange(-RADIUS, RADIUS + 1) ** 2
    kernel = np.exp(-(squares[:, None] + squares[None]) / (2.0 * width**2))
    return np.asarray(kernel / kernel.sum())


def moved(length: float, angle: float) -> np.ndarray:
    """The kernel, which sums to 1, of motion along a line of this length in pixels.

    Points on the line are each spread over the four pixels around them.
    """
    along = np.linspace(-0.5, 0.5, 101) * length
    kernel = np.zeros((2 * RADIUS + 1, 2 * RADIUS + 1))
    place = RADIUS + along[:, None] * np.array([np.sin(angle), np.cos(angle)])
    corner = np.minimum(np.floor(place).astype(int), 2 * RADIUS - 1)
    part = place - corner
    for down in (0, 1):
        for right in (0, 1):
            share = np.abs(1 - down - part[:, 0]) * np.abs(1 - right - part[:, 1])
            np.add.at(kernel, (corner[:, 0] + down, corner[:, 1] + right), share)
    return np.asarray(kernel / kernel.sum())


def blurred(sharp: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """Pictures, each convolved with its kernel, wrapping around."""
    total = np.zeros_like(sharp)
    for down in range(-RADIUS, RADIUS + 1):
        for right in range(-RADIUS, RADIUS + 1):
            share = kernels[:, RADIUS + down, RADIUS + right, None, None]
            total += share * np.roll(sharp, (down, right), axis=(1, 2))
    return total


def psnr(picture: np.ndarray, sharp: np.ndarray) -> np.ndarray:
    """Peak signal-to-noise ratios, in decibels, of pictures with values from 0 to 1."""
    return np.asarray(-10.0 * np.log10(np.mean((picture - sharp) ** 2, axis=(-2, -1))))
