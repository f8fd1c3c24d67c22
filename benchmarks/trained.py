"""A trained rule against conjugate gradients and L-BFGS at equal numbers of gradients, on the paper's quadratics.

`python -m benchmarks.trained [seed ...]`: for each seed a law with n = 200, a training on its prior split, and the mean
ratio of final to initial loss after 50 gradients on 20,000 fresh instances in the eigenbasis, over that of linear
conjugate gradients, written here in NumPy; then the same rule, untouched, for other n; then 100 instances that are
rotated. L-BFGS is SciPy's, with a memory of 10, at most 51 evaluations and the best value that it saw, on fewer
instances. All ratios are of one run; seconds are those of this machine, whatever else it does.

`python -m benchmarks.trained certified [seed ...]`: `learn` with 10,000 training instances, and the certified mean over
the true one.

With the word `conjugate` the rule is `ConjugateRule` instead of `ScalarRule`.
"""

import contextlib
import sys
import time

import jax.numpy as jnp
import numpy as np
from scipy.optimize import fmin_l_bfgs_b

import pacopt
from pacopt.priors import Train
from pacopt.priors.trials import Trials

STEPS, PRIOR, FRESH, CHUNK = 50, 4000, 20_000, 2000
#: Rotated instances, and those on which L-BFGS is run.
ROTATED, FEW = 100, 200
CONJUGATE = "conjugate" in sys.argv
RECIPE = Train(updates=600 if CONJUGATE else 3000, dtype=np.float32)
RULE = pacopt.ConjugateRule(steps=STEPS) if CONJUGATE else pacopt.ScalarRule(steps=STEPS)


class Dense(pacopt.AbstractProblem):
    """1/2 |A x - b|^2 from 0, with a matrix for each instance."""

    def start(self, instance):
        return jnp.zeros_like(instance["b"])

    def loss(self, x, instance):
        return 0.5 * jnp.sum((instance["A"] @ x - instance["b"]) ** 2)


class SpentError(Exception):
    """All evaluations are."""


def conjugate_gradients(a, b, steps=STEPS):
    """Final over initial loss of Hestenes and Stiefel (1952) on 1/2 |a x - b|^2 from 0, with so many gradients."""
    x, r = np.zeros_like(b), a * b
    p, rr = r.copy(), np.sum(r * r, axis=1)
    for _ in range(steps):
        hp = a * a * p
        step = rr / np.sum(p * hp, axis=1)
        x, r = x + step[:, None] * p, r - step[:, None] * hp
        rr, before = np.sum(r * r, axis=1), rr
        p = r + (rr / before)[:, None] * p
    return np.sum((a * x - b) ** 2, axis=1) / np.sum(b * b, axis=1)


def l_bfgs(a, b, evaluations=STEPS + 1):
    """The smallest of so many values, over the first."""
    seen = []

    def value(x):
        if len(seen) >= evaluations:
            raise SpentError
        residual = a * x - b
        seen.append(residual @ residual)
        return 0.5 * seen[-1], a * residual

    with contextlib.suppress(SpentError):
        fmin_l_bfgs_b(value, np.zeros_like(b), m=10, factr=0.0, pgtol=0.0, maxfun=10**6, maxiter=10**6)
    return min(seen) / seen[0]


