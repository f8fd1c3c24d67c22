"""Which cloud around a trained rule gives tight certificates and good choices.

`python -m benchmarks.clouds [seed ...]`: a rule is trained once for each seed, on the paper's quadratics with n = 200,
50 gradients and 4,000 prior instances. Then 32 candidates are made in several ways, the best 16 on held-out instances
are kept and weighed as `priors.Train` does it, and 10,000 training instances certify them. For each way: the spread of
the candidates (the mean ratio of the median candidate over that of the best, on held-out instances), the certified mean
over the best true one, and the true mean of what is deployed over the best true one.
"""

import sys
import time

import numpy as np

import pacopt
from benchmarks.trained import CHUNK, RECIPE, RULE, STEPS, fresh
from pacopt.priors.candidates import best_of, gathered
from pacopt.priors.course import trained
from pacopt.priors.cube import distinct
from pacopt.priors.selection import score, weigh
from pacopt.priors.train import parted
from pacopt.priors.trials import Trials

PRIOR, TRAIN, MADE, KEPT = 4000, 10_000, 32, 16
#: Updates between two draws of noise in a Langevin chain, and their learning rate.
UPDATES, RATE = 150, 3e-4


def noisy(state, amount, rng, *, scaled):
    """The state, with noise on what is trained: as large in all numbers, or less where the gradient varies more."""
    thetas = [name for name in state if name.startswith("theta/")]
    seconds = np.concatenate([np.ravel(state[name.replace("theta/", "second/")]) for name in thetas])
    size = np.sqrt(seconds.mean())
    new = dict(state)
    for name in thetas:
        factor = size / (np.sqrt(state[name.replace("theta/", "second/")]) + size) if scaled else 1.0
        new[name] = state[name] + amount * factor * rng.normal(size=state[name].shape)
    return new


def chain(training, state, amount, count, *, scaled):
    """Langevin: updates by gradients at a small rate, then noise, and so on; a candidate after each noise."""
    rng, found = np.random.default_rng(0), []
    for k in range(count):
        state = training.leg(noisy(state, amount, rng, scaled=scaled), np.full(UPDATES, RATE), STEPS, 1000 + k).state
        found.append(training.averaged(state))
    return found


def ways(training, course, seed):
    """Lists of candidates, by how they were made."""
    best = course.whole[0].state
    rng = np.random.default_rng(seed)
    snapshots = [training.averaged(leg.state) for leg in course.whole]
    amounts = np.geomspace(1e-3, 3e-2, MADE)
    plain = [training.values(noisy(best, amount, rng, scaled=False)) for amount in amounts]
    shaken = [training.shaken(best, float(amount), seed + k) for k, amount in enumerate(amounts)]
    mean = training.mean(snapshots[:4])
    return {
        "the mean of four snapshots alone": [mean],
        "snapshots and their mean": [mean, *snapshots],
        "the mean and plain noise": [mean, *plain],
        "the mean and noise by sensitivity": [mean, *shaken],
        "the mean and Langevin, noise 3e-3": [mean, *chain(training, best, 3e-3, 12, scaled=True)],
        "the mean and Langevin, noise 3e-2": [mean, *chain(training, best, 3e-2, 12, scaled=True)],
        "as Train makes them": None,
    }


def main(seeds):
    for seed in seeds:
        law = pacopt.VaryingCurvature.draw(seed=seed, n=200)
        engine = pacopt.Traced(law.problem, RULE, STEPS)
        prior, train = law.sample(PRIOR, seed=1000 + seed), law.sample(TRAIN, seed=500 + seed)
        trials = Trials(engine.table, prior, engine.space, train=TRAIN, seed=seed, steps=STEPS, trains=engine.training)
        plan, descent = RECIPE._plan()
        fit, held_out = parted(prior, RECIPE.held_out, seed)
        training = trials.trainer(fit, held_out, descent)
        course = trained(training, plan, trials, descent)
        parts = list(fresh(200, seed))[: 20_000 // CHUNK]
        results = []
        for way, several in ways(training, course, seed).items():
            clock = time.perf_counter()
            made = gathered(training, course, MADE, seed) if several is None else stacked(several)
            tried = trials.run(made, held_out)
            scores = score(tried, trials)
            measure = weigh(best_of(made, tried, KEPT, trials), np.empty(0, dtype=int), trials)
            split = pacopt.Split(prior, train, train[:0])
            learned = pacopt.learn(law.problem, RULE, split, steps=STEPS, prior=given(measure), progress=False)
            hyper = {name: values[[learned.certificate.deployed.index]] for name, values in measure.support.items()}
            true = np.concatenate(
                [pacopt.tabulate(law.problem, RULE, hyper, part, steps=STEPS).ratios()[0] for part in parts]
            )
            spread = np.median(scores) / scores.min()
            results.append((way, spread, learned.certificate.deployed.risk, true.mean(), time.perf_counter() - clock))
        best = min(result[3] for result in results)
        print(f"seed {seed}: the best true mean is {best:.6f}")
        for way, spread, risk, true, clock in results:
            print(
                f"  {way:<36} median/best {spread:.4f}  certified/best {risk / best:.4f}  true/best {true / best:.4f}"
                f"  ({clock:.0f} s)",
                flush=True,
            )


def given(measure):
    """A prior with these candidates, whose favourite is run on the prior split, as that of `Train` is."""

    def prior(trials):
        trials.table({name: values[:1] for name, values in measure.support.items()})
        return measure

    return prior


def stacked(several):
    made = {name: np.stack([one[name] for one in several]) for name in several[0]}
    first = distinct(made)[0]
    return {name: values[first] for name, values in made.items()}


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [0])
