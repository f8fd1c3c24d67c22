"""The charts of what was learned or certified, as the report has them."""

from dataclasses import replace

from pacopt.certificate import Certificate
from pacopt.errors import ExportError
from pacopt.plot.dressing import AltairChart, dressed
from pacopt.report.candidates import Candidates
from pacopt.report.colours import INK, SURFACE
from pacopt.report.figures import Figure, Key, drawn
from pacopt.report.sections.breakdown import breakdown_figure
from pacopt.report.sections.budget import budget_figure
from pacopt.report.sections.curves import curves_figure
from pacopt.report.sections.decisions import decisions_figure
from pacopt.report.sections.failures import failures_figure
from pacopt.report.sections.histogram import histogram_figure
from pacopt.report.sections.posterior import posterior_figure
from pacopt.report.sections.profile import profile_figure
from pacopt.report.sections.rivals import rivals_figure
from pacopt.report.source import Reportable, reported
from pacopt.report.words import is_ratio

#: What a chart is made of.
Source = Reportable | Certificate
#: What is said where there is nothing to compare with.
NO_TEST = (
    "There is nothing to compare on a test split.",
    "Methods are compared on test instances, learned against the textbook or a baseline.",
    "Pass what learn returned with a test split; plot.losses needs none.",
)

NO_BASELINE = (
    "There is no baseline: neither the textbook nor the defaults are known, and no other one was given.",
    "Each mark is a test instance, learned against a baseline.",
    "Learn with baseline=..., or with defaults of your solver; plot.profile needs none.",
)


def convergence(learned: Source) -> AltairChart:
    """The loss over the steps on the test split, learned against textbook and baselines, and the certified mean.

    The lines are measured; only the mean at the end is certified, if the certificate bounds a mean ratio.
    """
    source = reported(learned)
    figure = curves_figure(source)
    if figure is not None and figure.charts and source.curves is not None:
        figure = _with_certified_mean(figure, source.certificate, int(source.curves.steps[-1]))
    return _drawn(
        figure,
        "There are no losses on the way.",
        "They are recorded on the test split, by engines that see the steps of a run.",
        "Pass what learn returned with a test split; plot.losses shows how runs ended.",
    )


def _with_certified_mean(figure: Figure, certificate: Certificate, end: int) -> Figure:
    """The figure with a mark for the certified mean of what its lines show, if there is such a thing."""
    objective = certificate.design.objective
    value = certificate.deployed.values[objective.name]
    if not is_ratio(certificate) or value is None:
        return figure
    chart = figure.charts[0]
    mark = {
        "data": {"values": [{"step": end, "bound": drawn(value), "said": objective.shown(value)}]},
        "mark": {"type": "point", "shape": "diamond", "fill": SURFACE, "stroke": INK, "strokeWidth": 2.2, "size": 150}
        | {"opacity": 1},
        "encoding": {
            "x": {"field": "step", "type": "quantitative"},
            "y": {"field": "bound", "type": "quantitative"},
            "tooltip": {"field": "said", "type": "nominal", "title": "certified mean, at most"},
        },
    }
    key = Key("diamond", "ink", f"certified mean at the end: at most {objective.shown(value)}")
    spec = chart.spec | {"layer": [*chart.spec["layer"], mark]}
    return replace(figure, charts=(replace(chart, spec=spec, legend=(*chart.legend, key)), *figure.charts[1:]))


def losses(learned: Source) -> AltairChart:
    """How the runs of the deployed candidate ended on the training instances, and where the certified bounds lie."""
    return dressed(histogram_figure(reported(learned)))


def profile(learned: Source) -> AltairChart:
    """The share of test instances that end at least this well, for each method, and the certified region.

    Lines are measured. The shaded region is where the true line of the learned hyperparameters lies, as certified.
    """
    return _drawn(profile_figure(reported(learned)), *NO_TEST)


def scatter(learned: Source) -> AltairChart:
    """Learned against each baseline, with a mark for each test instance: measured, not certified."""
    source = reported(learned)
    figure = rivals_figure(source)
    if figure is not None:
        figure = replace(figure, caption=f"{figure.caption} Measured, not certified.")
    return _drawn(figure, *(NO_TEST if source.test is None else NO_BASELINE))


def candidates(learned: Source) -> AltairChart:
    """The candidates by their hyperparameters, with their weights, and which are certified to succeed as often."""
    source = reported(learned)
    return _drawn(
        posterior_figure(source, Candidates.of(source)),
        "No hyperparameter can be drawn.",
        "Numbers and names of more than one candidate have a chart; arrays have none.",
        "Use to_dataframe().",
    )


def failures(learned: Source) -> AltairChart:
    """Candidates by their hyperparameters, marked by how often they failed on the training instances."""
    source = reported(learned)
    return _drawn(
        failures_figure(source, Candidates.of(source)),
        "No training run failed.",
        "Failures of more than one candidate are drawn over its numbers.",
        "Use plot.candidates, or to_dataframe() of the table.",
    )


def budget(learned: Source) -> AltairChart:
    """The certified share of new instances that reaches each target within each number of steps."""
    return _drawn(
        budget_figure(reported(learned)),
        "The certificate claims no budget.",
        "A budget is part of the design.",
        "Ask for it with new training instances: learn(..., budget=[0.1, 0.01]).",
    )


def bound(learned: Source) -> AltairChart:
    """How the certified mean is made up: the measured part, and what confidence and choice add to it."""
    return _drawn(
        breakdown_figure(reported(learned)),
        "The certificate says nothing of a mean score.",
        "A bound on a mean is a sum of parts, and other bounds are not.",
        "Use to_dataframe() of the certificate.",
    )


def decisions(learned: Source) -> AltairChart:
    """What a learned rule decides over the steps of its test runs, against the textbook: measured, not certified."""
    return _drawn(
        decisions_figure(reported(learned)),
        "Nothing is known of decisions on the way.",
        "An algorithm that decides anew in each step, pacopt.ScalarRule say, tells them on the test split.",
        "For fixed hyperparameters, use plot.candidates.",
    )


def _drawn(figure: Figure | None, found: str, needed: str, remedy: str) -> AltairChart:
    if figure is None or not figure.charts:
        raise ExportError(found if figure is None else figure.caption, needed, "There is nothing to draw.", remedy)
    return dressed(figure)
