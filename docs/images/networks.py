"""Draws the picture of docs/families/networks.md: python docs/images/networks.py [SEED]. Takes some minutes."""

import sys
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

import pacopt
from pacopt.families.polynomial_tasks import ADAM, adam, networks

#: Colours that stay apart for colour-blind readers (Okabe & Ito).
LOOKS = {
    "Adam, 0.001": "#999999",
    "Adam, 0.05": "#B57A00",
    "L-BFGS": "#D55E00",
    "L-BFGS, learned metric": "#00805E",
    "learned rule": "#0072B2",
}
STEPS, TASKS = 10, 500


def curves(algorithm, hyper, tasks, problem):
    """Ratios [step, task] of the best loss so far."""
    given = jax.tree.map(lambda value: np.asarray(value)[None], hyper)
    losses = pacopt.loss_curves(problem, algorithm, given, tasks, steps=STEPS, at=tuple(range(STEPS + 1)))[0]
    return losses.T / losses[:, 0]


def drawn(seed):
    """The runs of each method on fresh tasks, and what was learned."""
    family = networks(STEPS)
    parts = family.drawn(seed)
    rule = family.learns(parts)
    learned = pacopt.learn(family.problem, rule, parts, steps=STEPS, prior=family.prior, score=family.score, seed=seed)
    fresh = family.sample(TASKS, seed=1_000_000 + seed)
    runs = {
        "Adam, 0.001": (adam(), ADAM),
        "Adam, 0.05": (adam(), {**ADAM, "learning_rate": 0.05}),
        "L-BFGS": (pacopt.LBFGS(20), {}),
        "L-BFGS, learned metric": (pacopt.Preconditioned(pacopt.LBFGS(20), rule.metric), {}),
        "learned rule": (rule, dict(learned.hyper)),
    }
    return {name: curves(*given, fresh, family.problem) for name, given in runs.items()}


def picture(found, path):
    """Median ratios over gradients, with a band for the learned rule."""
    figure, axes = plt.subplots(figsize=(7.2, 3.9), layout="constrained")
    steps = np.arange(STEPS + 1)
    for name, ratios in found.items():
        middle = np.median(ratios, axis=1)
        axes.plot(steps, middle, color=LOOKS[name], linewidth=2.4 if name == "learned rule" else 1.7)
        axes.text(STEPS + 0.15, middle[-1], f"{name}: {middle[-1]:.2g}", color=LOOKS[name], va="center", fontsize=9)
    low, high = np.quantile(found["learned rule"], (0.1, 0.9), axis=1)
    axes.fill_between(steps, low, high, color=LOOKS["learned rule"], alpha=0.15, linewidth=0)
    axes.set(
        yscale="log", xlim=(0, STEPS + 4.2), xlabel="gradients after the first", ylabel="loss relative to the start"
    )
    axes.set_xticks(range(0, STEPS + 1, 2))
    axes.set_title(f"Median over {TASKS} unseen tasks; band: 10-90 % of the learned rule", fontsize=10, loc="left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_bounds(0, STEPS)
    figure.savefig(path, dpi=220)


if __name__ == "__main__":
    picture(drawn(int(sys.argv[1]) if sys.argv[1:] else 0), Path(__file__).with_name("networks.png"))
