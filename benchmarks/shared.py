"""What shared structure is worth: learned starts and metrics against conjugate gradients, certified and checked.

`python -m benchmarks.shared [family ...] [seed ...]`: for each seed and each family, 200 prior instances, N = 10,000
training instances, and 20,000 fresh ones on which every number is measured again. Families:

- `fixed`: the paper's fixed curvature, n = 50, 50 gradients: one dense matrix, new right-hand sides;
- `camera`: deblurring with one camera, ridge regression with one matrix (64 unknowns, 5 gradients): signals are sums
  of random steps, with noise; losses are above the minimum, which is known;
- `varying`: the paper's varying curvature, n = 50, 50 gradients, where instances share nothing but the law of their
  right-hand sides.

On each of them a linear start is fitted to the prior split and followed by conjugate gradients; conjugate gradients
from the usual start are the baseline. Mean ratios and digits are certified with training instances of their own: two
certificates of the same ones would not hold together.

`python -m benchmarks.shared trained [seed ...]`: on `fixed`, a metric that is trained from the identity for heavy-ball,
with 800 prior instances; nothing is estimated or fitted. Times are noisy.
"""

import sys
import time
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

import pacopt

PRIOR, TRAIN, FRESH = 200, 10_000, 20_000
TRAINED = pacopt.priors.Train(updates=1500, batch=32, restarts=1, candidates=8)


class Deblurring(pacopt.AbstractProblem, pacopt.AbstractKnownMinimum):
    """1/2 |A x - b|^2 + penalty / 2 |x|^2, A the blur of one camera."""

    blur: np.ndarray
    penalty: float = 1e-3

    def start(self, instance):
        return jnp.zeros(self.blur.shape[1])

    def loss(self, x, instance):
        return 0.5 * jnp.sum((self.blur @ x - instance["b"]) ** 2) + 0.5 * self.penalty * jnp.sum(x**2)

    def minimum(self, instance):
        return instance["minimum"]


@dataclass(frozen=True)
class Camera:
    """A blur of Gaussian shape, and signals with five steps at random places."""

    problem: Deblurring
    noise: float = 0.01

    @staticmethod
    def draw(*, seed, n=64):
        width = np.random.default_rng(seed).uniform(1.5, 2.5)
        kernel = np.exp(-0.5 * ((np.arange(n)[:, None] - np.arange(n)) / width) ** 2)
        return Camera(Deblurring(kernel / kernel.sum(axis=1, keepdims=True)))

    def sample(self, count, *, seed):
        rng, A = np.random.default_rng(seed), self.problem.blur
        places, heights = rng.uniform(0, len(A), size=(count, 5, 1)), rng.normal(size=(count, 5, 1))
        signals = (heights * (np.arange(len(A)) > places)).sum(axis=1)
        b = signals @ A.T + self.noise * rng.normal(size=signals.shape)
        x = np.linalg.solve(A.T @ A + self.problem.penalty * np.eye(len(A)), A.T @ b.T).T
        lowest = 0.5 * ((x @ A.T - b) ** 2).sum(axis=1) + 0.5 * self.problem.penalty * (x**2).sum(axis=1)
        return pacopt.Instances({"b": b, "minimum": lowest})


#: The law, the number of steps, what a start is computed from, and how many digits count: above a minimum that is
#: subtracted, those that rounding leaves.
FAMILIES = {
    "fixed": (pacopt.FixedCurvature.draw, 50, ("b",), 16),
    "camera": (Camera.draw, 5, ("b",), 12),
    "varying": (pacopt.VaryingCurvature.draw, 50, ("b", "diagonal"), 16),
}


def measured(law, algorithm, candidate, steps, seed, top):
    """Mean ratio with the safeguard, and mean digits up to the top, on fresh instances."""
    table = pacopt.tabulate(law.problem, algorithm, candidate, law.sample(FRESH, seed=seed), steps=steps)
    ratios = table.safeguarded()[0]
    return ratios.mean(), -np.log10(np.maximum(ratios, 10.0**-top)).mean()


def parted(law, seed, prior=PRIOR):
    sizes = {"prior": prior, "train": TRAIN, "test": 200}
    return pacopt.split(law.sample(sum(sizes.values()), seed=seed), **sizes, seed=seed)


def told(name, certificate):
    numbers = {key: certificate.deployed.values[key] for key in ("gain", "gain_measured", "risk", "win")}
    shown = ", ".join(f"{key} {'none' if value is None else f'{value:.4g}'}" for key, value in numbers.items())
    print(f"    certified, {name}: {shown}", flush=True)


def certified(law, algorithm_of, steps, seed, top, prior=None, size=PRIOR):
    """The gain over conjugate gradients in mean ratio and in digits, each with instances of its own."""
    rival = pacopt.Baseline(algorithm=pacopt.ConjugateGradients())
    for number, (name, score) in enumerate({"mean ratio": None, "digits": pacopt.Digits(top)}.items()):
        parts = parted(law, 1000 * seed + number, size)
        algorithm, clock = algorithm_of(parts), time.perf_counter()
        learned = pacopt.learn(
            law.problem, algorithm, parts, steps=steps, prior=prior, baseline=rival, score=score, progress=False
        )
        print(f"    {time.perf_counter() - clock:.0f} s", flush=True)
        told(name, learned.certificate)
        hyper = {key: np.asarray(value)[None] for key, value in learned.hyper.items()} if learned.hyper else {}
        ours = measured(law, algorithm, hyper, steps, 10**6 + seed, top)
        print(f"    measured on {FRESH} fresh instances: mean ratio {ours[0]:.3e}, digits {ours[1]:.2f}", flush=True)


def main(seeds, families, trained):
    for seed in seeds:
        for family in families:
            draw, steps, reads, top = FAMILIES[family]
            law = draw(seed=seed)
            ratio, digits = measured(law, pacopt.ConjugateGradients(), {}, steps, 10**6 + seed, top)
            print(f"{family}, seed {seed}, {steps} steps", flush=True)
            print(f"  conjugate gradients: mean ratio {ratio:.3e}, digits {digits:.2f}", flush=True)
            if trained:
                print("  heavy-ball in a metric that is trained", flush=True)
                metric = pacopt.Preconditioned(pacopt.HeavyBall(), dimension=50)
                certified(law, lambda parts, it=metric: it, steps, seed, top, TRAINED, 800)
                continue
            print(f"  conjugate gradients from a start that is fitted to {', '.join(reads)}", flush=True)

            def warm(parts, law=law, reads=reads):
                weights = pacopt.fitted_start(law.problem, parts, reads=reads)
                return pacopt.WarmStart(pacopt.ConjugateGradients(), reads=reads, weights=weights)

            certified(law, warm, steps, seed, top)


if __name__ == "__main__":
    words = sys.argv[1:]
    trained = "trained" in words
    families = [word for word in words if word in FAMILIES] or (["fixed"] if trained else [*FAMILIES])
    main([int(word) for word in words if word.isdigit()] or [0], families, trained)
