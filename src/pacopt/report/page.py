"""report_html(what was learned or certified) -> str: one page that needs nothing but itself.

What draws (Altair, Jinja, the JavaScript of Vega) is imported when a page is drawn and not before: to load or to verify
a run, nobody has to wait for it.
"""

import json
import os
import re
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pacopt.certificate import Certificate
from pacopt.errors import StorageError
from pacopt.report.script import vega
from pacopt.report.seal import REPORT, certificate_meta, sealed, statement_element
from pacopt.report.source import Reportable, reported
from pacopt.runs.files import checked_path
from pacopt.support.whole import whole

#: A number with a negative exponent.
POWER = re.compile(r"\d[\d.]*e-\d+")


def report_html(learned: Reportable | Certificate) -> str:
    """The report of what `learn` or `certify` returned, as one HTML page; equal values give equal pages."""
    from markupsafe import Markup

    from pacopt.report.candidates import Candidates
    from pacopt.report.sections.arrays import arrays_figure
    from pacopt.report.sections.breakdown import breakdown_figure
    from pacopt.report.sections.budget import budget_figure
    from pacopt.report.sections.choices import choices_of
    from pacopt.report.sections.curves import curves_figure
    from pacopt.report.sections.decisions import decisions_figure
    from pacopt.report.sections.failures import failures_figure
    from pacopt.report.sections.held import held_figure
    from pacopt.report.sections.histogram import histogram_figure
    from pacopt.report.sections.measured import measured_of
    from pacopt.report.sections.origin import chosen_values, not_claimed, origin, recomputed, title_of
    from pacopt.report.sections.posterior import posterior_figure
    from pacopt.report.sections.profile import profile_figure
    from pacopt.report.sections.rivals import rivals_figure
    from pacopt.report.sections.seeds import seeds_figure
    from pacopt.report.sections.summary import summary_of
    from pacopt.report.sections.use import use_of
    from pacopt.report.words import chosen

    source = reported(learned)
    certificate, candidates = source.certificate, Candidates.of(source)
    choices = choices_of(source, candidates)
    possible = (
        held_figure(source),
        budget_figure(source),
        profile_figure(source),
        rivals_figure(source),
        curves_figure(source),
        decisions_figure(source),
        seeds_figure(source),
        histogram_figure(source),
        failures_figure(source, candidates),
        arrays_figure(source),
        posterior_figure(source, candidates),
        choices.figure,
        breakdown_figure(source),
    )
    figures = [figure for figure in possible if figure is not None]
    specs = {chart.name: chart.spec for figure in figures for chart in figure.charts}
    page = _template().render(
        subject=title_of(source),
        summary=summary_of(source),
        certificate=certificate,
        learned=source.learned,
        hyper=chosen_values(source),
        measured=measured_of(source),
        use=use_of(source),
        chosen=chosen(certificate),
        figures=figures,
        choices=choices,
        not_claimed=not_claimed(source),
        recomputed=recomputed(source),
        origin=origin(source),
        meta=Markup(certificate_meta(certificate)),
        statement=Markup(statement_element(certificate)),
        style=Markup(_text("style.css")),
        vega=Markup(vega()),
        script=Markup(_text("page.js")),
        specs=Markup(_json(specs)),
        picks=Markup(_json({"headings": choices.headings, "picks": [asdict(pick) for pick in choices.picks]})),
    )
    return sealed(page)


def write_report(directory: str | os.PathLike[str], learned: Reportable | Certificate) -> Path:
    """Write the report into the directory of a run, over an older one; whole or not at all."""
    target = checked_path(directory) / REPORT
    page = report_html(learned)
    try:
        with whole(target) as file:
            file.write(page.encode())
    except OSError as error:
        raise StorageError(
            f"{target} could not be written: {error}.",
            "The directory of a run is needed, in which files can be made.",
            "",
            "Save the run first, or make room.",
        ) from error
    return target


def _json(value: Any) -> str:
    """JSON that is safe inside of a script element: no text can end it."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _unbroken(text: str) -> Any:
    """A text in which no line ends within a number: 7e-31 has a hyphen."""
    from markupsafe import Markup, escape

    return Markup(POWER.sub(r'<span class="unbroken">\g<0></span>', str(escape(text))))


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["unbroken"] = _unbroken
    return environment.from_string(_text("page.html.j2"))
