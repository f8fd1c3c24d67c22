"""One run for each shape that a report can have: made by `learn` on small streams, or a table of one's own."""

import html
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np

import pacopt
from pacopt.bounds import OrderStatistics
from pacopt.claims import AbstractClaim, shared_out, standard_claims
from pacopt.priors import Search
from streams import SlopeStream

STREAM = SlopeStream()


class Damped(pacopt.AbstractAlgorithm):
    """Gradient descent with momentum and shrinking steps: three hyperparameters, and no textbook knows them."""

    hyperparameters = {
        "step_size": pacopt.Interval(1e-3, 1.0, log=True),
        "momentum": pacopt.Interval(0.0, 0.9),
        "decay": pacopt.Interval(0.5, 1.0),
    }

    def init(self, x, hyper, objective):
        return x, x, jnp.ones_like(x)

    def step(self, state, hyper, objective):
        x, before, scale = state
        new = x - scale * hyper["step_size"] * objective.gradient(x) + hyper["momentum"] * (x - before)
        return new, x, scale * hyper["decay"]

    def read(self, state):
        return state[0]


class Hostile(Damped):
    """Four hyperparameters, with names that would break a careless page."""

    hyperparameters = {
        "step_size": pacopt.Interval(1e-3, 1.0, log=True),
        "<img src=x onerror=alert(1)>": pacopt.Interval(0.0, 0.9),
        "{{ 7 * 7 }}": pacopt.Interval(0.5, 1.0),
        "'quoted' & \"named\"": pacopt.Interval(0.0, 1.0),
    }

    def step(self, state, hyper, objective):
        return (state[0] - hyper["step_size"] * objective.gradient(state[0]), *state[1:])


def learn(algorithm=STREAM.algorithm, *, problem=STREAM.problem, sizes=(40, 200, 50), instances=None, **options):
    prior, train, test = sizes
    instances = STREAM.sample(sum(sizes), 0) if instances is None else instances
    split = pacopt.split(instances, prior=prior, train=train, test=test, seed=0)
    options = {"prior": Search(candidates=24, explore=1, rounds=2), "steps": 5} | options
    return pacopt.learn(problem, algorithm, split, **options)


def steps(*sizes):
    """Step sizes of equal weight, chosen without any instance."""
    return pacopt.DiscreteMeasure.uniform({"step_size": np.array(sizes)})


def heavy_ball():
    law = pacopt.VaryingCurvature.draw(seed=0, n=5)
    options = {"instances": law.sample(290, seed=1), "curvature": law.curvature, "steps": 30, "min_success": 0.8}
    return learn(pacopt.HeavyBall(), problem=law.problem, **options)


def rules(rule, count=3):
    """Candidates of a rule that nobody trained: its first numbers, and two more schedules."""
    rng, made = np.random.default_rng(0), [pacopt.flattened(rule, rule.initial(seed)) for seed in range(count)]
    stacked = {name: np.stack([each[name] for each in made]) for name in made[0]}
    stacked["schedule"] = stacked["schedule"] + 0.2 * rng.normal(size=stacked["schedule"].shape)
    return pacopt.DiscreteMeasure.uniform(stacked)


def scalar_rule():
    law, rule = pacopt.VaryingCurvature.draw(seed=0, n=5), pacopt.ScalarRule(steps=12, width=4)
    baseline = {
        "conjugate gradients": pacopt.Baseline(algorithm=pacopt.ConjugateGradients()),
        "the textbook's heavy-ball": pacopt.Baseline(algorithm=pacopt.HeavyBall()),
        "half as many": pacopt.Baseline(algorithm=pacopt.HeavyBall(), steps=6),
    }
    options = {"instances": law.sample(290, seed=1), "curvature": law.curvature, "baseline": baseline, "steps": 12}
    return learn(rule, problem=law.problem, prior=rules(rule), **options)


def explosions():
    """One instance in thirty is forty times as steep: the textbook's step is for it, the learned one for the others."""
    rng = np.random.default_rng(3)
    a = np.where(rng.uniform(size=840) < 1 / 30, 40.0, 1.0) * rng.uniform(0.8, 1.0, 840)
    instances = pacopt.Instances({"a": a})
    return learn(instances=instances, sizes=(40, 600, 200), curvature=(0.8, 40.0))


@dataclass(frozen=True)
class Median(AbstractClaim):
    """A claim of a user's own."""

    share: float = 0.1
    name = "median"
    scored = True

    def bound(self, design):
        return OrderStatistics(0.5)

    def sentence(self, value, subject):
        return f"Half of the instances end at a ratio of at most {self.shown(value)}."

    def measured(self, table, design):
        return np.median(table.outcomes(), axis=1)


@dataclass(frozen=True)
class Tail(Median):
    """Another one, whose number nobody can bound with so few instances."""

    name = "tail"

    def bound(self, design):
        return OrderStatistics(0.9999)

    def heading(self, design):
        return "tail <b> at most"

    def sentence(self, value, subject):
        return "Nothing can be said of the worst." if value is None else f"The worst end at {self.shown(value)}."


def iterations():
    """Iterations of three solvers with and without presolving; some give up, some need more than 200."""
    rng = np.random.default_rng(5)
    solvers, presolve = ["interior point", "dual simplex", "primal simplex"] * 2, [True] * 3 + [False] * 3
    typical = np.array([24, 42, 60, 31, 55, 90])[:, None]
    losses = np.ceil(typical * rng.lognormal(0.0, 0.5, (1, 400)) * rng.lognormal(0.0, 0.25, (6, 400)))
    losses[rng.uniform(size=losses.shape) < np.array([0.02, 0.004, 0.0, 0.02, 0.004, 0.0])[:, None]] = np.nan
    return pacopt.LossTable(
        losses,
        candidates={"solver": solvers, "presolve": presolve, "restarts": [1, 2, 3, 1, 2, 3]},
        success=np.nan_to_num(losses, nan=np.inf) <= 150,
        provenance={"suite": "MIPLIB subset, <b>drawn</b> by hand", "seconds": [1, 2]},
    )


