"""OSQP settings for a quadcopter controller: how many iterations will its problems need?

The controller of the example "Model predictive control" in OSQP's documentation solves a quadratic program ten times a
second: 12 states, 4 motors, 10 steps ahead. A flight starts somewhere and heads for a goal. Its ten problems belong
together, so one draw is a flight. Without options this takes seconds; `--full` makes the numbers and the pictures of
docs/quadcopter.md, in about ten minutes on one core, and `--fresh 10000` checks them on as many flights. It needs
`pip install "pacopt[solvers,optuna]"`.
"""

import argparse
from pathlib import Path
from types import SimpleNamespace

import altair as alt
import numpy as np
import optuna
import osqp

import pacopt
from pacopt.families.flights import AHEAD as N
from pacopt.families.flights import model
from pacopt.families.flights import program as problem
from pacopt.statement import down, up

SEED, STEPS, CAP = 2, 10, 1000
#: How many flights there are for each purpose, which share of the problems to solve, and how long to search.
SMALL = SimpleNamespace(prior=3, train=30, fresh=10, part=0.5, trials=8, search=pacopt.priors.Search({}, 3, 1, 0))
FULL = SimpleNamespace(
    prior=60, train=1500, fresh=2000, part=0.99, trials=200, search=pacopt.priors.Search({}, 6, 2, 3)
)
TOLD = ("OSQP's defaults", "learned", "Optuna")

# The model, and `problem`: P, q, A, l and u for a state and a goal. All states are followed by all inputs.
Ad, Bd = model().follows, model().motors
FIRST = slice(12 * (N + 1), 12 * (N + 2))  # the bounds of the first state


