"""A trained quasi-Newton rule against L-BFGS at equal numbers of gradients, on logistic regression.

`python -m benchmarks.trained_logistic [seed ...]`: the family is logistic regression on scikit-learn's breast cancer
data (569 rows, 30 features in units of their standard deviation, and a constant): an instance is a bootstrap of 200
rows with a penalty lambda |x|^2 / 2, lambda log-uniform between 1e-3 and 1e-1, from x = 0. For each seed a rule is
trained on a prior split and compared on fresh instances with L-BFGS, ours and SciPy's, each with several memories, of
which the best counts. All have K steps: the start and K more evaluations of the loss with its gradient, and what
counts is the lowest loss of these K + 1, as a gap above the minimum (found by Newton's method) over that of the start.
Digits are -log10 of it, at most 16.

`python -m benchmarks.trained_logistic metric [seed ...]`: the same in the metric of the mean Hessian of prior
instances, for L-BFGS too.
"""

import contextlib
import sys
import time
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import fmin_l_bfgs_b
from sklearn.datasets import load_breast_cancer

import pacopt
from pacopt.priors import Train
from pacopt.priors.trials import Trials

PRIOR, FRESH, ROWS = 2000, 1000, 200
MEMORIES = (5, 10, 20)
#: Relative gaps below this are rounding errors, and count as this.
FLOOR = 1e-16
#: In training gaps are counted above the minimum less this, so that rounding errors are not what is trained for.
SLACK = 1e-14
#: Ratios are small beside their logarithms, so that the mean logarithm is what is trained for. Each run's gradient is
#: clipped at 0.6, which is 3 for the logarithm.
RECIPE = Train(updates=3000, batch=32, rate=1e-2, clip=0.6, logs=0.2, candidates=8, restarts=2)


class Logistic(pacopt.AbstractProblem, pacopt.AbstractKnownMinimum):
    """Weighted logistic losses of the rows, which are multiplied by their label, plus lambda / 2 |x|^2."""

    rows: np.ndarray
    slack: float = 0.0

    def start(self, instance):
        return jnp.zeros(self.rows.shape[1])

    def loss(self, x, instance):
        return instance["weights"] @ jnp.logaddexp(0.0, -(self.rows @ x)) + 0.5 * instance["penalty"] * jnp.sum(x**2)

    def minimum(self, instance):
        return instance["minimum"] - self.slack


@lru_cache
def rows():
    """Standardised features and a constant, times the label."""
    features, label = load_breast_cancer(return_X_y=True)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    return np.c_[features, np.ones(len(features))] * (2.0 * label - 1.0)[:, None]


def value_and_gradient(x, a, weights, penalty):
    margin = a @ x
    slope = weights / (1.0 + np.exp(margin))
    return weights @ np.logaddexp(0.0, -margin) + 0.5 * penalty * x @ x, penalty * x - slope @ a


def minimum(a, weights, penalty):
    """By Newton's method with halved steps, until the gradient is a rounding error."""
    x = np.zeros(a.shape[1])
    for _ in range(100):
        value, gradient = value_and_gradient(x, a, weights, penalty)
        chance = 1.0 / (1.0 + np.exp(a @ x))
        hessian = (a.T * (weights * chance * (1.0 - chance))) @ a + penalty * np.eye(len(x))
        step, part = np.linalg.solve(hessian, gradient), 1.0
        if np.linalg.norm(gradient) < 1e-14:
            break
        while part > 1e-3 and value_and_gradient(x - part * step, a, weights, penalty)[0] > value:
            part /= 2
        x = x - part * step
    return min(value, value_and_gradient(x, a, weights, penalty)[0])


def bootstraps(count, seed):
    rng, a = np.random.default_rng(seed), rows()
    weights = rng.multinomial(ROWS, np.full(len(a), 1 / len(a)), size=count) / ROWS
    penalty = 10.0 ** rng.uniform(-3.0, -1.0, count)
    lowest = [minimum(a[w > 0], w[w > 0], p) for w, p in zip(weights, penalty, strict=True)]
    return pacopt.Instances({"weights": weights, "penalty": penalty, "minimum": np.array(lowest)})


class SpentError(Exception):
    """All evaluations are."""