def ranged(table, **options):
    return pacopt.Design.uniform(
        table, score=pacopt.Ranged(200, noun="number of iterations", unit="iterations"), **options
    )


def own_table():
    table = iterations()
    return pacopt.certify(table, ranged(table), min_success=0.85)


def without_start():
    rng = np.random.default_rng(6)
    table = pacopt.LossTable(rng.uniform(0.0, 0.4, (40, 300)), candidates={"depth": np.arange(40)})
    return pacopt.certify(table, pacopt.Design.uniform(table, score=pacopt.Ranged(1.0, noun="error rate")))


def own_claims(*claims, **options):
    """Ratios of a table of one's own, with these claims alone or beside the standard ones."""
    rng = np.random.default_rng(7)
    table = pacopt.LossTable(
        rng.uniform(0.0, 0.3, (8, 400)) * np.linspace(1, 2, 8)[:, None],
        np.ones(400),
        {"rate": np.geomspace(0.01, 1.0, 8), "batch": [16, 32, 64, 128] * 2},
    )
    return pacopt.certify(table, pacopt.Design.uniform(table, claims=shared_out(claims)), **options)


def stored(name):
    return pacopt.Learned.load(Path(__file__).parent / "stored" / "v1" / name)


LEARNED = {
    "two hyperparameters": heavy_ball,
    "one hyperparameter and a frontier": lambda: learn(sizes=(40, 600, 50)),
    "three hyperparameters and no textbook": lambda: learn(Damped()),
    "four hyperparameters with hostile names": lambda: learn(Hostile()),
    "a rule with arrays": scalar_rule,
    "explosions": explosions,
    "no test split": lambda: learn(sizes=(40, 200, 0)),
    "one candidate": lambda: learn(prior=steps(0.3)),
    "all runs failed": lambda: learn(prior=steps(1e3, 1e4)),
    "success not attained": lambda: learn(prior=steps(0.8, 1.0, 1.5), min_success=0.9),
    "success as the user sees it": lambda: learn(success=lambda x, instance: jnp.abs(x - 1.0) < 0.5),
    "a target below the start, and an absolute bound": lambda: learn(
        target_ratio=0.25, truncation=pacopt.Truncation.from_second_moment(20.0, 40.0)
    ),
    "a claim of a user's own": lambda: learn(claims=[Median()]),
    "stored by the first version": lambda: stored("plain"),
    "everything, stored by the first version": lambda: stored("everything"),
}
TABLES = {
    "a table of one's own": own_table,
    "a table without start losses": without_start,
    "six claims": lambda: own_claims(
        *standard_claims(truncation=pacopt.Truncation.from_second_moment(20.0, 40.0)), Median(), Tail()
    ),
    "nothing but a claim of a user's own": lambda: own_claims(Median()),
    "an objective without a finite bound": lambda: own_claims(Tail(), Median()),
    "more asked for than a table holds": lambda: own_claims(*standard_claims(), require={"risk": 1e-6}),
}
CASES = LEARNED | TABLES


@cache
def learned(case):
    """The run of this case, learned once in a process."""
    return CASES[case]()


def certificate(case):
    """The certificate of this case."""
    return learned(case) if case in TABLES else learned(case).certificate


@cache
def page(case):
    """The report of this case, drawn once in a process."""
    return pacopt.report_html(learned(case))


def reportable(
    losses,
    start=None,
    candidates=None,
    *,
    design=None,
    provenance=None,
    success=None,
    times=None,
    baselines=None,
    **request,
):
    """A report's material from nothing but a table, with a test split that is the training split."""
    losses = np.asarray(losses, dtype=float)
    start = np.ones(losses.shape[1]) if start is None else start
    cells = {"success": success, "times": times or {}}
    table = pacopt.LossTable(losses, start, candidates or {}, baselines=baselines or {}, **cells)
    rows = ("learned", "standard")
    chosen = {name: values[[0, -1]] for name, values in table.candidates.items()}
    cells = {
        "success": None if success is None else success[[0, -1]],
        "times": {target: each[[0, -1]] for target, each in table.times.items()},
    }
    test = pacopt.LossTable(table.losses[[0, -1]], table.start, chosen, provenance={"rows": rows}, **cells)
    made = pacopt.certify(table, design, **request)
    on_the_way = np.stack([np.broadcast_to(table.start, test.shape), test.losses], axis=2)
    return SimpleNamespace(
        certificate=made,
        table=table,
        test=test,
        comparison=pacopt.Comparison.of(test, rows, made.design),
        curves=pacopt.Curves.of(rows, (0, 1), on_the_way, table),
        provenance=provenance or {},
        remarks=(),
    )


def uniform(candidates=4, instances=300, seed=0):
    return np.random.default_rng(seed).uniform(0, 0.3, (candidates, instances))


def first_screen(text):
    """The words of the first screen, as a reader sees them."""
    section = re.search(r'<section class="first".*?</section>', text, flags=re.DOTALL)[0]
    words = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", "", section, flags=re.DOTALL)))
    return re.sub(r"\s+", " ", words)


def specs(text):
    return json.loads(re.search(r'id="specs">(.*?)</script>', text)[1])
