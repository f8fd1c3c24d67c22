"""How long learning takes, what it gains, what racing saves. python -m benchmarks.learning

The setting of the paper's fourth experiment (heavy-ball, 50 steps, varying curvature, 200 prior, 1000 training and 200
test instances, 200 candidates), from a prior that knows only step_size in [1e-7, 1] and momentum in [0, 1].
"""

import tempfile
import time
from pathlib import Path

import numpy as np

import pacopt
from pacopt.priors import Product, Search

DOMAIN = {"step_size": pacopt.Interval(1e-7, 1.0, log=True), "momentum": pacopt.Interval(0.0, 1.0)}
STEPS, FRESH = 50, 20_000
TEXTBOOK = (pacopt.HeavyBall(), pacopt.GradientDescent(), pacopt.Nesterov())


def timed(function):
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def learned_on(seed, train=1000, **options):
    law = pacopt.VaryingCurvature.draw(seed=seed)
    parts = pacopt.split(law.sample(400 + train, seed=1000 + seed), prior=200, train=train, test=200, seed=seed)
    return law, pacopt.learn(law.problem, pacopt.HeavyBall(), parts, steps=STEPS, seed=seed, **options)


def gains(seeds=range(10)):
    """Mean losses on fresh instances, standard over learned; the standard hyperparameters know the true mu and L.

    Then the mean relative losses of three textbook methods beside the learned one.
    """
    ratios, tight, relative = [], [], []
    for seed in seeds:
        (law, learned), seconds = timed(lambda seed=seed: learned_on(seed, prior=Search(DOMAIN, candidates=200)))
        hypers = [learned.hyper, pacopt.HeavyBall().standard(*law.curvature)]
        candidates = {name: [hyper[name] for hyper in hypers] for name in DOMAIN}
        fresh = law.sample(FRESH, seed=2000 + seed)
        table = pacopt.tabulate(law.problem, pacopt.HeavyBall(), candidates, fresh, steps=STEPS)
        kept = np.minimum(np.nan_to_num(table.losses, nan=np.inf), table.start).mean(axis=1)
        ratios.append(kept[1] / kept[0])
        mean = table.safeguarded()[0].mean()
        tight.append(learned.certificate.deployed.risk / mean)
        relative.append([*(textbook_mean(law, method, fresh) for method in TEXTBOOK), mean])
        print(
            f"seed {seed}: {seconds:5.2f} s, mean loss {kept[1]:7.1f} standard, {kept[0]:6.1f} learned: "
            f"{ratios[-1]:5.2f} times; certified / true risk {tight[-1]:.3f}",
            flush=True,
        )
    print(f"median gain {np.median(ratios):.2f} (smallest {min(ratios):.2f}), mean tightness {np.mean(tight):.3f}")
    found = np.array(relative)
    for k, method in enumerate(TEXTBOOK):
        gain = np.median(found[:, k] / found[:, -1])
        print(f"mean relative loss, textbook {type(method).__name__}: {np.median(found[:, k]):.4f}, {gain:.2f} times")
    print(f"mean relative loss, learned heavy-ball: {np.median(found[:, -1]):.4f}")


def textbook_mean(law, method, fresh):
    hyper = method.standard(*law.curvature)
    table = pacopt.tabulate(law.problem, method, {name: [value] for name, value in hyper.items()}, fresh, steps=STEPS)
    return table.safeguarded().mean()


def tightness(seeds=range(10)):
    """Certified over true mean for each setting of docs/how_tight.md, beside the floor for every valid method."""
    paper = {"prior": Search(DOMAIN, candidates=200)}
    for said, options, share in (
        ("200 candidates", paper, 0.4),
        ("200 candidates, no baseline", {**paper, "baseline": None}, 0.6),
        ("pacopt's default prior", {}, 0.4),
        ("pacopt's default prior, no baseline", {"baseline": None}, 0.6),
        ("pacopt's default prior, N = 10,000", {"train": 10_000}, 0.4),
    ):
        found = []
        for seed in seeds:
            law, learned = learned_on(seed, **options)
            own = {name: [value] for name, value in learned.hyper.items()}
            fresh = law.sample(FRESH, seed=2000 + seed)
            table = pacopt.tabulate(law.problem, pacopt.HeavyBall(), own, fresh, steps=STEPS)
            mean = table.safeguarded().mean()
            d = 1 - (2 * share * 0.01) ** (1 / options.get("train", 1000))
            found.append((learned.certificate.deployed.risk / mean, 1 + d * (1 - mean) / mean))
        ratio, floor = np.mean(found, axis=0)
        print(f"{said:>36}: certified / true {ratio:.3f}, floor {floor:.3f}", flush=True)


def racing(candidates=5000):
    """The training table of many candidates that know nothing, with and without racing; warm."""
    prior = Product(DOMAIN, candidates=candidates)
    results = {}
    for name, race in (("all", False), ("raced", True)):
        learned_on(0, prior=prior, racing=race)
        (_, learned), seconds = timed(lambda race=race: learned_on(0, prior=prior, racing=race))
        cells = learned.table.losses.size - (0 if learned.table.missing is None else learned.table.missing.sum())
        results[name] = (learned.certificate, seconds, cells)
        print(f"{name:>6}: {seconds:5.2f} s, {cells:,} cells, certified risk {learned.certificate.deployed.risk:.5f}")
    same = results["all"][0].deployed == results["raced"][0].deployed
    cells = results["raced"][2] / results["all"][2]
    print(f"racing runs {cells:.1%} of the cells; same deployed candidate and certificate: {same}")


def verification():
    """A run with 500 candidates and 1000 instances: saved, loaded, verified."""
    _, learned = learned_on(0, prior=Search(DOMAIN, candidates=500))
    with tempfile.TemporaryDirectory() as place:
        _, save = timed(lambda: learned.save(Path(place) / "run"))
        _, load = timed(lambda: pacopt.Learned.load(Path(place) / "run"))
        result, seconds = timed(lambda: pacopt.verify(Path(place) / "run"))
        _, again = timed(lambda: pacopt.verify(Path(place) / "run", rerun=20))
    assert result.passed
    print(f"save {save:.2f} s, load {load:.2f} s, verify {seconds:.2f} s, verify with 20 cells run again {again:.2f} s")


if __name__ == "__main__":
    gains()
    tightness()
    racing()
    verification()
