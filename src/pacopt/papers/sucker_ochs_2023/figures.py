"""The four figures. Colours stay apart for colour-blind readers and in grey print (Okabe & Ito)."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from pacopt.papers.sucker_ochs_2023.conditioning import Conditioning
from pacopt.papers.sucker_ochs_2023.convergence_probability import ConvergenceProbability
from pacopt.papers.sucker_ochs_2023.setting import STEPS
from pacopt.papers.sucker_ochs_2023.step_size_posterior import COUNTS, StepSizePosterior
from pacopt.papers.sucker_ochs_2023.tightness import BoundTightness
from pacopt.tradeoff import Frontier

BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000"
COLOURS = (SKY, GREEN, PURPLE, BLUE)
TITLES = {
    "code": "the code's statistic\n(no bound)",
    "theorem": "Theorem 6.2 as printed\n(valid)",
    "moment": "with the exact moment of the final loss\n(valid)",
}


def draw_posterior(result: StepSizePosterior) -> Figure:
    """Posterior densities of the step size, one panel for each statistic."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
    scaled = result.candidates / result.standard
    grid = np.linspace(0.3, 1.5, 400)
    width = 0.012
    kernels = np.exp(-(((grid[:, None] - scaled) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))
    for axes, (name, title) in zip(panels, TITLES.items(), strict=True):
        axes.plot(grid, kernels.mean(axis=1), color=BLACK, linestyle="--", linewidth=1, label="prior")
        for count, colour in zip(COUNTS, COLOURS, strict=True):
            axes.plot(grid, kernels @ result.estimates[name, count].weights, color=colour, label=f"{count} steps")
        axes.axvline(1.0, color=ORANGE, linewidth=1, label="2/(L + $\\mu$)")
        axes.axvline(2 / result.L / result.standard, color=ORANGE, linewidth=1, linestyle=":", label="2/L")
        axes.set(xlabel="step size, relative to 2/(L + $\\mu$)", xlim=(0.3, 1.5))
        axes.set_title(title, fontsize=10)
        _plain(axes)
    panels[0].set_ylabel("density")
    panels[0].legend(frameon=False, fontsize=8)
    return figure


def draw_conditioning(result: Conditioning) -> Figure:
    """Test loss over the steps, and the certified frontiers of two families."""
    figure, (curves, tradeoff) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    steps = np.arange(STEPS + 1)
    names = ["standard", *(f"level {level}" for level in result.levels)]
    for losses, name, colour in zip(result.curves, names, (BLACK, *COLOURS), strict=True):
        converged = losses[losses[:, -1] <= result.start]
        curves.plot(steps, converged.mean(axis=0), color=colour, linestyle="--", label=f"{name}: mean")
        curves.plot(steps, np.median(converged, axis=0), color=colour, linestyle=":", label=f"{name}: median")
    curves.set(yscale="log", xlabel="step", ylabel="test loss of the runs that converge", xlim=(0, STEPS))
    curves.set_title("learned for different guarantees (no certificate)", fontsize=10)
    curves.set_ylim(bottom=0.4 * curves.get_ylim()[0])
    curves.legend(frameon=False, fontsize=7, ncols=2, loc="lower left")
    _plain(curves)
    for (name, frontier), colour in zip(result.frontiers.items(), (BLUE, ORANGE), strict=True):
        _draw_frontier(tradeoff, frontier, name, colour)
    tradeoff.set(xlabel="certified probability of success", ylabel="certified mean ratio of final to start loss")
    tradeoff.set_title("certified frontier, 2000 training instances, confidence 0.99", fontsize=10)
    tradeoff.set_ylim(bottom=0)
    tradeoff.legend(frameon=False, fontsize=9, loc="upper left")
    _plain(tradeoff)
    return figure


def draw_probability(result: ConvergenceProbability) -> Figure:
    """Empirical success probabilities against the level asked for."""
    figure, axes = plt.subplots(figsize=(6, 4.4), layout="constrained")
    crosses = np.repeat(result.levels, result.frequencies.shape[1])
    axes.plot(crosses, result.frequencies.ravel(), "x", color=SKY, markersize=3, alpha=0.5, label="test sets of 250")
    axes.plot(result.levels, result.lower, color=BLUE, linewidth=1.5, label="lower bound, all levels at once (99 %)")
    axes.plot([0, 1], [0, 1], color=BLACK, linestyle="--", linewidth=1, label="asked for")
    levels, shares = zip(*result.admitted.items(), strict=True)
    axes.bar(levels, shares, width=0.02, color=ORANGE, label="share of the final prior that is truly below")
    passed = list(result.filtered.values())
    axes.plot(levels, passed, "D", color=PURPLE, markersize=4, label="share of what one filter admits, truly below")
    axes.set(xlabel="success probability asked for", ylabel="success probability", xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 0.1))
    _plain(axes)
    return figure


