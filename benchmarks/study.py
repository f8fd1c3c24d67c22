"""What `certify_study` takes beyond the runs of the solver: 50 trials on 1000 training instances.

`python -m benchmarks.study`: a solver that does next to nothing, so that everything else shows. The runs are those of
the training split, of the prior split and of the test split, made in a plain double loop beside it. Time is that of the
processor, in turns: all of it is one thread, and what else the machine does matters less.
"""

import time

import numpy as np
import optuna

import pacopt

TOP, PRIOR, TRAIN, TEST, ROUNDS = 50, 200, 1000, 200, 7


def solve(hyper, instance):
    return pacopt.Result(loss=abs(hyper["guess"] - float(instance["x"])), start_loss=1.0)


def parts():
    x = np.random.default_rng(0).uniform(size=PRIOR + TRAIN + TEST)
    return pacopt.split(pacopt.Instances({"x": x}), prior=PRIOR, train=TRAIN, test=TEST, seed=0)


def study_of(split):
    def mean(trial):
        pacopt.seen_by(trial, split.prior)
        return float(np.mean(np.abs(trial.suggest_float("guess", 0, 1) - split.prior.fields["x"])))

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(mean, n_trials=4 * TOP)
    return study


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    split = parts()
    study = study_of(split)
    hypers = [trial.params for trial in pacopt.priors.BestTrials(study, TOP).best]

    def runs():
        for part, some in ((split.prior, hypers), (split.train, hypers), (split.test, hypers[:2])):
            for instance in part:
                for hyper in some:
                    solve(dict(hyper), dict(instance))

    def certified():
        pacopt.certify_study(study, solve, split, top=TOP, progress=False)

    runs(), certified()
    seconds = np.array([(spent(runs), spent(certified)) for _ in range(ROUNDS)]).T
    print(f"{TOP} trials x ({PRIOR} + {TRAIN}) instances, {ROUNDS} rounds, seconds: fastest and median")
    rows = {"runs": seconds[0], "certify_study": seconds[1], "beyond the runs": seconds[1] - seconds[0]}
    for name, values in rows.items():
        print(f"{name:<20}{values.min():>8.3f}{np.median(values):>8.3f}")


def spent(work):
    begin = time.process_time()
    work()
    return time.process_time() - begin


if __name__ == "__main__":
    main()
