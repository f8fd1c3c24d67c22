"""Draws the picture of the README: python docs/images/trained_rule.py [RUN], of a run of `pacopt demo --rule`."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pacopt
from pacopt.app.demo import run_rule_demo
from pacopt.statement import down, up

#: Colours that stay apart for colour-blind readers (Okabe & Ito), and dashes for those that lie on each other.
LOOKS = {
    "textbook heavy-ball": ("#D55E00", "-"),
    "learned heavy-ball": ("#B57A00", "-"),
    "L-BFGS": ("#00805E", "-"),
    "learned": ("#0072B2", "-"),
    "conjugate gradients": ("#A8437F", (0, (2, 1.6))),
}
SAID = {"learned": "trained rule"}
#: The distance of two labels, in decades.
APART = 0.125


def spread(heights):
    """Heights, given from the highest on, moved apart where labels would lie on each other."""
    places = np.log10(heights)
    for _ in range(200):
        for k in range(len(places) - 1):
            lack = APART - (places[k] - places[k + 1])
            if lack > 0:
                places[k], places[k + 1] = places[k] + lack / 2, places[k + 1] - lack / 2
    return 10**places


def losses(axes, learned):
    curves, comparison = learned.curves, learned.comparison
    for name, (colour, dashes) in LOOKS.items():
        row = curves.names.index(name)
        if name == "learned":
            axes.fill_between(curves.steps, curves.low[row], curves.high[row], color=colour, alpha=0.14, linewidth=0)
        width = 2.4 if name == "learned" else 1.7
        axes.plot(curves.steps, curves.mean[row], color=colour, linestyle=dashes, linewidth=width)
    names = sorted(LOOKS, key=lambda name: -comparison[name].mean)
    ends = [comparison[name].mean for name in names]
    last = int(curves.steps[-1])
    for name, end, place in zip(names, ends, spread(ends), strict=True):
        said, colour = SAID.get(name, name), LOOKS[name][0]
        bold = "bold" if name == "learned" else "normal"
        axes.plot([last, last + 1.2], [end, place], color=colour, linewidth=0.8, clip_on=False)
        label = f"{said} {end:#.3g}"
        axes.text(last + 1.6, place, label, color=colour, va="center", weight=bold, clip_on=False)
    deployed = learned.certificate.deployed
    certified = (
        f"certified from {learned.certificate.instances:,} more, with {100 * learned.certificate.confidence:g} % "
        "confidence:\n"
        f"the rule's mean is at most {up(deployed.risk, 3)},\n"
        f"at least {down(deployed.gain, 3)} times lower than that of L-BFGS,\n"
        f"and it ends lower on at least {down(100 * deployed.win, 3)} % of instances"
    )
    axes.text(1.2, 0.0034, certified, color=LOOKS["learned"][0], va="bottom", fontsize=8.5, linespacing=1.35)
    axes.set(yscale="log", xlim=(0, last), ylim=(0.003, 1.15), xlabel="gradients", ylabel="loss relative to the start")
    axes.set_yticks([1, 0.1, 0.01], ["1", "0.1", "0.01"])
    title = f"Mean loss on {comparison.instances} unseen quadratics in {_dimension(learned)} dimensions; band: 10-90 %"
    axes.set_title(title, fontsize=10, loc="left")


def decided(axes, learned, number, title):
    decisions, colour, textbook = learned.decisions, LOOKS["learned"][0], LOOKS["textbook heavy-ball"][0]
    steps = decisions.steps
    axes.fill_between(steps, decisions.low[number], decisions.high[number], color=colour, alpha=0.18, linewidth=0)
    axes.plot(steps, decisions.median[number], color=colour, linewidth=2)
    usual = decisions.textbook[number]
    axes.plot(steps, usual, color=textbook, linewidth=1.5, linestyle=(0, (5, 3)))
    axes.set(xlim=(0, steps[-1]), ylim=(0, None))
    axes.set_title(title, fontsize=10, loc="left")
    return usual[len(steps) // 2]


def _dimension(learned):
    """How many numbers are minimised over."""
    return learned.train.fields["b"].shape[1]


def main(run=None):
    learned = run_rule_demo() if run is None else pacopt.Learned.load(run)
    plt.rcParams.update({"font.size": 9.5, "axes.spines.top": False, "axes.spines.right": False})
    figure = plt.figure(figsize=(10, 4.3), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.5, 1))
    losses(figure.add_subplot(grid[:, 0]), learned)
    above, below = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    constant = decided(above, learned, 0, "The rule's step size times curvature")
    above.tick_params(labelbottom=False)
    colour = LOOKS["textbook heavy-ball"][0]
    above.text(1, constant - 0.2, f"textbook: {constant:.3g}", color=colour, va="top")
    constant = decided(below, learned, 1, "The rule's momentum; median, 10-90 %")
    below.text(1, constant + 0.03, f"textbook: {constant:.3g}", color=colour, va="bottom")
    below.set(xlabel="gradients", ylim=(0, 1.2), yticks=(0, 0.5, 1))
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=160)


if __name__ == "__main__":
    main(*sys.argv[1:])
