"""How often statements are false, by simulation: the long table of `make coverage`, a part of `make slow`."""

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context

import numpy as np
from scipy.stats import binom, binomtest

import pacopt
from laws import COIN, RARE, TWINS, Law
from pacopt.bounds.baselines import wins
from pacopt.claims import claims_with, compared_claims, standard_claims
from simulation.pipelines import PIPELINES
from statements import VIOLATED, baseline_mean

#: Six candidates that fail independently of each other: one atom for each pattern of failures.
_PATTERNS = np.array(list(product([0.0, 2.0], repeat=6))).T
BERNOULLI = Law(
    "Bernoulli rows",
    np.prod(np.where(_PATTERNS > 0, 0.3, 0.7), axis=0),
    np.ones(64),
    _PATTERNS,
    np.array([0.4, 0.2, 0.1, 0.1, 0.1, 0.1]),
)
#: An ordinary stream: losses of many sizes, a few failures, candidates that differ.
_RNG = np.random.default_rng(0)
ORDINARY = Law(
    "ordinary",
    np.full(200, 1 / 200),
    _RNG.lognormal(size=200),
    np.where(_RNG.random((5, 200)) < 0.03, np.nan, _RNG.beta(0.5, 8, (5, 200))),
    np.full(5, 0.2),
)
LAWS = [COIN, TWINS, RARE, BERNOULLI, ORDINARY]
#: So often for each epsilon that statements which are false twice as often as promised are noticed with a probability
#: above 0.99 (`power`; 966, 185 and 14 would do). With 500 for each it was 0.75 for 0.05, and with 80 calls of learn
#: 0.03 and 0.63 for 0.05 and 0.2.
REPETITIONS = {0.05: 1000, 0.2: 200, 0.5: 20}
#: A statement is called violated if chance alone would show this few times as many false ones.
LEVEL = 1e-4


def certificate_violated(table, law, epsilon, design=None):
    """Whether any statement of the whole certificate is false."""
    # A law has finitely many atoms: equal columns are separate draws.
    claims = compared_claims(claims_with(standard_claims(), (), (0.5, 0.1)), ("it",))
    design = pacopt.Design(law.prior, claims=claims) if design is None else design
    certificate = pacopt.certify(table, design, confidence=1 - epsilon, allow_duplicates=True)
    deployed, posterior, mu, p = certificate.deployed, certificate.posterior, np.minimum(law.mu, 1), law.p()
    q = np.array(posterior.weights)
    quantile = np.inf if deployed.quantile is None else deployed.quantile
    below = law.mean(law.whole.ratios() <= quantile)[deployed.index]
    return bool(
        deployed.risk < mu[deployed.index] - 1e-12
        or deployed.success > p[deployed.index] + 1e-12
        or below < certificate.design["quantile"].level - 1e-12
        or posterior.risk < q @ mu - 1e-12
        or posterior.success > q @ p + 1e-12
        or ("gain" in design and compared_falsely(certificate, law))
        or ("budget" in design and promised_too_much(certificate, law))
    )


def compared_falsely(certificate, law):
    """Whether the certified gain or win over the baseline is larger than the true one."""
    deployed, other = certificate.deployed, baseline_mean(law)
    win = law.mean(wins(law.whole, "it", pacopt.Ratio()))[deployed.index]
    gain = 0.0 if deployed.gain is None else deployed.gain
    return gain * min(law.mu[deployed.index], 1) > other + 1e-9 or deployed.win > win + 1e-12


def promised_too_much(certificate, law):
    """Whether for some target and some number of steps fewer instances get there than certified."""
    budget, index = certificate.budget, certificate.deployed.index
    return any(
        budget.probability(steps, target) > (times[index] <= steps) @ law.probability + 1e-12
        for target, times in law.times.items()
        for steps in {*times[index][np.isfinite(times[index])].tolist(), 0.0, 1e6}
    )


STATEMENTS = {bound.__name__: violated for bound, violated in VIOLATED.items()} | {"certificate": certificate_violated}


def violations(name, law, epsilon, repetitions, n=40, seed=0):
    """The number of false statements in so many independent repetitions."""
    rng = np.random.default_rng([seed, len(name), int(1000 * epsilon)])
    return sum(bool(STATEMENTS[name](law.draw(n, rng), law, epsilon)) for _ in range(repetitions))


def plausible(count, repetitions, epsilon):
    """A one-sided binomial test at 1 in 10,000 does not say that statements fail more often than promised."""
    return binomtest(count, repetitions, epsilon, alternative="greater").pvalue > LEVEL


def power(repetitions, epsilon, rate=None):
    """The probability that a rate of false statements, twice what is promised if none is given, is noticed."""
    least = next(k for k in range(repetitions + 2) if binom.sf(k - 1, repetitions, epsilon) <= LEVEL)
    return float(binom.sf(least - 1, repetitions, 2 * epsilon if rate is None else rate))


def pipeline_violations(pipeline, epsilon, repetitions, first=0):
    """The number of false certificates among so many whole calls of `learn`."""
    return sum(pipeline.violated(epsilon, seed) for seed in range(first, first + repetitions))


def _job(job):
    name, index, epsilon, repetitions = job
    if name == "learn":
        return pipeline_violations(PIPELINES[index], epsilon, repetitions)
    return violations(name, LAWS[index], epsilon, repetitions)


def main(certificates=10_000):
    """Print the table: bound, law, nominal, observed, verdict. At least so many are whole certificates."""
    least = dict.fromkeys(STATEMENTS, 0) | {"certificate": -(-certificates // (len(REPETITIONS) * len(LAWS)))}
    jobs = [
        (name, i, epsilon, max(count, least[name]))
        for name in STATEMENTS
        for i in range(len(LAWS))
        for epsilon, count in REPETITIONS.items()
    ]
    jobs += [("learn", i, epsilon, count) for i in range(len(PIPELINES)) for epsilon, count in REPETITIONS.items()]
    failed = 0
    print(f"{'bound':<24}{'law':<20}{'repetitions':>12}{'nominal':>9}{'observed':>10}  verdict")
    # JAX runs threads, and a process with threads is not to be forked.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for (name, index, epsilon, count), found in zip(jobs, pool.map(_job, jobs), strict=True):
            good = plausible(found, count, epsilon)
            failed += not good
            rate = found / count
            verdict = "holds" if good else "VIOLATED"
            place = (PIPELINES if name == "learn" else LAWS)[index].name
            print(f"{name:<24}{place:<20}{count:>12}{epsilon:>9.3g}{rate:>10.4f}  {verdict}", flush=True)
    made = {name: sum(job[3] for job in jobs if job[0] == name) for name in ("certificate", "learn")}
    print(f"{failed} of {len(jobs)} rows violated; {made['certificate']} certificates, {made['learn']} calls of learn.")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
