"""Draws the picture of docs/families/logistic_regression.md: python docs/images/logistic_regression.py TITLE=RUN ...

A run is what `learn` saved for a table, with L-BFGS as it is and in the metric as baselines, by their names below.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import pacopt
from pacopt.statement import down

#: Colours that stay apart for colour-blind readers (Okabe & Ito), and dashes.
LOOKS = {
    "L-BFGS, memory 20": ("#D55E00", "-", "L-BFGS"),
    "L-BFGS in the metric": ("#00805E", (0, (4, 2)), "L-BFGS in the metric"),
    "learned": ("#0072B2", "-", "learned, in the metric"),
}


def draw(axes, title, learned):
    curves, deployed = learned.curves, learned.certificate.deployed
    for name, (colour, dashes, said) in LOOKS.items():
        row = curves.names.index(name)
        if name == "learned":
            axes.fill_between(curves.steps, curves.low[row], curves.high[row], color=colour, alpha=0.15, linewidth=0)
        axes.plot(curves.steps, curves.mean[row], color=colour, linestyle=dashes, linewidth=2, label=said)
    axes.set_title(title, fontsize=10.5, loc="left")
    axes.text(
        0.04,
        0.05,
        f"certified:\nat least {down(deployed.gain, 2)} digits\nmore than L-BFGS",
        transform=axes.transAxes,
        color=LOOKS["learned"][0],
        fontsize=9,
    )
    axes.set(yscale="log", xlim=(0, curves.steps[-1]), ylim=(1e-11, 1.3), xlabel="gradients")


def main(*words):
    runs = [word.split("=", 1) for word in words]
    plt.rcParams.update({"font.size": 9.5, "axes.spines.top": False, "axes.spines.right": False})
    figure, places = plt.subplots(1, len(runs), figsize=(3.5 * len(runs), 3.6), sharey=True, layout="constrained")
    for axes, (title, run) in zip(places if len(runs) > 1 else [places], runs, strict=True):
        draw(axes, title, pacopt.Learned.load(run))
    first = figure.axes[0]
    first.set_ylabel("mean gap relative to the start; band: 10-90 %")
    figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=240)


if __name__ == "__main__":
    main(*sys.argv[1:])
