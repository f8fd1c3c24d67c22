"""Draws the pictures of docs/families/deblurring.md: python docs/images/deblurring.py RUN

RUN is what `pacopt bench families deblurring` wrote: runs/families/runs/deblurring.
"""

import sys
from dataclasses import replace
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

import pacopt
from pacopt.families import Patches, deblurring
from pacopt.families.deblurring_minima import proven_minima
from pacopt.families.patches import psnr, shipped_pictures

HERE = Path(__file__).parent
#: Colours that stay apart for colour-blind readers (Okabe & Ito).
LOOKS = {
    "gradient descent": ("#D55E00", "gradient descent"),
    "half-quadratic (Geman-Yang)": ("#B57A00", "half-quadratic"),
    "L-BFGS": ("#00805E", "L-BFGS"),
    "L-BFGS in a tuned Fourier metric": ("#A8437F", "L-BFGS, Fourier metric"),
    "split Bregman, Anderson's mixing": ("#555555", "split Bregman, mixed"),
    "learned": ("#0072B2", "learned"),
}
SHOWN, EARLY, LATE = (4, 11), 5, 25
#: What is shown between the blurred picture and the minimiser.
COLUMNS = (
    ("gradient descent", EARLY),
    ("gradient descent", LATE),
    ("L-BFGS in a tuned Fourier metric", EARLY),
    ("learned", EARLY),
)


def after(family, method, fields, steps):
    """The points after so many steps, one for each instance."""
    hyper = {name: np.asarray(value) for name, value in (method.hyper or {}).items()}

    def run(instance):
        objective, rule = pacopt.Objective(family.problem, instance), method.algorithm
        state = rule.init(family.problem.start(instance), hyper, objective)
        state = jax.lax.fori_loop(0, steps, lambda _, state: rule.step(state, hyper, objective), state)
        return rule.read(state), family.problem.loss(rule.read(state), instance)

    with jax.enable_x64(True):
        return [np.asarray(each) for each in jax.jit(lambda rows: jax.lax.map(run, rows))(fields)]


def side_by_side(family, methods):
    """Two patches: original, blurred, and what methods make of them; 64 x 64, where the rule learned on 32 x 32."""
    drawn, sharp = Patches(shipped_pictures(), size=64).draws(12, seed=2026)
    fields, sharp = {name: array[list(SHOWN)] for name, array in drawn.items()}, sharp[list(SHOWN)]
    bounds, best = proven_minima(family.problem, fields)
    start = after(family, methods["learned"], fields, 0)[1] - bounds
    columns = [("original", sharp, None), ("blurred, noisy", fields["b"], start)]
    for name, steps in COLUMNS:
        x, loss = after(family, methods[name], fields, steps)
        columns.append((f"{LOOKS[name][1]},\n{steps} steps", x, loss - bounds))
    columns.append(("minimiser", best, None))
    figure, axes = plt.subplots(len(SHOWN), len(columns), figsize=(12, 4.3))
    for column, (title, pictures, gaps) in enumerate(columns):
        for row, picture in enumerate(pictures):
            spot = axes[row, column]
            low, high = sharp[row].min(), sharp[row].max()
            spot.imshow(picture, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
            spot.set_xticks([])
            spot.set_yticks([])
            said = "" if title == "original" else f"{psnr(picture, sharp[row]):.1f} dB"
            said += "" if gaps is None else f", gap {gaps[row] / start[row]:.1g}"
            spot.set_xlabel(said, fontsize=8.5)
            if not row:
                spot.set_title(title, fontsize=9.5)
    figure.tight_layout(w_pad=0.4)
    figure.savefig(HERE / "deblurring.png", dpi=160)


def gaps_of(family, method, fresh, at):
    """The loss of each instance after so many steps."""
    if method.engine is not None:
        rows = [dict(row) for row in fresh]
        return np.array([[replace(method.engine.function, steps=k)({}, row).loss for k in at] for row in rows])
    candidate = {key: np.asarray(value)[None] for key, value in (method.hyper or {}).items()}
    return pacopt.loss_curves(family.problem, method.algorithm, candidate, fresh, steps=LATE, at=at)[0]


def convergence(family, methods):
    """Median relative gaps on 100 fresh instances, with the middle 80 % of those of the learned rule."""
    fresh, at = family.sample(100, seed=31), tuple(range(LATE + 1))
    figure, axes = plt.subplots(figsize=(7.0, 4.0))
    for name, (colour, said) in LOOKS.items():
        method = methods[name]
        curves = gaps_of(family, method, fresh, at)
        gaps = curves / curves[:, :1]
        if name == "learned":
            axes.fill_between(at, *np.quantile(gaps, (0.1, 0.9), axis=0), color=colour, alpha=0.15, lw=0)
        middle = np.median(gaps, axis=0)
        axes.semilogy(at, middle, color=colour, lw=2)
        axes.annotate(f" {said}", (LATE, middle[-1]), color=colour, va="center", fontsize=9)
    axes.set(xlim=(0, LATE), ylabel="gap, relative to the start (median)")
    axes.set_xlabel("gradients after the first, or iterations")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    figure.subplots_adjust(left=0.11, right=0.76, top=0.97, bottom=0.12)
    figure.savefig(HERE / "deblurring_steps.png", dpi=220)


def main(run):
    family = deblurring()
    methods = {**family.usual, "learned": pacopt.Baseline(pacopt.Learned.load(run).hyper, family.algorithm)}
    side_by_side(family, methods)
    convergence(family, methods)


if __name__ == "__main__":
    main(*sys.argv[1:])
