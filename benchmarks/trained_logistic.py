"""A trained quasi-Newton rule against L-BFGS at equal numbers of gradients, on logistic regression.

`python -m benchmarks.trained_logistic [table ...] [steps ...]`: for each table of `pacopt.families` (`breast_cancer`,
`digits`, `wine`; all without an argument) and each number of steps (10 and 20) rules are trained on prior instances,
as they are and in the metric of the mean Hessian of these, and compared on fresh instances with the usual solvers, and
with L-BFGS in that metric. All have K steps: the start and K more evaluations of the loss with its gradient, and what
counts is the lowest loss of these K + 1, as a gap above the minimum over that of the start (gradient descent and
Nesterov: the last). Newton's method has a Hessian for each step besides, and is shown for comparison only. Digits are
-log10 of it, at most 12.
"""

import sys
import time

import jax
import numpy as np

import pacopt
from pacopt import families
from pacopt.priors import Train
from pacopt.priors.trials import Trials

PRIOR, FRESH, COUNTED = 2000, 1000, 12
TABLES = {each.__name__: each for each in (families.breast_cancer, families.digits, families.wine)}
RECIPE = Train(updates=3000, batch=32, rate=1e-2, clip=0.6, logs=0.2, candidates=8, restarts=2)


def gaps(family, algorithm, candidate, instances):
    """Relative gaps of an algorithm of pacopt: what `read` gives after so many steps."""
    return pacopt.tabulate(family.problem, algorithm, candidate, instances, steps=family.steps).ratios()[0]


def of_baseline(family, baseline, prior, instances):
    """Relative gaps of one of the usual solvers, with what the textbook recommends for prior instances."""
    if baseline.engine is not None:
        return baseline.engine.table({}, instances).losses[0] / (np.log(2.0) - instances.fields["minimum"])
    textbook = pacopt.Traced(family.problem, baseline.algorithm, family.steps).standard(prior, None).hyper or {}
    candidate = {name: np.array([value]) for name, value in textbook.items()}
    return gaps(family, baseline.algorithm, candidate, instances)


def told(name, found):
    digits = np.clip(-np.log10(np.maximum(found, 1e-300)), 0, COUNTED)
    print(f"  {name:<50}{found.mean():.2e}  {np.median(found):.2e}  {digits.mean():6.2f}", flush=True)


def train(family, algorithm, prior, seed, recipe=RECIPE):
    """The favourite of a training, and its seconds of processor time."""
    engine = pacopt.Traced(family.problem, algorithm, family.steps)
    trials = Trials(
        engine.table, prior, engine.space, train=10_000, seed=seed, steps=family.steps, trains=engine.training
    )
    began = time.process_time()
    measure = recipe(trials)
    return {name: values[:1] for name, values in measure.support.items()}, time.process_time() - began


def first_candidate(algorithm):
    """Its first hyperparameters, as a table of one candidate."""
    return jax.tree.map(lambda array: array[None], algorithm.initial(0))


def compare(family, seed):
    prior, fresh = family.sample(PRIOR, seed=1000 + seed), family.sample(FRESH, seed=2000 + seed)
    parts = pacopt.Split(prior=prior, train=fresh[: FRESH // 2], test=fresh[FRESH // 2 :])
    for name, baseline in family.usual.items():
        told(name, of_baseline(family, baseline, prior, fresh))
    metric = pacopt.whitening(family.problem, parts)
    told("L-BFGS in the metric", gaps(family, pacopt.Preconditioned(pacopt.LBFGS(20), metric), {}, fresh))
    told("Newton's method, which has Hessians", gaps(family, pacopt.Newton(), {}, fresh))
    rule = pacopt.QuasiNewtonRule(family.steps)
    for name, each in (("the rule", rule), ("the rule in the metric", pacopt.Preconditioned(rule, metric))):
        told(f"{name}, untrained", gaps(family, each, first_candidate(each), fresh))
        learned, seconds = train(family, each, prior, seed)
        told(f"{name}, trained for {seconds:.0f} s of processor", gaps(family, each, learned, fresh))


def main(words):
    names, lengths = [word for word in words if word in TABLES], [int(word) for word in words if word.isdigit()]
    print(f"{RECIPE!r}\n{PRIOR} prior instances, {FRESH} fresh ones; mean and median relative gap, mean digits")
    for name in names or TABLES:
        for steps in lengths or (10, 20):
            print(f"{name}, K = {steps}")
            compare(families.logistic_regression(TABLES[name](), steps=steps), seed=0)


if __name__ == "__main__":
    main(sys.argv[1:])
