"""report_html(learned) -> str: one page that needs nothing but itself.

What draws (Altair, Jinja, the JavaScript of Vega) is imported when a page is drawn and not before: to load or to verify
a run, nobody has to wait for it.
"""

import json
import os
import secrets
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pacopt.errors import StorageError
from pacopt.report.seal import REPORT, certificate_meta, sealed, statement_element
from pacopt.report.source import Reportable
from pacopt.runs import checked_path


def report_html(learned: Reportable) -> str:
    """The report as one HTML page; equal values give equal pages."""
    from markupsafe import Markup

    from pacopt.report.candidates import Candidates
    from pacopt.report.sections.breakdown import breakdown_figure
    from pacopt.report.sections.choices import choices_of
    from pacopt.report.sections.curves import curves_figure
    from pacopt.report.sections.histogram import histogram_figure
    from pacopt.report.sections.origin import NOT_CLAIMED, origin, subject, textbook
    from pacopt.report.sections.posterior import posterior_figure
    from pacopt.report.sections.verdict import against_standard, verdict_of
    from pacopt.report.words import level_percent

    certificate, comparison = learned.certificate, learned.comparison
    candidates = Candidates.of(learned)
    choices = choices_of(learned, candidates)
    figures = (
        curves_figure(learned),
        histogram_figure(learned),
        posterior_figure(learned, candidates),
        choices.figure,
        breakdown_figure(learned),
    )
    specs = {chart.name: chart.spec for figure in figures for chart in figure.charts}
    page = _template().render(
        subject=subject(learned),
        verdict=verdict_of(learned),
        certificate=certificate,
        comparison=comparison,
        against=None if comparison is None else against_standard(comparison),
        exact=repr(dict(certificate.deployed.hyper)),
        textbook=textbook(learned),
        figures=figures,
        choices=choices,
        level=level_percent(certificate.design.quantile_level),
        not_claimed=NOT_CLAIMED,
        origin=origin(learned),
        meta=Markup(certificate_meta(certificate)),
        statement=Markup(statement_element(certificate)),
        style=Markup(_text("style.css")),
        vega=Markup(_vega()),
        script=Markup(_text("page.js")),
        specs=Markup(_json(specs)),
        picks=Markup(_json([asdict(pick) for pick in choices.picks])),
    )
    return sealed(page)


def write_report(directory: str | os.PathLike[str], learned: Reportable) -> Path:
    """Write the report into the directory of a run, over an older one; whole or not at all."""
    target = checked_path(directory) / REPORT
    page = report_html(learned)
    part = target.with_name(f".{REPORT}.{secrets.token_hex(4)}.part")
    try:
        try:
            part.write_text(page, encoding="utf-8", newline="\n")
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
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


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_text("page.html.j2"))


@cache
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script: 0.9 MB, for which vl-convert takes 1.7 s once in a process."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle
