"""Baselines at equal gradients on the paper's quadratics, and L-BFGS and nonlinear conjugate gradients beside SciPy's.

python -m benchmarks.baselines [instances]
"""

import sys

import numpy as np
from scipy.optimize import minimize

import pacopt

STEPS = 50
ADAM = {"step_size": [0.1, 0.3, 1.0, 3.0], "b1": [0.9] * 4, "b2": [0.999] * 4}
METHODS = (
    (pacopt.ConjugateGradients(), {}),
    (pacopt.LBFGS(), {}),
    (pacopt.NonlinearConjugateGradients(), {}),
    (pacopt.BarzilaiBorwein(), {}),
    (pacopt.FISTA(), {"step_size": [1 / 5000]}),
    (pacopt.Adam(), ADAM),
)


def scipy_ratio(instance, method, options):
    """The lowest of the first STEPS + 1 losses that SciPy evaluates, relative to the start."""
    diagonal, b = instance["diagonal"], instance["b"]
    seen = []

    def value_and_gradient(x):
        residual = diagonal * x - b
        seen.append(0.5 * residual @ residual)
        return seen[-1], diagonal * residual

    minimize(value_and_gradient, np.zeros_like(b), jac=True, method=method, options=options)
    return min(seen[: STEPS + 1]) / seen[0]


def textbook(instance):
    """Conjugate gradients with products with the Hessian."""
    curvature, x = instance["diagonal"] ** 2, np.zeros_like(instance["b"])
    residual = direction = instance["diagonal"] * instance["b"]
    for _ in range(STEPS):
        length = residual @ residual / (direction @ (curvature * direction))
        x, reduced = x + length * direction, residual - length * curvature * direction
        direction, residual = reduced + reduced @ reduced / (residual @ residual) * direction, reduced
    return np.sum((instance["diagonal"] * x - instance["b"]) ** 2) / np.sum(instance["b"] ** 2)


def main(count):
    lbfgs = {"maxcor": 10, "ftol": 0, "gtol": 0, "maxfun": STEPS + 30}
    for n in (50, 200):
        law = pacopt.VaryingCurvature.draw(seed=0, n=n)
        instances = law.sample(count, seed=1)
        print(f"n = {n}, {count} instances, {STEPS} steps: mean ratio of losses")
        for algorithm, candidates in METHODS:
            table = pacopt.tabulate(law.problem, algorithm, candidates, instances, steps=STEPS)
            mean = np.mean(table.losses / table.start, axis=1)
            best = "" if len(mean) == 1 else f", the best of {len(mean)}: {table.hyper(int(np.argmin(mean)))}"
            print(f"  {type(algorithm).__name__:30} {mean.min():.4f}{best}")
        others = {
            "SciPy L-BFGS-B": lambda each: scipy_ratio(each, "L-BFGS-B", lbfgs),
            "SciPy CG": lambda each: scipy_ratio(each, "CG", {"maxiter": STEPS, "gtol": 0}),
            "textbook conjugate gradients": textbook,
        }
        for name, run in others.items():
            print(f"  {name:30} {np.mean([run(each) for each in instances]):.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