def fresh(n, seed):
    """Instances in parts that fit into memory."""
    law = pacopt.VaryingCurvature.draw(seed=seed, n=n)
    return (law.sample(CHUNK, seed=10_000 + 100 * seed + part) for part in range(FRESH // CHUNK))


def over_conjugate_gradients(rule, n, seed):
    """Mean ratios of the rule and of conjugate gradients on fresh instances."""
    found, floor = [], []
    for part in fresh(n, seed):
        table = pacopt.tabulate(pacopt.DiagonalQuadratic(), RULE, rule, part, steps=STEPS)
        found.append(table.ratios()[0])
        floor.append(conjugate_gradients(part.fields["diagonal"], part.fields["b"]))
    return np.concatenate(found), np.concatenate(floor)


def rotated(rule, seed, n=200):
    """The largest relative difference that rotation makes."""
    part = next(fresh(n, seed))[:ROTATED]
    a, b, rng = part.fields["diagonal"], part.fields["b"], np.random.default_rng(seed)
    Q = [np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(ROTATED)]
    turned = pacopt.Instances({"A": np.stack([each[:, None] * q for each, q in zip(a, Q, strict=True)]), "b": b})
    one = pacopt.tabulate(pacopt.DiagonalQuadratic(), RULE, rule, part, steps=STEPS).ratios()[0]
    other = pacopt.tabulate(Dense(), RULE, rule, turned, steps=STEPS).ratios()[0]
    return np.abs(other / one - 1).max()


def train(seed):
    """The favourite of a training, and its seconds on the clock and on the processor."""
    law = pacopt.VaryingCurvature.draw(seed=seed, n=200)
    prior = law.sample(PRIOR, seed=1000 + seed)
    engine = pacopt.Traced(law.problem, RULE, STEPS)
    trials = Trials(engine.table, prior, engine.space, train=10_000, seed=seed, steps=STEPS, trains=engine.training)
    clock, processor = time.perf_counter(), time.process_time()
    measure = RECIPE(trials)
    spent = time.perf_counter() - clock, time.process_time() - processor
    return {name: values[:1] for name, values in measure.support.items()}, spent


def main(seeds):
    print(f"{RECIPE!r}\n{PRIOR} prior instances, {FRESH} fresh ones, {STEPS} gradients; mean ratios")
    for seed in seeds:
        rule, (clock, processor) = train(seed)
        ours, floor = over_conjugate_gradients(rule, 200, seed)
        part = next(fresh(200, seed))
        rivals = [l_bfgs(a, b) for a, b in zip(part.fields["diagonal"][:FEW], part.fields["b"][:FEW], strict=True)]
        print(f"seed {seed}: trained in {clock:.0f} s ({processor:.0f} s of processor)")
        print(f"  n = 200: {ours.mean():.5f}, conjugate gradients {floor.mean():.5f}: {ours.mean() / floor.mean():.4f}")
        few = ours[:FEW].mean()
        print(f"  over L-BFGS on {FEW} instances: {few:.5f} / {np.mean(rivals):.5f} = {few / np.mean(rivals):.3f}")
        print(f"  rotation changes at most {rotated(rule, seed):.1e} of a ratio")
        for n in (50, 100, 400, 1000):
            ours, floor = over_conjugate_gradients(rule, n, seed)
            print(f"  n = {n}: over conjugate gradients {ours.mean() / floor.mean():.4f}", flush=True)


def certified(seeds):
    """What is certified with 10,000 and with 1,000 training instances, beside what is true on 20,000 fresh ones."""
    rival = {"L-BFGS": pacopt.Baseline(algorithm=pacopt.LBFGS())}
    for seed in seeds:
        law = pacopt.VaryingCurvature.draw(seed=seed, n=200)
        for count, score in ((10_000, None), (1000, pacopt.Digits())):
            data = law.sample(PRIOR + count + FEW, seed=1000 + seed)
            split = pacopt.split(data, prior=PRIOR, train=count, test=FEW, seed=seed)
            clock = time.perf_counter()
            options = {"prior": RECIPE, "baseline": rival, "score": score, "seed": seed, "progress": False}
            learned = pacopt.learn(law.problem, RULE, split, steps=STEPS, **options)
            clock = time.perf_counter() - clock
            deployed, table = learned.certificate.deployed, learned.table
            rule = {name: values[[deployed.index]] for name, values in table.candidates.items()}
            parts = list(fresh(200, seed))
            ours = np.concatenate([ratios(RULE, rule, part) for part in parts])
            theirs = np.concatenate([ratios(pacopt.LBFGS(), {}, part) for part in parts])
            said = {name: deployed.values[name] for name in ("risk", "gain", "win")}
            true = {"mean": ours.mean(), "factor": theirs.mean() / ours.mean(), "below": np.mean(ours < theirs)}
            true["digits"] = np.mean(np.log10(theirs / ours))
            weight = float(learned.certificate.design.prior.weights[deployed.index])
            about = f"candidate {deployed.index} of {table.shape[0]}, weight {weight:.2f}; {clock:.0f} s"
            print(f"seed {seed}, N = {count}, {learned.certificate.design.score!r}: certified {said}, true {true}")
            print(f"  risk over true mean {deployed.risk / ours.mean():.4f}; {about}", flush=True)


def ratios(algorithm, hyper, part):
    return pacopt.tabulate(pacopt.DiagonalQuadratic(), algorithm, hyper, part, steps=STEPS).ratios()[0]


if __name__ == "__main__":
    words = sys.argv[1:]
    numbers = [int(word) for word in words if word.isdigit()] or [0]
    certified(numbers) if "certified" in words else main(numbers)