def scipys(instances, steps, memory):
    """Relative gaps of SciPy's L-BFGS-B: the lowest of steps + 1 evaluations."""
    found = []
    for instance in instances:
        used = instance["weights"] > 0
        problem = rows()[used], instance["weights"][used], float(instance["penalty"])
        seen = []

        def evaluated(x, problem=problem, seen=seen):
            if len(seen) > steps:
                raise SpentError
            value, gradient = value_and_gradient(x, *problem)
            seen.append(value)
            return value, gradient

        with contextlib.suppress(SpentError):
            fmin_l_bfgs_b(
                evaluated, np.zeros(31), m=memory, factr=0.0, pgtol=0.0, maxfun=10**6, maxiter=10**6, maxls=50
            )
        found.append((min(seen) - instance["minimum"]) / (seen[0] - instance["minimum"]))
    return np.array(found)


def gaps(algorithm, candidate, instances, steps):
    """Relative gaps of an algorithm of pacopt: what `read` gives after so many steps."""
    table = pacopt.tabulate(Logistic(rows()), algorithm, candidate, instances, steps=steps)
    return table.ratios()[0]


def told(name, found):
    found = np.maximum(found, FLOOR)
    print(f"  {name:<44}{found.mean():.2e}  {-np.log10(found).mean():6.2f}", flush=True)
    return found.mean(), -np.log10(found).mean()


def train(algorithm, prior, steps, seed, recipe=RECIPE):
    """The favourite of a training, and its seconds on the clock and on the processor."""
    engine = pacopt.Traced(Logistic(rows(), SLACK), algorithm, steps)
    trials = Trials(engine.table, prior, engine.space, train=10_000, seed=seed, steps=steps, trains=engine.training)
    clock, processor = time.perf_counter(), time.process_time()
    measure = recipe(trials)
    spent = time.perf_counter() - clock, time.process_time() - processor
    return {name: values[:1] for name, values in measure.support.items()}, spent, trials.notes["training"]


def first_candidate(algorithm):
    """Its first hyperparameters, as a table of one candidate."""
    return jax.tree.map(lambda array: array[None], algorithm.initial(0))


def baselines(fresh, steps):
    """The smallest mean gap and the most digits of L-BFGS, ours and SciPy's."""
    rivals = [told(f"SciPy's L-BFGS-B, memory {m}", scipys(fresh, steps, m)) for m in MEMORIES]
    rivals += [told(f"our LBFGS, memory {m}", gaps(pacopt.LBFGS(m), {}, fresh, steps)) for m in MEMORIES]
    return min(mean for mean, _ in rivals), max(digits for _, digits in rivals)


def compare(rule, prior, fresh, steps, seed, best):
    """The rule, untrained and trained, beside the best baseline."""
    told("BFGS without a line search, untrained", gaps(rule, first_candidate(rule), fresh, steps))
    learned, (clock, processor), _ = train(rule, prior, steps, seed)
    gap, digits = told(
        f"the same, trained ({clock:.0f} s, {processor:.0f} s of processor)", gaps(rule, learned, fresh, steps)
    )
    print(f"  best L-BFGS over trained: {best[0] / gap:.1f} times, {digits - best[1]:.2f} digits more", flush=True)


def main(seeds, in_metric):
    print(f"{RECIPE!r}\n{PRIOR} prior instances, {FRESH} fresh ones; mean relative gap, mean digits")
    for seed in seeds:
        prior, fresh = bootstraps(PRIOR, 1000 + seed), bootstraps(FRESH, 2000 + seed)
        split = pacopt.Split(prior=prior, train=fresh[: FRESH // 2], test=fresh[FRESH // 2 :])
        for steps in (10, 20):
            print(f"seed {seed}, K = {steps}{', in the metric' if in_metric else ''}")
            rule = pacopt.QuasiNewtonRule(steps)
            if in_metric:
                metric = pacopt.whitening(Logistic(rows()), split)
                rule = pacopt.Preconditioned(rule, metric)
                rivals = [pacopt.Preconditioned(pacopt.LBFGS(m), metric) for m in MEMORIES]
                found = [
                    told(f"our LBFGS, memory {each.algorithm.memory}", gaps(each, {}, fresh, steps)) for each in rivals
                ]
                best = min(mean for mean, _ in found), max(digits for _, digits in found)
            else:
                best = baselines(fresh, steps)
            compare(rule, prior, fresh, steps, seed, best)


if __name__ == "__main__":
    words = sys.argv[1:]
    main([int(word) for word in words if word.isdigit()] or [0], "metric" in words)
