"""What is random about a run, what its seed means, and what chance does where each instance was run several times."""

from typing import Any

import altair as alt
import numpy as np

from pacopt.provenance import Seeds
from pacopt.report.colours import LEARNED
from pacopt.report.figures import TINY, Axis, Chart, Figure, Key, Numbers, drawing, drawn, specification
from pacopt.report.sections.origin import short_class
from pacopt.report.source import Reported
from pacopt.report.words import chosen, estimate, kept

TITLE = "Random runs"
#: So many instances are drawn at most; decades from this ratio of the ends on.
POINTS, WIDE = 300, 30.0


def seeds_figure(source: Reported) -> Figure | None:
    """The runs of each training instance from the best to the worst, or words where there is one of each.

    None where nothing is random.
    """
    seeds, columns, c = source.origin.seeds, source.table.columns, source.certificate
    if seeds is None:
        return None
    if seeds.replicates < 2 or columns is None or (columns.sizes != seeds.replicates).any():
        return _words(source, seeds)
    row = source.table.select(rows=[c.deployed.index])
    relative = row.start is not None
    values = np.minimum(row.run_ratios(), 1.0)[0] if relative else np.minimum(row.losses[0], c.design.score.scale)
    values = np.where(np.isfinite(values), values, 1.0 if relative else c.design.score.scale)
    runs = values.reshape(len(columns), seeds.replicates)
    means = runs.mean(axis=1)
    within = float(runs.var(axis=1, ddof=1).mean())
    between = max(0.0, float(means.var(ddof=1)) - within / seeds.replicates) if len(means) > 1 else 0.0
    part = within / (within + between) if within + between > 0 else 0.0
    what = "final loss relative to the start" if relative else c.design.score.noun
    heading = f"{100 * part:.0f} % of the variance of a single run comes from its seed"
    caption = (
        f"{what[0].upper()}{what[1:]}{', with the safeguard' if relative else ''}: {seeds.replicates} runs of each of "
        f"the {len(means)} training instances with the {chosen(c)} hyperparameters, from the best instance to the "
        f"worst. Line: mean of an instance. Band: from its best run to its worst. {_meaning(source)}"
    )
    order = np.argsort(means, kind="stable")
    shown = order[kept(len(order), POINTS, np.array([0, len(order) - 1]))]
    spec = _spec(runs[shown], what)
    legend = (Key("solid", "learned", "mean of an instance"), Key("box", "mark", "best to worst of its runs"))
    words = f"Line with a band over {len(means)} instances. {heading}."
    rows = (
        ("runs of each instance", str(seeds.replicates)),
        ("mean", estimate(float(means.mean()))),
        ("standard deviation between seeds", estimate(within**0.5)),
        ("standard deviation between instances", estimate(between**0.5)),
    )
    numbers = Numbers(("training instances", what), rows)
    return Figure("seeds", TITLE, heading, caption, (Chart("seeds", spec, words, legend),), numbers)


def _meaning(source: Reported) -> str:
    """What a seed is, and what the certificate says of a run whose seed nobody knows yet."""
    root = "the root seed" if source.origin.seed is None else f"the root seed ({source.origin.seed})"
    use = " learned.solve uses seeds that no training run used." if source.learned else ""
    return (
        f"The seed of a run follows from {root} and the content of its instance; all candidates share it. What is "
        f"certified holds for one run on a new instance with a fresh seed.{use}"
    )


def _words(source: Reported, seeds: Seeds) -> Figure:
    """The section without a chart, where runs of the same instance cannot be compared with each other."""
    algorithm = source.origin.algorithm or source.origin.engine
    name = "The algorithm" if algorithm is None else short_class(algorithm.name)
    once = seeds.replicates == 1
    heading = f"Runs are random: each instance was run {'once' if once else f'{seeds.replicates} times'}"
    if not source.origin.seeds_matter:
        rest = "Runs of a few instances with other seeds ended alike, to the last digit: here chance changed nothing."
    elif once:
        rest = (
            "From one run of each instance nobody can tell what the seed did and what the instance did; the certified "
            "numbers cover both. With replicates=5 each instance is run five times: the report then tells the two "
            "apart, and means are less noisy."
        )
    else:
        rest = "Runs are averaged over groups of instances, so what the seed did is not told apart from the rest."
    caption = f"{name} draws random numbers in every run. {_meaning(source)} {rest}"
    return Figure("seeds", TITLE, heading, caption)


def _spec(runs: np.ndarray, what: str) -> dict[str, Any]:
    low, high, means = runs.min(axis=1), runs.max(axis=1), runs.mean(axis=1)
    positive = low[low > 0]
    ends = [float(positive.min()) if len(positive) else TINY, max(float(high.max()), TINY)]
    log = ends[1] > WIDE * ends[0]
    axis = Axis.around(ends, log=True) if log else Axis(0.0, 1.03 * ends[1], log=False)
    rows = [
        {
            "place": drawn(k / max(len(runs) - 1, 1)),
            "low": drawn(max(low[k], axis.low)),
            "high": drawn(max(high[k], axis.low)),
            "mean": drawn(max(means[k], axis.low)),
        }
        for k in range(len(runs))
    ]
    x = alt.X("place:Q", axis=alt.Axis(title="instances, the best first", format="~%", tickCount=5, grid=False))
    scale, title = axis.scale(), axis.ticks(what)
    base = drawing(rows)
    layers = [
        base.mark_area(color=LEARNED, opacity=0.2).encode(x=x, y=alt.Y("low:Q", scale=scale, axis=title), y2="high:Q"),
        base.mark_line(color=LEARNED, strokeWidth=2.2).encode(x=x, y=alt.Y("mean:Q", scale=scale, axis=title)),
    ]
    return specification("seeds", layers, height=260)