def flights(count, rng):
    """The states and goals of some flights, steered by accurate solutions, so that no setting influences them."""
    rows = []
    for _ in range(count):
        state, goal, pilot = np.zeros(12), np.zeros(12), osqp.OSQP()
        for part, reach in ((slice(0, 2), 0.3), (2, 0.5), (slice(6, 9), 0.5), (slice(9, 11), 1.0), (11, 0.5)):
            state[part] = rng.uniform(-reach, reach, np.shape(state[part]))
        goal[2:6] = rng.uniform(-1, 1, 4) * [1.0, 2.0, 2.0, 0.5]
        for step in range(STEPS):
            rows.append((state, goal))
            *matrices, lower, upper = problem({"state": state, "goal": goal})
            # Rounding may take a state slightly beyond its bounds: the pilot accepts it as it is.
            lower[FIRST], upper[FIRST] = -np.inf, np.inf
            if step == 0:
                pilot.setup(*matrices, lower, upper, verbose=False, eps_abs=1e-6, eps_rel=0.0)
            else:
                pilot.update(l=lower, u=upper)
            state = Ad @ state + Bd @ pilot.solve(raise_error=False).x[12 * (N + 1) :][:4]
    states, goals = map(np.array, zip(*rows, strict=True))
    return pacopt.Instances({"state": states, "goal": goals}, groups=np.arange(len(rows)) // STEPS)


def learned(flown, size):
    """What pacopt learns and certifies, and how many OSQP runs each stage takes."""
    runs = {}
    # --8<-- [start:learn]
    solver = pacopt.engines.osqp(problem, settings={"check_termination": 1})
    split = pacopt.split(flown, prior=size.prior, train=size.train, test=0, seed=SEED)
    found = pacopt.learn(
        solver,
        split,
        prior=size.search,
        score=pacopt.Effort("solved", CAP, unit="iterations"),
        claims=[pacopt.Budget("solved", part=size.part)],
        progress=lambda stage, finished, total: runs.update({stage: finished}),
        seed=SEED,
    )
    # --8<-- [end:learn]
    return solver, found, runs


def tuned(solver, flown, trials, runs):
    """What Optuna finds with as many runs on the same flights, and the mean it saw."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    few = range(min(len(flown), runs // trials // STEPS * STEPS))

    def mean(trial):
        hyper = {name: suggested(trial, name, space) for name, space in solver.space.items()}
        return capped(measured(solver, {"": hyper}, flown, few)[""]).mean()

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=SEED))
    study.enqueue_trial(dict(solver.defaults))
    study.optimize(mean, n_trials=trials)
    return study.best_params, study.best_value


def suggested(trial, name, space):
    """A value of a space, suggested by Optuna."""
    suggest = trial.suggest_int if isinstance(space, pacopt.Whole) else trial.suggest_float
    return suggest(name, space.low, space.high, log=space.log)


def measured(solver, hypers, instances, rows=None):
    """Iterations until each problem is solved, infinite if it never is, and OSQP's own time in milliseconds.

    Settings take turns, so that other work on the machine slows all of them down alike.
    """
    rows = range(len(instances)) if rows is None else rows
    ends = [[solver.function(hyper, instances[j]) for hyper in hypers.values()] for j in rows]
    iterations = np.array([[end.iterations if end.success else np.inf for end in row] for row in ends])
    times = 1000 * np.array([[end.seconds for end in row] for row in ends])
    return {
        name: SimpleNamespace(iterations=iterations[:, i], milliseconds=times[:, i]) for i, name in enumerate(hypers)
    }


def capped(found):
    """Iterations, each at most the cap."""
    return np.minimum(found.iterations, CAP)


def check(certificate, truth, size):
    """The claims of the certificate beside the results on fresh flights."""
    usual, ours = truth["OSQP's defaults"], truth["learned"]
    deployed, stairs = certificate.deployed, certificate.budget
    print(f"Certified with 99 % confidence from {size.train} flights, and true on {size.fresh} fresh ones:")
    lines = [("mean iterations, at most", deployed.risk, capped(ours).mean())]
    ratio = capped(usual).mean() / capped(ours).mean()
    lines.append(("times fewer than by default, at least", deployed.gain, ratio))
    wins = 100 * np.mean(capped(ours) < capped(usual))
    lines.append(("% of problems with fewer, at least", 100 * deployed.win, wins))
    for part in sorted({0.5, 0.9, 0.95, size.part}):
        within = stairs.steps(part)
        if within is not None:
            share = 100 * np.mean(ours.iterations <= within)
            lines.append((f"% solved within {within} iterations, at least", 100 * part, share))
    for text, claimed, true in lines:
        safe = up if text.endswith("at most") else down
        print(f"  {text:<46}{'none shown' if claimed is None else safe(claimed):>10}{true:>9.4g}")


def compare(truth, hypers):
    """Three settings on the fresh flights."""
    heads = f"{'':<16}{'mean':>7}{'50 %':>6}{'90 %':>6}{'99 %':>6}{'<= 50':>9}{f'> {CAP}':>9}"
    print(f"{heads}{'median ms':>11}{'mean ms':>9}")
    for name in TOLD:
        found = truth[name]
        quantiles = np.quantile(found.iterations, [0.5, 0.9, 0.99], method="inverted_cdf")
        early, late = 100 * np.mean(found.iterations <= 50), 100 * np.mean(found.iterations > CAP)
        print(f"{name:<16}{capped(found).mean():>7.1f}", *(f"{each:>5.0f}" for each in quantiles), end="")
        times = np.median(found.milliseconds), found.milliseconds.mean()
        print(f"{early:>8.2f}%{late:>8.2f}%{times[0]:>11.2f}{times[1]:>9.2f}")
    for name in TOLD:
        print(f"{name}:", ", ".join(f"{key} {value:.3g}" for key, value in sorted(hypers[name].items())))


def draw(certificate, truth, size, place):
    """Two pictures: how many problems are still unsolved, and where in a flight the iterations are."""
    place.mkdir(exist_ok=True)
    told = [*TOLD[:2], "certified for learned"]
    legend = alt.Legend(title=None, orient="top-right", labelLimit=300, symbolType="stroke", symbolStrokeWidth=2)
    colour = alt.Color(
        "settings:N", legend=legend, scale=alt.Scale(domain=told, range=["#D55E00", "#0072B2", "#000000"])
    )

    ks = np.arange(0, CAP + 1, 2)
    left = {name: [np.mean(truth[name].iterations > k) for k in ks] for name in TOLD[:2]}
    left[told[2]] = [1 - certificate.budget.probability(float(k)) for k in ks]
    rows = [
        {"iterations": int(k), "left": 100 * value, "settings": name}
        for name, values in left.items()
        for k, value in zip(ks, values, strict=True)
        if value >= 1e-3
    ]
    percent = alt.Axis(values=[0.1, 1, 10, 100], title="problems not solved yet (%)")
    tail = alt.Chart(alt.Data(values=rows)).mark_line(interpolate="step-after", strokeWidth=2, clip=True)
    tail = tail.encode(
        alt.X("iterations:Q", title="iterations", scale=alt.Scale(domain=[0, CAP])),
        alt.Y("left:Q", axis=percent, scale=alt.Scale(type="log", domain=[0.1, 100])),
        colour,
        alt.StrokeDash("settings:N", legend=legend, scale=alt.Scale(domain=told, range=[[1, 0], [1, 0], [5, 3]])),
    )
    within = certificate.budget.steps(size.part)
    if within is not None:
        words = f"certified: {100 * size.part:g} % within {within}"
        mark = alt.Chart(alt.Data(values=[{"iterations": within, "left": 100 - 100 * size.part, "words": words}]))
        mark = mark.encode(alt.X("iterations:Q"), alt.Y("left:Q"))
        note = mark.mark_text(align="left", dy=-10, dx=8, fontSize=12).encode(alt.Text("words:N"))
        tail = tail + mark.mark_point(filled=True, size=60, color="#000000", opacity=1) + note
    title = f"{size.fresh:,} fresh flights, and what was certified from {size.train:,} others"
    finished(tail, title).save(place / "quadcopter_tail.png", scale_factor=2)

    lines = (("mean", np.mean), ("99 % quantile", lambda each: np.quantile(each, 0.99, method="inverted_cdf")))
    rows = [
        {"step": step + 1, "iterations": float(value), "settings": name, "what": what}
        for name in TOLD[:2]
        for what, of in lines
        for step, value in enumerate(map(of, capped(truth[name]).reshape(-1, STEPS).T))
    ]
    colour = alt.Color("settings:N", legend=legend, scale=alt.Scale(domain=TOLD[:2], range=["#D55E00", "#0072B2"]))
    dark = alt.Legend(title=None, orient="top-right", symbolType="stroke", symbolStrokeColor="#000000")
    dash = alt.Scale(domain=[what for what, _ in lines], range=[[1, 0], [5, 3]])
    steps = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2)
    steps = steps.encode(
        alt.X("step:O", title="problem of the flight", axis=alt.Axis(labelAngle=0)),
        alt.Y("iterations:Q", title=f"iterations (more than {CAP:,} count as {CAP:,})"),
        colour,
        alt.StrokeDash("what:N", legend=dark, scale=dash),
    )
    finished(steps, "Where in a flight the iterations are").save(place / "quadcopter_steps.png", scale_factor=2)


def finished(chart, title):
    """The size and the fonts of both pictures."""
    chart = chart.properties(width=560, height=300, title=title, background="white").configure(font="DejaVu Sans")
    chart = chart.configure_legend(labelFontSize=12, fillColor="white", padding=6)
    return chart.configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal").configure_title(
        fontSize=13
    )


def main():
    """Fly, learn, tune, fly again, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--fresh", type=int)
    given = parser.parse_args()
    size = FULL if given.full else SMALL
    size.fresh = given.fresh or size.fresh
    rng = np.random.default_rng(SEED)
    flown = flights(size.prior + size.train, rng)
    solver, found, runs = learned(flown, size)
    print(str(found.certificate).split("\n\n")[0])
    print()
    total = runs["prior"] + runs["train"]
    best, seen = tuned(solver, flown, size.trials, total)
    fresh = flights(size.fresh, rng)
    hypers = {"OSQP's defaults": solver.defaults, "learned": found.hyper, "Optuna": best}
    truth = measured(solver, hypers, fresh)
    check(found.certificate, truth, size)
    print()
    print(f"Iterations on {size.fresh} fresh flights, {len(fresh)} problems (seed {SEED}):")
    compare(truth, hypers)
    print(f"pacopt ran OSQP {runs['prior']} times to search and {runs['train']} times to certify.", end=" ")
    print(f"Optuna had all {total} runs for {size.trials} trials; the best mean it saw is {seen:.1f}.")
    draw(found.certificate, truth, size, Path("figures"))


if __name__ == "__main__":
    main()
