"""Draws the gallery of examples: python docs/images/thumbnails.py [name ...]

Each example runs in an empty directory; what it computed is drawn by the function of its name, below.
"""

import contextlib
import os
import runpy
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#7d8790"


def curves(axes, learned, *, usual="textbook", band=True):
    """Mean losses of what was learned and of the usual settings."""
    found = learned.curves
    for row, (colour, name) in enumerate(((BLUE, "learned"), (ORANGE, usual))):
        if band and row == 0:
            axes.fill_between(found.steps, found.low[0], found.high[0], color=colour, alpha=0.15, linewidth=0)
        axes.plot(found.steps, found.mean[row], color=colour, label=name)
    axes.set(yscale="log", xlabel="steps", ylabel="mean loss / start")
    axes.legend(frameon=False)


def bars(axes, values, label, *, log=True):
    """Named numbers, as horizontal bars."""
    names = list(values)[::-1]
    colours = [BLUE if "learned" in name or "certified" in name else GREY for name in names]
    axes.barh(names, [values[name] for name in names], color=colours)
    axes.set(xscale="log" if log else "linear", xlabel=label)


def learn_heavy_ball(axes, of):
    curves(axes, of.learned, band=False)
    axes.axhline(of.learned.certificate.deployed.risk, color=BLUE, linestyle=":")
    axes.text(1, of.learned.certificate.deployed.risk * 0.93, "certified mean at the end", color=BLUE, va="top")


def own_problem(axes, of):
    curves(axes, of.learned, band=False)


def own_claim(axes, of):
    certified = of.Tail().for_candidates(of.table, of.certificate.design.prior, 0.01 * 0.2 / 1.2)
    axes.plot(of.steps, (of.losses <= 0.01 * of.start).mean(axis=1), color=GREY, label="measured")
    axes.plot(of.steps, certified, color=BLUE, marker=".", label="certified")
    axes.set(xlabel="step size", ylabel="a hundredfold gain", ylim=(0, 1))
    axes.legend(frameon=False)


def own_losses(axes, of):
    means = of.table.safeguarded().mean(axis=1)
    names = [f"memory {m:.0f}, {k:.0f} steps" for m, k in zip(of.memory, of.iterations, strict=True)]
    best = int(means.argmin())
    bars(axes, {(f"{name}, learned" if i == best else name): means[i] for i, name in enumerate(names)}, "mean ratio")


def quadcopter(axes, of):
    rng = np.random.default_rng(of.SEED)
    flown = of.flights(of.SMALL.prior + of.SMALL.train, rng)
    solver, found, _ = of.learned(flown, of.SMALL)
    truth = of.measured(solver, {"OSQP's defaults": solver.defaults, "learned": found.hyper}, of.flights(10, rng))
    for (name, runs), colour in zip(truth.items(), (ORANGE, BLUE), strict=True):
        steps = np.sort(runs.iterations)
        axes.step(steps, 100 * (1 - np.arange(1, len(steps) + 1) / len(steps)), where="post", color=colour, label=name)
    axes.set(xlabel="iterations", ylabel="% not solved yet", xlim=(0, 250))
    axes.legend(frameon=False)


def pick_from_the_frontier(axes, of):
    success, risk = zip(*((each.success, each.risk) for each in of.frontier.choices), strict=True)
    axes.step(success, risk, where="pre", color=BLUE, marker=".")
    axes.plot(of.choice.success, of.choice.risk, "o", color=ORANGE)
    axes.annotate(
        "chosen", (of.choice.success, of.choice.risk), (-8, 6), textcoords="offset points", color=ORANGE, ha="right"
    )
    axes.set(xlabel="certified success", ylabel="certified mean ratio")


def absolute_loss(axes, of):
    certified = {
        f"certified: {name}": of.pacopt.certify(
            of.learned.table, of.replace(of.learned.certificate.design, shares=of.shares, truncation=each)
        ).deployed.absolute
        for name, each in of.declarations.items()
    }
    measured = {
        "at the start": of.start_loss.mean_start_loss(),
        "test split": of.learned.comparison["learned"].mean_loss,
    }
    bars(axes, {**measured, **certified}, "mean loss")


def logistic_regression(axes, of):
    curves(axes, of.learned)


def shared_structure(axes, of):
    seen = of.split.test[0]["seen"]
    axes.plot(seen, color=GREY, label="seen")
    axes.plot(of.learned.solve({"seen": seen, "minimum": 0.0}).x, color=BLUE, label="after two steps")
    axes.set(xticks=[], yticks=[])
    axes.legend(frameon=False)


