"""Draws the picture of the README: python docs/images/learned_against_standard.py"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pacopt
from pacopt.demo import STEPS, run_demo

SEED = 0
#: Colours that stay apart for colour-blind readers and in grey print (Okabe & Ito).
COLOURS = {"standard": "#D55E00", "learned": "#0072B2"}


def main():
    demo = run_demo(seed=SEED)
    law = pacopt.VaryingCurvature.draw(seed=SEED)
    instances = law.sample(2000, seed=SEED + 10)
    hypers = {row.name: row.hyper for row in demo.rows}
    candidates = {name: [hyper[name] for hyper in hypers.values()] for name in pacopt.HeavyBall.hyperparameters}
    steps = range(STEPS + 1)
    curves = pacopt.loss_curves(law.problem, pacopt.HeavyBall(), candidates, instances, steps=STEPS, at=steps)
    relative = curves / curves[:, :, :1]

    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for name, values in zip(hypers, relative, strict=True):
        low, middle, high = np.quantile(values, [0.1, 0.5, 0.9], axis=0)
        hyper = hypers[name]
        label = f"{name}: step size {hyper['step_size']:.1e}, momentum {hyper['momentum']:.2f}"
        axes.fill_between(steps, low, high, color=COLOURS[name], alpha=0.2, linewidth=0)
        axes.plot(steps, middle, color=COLOURS[name], linewidth=2, label=label)
    axes.set(yscale="log", xlim=(0, STEPS), xlabel="step", ylabel="loss relative to the start")
    axes.set_title("Heavy-ball on 2000 unseen quadratics: median and 10-90 % band", fontsize=11)
    axes.legend(frameon=False, loc="lower left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=160)


if __name__ == "__main__":
    main()
