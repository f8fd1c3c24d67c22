"""Trained rules on quadratics with other spectra than the paper's, against conjugate gradients and L-BFGS.

`python -m benchmarks.spectra [seed ...]`: for each family, the mean ratio of final to initial loss after K gradients on
5,000 fresh instances, over that of linear conjugate gradients (K steps): our L-BFGS, SciPy's on 100 instances,
`ScalarRule` and `ConjugateRule`, as they begin and trained. Eigenvalues are drawn anew for each
instance; b is Gaussian. Matrices are diagonal; none of these methods notices.
"""

import sys
import time

import jax
import numpy as np

import pacopt
from benchmarks.trained import conjugate_gradients, l_bfgs
from pacopt.priors import Train
from pacopt.priors.trials import Trials

N, PRIOR, FRESH, FEW = 200, 2000, 5000, 100
#: A rule for a number of steps, and how it is trained; conjugate gradients need not learn much.
RULES = {
    pacopt.ScalarRule: Train(dtype=np.float32),
    pacopt.ConjugateRule: Train(updates=400),
}


def power_law(rng, count):
    """k^-1.5, with a little noise."""
    return np.arange(1, N + 1) ** -1.5 * np.exp(0.1 * rng.normal(size=(count, N)))


def outliers(rng, count):
    """Five between 50 and 100, most around 1, a quarter between 0.01 and 0.05."""
    parts = rng.uniform(50, 100, (count, 5)), rng.normal(1, 0.1, (count, 150)).clip(0.3)
    return np.concatenate([*parts, rng.uniform(0.01, 0.05, (count, 45))], axis=1)


def random_matrix(rng, count):
    """Squared singular values of 260 x 200 Gaussian matrices (Marchenko and Pastur 1967)."""
    return np.stack([np.linalg.svd(rng.normal(size=(260, N)), compute_uv=False) ** 2 / 260 for _ in range(count)])


def decades(rng, count):
    """Log-uniform over four decades."""
    return 10 ** rng.uniform(-4, 0, (count, N))


FAMILIES = {power_law: 40, outliers: 40, random_matrix: 30, decades: 50}


def drawn(family, count, seed):
    rng = np.random.default_rng(seed)
    eigenvalues = family(rng, count)
    return pacopt.Instances({"diagonal": np.sqrt(eigenvalues), "b": rng.normal(size=(count, N))})


def trained(rule, recipe, prior, seed):
    engine = pacopt.Traced(pacopt.DiagonalQuadratic(), rule, rule.steps)
    trials = Trials(
        engine.table, prior, engine.space, train=10_000, seed=seed, steps=rule.steps, trains=engine.training
    )
    clock = time.perf_counter()
    measure = recipe(trials)
    return {name: values[:1] for name, values in measure.support.items()}, time.perf_counter() - clock


def main(seeds):
    for seed in seeds:
        for family, steps in FAMILIES.items():
            prior, fresh = drawn(family, PRIOR, [seed, 0]), drawn(family, FRESH, [seed, 1])
            a, b = fresh.fields["diagonal"], fresh.fields["b"]
            floor = conjugate_gradients(a, b, steps)
            print(
                f"{family.__name__}, seed {seed}, {steps} gradients: conjugate gradients {floor.mean():.3e}; over it:"
            )

            def mean(algorithm, hyper, fresh=fresh, steps=steps):
                return pacopt.tabulate(pacopt.DiagonalQuadratic(), algorithm, hyper, fresh, steps=steps).ratios().mean()

            few = [l_bfgs(*row, steps + 1) for row in zip(a[:FEW], b[:FEW], strict=True)]
            print(f"  SciPy's L-BFGS {np.mean(few) / floor[:FEW].mean():.4g} ({FEW} instances)")
            print(f"  L-BFGS {mean(pacopt.LBFGS(), {}) / floor.mean():.4g}", flush=True)
            for kind, recipe in RULES.items():
                rule = kind(steps)
                untrained = jax.tree.map(lambda array: array[None], rule.initial(0))
                before = mean(rule, untrained) / floor.mean()
                hyper, clock = trained(rule, recipe, prior, seed)
                after = mean(rule, hyper) / floor.mean()
                print(f"  {kind.__name__}: untrained {before:.4g}, trained {after:.4g} ({clock:.0f} s)", flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [0])
