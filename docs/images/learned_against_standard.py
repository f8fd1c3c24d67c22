"""Draws the picture of the README: python docs/images/learned_against_standard.py"""

from pathlib import Path

import matplotlib.pyplot as plt

from pacopt.app.demo import STEPS, run_demo
from pacopt.statement import up

#: Colours that stay apart for colour-blind readers and in grey print (Okabe & Ito).
COLOURS = {"standard": "#D55E00", "learned": "#0072B2"}


def main():
    learned = run_demo()
    curves, comparison = learned.curves, learned.comparison

    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for name, colour in COLOURS.items():
        row, hyper = curves.names.index(name), comparison[name].hyper
        label = f"{name}: step size {hyper['step_size']:.1e}, momentum {hyper['momentum']:.2f}"
        axes.fill_between(curves.steps, curves.low[row], curves.high[row], color=colour, alpha=0.2, linewidth=0)
        axes.plot(curves.steps, curves.median[row], color=colour, linewidth=2, label=label)
    risk = learned.certificate.deployed.risk
    axes.axhline(risk, color=COLOURS["learned"], linewidth=1, linestyle="--")
    axes.annotate(
        f"certified mean after {STEPS} steps: {up(risk, 3)}",
        (0, risk),
        xytext=(6, -13),
        textcoords="offset points",
        color=COLOURS["learned"],
    )
    axes.set(yscale="log", xlim=(0, STEPS), xlabel="step", ylabel="loss relative to the start")
    title = f"Heavy-ball on {comparison.instances} unseen quadratics: median and 10-90 % band"
    axes.set_title(title, fontsize=11)
    axes.legend(frameon=False, loc="lower left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=160)


if __name__ == "__main__":
    main()
