"""How tight certificates are: certified over true risk, mean over ten problem seeds. python -m benchmarks.tightness

The setting of the paper's fourth experiment: heavy-ball, 50 steps, varying curvature, 500 candidates, 200 prior
instances, total epsilon = 0.01 with the default shares, truth from 20,000 instances. How tight a certificate is depends
on the candidates: drawn from the published initial box, or log-uniform by somebody who knows little. Beside each ratio
stands its floor: what no valid bound can beat in more than half of all samples (docs/how_tight.md).
"""

import time

import numpy as np

import pacopt
from pacopt.papers import plug_in_bound

STEPS, ROWS, PRIOR, FRESH, EPSILON, LEVEL = 50, 500, 200, 20_000, 0.01, 0.9


def published_box(count, law, rng):
    """App. B.4: the box around the standard hyperparameters for a success probability of 0.9."""
    mu, L = law.curvature
    momentum = pacopt.HeavyBall().standard(mu, L)["momentum"]
    return {
        "step_size": rng.uniform(0.5 / LEVEL * 2 / L, 3 / LEVEL * 2 / L, count),
        "momentum": rng.uniform(momentum / 2, 2 * momentum, count),
    }


def log_uniform(count, law, rng):
    """Four decades of step sizes, all momenta below 1."""
    return {"step_size": 10 ** rng.uniform(-6, -2, count), "momentum": rng.uniform(0, 1, count)}


def floor(mu, n, epsilon):
    """The least certified / true risk that a valid bound may have in the median, for a mean mu of a score in [0, 1].

    A law that differs only by a catastrophe (z = 1) of probability d goes unnoticed with probability (1 - d)^n; where
    that is 2 epsilon, a valid bound lies at or above the mean of that law at least every other time.
    """
    d = -np.expm1(np.log(2 * epsilon) / n)
    return (mu + d * (1 - mu)) / mu


def one_seed(seed, sizes, draw):
    """Ratios of certified to true values for each number of training instances."""
    law, rng = pacopt.VaryingCurvature.draw(seed=seed), np.random.default_rng(seed)
    candidates = draw(ROWS, law, rng)

    def table(instances, hyper=candidates):
        return pacopt.tabulate(law.problem, pacopt.HeavyBall(), hyper, instances, steps=STEPS)

    prior = table(law.sample(PRIOR, seed=1000 + seed))
    fresh = law.sample(FRESH, seed=3000 + seed)
    results = {}
    for n in sizes:
        train = table(law.sample(n, seed=2000 + seed))
        designs = {"uniform": None, "informed": pacopt.Design.informed(prior, train=n, epsilon=EPSILON)}
        for name, design in designs.items():
            begin = time.perf_counter()
            certificate = pacopt.certify(train, design, confidence=1 - EPSILON)
            seconds = time.perf_counter() - begin
            truth = table(fresh, certificate.deployed.hyper)
            mu = truth.safeguarded().mean()
            weights = np.array(certificate.posterior.weights)
            heavy = np.argsort(-weights)[:40]
            under_posterior = table(fresh, {k: v[heavy] for k, v in candidates.items()}).safeguarded().mean(axis=1)
            expected = weights[heavy] @ under_posterior / weights[heavy].sum()
            results[name, n] = {
                "deployed risk": certificate.deployed.risk / mu,
                "floor": floor(mu, n, EPSILON * certificate.design["risk"].share),
                "posterior risk": certificate.posterior.risk / expected,
                "quantile": certificate.deployed.quantile / np.quantile(truth.ratios(), 0.9),
                "failure": (1 - certificate.deployed.success) / max(1e-9, 1 - truth.succeeded().mean()),
                "seconds": seconds,
            }
        estimate = plug_in_bound(train, epsilon=EPSILON)
        chosen = table(fresh, train.hyper(int(estimate.weights.argmax())))
        true = np.where(chosen.reached(), chosen.losses, 0).sum() / chosen.reached().sum()
        results["plug-in (no guarantee)", n] = {"deployed risk": estimate.value / true}
    return results


def main(seeds=range(10), sizes=(1000, 10_000)):
    columns = ("deployed risk", "floor", "posterior risk", "quantile", "seconds")
    for draw in (published_box, log_uniform):
        runs = [one_seed(seed, sizes, draw) for seed in seeds]
        print(f"\n{draw.__name__ + ': certified / true, mean over ' + str(len(runs)) + ' seeds':<52}", end="")
        print("".join(f"{c:>16}" for c in columns))
        for name, n in runs[0]:
            means = {c: np.mean([run[name, n][c] for run in runs]) for c in columns if c in runs[0][name, n]}
            print(
                f"{name + f', N = {n}':<52}" + "".join(f"{means[c]:>16.3f}" for c in columns if c in means), flush=True
            )


if __name__ == "__main__":
    main()
