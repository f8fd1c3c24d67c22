"""Draws the picture of README: python docs/images/trained_rule.py [RUN], of a run of `pacopt demo --rule`.

Every line is a mean over the same test instances, and so is what the certificate bounds.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import pacopt
from pacopt.app.demo import Sizes, run_rule_demo
from pacopt.statement import down, up

#: Colours that stay apart for colour-blind readers (Okabe & Ito), and dashes for those that lie on each other.
LOOKS = {
    "heavy-ball, textbook": ("#8a5a00", (0, (4, 2))),
    "gradient descent, textbook": ("#6b7280", "-"),
    "Nesterov, textbook": ("#D55E00", "-"),
    "heavy-ball, learned": ("#B57A00", "-"),
    "L-BFGS": ("#00805E", "-"),
    "rule, learned": ("#0072B2", "-"),
    "conjugate gradients": ("#A8437F", (0, (2, 1.6))),
}
#: What they are called in the run.
ROWS = {
    "heavy-ball, textbook": "textbook heavy-ball",
    "heavy-ball, learned": "learned heavy-ball",
    "L-BFGS": "L-BFGS",
    "rule, learned": "learned",
    "conjugate gradients": "conjugate gradients",
}
#: The distance of two labels, in decades.
APART = 0.115


def spread(heights):
    """Heights, given from the highest on, moved apart where labels would lie on each other."""
    places = np.log10(heights)
    for _ in range(200):
        for k in range(len(places) - 1):
            lack = APART - (places[k] - places[k + 1])
            if lack > 0:
                places[k], places[k + 1] = places[k] + lack / 2, places[k + 1] - lack / 2
    return 10**places


def mean_curves(learned):
    """The mean ratio of each method after each gradient, with the safeguard; two textbooks are run here."""
    curves, size = learned.curves, Sizes()
    means = {said: curves.mean[curves.names.index(name)] for said, name in ROWS.items()}
    law = pacopt.VaryingCurvature.draw(seed=0, n=size.n)
    data = law.sample(size.prior + size.train + size.test, seed=1)
    test = pacopt.split(data, prior=size.prior, train=size.train, test=size.test, seed=2).test
    textbooks = {
        "gradient descent": pacopt.GradientDescent(),
        "Nesterov": pacopt.Nesterov(),
        "check": pacopt.HeavyBall(),
    }
    for name, method in textbooks.items():
        hyper = method.standard(*law.curvature)
        losses = pacopt.loss_curves(law.problem, method, hyper, test, steps=size.steps, at=curves.steps.tolist())[0]
        means[f"{name}, textbook"] = np.minimum(losses / losses[:, :1], 1).mean(axis=0)
    check = means.pop("check, textbook")  # the same instances as in the run
    assert np.allclose(check, means["heavy-ball, textbook"], rtol=1e-6)
    return means


def main(run=None):
    """Draw the means, and what is certified of one of them."""
    learned = run_rule_demo() if run is None else pacopt.Learned.load(run)
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(9, 4.4), layout="constrained")
    means, steps = mean_curves(learned), learned.curves.steps
    names, last = sorted(LOOKS, key=lambda name: -means[name][-1]), int(steps[-1])
    for name, place in zip(names, spread([means[name][-1] for name in names]), strict=True):
        (colour, dashes), ours = LOOKS[name], name == "rule, learned"
        axes.plot(steps, means[name], color=colour, linestyle=dashes, linewidth=2.6 if ours else 1.7)
        axes.plot([last, last + 1], [means[name][-1], place], color=colour, linewidth=0.8, clip_on=False)
        label = f"{name}: {means[name][-1]:#.3g}"
        axes.text(
            last + 1.3, place, label, color=colour, va="center", weight="bold" if ours else "normal", clip_on=False
        )
        print(label)
    certificate, deployed = learned.certificate, learned.certificate.deployed
    certified = (
        f"Certified with {100 * certificate.confidence:g} % confidence from {certificate.instances:,} others:\n"
        f"the learned rule's mean after {last} gradients is at most {up(deployed.risk, 3)},\n"
        f"at least {down(deployed.gain, 3)} times smaller than that of L-BFGS,\n"
        f"and it ends lower than L-BFGS on at least {down(100 * deployed.win, 3)} % of instances."
    )
    axes.text(0.8, 0.0077, certified, color=LOOKS["rule, learned"][0], va="bottom", fontsize=9, linespacing=1.35)
    axes.set(
        yscale="log", xlim=(0, last), ylim=(0.007, 1.1), xlabel="gradients", ylabel="mean loss relative to the start"
    )
    axes.set_yticks([1, 0.1, 0.01], ["1", "0.1", "0.01"])
    title = f"Mean loss on {learned.comparison.instances} unseen quadratics in {Sizes().n} dimensions"
    axes.set_title(title, fontsize=11, loc="left")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=160)


if __name__ == "__main__":
    main(*sys.argv[1:])
