"""The four figures. Colours stay apart for colour-blind readers and in grey print (Okabe & Ito)."""

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pacopt.papers.sucker_ochs_2023.conditioning import CERTIFIED, Conditioning
from pacopt.papers.sucker_ochs_2023.convergence_probability import ConvergenceProbability
from pacopt.papers.sucker_ochs_2023.setting import STEPS
from pacopt.papers.sucker_ochs_2023.step_size_posterior import COUNTS, StepSizePosterior
from pacopt.papers.sucker_ochs_2023.tightness import TRAIN, BoundTightness
from pacopt.tradeoff import Frontier

BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000"
COLOURS = (SKY, GREEN, PURPLE, BLUE)
TITLES = {
    "code": "the code's statistic\n(no bound)",
    "theorem": "Theorem 6.2 as printed\n(valid)",
    "moment": "exact moment of the final loss\n(valid)",
}


def draw_posterior(result: StepSizePosterior, narrow: bool = False) -> Figure:
    """Posterior densities of the step size, one panel for each statistic."""
    figure, panels = _panels(3, narrow, height=4.0, shared=True)
    scaled = result.candidates / result.textbook
    grid = np.linspace(0.3, 1.5, 400)
    width = 0.012
    kernels = np.exp(-(((grid[:, None] - scaled) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))
    # Curvatures of this family differ so much that the two step sizes are one line at any size of the figure.
    ends = f"2/(L + $\\mu$), and 2/L: {100 * result.mu / result.L:.1g} % more"
    for axes, (name, title) in zip(panels, TITLES.items(), strict=True):
        axes.plot(grid, kernels.mean(axis=1), color=BLACK, linestyle="--", linewidth=1, label="prior")
        for count, colour in zip(COUNTS, COLOURS, strict=True):
            axes.plot(grid, kernels @ result.estimates[name, count].weights, color=colour, label=f"{count} steps")
        axes.axvline(1.0, color=ORANGE, linewidth=1, label=ends)
        axes.set_xlim(0.3, 1.5)
        axes.set_title(title, fontsize=10)
    for axes in panels if not narrow else panels[-1:]:
        axes.set_xlabel("step size, relative to 2/(L + $\\mu$)")
    for axes in panels if narrow else panels[:1]:
        axes.set_ylabel("density")
    handles, names = panels[0].get_legend_handles_labels()
    columns = 3 if narrow else len(names)
    figure.legend(handles, names, loc="outside upper center", ncols=columns, frameon=False, fontsize=8)
    return figure


def draw_conditioning(result: Conditioning, narrow: bool = False) -> Figure:
    """Test loss over the steps, and the certified frontiers of two families."""
    figure, (curves, tradeoff) = _panels(2, narrow, height=4.2)
    steps = np.arange(STEPS + 1)
    names = ["textbook", *(f"learned for success {level:g}" for level in result.levels)]
    colours = (BLACK, *COLOURS)
    for losses, colour in zip(result.curves, colours, strict=True):
        converged = losses[losses[:, -1] <= result.start]
        curves.plot(steps, converged.mean(axis=0), color=colour)
        curves.plot(steps, np.median(converged, axis=0), color=colour, linestyle=":")
    curves.set(yscale="log", xlabel="step", ylabel="test loss of the runs that converge", xlim=(0, STEPS))
    curves.set_title("learned for a success probability (not certified)", fontsize=10)
    kinds = [Line2D([], [], color=c, label=name) for c, name in zip(colours, names, strict=True)]
    styles = [
        Line2D([], [], color="#777777", linestyle="-", label="mean"),
        Line2D([], [], color="#777777", linestyle=":", label="median"),
    ]
    curves.add_artist(curves.legend(handles=kinds, frameon=False, fontsize=8, loc="lower left"))
    curves.legend(handles=styles, frameon=False, fontsize=8, loc="upper right", bbox_to_anchor=(1.0, 0.75))
    curves.set_ylim(bottom=0.2 * curves.get_ylim()[0])
    for (name, frontier), colour in zip(result.frontiers.items(), (BLUE, ORANGE), strict=True):
        _draw_frontier(tradeoff, frontier, name, colour)
    tradeoff.set(xlabel="certified probability of success", ylabel="certified mean ratio of final to start loss")
    tradeoff.set_title(f"certified, {CERTIFIED} training instances, confidence 0.99", fontsize=10)
    tradeoff.set_ylim(bottom=0)
    tradeoff.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def draw_probability(result: ConvergenceProbability, narrow: bool = False) -> Figure:
    """Success probabilities against the level asked for, and how many that fall short are let through."""
    figure, (reached, short) = _panels(2, narrow, height=4.2)
    crosses = np.repeat(result.levels, result.frequencies.shape[1])
    reached.plot(crosses, result.frequencies.ravel(), "x", color=SKY, markersize=3, alpha=0.5, label="test sets of 250")
    reached.plot(result.levels, result.lower, color=BLUE, label="lower bound, all levels at once (99 %)")
    reached.plot([0, 1], [0, 1], color=BLACK, linestyle="--", linewidth=1, label="asked for")
    reached.set(xlabel="success probability asked for", ylabel="success probability", xlim=(0, 1), ylim=(0, 1.02))
    reached.set_title("what is learned succeeds as often as asked for", fontsize=10)
    reached.legend(frameon=False, fontsize=8, loc="lower right")
    shares = (
        (result.filtered, "let through by one filter on 50 instances", PURPLE, "D"),
        (result.admitted, "drawn from the final prior", ORANGE, "o"),
    )
    for values, name, colour, marker in shares:
        percent = [100 * share for share in values.values()]
        short.plot([*values], percent, color=colour, marker=marker, markersize=5, label=name)
    short.set(xlabel="success probability asked for", ylabel="candidates that truly succeed less often (%)")
    short.set(xlim=(0, 1), ylim=(0, None))
    short.set_title("not every candidate does", fontsize=10)
    short.legend(frameon=False, fontsize=8, loc="upper right")
    return figure


def draw_tightness(result: BoundTightness, narrow: bool = False) -> Figure:
    """Histograms of test losses with mean and estimate, and how bounds shrink with the training instances."""
    figure, (histogram, sizes) = _panels(2, narrow, height=4.4)
    learned, textbook = result.kept
    low = min(learned.min(), textbook.min())
    high = max(learned.max(), textbook.max(), result.learned.estimate.value)
    bins = np.geomspace(max(low, 1e-3), high * 1.05, 36)
    histogram.hist(textbook, bins=bins, color=ORANGE, alpha=0.55, label="textbook")
    histogram.hist(learned, bins=bins, color=BLUE, alpha=0.55, label="learned")
    row = next(row for row in result.rows if row.train == TRAIN)
    lines = (
        (learned.mean(), BLUE, "--", "mean, learned"),
        (row.absolute, GREEN, "-.", "certified mean loss (safeguarded)"),
        (result.learned.estimate.value, BLACK, ":", "plug-in estimate (no guarantee)"),
    )
    for value, colour, style, name in lines:
        histogram.axvline(value, color=colour, linestyle=style, label=name)
    histogram.set(xscale="log", xlabel=f"final loss on {learned.size} test instances", ylabel="instances")
    n = [row.train for row in result.rows]
    curves = {
        "plug-in estimate (no guarantee)": ([row.plug_in / row.plug_in_truth for row in result.rows], BLACK, ":"),
        "certified mean loss": ([row.absolute / row.absolute_truth for row in result.rows], GREEN, "-."),
        "certified mean ratio": ([row.relative / row.relative_truth for row in result.rows], BLUE, "-"),
    }
    for name, (values, colour, style) in curves.items():
        sizes.plot(n, values, color=colour, linestyle=style, marker="o", label=name)
        for x, y in zip(n, values, strict=True):
            text = {"textcoords": "offset points", "fontsize": 8, "color": colour, "ha": "center"}
            sizes.annotate(f"{y:.2f}", (x, y), xytext=(0, -14) if style == "-" else (8, 7), **text)
    sizes.axhline(1.0, color=ORANGE, linewidth=1, label="the truth")
    sizes.set(xscale="log", yscale="log", xlabel="training instances", ylabel="bound / truth")
    sizes.set(xlim=(55, 25_000), ylim=(0.65, 25))
    for axes in (histogram, sizes):
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return figure


#: By the number of the figure in the paper.
DRAWINGS: dict[str, Callable[..., Figure]] = {
    "fig1": draw_posterior,
    "fig2": draw_conditioning,
    "fig3": draw_probability,
    "fig4": draw_tightness,
}


def _panels(count: int, narrow: bool, *, height: float, shared: bool = False) -> tuple[Figure, Any]:
    """Panels side by side, or one below the other where the page is narrow."""
    rows, columns = (count, 1) if narrow else (1, count)
    size = (4.4, 3.3 * count + 0.6) if narrow else (11, height)
    figure, panels = plt.subplots(rows, columns, figsize=size, layout="constrained", sharex=shared, sharey=shared)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def _draw_frontier(axes: Any, frontier: Frontier, name: str, colour: str) -> None:
    success = [choice.success for choice in frontier.choices]
    risk = [choice.risk for choice in frontier.choices]
    # Between two points the safer one is what can be certified.
    axes.plot(success, risk, color=colour, marker="o", markersize=4, drawstyle="steps-pre", label=name)
