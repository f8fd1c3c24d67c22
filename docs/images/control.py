"""The picture of docs/families/control.md: which part of the problems is not solved yet.

`PYTHONPATH=src python docs/images/control.py` learns, flies 500 fresh flights with each solver, and draws.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pacopt
from pacopt.engines.traced.engine import Traced
from pacopt.families.control import quadcopter, solved_by_osqp
from pacopt.families.flights import flights

HERE = Path(__file__).parent
COLOURS = {"OSQP, defaults": "#D55E00", "plain ADMM": "#999999", "learned": "#0072B2"}


def times(engine, hyper, instances):
    """Iterations until each problem is solved, infinite beyond the limit."""
    table = engine.counting("iterations", None).table(
        {name: np.asarray(value)[None] for name, value in hyper.items()}, instances
    )
    return table.losses[0]


def tail(found, certified, flown, trained):
    """The part of the problems that is not solved yet, by iterations."""
    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    most = max(map(max, certified))
    for name, taken in found.items():
        ks = np.arange(most + 1)
        left = 100 * np.array([np.mean(taken > k) for k in ks])
        axes.step(ks, left, where="post", color=COLOURS[name], label=f"{name}, measured")
    ks, left = certified
    axes.step(ks, left, where="post", color="black", linestyle="--", label="learned, certified")
    axes.set(ylim=(0, 102), xlim=(0, most), xlabel="iterations", ylabel="problems not solved yet (%)")
    axes.set_title(f"{flown:,} fresh flights, and what {trained:,} others certify", fontsize=11)
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "control_tail.png", dpi=220)


def main():
    """Learn, fly, draw."""
    family = quadcopter()
    parts = family.drawn(0)
    learned = pacopt.learn(
        family.problem,
        family.algorithm,
        parts,
        steps=family.steps,
        prior=family.prior,
        score=family.score,
        budget=family.budget,
        baseline=dict(family.usual),
        seed=0,
    )
    fresh, plain = flights(500, seed=100), family.tuned
    osqp = solved_by_osqp(1e-4, family.steps)
    found = {
        "OSQP, defaults": times(osqp, osqp.defaults, fresh),
        "plain ADMM": times(Traced(family.problem, plain, family.steps), plain.defaults, fresh),
        "learned": times(Traced(family.problem, family.algorithm, family.steps), learned.hyper, fresh),
    }
    ks = np.arange(family.steps + 1)
    stairs = [100 * (1 - learned.certificate.budget.probability(float(k))) for k in ks]
    tail(found, (ks, stairs), 500, family.sizes.train)


if __name__ == "__main__":
    main()
