"""Draws docs/images/sparse_regression.png: python docs/images/sparse_regression.py [measure]

With `measure` a rule is learned for the LASSO first (some minutes), and the gaps of all solvers on its test split are
written to sparse_regression.txt: a line for each solver, with the mean gap after 0 to 20 gradients, then quantiles at
the end.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
NUMBERS, PICTURE = HERE / "sparse_regression.txt", HERE / "sparse_regression.png"
#: Okabe and Ito's colours, which nearly everybody can tell apart.
COLOURS = {"learned": "#0072B2", "SpaRSA": "#D55E00", "FISTA with restart": "#009E73", "ISTA": "#777777"}
LEVELS = np.linspace(0.0, 1.0, 101)


def measure(steps=20, seed=0):
    """Relative gaps of each solver on the test split: one row for each instance, one column for each step."""
    import pacopt
    from pacopt.families import sparse_regression as sparse

    family = sparse.lasso(steps)
    parts, at = family.drawn(seed), tuple(range(steps + 1))
    learned = pacopt.learn(
        family.problem, family.algorithm, parts, steps=steps, prior=family.prior, score=family.score, seed=seed
    )
    hyper = pacopt.flattened(family.algorithm, learned.hyper)
    runs = {"learned": (family.algorithm, {name: np.asarray(value)[None] for name, value in hyper.items()})}
    for name, usual in family.usual.items():
        if usual.algorithm is not None:
            runs[name] = usual.algorithm, {key: np.array([value]) for key, value in usual.hyper.items()}
    found = {}
    for name, (algorithm, candidate) in runs.items():
        curves = pacopt.loss_curves(family.problem, algorithm, candidate, parts.test, steps=steps, at=at)[0]
        found[name] = curves / curves[:, :1]
    return found


def write(found):
    """One line for each solver: its name, the mean gap after each step, and a hundred quantiles of the last."""
    lines = []
    for name, gaps in found.items():
        numbers = [*gaps.mean(axis=0), *np.quantile(gaps[:, -1], LEVELS)]
        lines.append("\t".join([name, *(f"{number:.4e}" for number in numbers)]))
    NUMBERS.write_text("\n".join(lines) + "\n")


def draw():
    """Mean gaps over gradients on the left; on the right, how many instances end below a gap."""
    rows = [line.split("\t") for line in NUMBERS.read_text().splitlines()]
    found = {row[0]: np.array(row[1:], dtype=float) for row in rows}
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    for name in ("ISTA", "FISTA with restart", "SpaRSA", "learned"):
        numbers, wide = found[name], 2.6 if name == "learned" else 1.6
        means, ends = numbers[: -len(LEVELS)], numbers[-len(LEVELS) :]
        left.semilogy(means, color=COLOURS[name], linewidth=wide)
        below = {"ISTA": -3, "SpaRSA": 7, "FISTA with restart": 6}.get(name, 0)
        left.annotate(
            name, (len(means) - 1, means[-1]), (5, below - 3), textcoords="offset points", color=COLOURS[name]
        )
        right.semilogx(np.maximum(ends, 1e-15), 100 * LEVELS, color=COLOURS[name], linewidth=wide, label=name)
    left.set(
        xlabel="gradients",
        ylabel="mean relative gap",
        xlim=(0, len(means) - 1),
        xticks=range(0, len(means), 5),
        title="Mean over 1,000 instances",
    )
    right.set(xlabel="relative gap after the last gradient", ylabel="% of instances at or below", title="All instances")
    right.legend(frameon=False, loc="upper left", fontsize=9)
    for axes in (left, right):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    if "measure" in sys.argv[1:]:
        write(measure())
    draw()
