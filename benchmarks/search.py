"""The default search beside Optuna's TPE at equal numbers of runs. python -m benchmarks.search [directory] [family ...]

A run is one candidate on one instance of the prior split. Both search the same domain on the same split and know the
textbook, where there is one. Ours is what `learn` deploys; TPE's is its best trial. Both are then run on fresh
instances, and the mean ratio of final to start loss is compared, with the safeguard. Finished work is kept in the
directory: TPE takes a minute or two for each seed.
"""

import json
import sys
import time
from pathlib import Path

import jax
import numpy as np
import optuna

import pacopt
from benchmarks.search_families import FAMILIES
from benchmarks.search_more import EXTRA, HELD_OUT
from pacopt.problems.base import AbstractKnownMinimum, Objective
from pacopt.space import Choice, Interval, Whole

PRIOR, TRAIN, FRESH, SEEDS = 100, 500, 2000, range(5)
RUNS = 8 * 256
METHODS = ("pacopt", "TPE", "TPE, multivariate")


def sizes(family):
    """The LASSO has a tenth of a second of arithmetic in each candidate on 100 instances: fewer of them there."""
    return (40, 300) if "LASSO" in family.name else (PRIOR, TRAIN)


def parts_of(family, seed):
    problem, sample = family.draw(seed)
    prior, train = sizes(family)
    drawn = sample(prior + train, 1000 + seed)
    return problem, pacopt.split(drawn, prior=prior, train=train, test=0, seed=seed), sample(FRESH, 2000 + seed)


def ours(family, seed):
    problem, split, _ = parts_of(family, seed)
    prior = family.prior(pacopt.priors.Search())
    return pacopt.learn(problem, family.algorithm, split, steps=family.steps, prior=prior, seed=seed).hyper


def one_candidate(family, problem, instances):
    """The mean safeguarded ratio of one candidate, compiled once; a table for each trial would take 10 ms longer."""

    def run(instance, hyper):
        objective = Objective(problem, instance)
        lowest = problem.minimum(instance) if isinstance(problem, AbstractKnownMinimum) else 0.0
        x = problem.start(instance)
        state = family.algorithm.init(x, hyper, objective)
        state = jax.lax.fori_loop(0, family.steps, lambda _, s: family.algorithm.step(s, hyper, objective), state)
        ratio = (objective.loss(family.algorithm.read(state)) - lowest) / (objective.loss(x) - lowest)
        return jax.numpy.where(ratio <= 1.0, ratio, 1.0)

    mean = jax.jit(lambda hyper: jax.vmap(lambda instance: run(instance, hyper))(dict(instances.fields)).mean())
    return lambda hyper: float(mean({name: values[0] for name, values in family.encoded(hyper).items()}))


def tpe(family, seed, *, multivariate):
    """The best of as many trials as our search has candidates."""
    problem, split, _ = parts_of(family, seed)
    mean = one_candidate(family, problem, split.prior)

    def objective(trial):
        hyper = {name: suggested(trial, name, kind) for name, kind in family.searched.items()}
        return mean({name: [value] for name, value in hyper.items()})

    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=multivariate)
    study = optuna.create_study(sampler=sampler)
    if isinstance(family.algorithm, pacopt.AbstractStandardHyper) and family.space is None:
        textbook = {}
        pacopt.learn(problem, family.algorithm, split, steps=1, prior=lambda trials: noted(trials, textbook), seed=seed)
        study.enqueue_trial(textbook)
    with jax.enable_x64(True):
        study.optimize(objective, n_trials=RUNS)
    return study.best_params


def noted(trials, textbook):
    """The textbook's values for these instances, in the domain."""
    for name, kind in trials.domain.items():
        textbook[name] = float(np.clip(trials.standard[name], kind.low, kind.high))
    return pacopt.DiscreteMeasure.uniform({name: [value] for name, value in textbook.items()})


def suggested(trial, name, kind):
    if isinstance(kind, Interval):
        return trial.suggest_float(name, kind.low, kind.high, log=kind.log)
    if isinstance(kind, Whole):
        return trial.suggest_int(name, kind.low, kind.high, log=kind.log)
    assert isinstance(kind, Choice)
    return trial.suggest_categorical(name, kind.values)


def means(family, seed, hyper):
    """The mean safeguarded ratios of one candidate on the prior split and on fresh instances."""
    problem, split, fresh = parts_of(family, seed)
    numbers = {name: value if isinstance(value, str) else float(value) for name, value in hyper.items()}
    known = all(not isinstance(value, str) for value in numbers.values())
    candidate = {name: [value] for name, value in numbers.items()}
    candidate = candidate if known else family.encoded(candidate)
    tables = (
        pacopt.tabulate(problem, family.algorithm, candidate, part, steps=family.steps) for part in (split.prior, fresh)
    )
    return [float(table.safeguarded().mean()) for table in tables]


def result(family, seed, method, store):
    place = store / f"{family.name}, {method}, {seed}.json"
    if not place.exists():
        begin = time.perf_counter()
        hyper = ours(family, seed) if method == "pacopt" else tpe(family, seed, multivariate="multi" in method)
        seconds = time.perf_counter() - begin
        prior, fresh = means(family, seed, hyper)
        place.write_text(json.dumps({"hyper": hyper, "prior": prior, "fresh": fresh, "seconds": seconds}))
        print(f"{place.stem}: prior {prior:.4g}, fresh {fresh:.4g}, {seconds:.0f} s", flush=True)
    return json.loads(place.read_text())


def table(families, store):
    """Medians over the seeds, and the worst seed."""
    lines = []
    for family in families:
        found = {m: [result(family, seed, m, store)["fresh"] for seed in SEEDS] for m in METHODS}
        cells = [f"{np.median(found[m]):.3g} ({max(found[m]):.3g})" for m in METHODS]
        best = min(np.median(found[m]) for m in METHODS[1:])
        lines.append(f"| {family.name} | {' | '.join(cells)} | {np.median(found['pacopt']) / best:.2f} |")
    return lines


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kept = Path(sys.argv[1] if len(sys.argv) > 1 else "search_results")
    kept.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[2:]
    rows = table([f for f in (*FAMILIES, *EXTRA, *HELD_OUT) if not wanted or any(w in f.name for w in wanted)], kept)
    print("| family | " + " | ".join(METHODS) + " | ours over the better TPE |\n|---|---|---|---|---|", *rows, sep="\n")