def draw_tightness(result: BoundTightness) -> Figure:
    """Histograms of test losses with mean and estimate, and how bounds shrink with the training instances."""
    figure, (histogram, sizes) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    learned, textbook = result.kept
    low = min(learned.min(), textbook.min())
    bins = np.geomspace(max(low, 1e-3), max(learned.max(), textbook.max(), result.learned.estimate.value) * 1.05, 60)
    histogram.hist(textbook, bins=bins, color=ORANGE, alpha=0.6, label="standard")
    histogram.hist(learned, bins=bins, color=BLUE, alpha=0.8, rwidth=0.6, label="learned")
    histogram.axvline(learned.mean(), color=BLUE, linestyle="--", label="mean, learned")
    histogram.axvline(
        result.learned.estimate.value, color=BLACK, linestyle=":", label="plug-in estimate (no guarantee)"
    )
    row = next(row for row in result.rows if row.train == 1000)
    histogram.axvline(row.absolute, color=GREEN, linestyle="-.", label="certified mean loss (safeguarded)")
    histogram.set(xscale="log", xlabel="final loss on 200 test instances", ylabel="instances")
    histogram.set_ylim(top=1.45 * histogram.get_ylim()[1])
    histogram.legend(edgecolor="none", framealpha=1.0, fontsize=8, loc="upper left", ncols=2)
    _plain(histogram)
    n = [row.train for row in result.rows]
    curves = {
        "plug-in estimate (no guarantee)": ([row.plug_in / row.plug_in_truth for row in result.rows], BLACK, ":"),
        "certified mean loss": ([row.absolute / row.absolute_truth for row in result.rows], GREEN, "-."),
        "certified mean ratio": ([row.relative / row.relative_truth for row in result.rows], BLUE, "-"),
    }
    for name, (values, colour, style) in curves.items():
        sizes.plot(n, values, color=colour, linestyle=style, marker="o", label=name)
        for x, y in zip(n, values, strict=True):
            shift = (6, 5) if style != "-" else (-12, -14)
            sizes.annotate(f"{y:.2f}", (x, y), xytext=shift, textcoords="offset points", fontsize=8, color=colour)
    sizes.axhline(1.0, color=ORANGE, linewidth=1, label="the truth")
    sizes.set(
        xscale="log",
        yscale="log",
        xlabel="training instances",
        ylabel="bound / truth",
        xlim=(80, 25_000),
        ylim=(0.8, None),
    )
    sizes.legend(frameon=False, fontsize=8)
    _plain(sizes)
    return figure


def _draw_frontier(axes: Any, frontier: Frontier, name: str, colour: str) -> None:
    success = [choice.success for choice in frontier.choices]
    risk = [choice.risk for choice in frontier.choices]
    # Between two points the safer one is what can be certified.
    axes.plot(success, risk, color=colour, marker="o", markersize=4, drawstyle="steps-pre", label=name)


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