def save_verify_load(axes, of):
    sizes = {path.name: path.stat().st_size / 1000 for path in sorted(of.place.iterdir())}
    names = list(sizes)[::-1]
    axes.barh(
        names, [sizes[name] for name in names], color=[ORANGE if "certificate" in name else GREY for name in names]
    )
    axes.text(
        sizes["certificate.json"] * 1.2, names.index("certificate.json"), "altered: noticed", color=ORANGE, va="center"
    )
    axes.set(xscale="log", xlabel="kilobytes")


def sucker_ochs_2023_figure_4(axes, of):
    picture = next(path for path in of.result.files if Path(path).suffix == ".png")
    image = plt.imread(picture)
    axes.imshow(image[:, image.shape[1] // 2 :], interpolation="antialiased")  # bound over truth, by instances
    axes.axis("off")


def own_family(axes, of):
    methods = of.found.methods[::-1]
    colours = [BLUE if method.name == "learned" else GREY for method in methods]
    axes.scatter([method.mean for method in methods], [method.name for method in methods], color=colours)
    axes.set(xlabel="mean ratio on fresh instances")
    axes.grid(axis="y", linewidth=0.4)


def own_table(axes, of):
    last = of.learned.curves
    for name, colour in (("learned", BLUE), ("L-BFGS", GREEN)):
        axes.plot(last.steps, last.mean[last.names.index(name)], color=colour, label=name)
    axes.set(yscale="log", xlabel="steps", ylabel="mean loss / start")
    axes.legend(frameon=False)


def sparse_regression(axes, of):
    axes.stem(of.codes[0], linefmt=GREY, markerfmt="o", basefmt=" ", label="made it")
    axes.plot(of.solution.x, ".", color=BLUE, label="found in ten steps")
    axes.set(xticks=[], xlabel="columns of the dictionary")
    axes.legend(frameon=False)


def deblurring(axes, of):
    instance = of.split.train[3]
    pictures = (instance["b"], of.learned.solve(dict(instance)).x)
    for k, (picture, name) in enumerate(zip(pictures, ("seen", "deblurred"), strict=True)):
        part = axes.inset_axes([0.5 * k + 0.02, 0.0, 0.46, 0.9])
        part.imshow(picture, cmap="gray")
        part.set_title(name, fontsize=9)
        part.axis("off")
    axes.axis("off")


def networks(axes, of):
    grid = np.linspace(-2, 2, 200)
    instance = of.split.test[2]
    axes.plot(instance["x"], instance["y"], ".", color=GREY)
    for hyper, colour, name in (
        (of.learned.hyper, BLUE, "learned"),
        ({"learning_rate": 1e-3, "b1": 0.9}, ORANGE, "defaults"),
    ):
        x = of.learned.engine.solve(hyper, instance, 0).x
        axes.plot(grid, np.tanh(grid[:, None] * x["inner"] + x["shift"]) @ x["outer"], color=colour, label=name)
    axes.set(xticks=[], yticks=[])
    axes.legend(frameon=False)


def control(axes, of):
    table = of.learned.table
    ours, osqp = table.losses[of.learned.certificate.deployed.index], table.baselines["OSQP"]
    end = of.CAP  # a run that is not solved by then counts as this
    axes.scatter(np.minimum(osqp, end), np.minimum(ours, end), s=4, color=BLUE, clip_on=False)
    axes.plot([0, end], [0, end], color=GREY, linewidth=1)
    axes.set(xlabel="iterations of OSQP", ylabel="learned", xlim=(0, end), ylim=(0, end))


def main(*names):
    """Run the examples and draw them."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    for path in sorted(EXAMPLES.rglob("*.py")):
        if names and path.stem not in names:
            continue
        # An example that defines `main` is driven by the function that draws it.
        with tempfile.TemporaryDirectory() as place, contextlib.chdir(place), open(os.devnull, "w") as nowhere:
            with contextlib.redirect_stdout(nowhere):
                of = SimpleNamespace(**runpy.run_path(str(path), run_name=path.stem))
            figure, axes = plt.subplots(figsize=(4, 2.5), layout="constrained")
            globals()[path.stem](axes, of)
            figure.savefig(HERE / "examples" / f"{path.stem}.png", dpi=120)
            plt.close(figure)
        print(path.stem, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
