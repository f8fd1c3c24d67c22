"""Draws docs/images/sparse_regression.png: python docs/images/sparse_regression.py [RUN]

With RUN, what `pacopt bench families lasso` wrote (runs/families/runs/lasso), the gaps of all solvers on its test split
are measured first and written to sparse_regression.txt: a line for each solver, with the mean gap after 0 to 20
gradients or sweeps, then quantiles at the end.
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
COLOURS = {
    "ISTA": "#777777",
    "FISTA with restart": "#009E73",
    "SpaRSA": "#D55E00",
    "L-BFGS-B": "#B57A00",
    "coordinate descent": "#A8437F",
    "learned": "#0072B2",
}
LEVELS = np.linspace(0.0, 1.0, 101)
#: Solvers that are called for each number of steps again run on so many instances.
FEW = 200


def measure(run, seed=0):
    """Relative gaps of each solver on the test split: one row for each instance, one column for each step."""
    import pacopt
    from pacopt.families import sparse_regression as sparse

    family = sparse.lasso()
    test, at = family.drawn(seed).test, tuple(range(family.steps + 1))
    hyper = pacopt.Learned.load(run).hyper
    methods = {"learned": pacopt.Baseline(hyper, family.algorithm), **family.usual}
    found = {}
    for name, method in methods.items():
        if method.algorithm is not None:
            candidate = {key: np.asarray(value)[None] for key, value in method.hyper.items()}
            found[name] = pacopt.loss_curves(family.problem, method.algorithm, candidate, test, steps=at[-1], at=at)[0]
    start, A = found["learned"][:, :1], family.problem.dictionary
    rows = [test[k] for k in range(FEW)]
    solvers = {
        "L-BFGS-B": lambda steps, row: sparse.SplitLBFGSB(A, steps)({}, row).loss,
        "coordinate descent": descended(A),
    }
    for name, solve in solvers.items():
        found[name] = np.array([[solve(steps, row) for steps in at] for row in rows])
    return {name: gaps / start[: len(gaps)] for name, gaps in found.items()}


def descended(A):
    """The gap after so many sweeps of scikit-learn's coordinate descent, which divides the loss by the rows."""
    from sklearn.linear_model import Lasso

    def gap(sweeps, row):
        b, penalty = np.asarray(row["b"]), float(row["penalty"])
        x = np.zeros(A.shape[1])
        if sweeps:
            one = Lasso(alpha=penalty / len(b), fit_intercept=False, max_iter=sweeps, tol=0.0)
            x = one.fit(np.asfortranarray(A), b).coef_
        return 0.5 * np.sum((A @ x - b) ** 2) + penalty * np.abs(x).sum() - float(row["minimum"])

    return gap


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
    for name, colour in COLOURS.items():
        numbers, wide = found[name], 2.6 if name == "learned" else 1.6
        dashes = (0, (4, 2)) if name == "coordinate descent" else "-"
        means, ends = numbers[: -len(LEVELS)], numbers[-len(LEVELS) :]
        said = f"{name} (sweeps)" if name == "coordinate descent" else name
        left.semilogy(means, color=colour, linewidth=wide, linestyle=dashes)
        right.semilogx(
            np.maximum(ends, 1e-13), 100 * LEVELS, color=colour, linewidth=wide, linestyle=dashes, label=said
        )
    left.set(
        xlabel="gradients (sweeps of coordinate descent)",
        ylabel="mean relative gap",
        xlim=(0, len(means) - 1),
        xticks=range(0, len(means), 5),
        title="Mean",
    )
    right.set(xlabel="relative gap after the last gradient", ylabel="% of instances at or below", title="All instances")
    figure.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False, fontsize=9)
    for axes in (left, right):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=220)


if __name__ == "__main__":
    if sys.argv[1:]:
        write(measure(sys.argv[1]))
    draw()
